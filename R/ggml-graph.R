# Graphs: building, computing, differentiating, printing.

#' Build and compute graphs
#'
#' An operator such as [ggml_add()] only records a node: its shape is known at
#' once, its values exist after a graph with it was computed.
#' `ggml_build_forward_expand()` makes a graph of everything a tensor needs, in
#' the order of computation; `ggml_graph_expand()` adds what another tensor needs.
#'
#' `ggml_graph_compute()` computes every node, with [ggml_get_n_threads()]
#' threads; `ggml_graph_compute_with_ctx()` takes the number of threads as an
#' argument (0: the general setting). A long computation can be interrupted.
#' Computing again gives the same values, or new ones if inputs have changed.
#'
#' @param ctx A context.
#' @param tensor A tensor.
#' @param graph A graph.
#' @param n_threads Number of threads, 0 for the general setting.
#' @return `ggml_build_forward_expand()`: a graph. The others: `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' a <- ggml_new_f32(ctx, 3)
#' b <- ggml_new_f32(ctx, 4)
#' y <- ggml_add(ctx, a, b)
#' graph <- ggml_build_forward_expand(ctx, y)
#' ggml_graph_compute(ctx, graph)
#' ggml_get_f32(y)
#' ggml_free(ctx)
ggml_build_forward_expand <- function(ctx, tensor) rs_graph_build(ctx, tensor, NULL)

#' @rdname ggml_build_forward_expand
#' @export
ggml_graph_expand <- function(graph, tensor) {
  rs_graph_expand(graph, tensor)
  invisible(NULL)
}

#' @rdname ggml_build_forward_expand
#' @export
ggml_graph_compute <- function(ctx, graph) {
  rs_graph_compute(ctx, graph, 0L)
  invisible(NULL)
}

#' @rdname ggml_build_forward_expand
#' @export
ggml_graph_compute_with_ctx <- function(ctx, graph, n_threads = 0L) {
  rs_graph_compute(ctx, graph, n_threads)
  invisible(NULL)
}

#' Gradients
#'
#' In this order:
#' 1. mark what is to be trained with [ggml_set_param()],
#' 2. apply operators and mark the scalar at the end with [ggml_set_loss()],
#' 3. `ggml_build_forward_expand_grads()` makes a graph with room for gradients,
#' 4. `ggml_build_backward_expand()` adds the nodes that compute them,
#' 5. `ggml_graph_reset()` sets the gradient of the loss with respect to itself
#'    to 1 (and the moments of optimiser steps to 0),
#' 6. [ggml_graph_compute()], then `ggml_graph_get_grad()`.
#'
#' Gradients are computed anew each time and do not add up over computations. An
#' operator without a gradient on the way from a trained tensor to the loss is an
#' error of kind `no_gradient` in step 4, which shows the way.
#'
#' @inheritParams ggml_build_forward_expand
#' @param tensor The loss, or a tensor computed from it.
#' @param graph_size Number of nodes that the graph has room for, those of the
#'   gradients included.
#' @param node A tensor of the graph.
#' @return `ggml_build_forward_expand_grads()`: a graph. `ggml_graph_get_grad()`:
#'   the gradient as a tensor, `NULL` if the node has none.
#'   `ggml_graph_get_grad_acc()`: of a loss, the tensor that
#'   `ggml_graph_reset()` sets to 1, else `NULL`. The others: `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' w <- ggml_set_param(ggml_new_f32(ctx, 3))
#' loss <- ggml_set_loss(ggml_sqr(ctx, w))
#' graph <- ggml_build_forward_expand_grads(ctx, loss)
#' ggml_build_backward_expand(ctx, graph)
#' ggml_graph_reset(graph)
#' ggml_graph_compute(ctx, graph)
#' ggml_get_f32(ggml_graph_get_grad(graph, w))
#' ggml_free(ctx)
ggml_build_forward_expand_grads <- function(ctx, tensor, graph_size = 2048L) {
  if (is.null(graph_size)) {
    ggmlr_abort("argument", "graph_size must be one number, got NULL", arg = "graph_size")
  }
  rs_graph_build(ctx, tensor, graph_size)
}

#' @rdname ggml_build_forward_expand_grads
#' @export
ggml_build_backward_expand <- function(ctx, graph) {
  rs_graph_backward(ctx, graph)
  invisible(NULL)
}

#' @rdname ggml_build_forward_expand_grads
#' @export
ggml_graph_reset <- function(graph) {
  rs_graph_reset(graph)
  invisible(NULL)
}

#' @rdname ggml_build_forward_expand_grads
#' @export
ggml_graph_get_grad <- function(graph, node) rs_graph_grad(graph, node)

#' @rdname ggml_build_forward_expand_grads
#' @export
ggml_graph_get_grad_acc <- function(graph, node) rs_graph_grad_acc(graph, node)

