# Contexts: sets of tensors and graphs with a budget of bytes.

#' Contexts
#'
#' A context owns tensors and graphs. It has a budget of bytes, which counts what
#' its tensors and graphs take; a tensor that does not fit is an error that
#' tells both numbers. Data is taken from the system only when it is used.
#'
#' `ggml_init()` makes a context. With `no_alloc = TRUE` its tensors have a shape
#' but no storage until [ggml_backend_alloc_ctx_tensors()] gives them some.
#' `ggml_init_auto()` computes the budget from the shapes of the tensors to come.
#' `ggml_with_temp_ctx()` evaluates an expression in which `ctx` is a context,
#' and frees it afterwards, also after an error.
#'
#' `ggml_free()` ends a context and all that is in it; freeing twice does
#' nothing. `ggml_reset()` drops all tensors and graphs and keeps the context.
#' Handles of what is gone are errors when used. A context whose handles are all
#' gone is freed by R's garbage collection.
#'
#' @param mem_size Budget in bytes: one positive number.
#' @param no_alloc Whether tensors are made without storage.
#' @param ... Shapes, each a vector of 1 to 4 extents.
#' @param extra_mb MiB to add to the estimate, for results and graphs.
#' @param type Element type of the tensors: a [GGML_TYPE_F32][ggml_types]
#'   constant or a name.
#' @param expr An expression that uses `ctx`.
#' @param ctx A context.
#' @return `ggml_init()` and `ggml_init_auto()`: a context.
#'   `ggml_with_temp_ctx()`: the value of `expr`. The others: `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init(1024 * 1024)
#' a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
#' ggml_set_f32(a, c(1, 2, 3))
#' ggml_used_mem(ctx)
#' ggml_free(ctx)
#'
#' ggml_with_temp_ctx(1024 * 1024, {
#'   x <- ggml_new_f32(ctx, 42)
#'   ggml_get_f32(x)
#' })
ggml_init <- function(mem_size = 16 * 1024 * 1024, no_alloc = FALSE) {
  collect_if_needed()
  rs_context_init(mem_size, no_alloc)
}

#' @rdname ggml_init
#' @export
ggml_init_auto <- function(..., extra_mb = 10, type = GGML_TYPE_F32, no_alloc = FALSE) {
  if (!is.numeric(extra_mb) || length(extra_mb) != 1L || is.na(extra_mb) || extra_mb < 0) {
    ggmlr_abort("argument", "extra_mb must be a number, zero or more", arg = "extra_mb")
  }
  sizes <- vapply(list(...), function(ne) {
    if (!is.numeric(ne) || !length(ne) %in% 1:4) {
      ggmlr_abort("argument", "each shape must be a vector of 1 to 4 extents", arg = "...")
    }
    rs_context_estimate(type, ne)
  }, 0)
  ggml_init(sum(sizes) + ceiling(extra_mb * 1024^2), no_alloc)
}

#' @rdname ggml_init
#' @export
ggml_with_temp_ctx <- function(mem_size, expr) {
  expr <- substitute(expr)
  ctx <- ggml_init(mem_size)
  on.exit(ggml_free(ctx))
  # A copy: the expression may assign to its `ctx`, and this one is freed.
  where <- list2env(list(ctx = ctx), parent = parent.frame())
  eval(expr, where)
}

#' @rdname ggml_init
#' @export
ggml_free <- function(ctx) {
  rs_context_free(ctx)
  invisible(NULL)
}

#' @rdname ggml_init
#' @export
ggml_reset <- function(ctx) {
  rs_context_reset(ctx)
  invisible(NULL)
}

#' How full a context is
#'
#' `ggml_get_mem_size()` is the budget, `ggml_used_mem()` what tensors and graphs
#' take of it, descriptions included, and `ggml_get_max_tensor_size()` the size
#' of the largest tensor (0 if there is none). `ggml_estimate_memory()` tells
#' what a tensor will take, `ggml_tensor_overhead()` and `ggml_graph_overhead()`
#' what the description of a tensor and a graph of the usual size take.
#'
#' `ggml_set_no_alloc()` decides whether tensors made from now on come without
#' storage.
#'
#' @inheritParams ggml_init
#' @param ne0,ne1,ne2,ne3 Extents, innermost first.
#' @return Bytes as a number. `ggml_get_no_alloc()`: a logical.
#'   `ggml_set_no_alloc()`: `NULL`, invisibly. `ggml_print_mem_status()`: a list
#'   of `total`, `used` and `free`, invisibly. `ggml_print_objects()`: `NULL`,
#'   invisibly.
#' @export
#' @examples
#' ctx <- ggml_init(1024 * 1024)
#' x <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 100, 10)
#' ggml_used_mem(ctx)
#' ggml_get_max_tensor_size(ctx)
#' ggml_estimate_memory(GGML_TYPE_F16, 100, 10)
#' ggml_print_mem_status(ctx)
#' ggml_free(ctx)
ggml_get_mem_size <- function(ctx) rs_context_usage(ctx)$total