#' Look into graphs and change them
#'
#' `ggml_graph_n_nodes()` counts the nodes, `ggml_graph_node()` gives one by
#' position from 0 (negative: from the end), `ggml_graph_get_tensor()` by name.
#' A tensor without a name answers to `node_<i>` or `leaf_<i>`, as printed.
#'
#' `ggml_graph_view()` makes a graph of the nodes `i0` to `i1 - 1`, without leaves
#' and gradients: computing the parts of a graph one after another gives the same
#' as computing it whole. `ggml_graph_dup()` copies a graph, `ggml_graph_cpy()`
#' copies `src` over `dst`, `ggml_graph_clear()` empties a graph and
#' `ggml_graph_add_node()` appends one tensor without what it needs.
#'
#' @inheritParams ggml_build_forward_expand
#' @param i,i0,i1 Positions from 0.
#' @param name One string.
#' @param src,dst Graphs.
#' @param force_grads Whether the copy has room for gradients in any case.
#' @return A count, a tensor (`ggml_graph_get_tensor()`: or `NULL`), a graph, or
#'   `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' x <- ggml_set_name(ggml_new_f32(ctx, 2), "x")
#' y <- ggml_neg(ctx, ggml_sqr(ctx, x))
#' graph <- ggml_build_forward_expand(ctx, y)
#' ggml_graph_n_nodes(graph)
#' ggml_graph_node(graph, -1)
#' ggml_graph_get_tensor(graph, "x")
#' ggml_graph_print(graph)
#' ggml_free(ctx)
ggml_graph_n_nodes <- function(graph) rs_graph_n_nodes(graph)

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_node <- function(graph, i) rs_graph_node(graph, i)

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_get_tensor <- function(graph, name) {
  rs_graph_tensor(graph, if (is.character(name)) enc2utf8(name) else name)
}

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_view <- function(graph, i0, i1) rs_graph_view(graph, i0, i1)

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_dup <- function(ctx, graph, force_grads = FALSE) rs_graph_dup(ctx, graph, force_grads)

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_cpy <- function(src, dst) {
  rs_graph_cpy(src, dst)
  invisible(NULL)
}

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_clear <- function(graph) {
  rs_graph_clear(graph)
  invisible(NULL)
}

#' @rdname ggml_graph_n_nodes
#' @export
ggml_graph_add_node <- function(graph, tensor) {
  rs_graph_add_node(graph, tensor)
  invisible(NULL)
}

#' Show graphs
#'
#' `ggml_graph_print()` lists nodes and leaves; `x` marks what is trained, `g`
#' what has a gradient. `ggml_graph_dump_dot()` writes a drawing for Graphviz:
#' trained tensors are yellow, tensors with a gradient green (light blue when they
#' are not in the graph `leafs`), operators white, leaves pink.
#'
#' @param graph A graph.
#' @param leafs A graph, or `NULL`.
#' @param filename Where to write the drawing.
#' @return `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' y <- ggml_sqr(ctx, ggml_new_f32(ctx, 2))
#' graph <- ggml_build_forward_expand(ctx, y)
#' ggml_graph_print(graph)
#' file <- tempfile(fileext = ".dot")
#' ggml_graph_dump_dot(graph, filename = file)
#' unlink(file)
#' ggml_free(ctx)
ggml_graph_print <- function(graph) {
  log_emit("info", rs_graph_print(graph))
  invisible(NULL)
}

#' @rdname ggml_graph_print
#' @export
ggml_graph_dump_dot <- function(graph, leafs = NULL, filename) {
  drawing <- rs_graph_dot(graph, leafs)
  if (!is.character(filename) || length(filename) != 1L || is.na(filename)) {
    ggmlr_abort("argument", "filename must be one string", arg = "filename")
  }
  problem <- NULL
  file <- tryCatch(
    withCallingHandlers(file(filename, "wb"), warning = function(w) {
      problem <<- conditionMessage(w)
      invokeRestart("muffleWarning")
    }),
    error = function(e) NULL
  )
  if (is.null(file)) {
    ggmlr_abort("io", paste0("cannot write '", filename, "'"), arg = "filename", got = problem)
  }
  on.exit(close(file))
  writeLines(enc2utf8(drawing), file, useBytes = TRUE)
  invisible(NULL)
}

#' @rdname print.ggml_tensor
#' @export
print.ggml_graph <- function(x, ...) print_handle(x)

#' @rdname print.ggml_tensor
#' @export
format.ggml_graph <- function(x, ...) {
  describe_handle(x, "graph", paste(rs_graph_n_nodes(x), "nodes"))
}

# What the generated operator functions call: records the node that `fn` stands
# for. `inputs` are its tensors in order, NULL for optional ones left out.
op_node <- function(ctx, fn, inputs, params = list()) rs_graph_op(ctx, fn, inputs, params)