#' @rdname ggml_get_mem_size
#' @export
ggml_used_mem <- function(ctx) rs_context_usage(ctx)$used

#' @rdname ggml_get_mem_size
#' @export
ggml_get_max_tensor_size <- function(ctx) rs_context_usage(ctx)$largest

#' @rdname ggml_get_mem_size
#' @export
ggml_set_no_alloc <- function(ctx, no_alloc) {
  rs_context_set_no_alloc(ctx, no_alloc)
  invisible(NULL)
}

#' @rdname ggml_get_mem_size
#' @export
ggml_get_no_alloc <- function(ctx) rs_context_usage(ctx)$no_alloc

#' @rdname ggml_get_mem_size
#' @export
ggml_tensor_overhead <- function() rs_context_overhead()[1L]

#' @rdname ggml_get_mem_size
#' @export
ggml_graph_overhead <- function() rs_context_overhead()[2L]

#' @rdname ggml_get_mem_size
#' @export
ggml_estimate_memory <- function(type = GGML_TYPE_F32, ne0, ne1 = 1, ne2 = 1, ne3 = 1) {
  rs_context_estimate(type, extents(ne0, ne1, ne2, ne3))
}

#' @rdname ggml_get_mem_size
#' @export
ggml_print_mem_status <- function(ctx) {
  usage <- rs_context_usage(ctx)
  free <- usage$total - usage$used
  line <- function(name, bytes) {
    sprintf("  %-6s %10.2f MB (%5.1f%%)", name, bytes / 1024^2, 100 * bytes / usage$total)
  }
  writeLines(c(
    "Context memory:",
    line("Total:", usage$total), line("Used:", usage$used), line("Free:", free)
  ))
  invisible(list(total = usage$total, used = usage$used, free = free))
}

#' @rdname ggml_get_mem_size
#' @export
ggml_print_objects <- function(ctx) {
  writeLines(c("=== OBJECTS ===", rs_context_objects(ctx), strrep("=", 40L)))
  invisible(NULL)
}

#' The tensors of a context
#'
#' In the order in which they were made: `ggml_tensor_num()` counts them,
#' `ggml_get_first_tensor()` and `ggml_get_next_tensor()` walk through them.
#'
#' @inheritParams ggml_init
#' @param tensor A tensor of the context.
#' @return A count; a tensor, or `NULL` at the end.
#' @export
#' @examples
#' ctx <- ggml_init()
#' a <- ggml_new_f32(ctx, 1)
#' b <- ggml_new_f32(ctx, 2)
#' ggml_tensor_num(ctx)
#' t <- ggml_get_first_tensor(ctx)
#' while (!is.null(t)) {
#'   print(ggml_get_f32(t))
#'   t <- ggml_get_next_tensor(ctx, t)
#' }
#' ggml_free(ctx)
ggml_tensor_num <- function(ctx) rs_context_usage(ctx)$tensors

#' @rdname ggml_tensor_num
#' @export
ggml_get_first_tensor <- function(ctx) rs_context_next(ctx, NULL)

#' @rdname ggml_tensor_num
#' @export
ggml_get_next_tensor <- function(ctx, tensor) {
  if (is.null(tensor)) {
    ggmlr_abort("argument", "argument 'tensor': expected a tensor, got NULL", arg = "tensor")
  }
  rs_context_next(ctx, tensor)
}

# Extents as one vector; what is no single number is left to the check in Rust,
# which names the extent.
extents <- function(...) {
  given <- list(...)
  for (i in seq_along(given)) {
    if (!(is.numeric(given[[i]]) && length(given[[i]]) == 1L || identical(given[[i]], NA))) {
      name <- paste0("ne", i - 1L)
      ggmlr_abort(
        "argument", paste0(name, " must be one number, got ", show_value(given[[i]])),
        arg = name, expected = "one whole positive number", got = show_value(given[[i]])
      )
    }
  }
  as.numeric(unlist(given))
}

# A value in a few words, for messages.
show_value <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function")
  if (is.atomic(x) && length(x) == 1L) {
    return(encodeString(format(x), quote = if (is.character(x)) "\"" else ""))
  }
  paste0(class(x)[1L], " of length ", length(x))
}
