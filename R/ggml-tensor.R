# Tensors: making them and asking what they are.

#' Make tensors
#'
#' A tensor has an element type and 1 to 5 extents `ne0, ne1, ...` in ggml order:
#' `ne0` is innermost, its elements lie next to each other. An R matrix `m` is the
#' tensor with `ne0 = nrow(m)` and `ne1 = ncol(m)`. New tensors hold zeros.
#'
#' `ggml_new_f32()` and `ggml_new_i32()` make a tensor of one element with a
#' value. `ggml_dup_tensor()` makes one of the type and shape of another, without
#' its data.
#'
#' The handle is an external pointer. It becomes invalid when the context is
#' freed or reset, and cannot be saved: using it then is an error.
#'
#' @param ctx A context, see [ggml_init()].
#' @param type A [GGML_TYPE_F32][ggml_types] constant or the name of a type.
#' @param ne0,ne1,ne2,ne3 Extents: whole positive numbers. For a block type `ne0`
#'   must be a multiple of the block.
#' @param n_dims Number of extents of `ne` to use, 1 to 5.
#' @param ne Extents, at least `n_dims` of them.
#' @param value One number.
#' @param tensor A tensor.
#' @return A tensor.
#' @export
#' @examples
#' ctx <- ggml_init()
#' m <- matrix(1:6, nrow = 2)
#' t <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3)
#' ggml_set_f32(t, m)
#' t
#' ggml_free(ctx)
ggml_new_tensor_1d <- function(ctx, type = GGML_TYPE_F32, ne0) {
  rs_tensor_new(ctx, type, extents(ne0))
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_tensor_2d <- function(ctx, type = GGML_TYPE_F32, ne0, ne1) {
  rs_tensor_new(ctx, type, extents(ne0, ne1))
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_tensor_3d <- function(ctx, type = GGML_TYPE_F32, ne0, ne1, ne2) {
  rs_tensor_new(ctx, type, extents(ne0, ne1, ne2))
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_tensor_4d <- function(ctx, type = GGML_TYPE_F32, ne0, ne1, ne2, ne3) {
  rs_tensor_new(ctx, type, extents(ne0, ne1, ne2, ne3))
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_tensor <- function(ctx, type = GGML_TYPE_F32, n_dims, ne) {
  if (!is.numeric(n_dims) || length(n_dims) != 1L || !n_dims %in% 1:5) {
    ggmlr_abort(
      "argument", paste0("n_dims must be a whole number from 1 to 5, got ", show_value(n_dims)),
      arg = "n_dims", expected = "1 to 5", got = show_value(n_dims)
    )
  }
  if (length(ne) < n_dims) {
    ggmlr_abort(
      "argument", "ne must have at least n_dims elements",
      arg = "ne", expected = paste(n_dims, "extents"), got = length(ne)
    )
  }
  rs_tensor_new(ctx, type, ne[seq_len(n_dims)])
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_f32 <- function(ctx, value) {
  t <- rs_tensor_new(ctx, GGML_TYPE_F32, 1)
  rs_tensor_set(t, value, "f32")
  t
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_new_i32 <- function(ctx, value) {
  t <- rs_tensor_new(ctx, GGML_TYPE_I32, 1)
  rs_tensor_set(t, value, "i32")
  t
}

#' @rdname ggml_new_tensor_1d
#' @export
ggml_dup_tensor <- function(ctx, tensor) rs_tensor_like(ctx, tensor)

#' Shape, size and type of a tensor
#'
#' `ggml_tensor_shape()` gives the extents of the first four dimensions,
#' innermost first, `ggml_tensor_nb()` the strides of the first five in bytes.
#' `ggml_nrows()` is the number of rows, `ggml_n_dims()` the number of dimensions
#' without trailing ones. `ggml_nbytes()` is the memory from the first to the last
#' element; `ggml_element_size()` the bytes of an element, or of a block.
#'
#' @param tensor A tensor.
#' @return Numbers. `ggml_tensor_type()`: an integer, see [ggml_types].
#' @export
#' @examples
#' ctx <- ggml_init()
#' t <- ggml_new_tensor_3d(ctx, GGML_TYPE_F32, 4, 3, 2)
#' ggml_tensor_shape(t)
#' ggml_tensor_nb(t)
#' ggml_nelements(t)
#' ggml_nrows(t)
#' ggml_free(ctx)
ggml_tensor_shape <- function(tensor) rs_tensor_info(tensor)$ne[1:4]

#' @rdname ggml_tensor_shape
#' @export
ggml_tensor_nb <- function(tensor) rs_tensor_info(tensor)$nb[1:5]

#' @rdname ggml_tensor_shape
#' @export
ggml_tensor_type <- function(tensor) rs_tensor_info(tensor)$type

#' @rdname ggml_tensor_shape
#' @export
ggml_nelements <- function(tensor) rs_tensor_info(tensor)$elements

#' @rdname ggml_tensor_shape
#' @export
ggml_nbytes <- function(tensor) rs_tensor_info(tensor)$bytes

#' @rdname ggml_tensor_shape
#' @export
ggml_nrows <- function(tensor) {
  ne <- rs_tensor_info(tensor)$ne
  prod(ne[-1L])
}

#' @rdname ggml_tensor_shape
#' @export
ggml_element_size <- function(tensor) rs_tensor_info(tensor)$size

#' @rdname ggml_tensor_shape
#' @export
ggml_n_dims <- function(tensor) rs_tensor_info(tensor)$n_dims

#' Layout of a tensor in memory
#'
#' A tensor is contiguous when its elements lie one after another in ggml order;
#' a view may not be. `ggml_is_contiguous_1()` and `ggml_is_contiguous_2()` look
#' at the dimensions from 1 and from 2 on only, `ggml_is_contiguous_rows()` at
#' rows only, `ggml_is_contiguously_allocated()` asks whether the elements fill
#' their memory without gaps, in whatever order.
#' `ggml_is_contiguous_channels()` is true where the elements of dimension 2
#' (channels) lie innermost, followed by dimensions 0 and 1. A tensor is
#' transposed when `nb[0] > nb[1]`, and permuted when its strides are not in
#' increasing order.
#'
#' `ggml_are_same_layout()` compares type, shape and strides; `ggml_can_repeat()`
#' tells whether copies of `a` fill `b`.
#'
#' @param tensor,a,b Tensors.
#' @return A logical.
#' @export
#' @examples
#' ctx <- ggml_init()
#' a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3)
#' b <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2)
#' ggml_is_contiguous(a)
#' ggml_can_repeat(b, a)
#' ggml_free(ctx)
ggml_is_contiguous <- function(tensor) rs_tensor_info(tensor)$contiguous[1L]

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguous_0 <- function(tensor) rs_tensor_info(tensor)$contiguous[1L]

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguous_1 <- function(tensor) rs_tensor_info(tensor)$contiguous[2L]

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguous_2 <- function(tensor) rs_tensor_info(tensor)$contiguous[3L]

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguous_rows <- function(tensor) rs_tensor_info(tensor)$contiguous_rows

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguous_channels <- function(tensor) {
  info <- rs_tensor_info(tensor)
  nb <- info$nb
  nb[1L] > nb[3L] && nb[2L] > nb[1L] && nb[3L] == info$size
}

#' @rdname ggml_is_contiguous
#' @export
ggml_is_contiguously_allocated <- function(tensor) {
  info <- rs_tensor_info(tensor)
  info$bytes == info$packed_bytes
}

#' @rdname ggml_is_contiguous
#' @export
ggml_is_transposed <- function(tensor) {
  nb <- rs_tensor_info(tensor)$nb
  nb[1L] > nb[2L]
}

#' @rdname ggml_is_contiguous
#' @export
ggml_is_permuted <- function(tensor) is.unsorted(rs_tensor_info(tensor)$nb)

#' @rdname ggml_is_contiguous
#' @export
ggml_are_same_shape <- function(a, b) rs_tensor_compare(a, b)[1L]

#' @rdname ggml_is_contiguous
#' @export
ggml_are_same_stride <- function(a, b) rs_tensor_compare(a, b)[2L]

#' @rdname ggml_is_contiguous
#' @export
ggml_are_same_layout <- function(a, b) all(rs_tensor_compare(a, b)[1:3])

#' @rdname ggml_is_contiguous
#' @export
ggml_can_repeat <- function(a, b) rs_tensor_compare(a, b)[4L]

#' Names and marks of tensors
#'
#' A name shows up in prints of graphs and in messages, and
#' [ggml_graph_get_tensor()] finds the tensor by it. The first 127 bytes are
#' kept; an empty name takes the name away.
#'
#' `ggml_set_input()` and `ggml_set_output()` keep the storage of a tensor from
#' being reused by an allocator. `ggml_set_param()` marks a tensor to be trained
#' (floating point, not the result of an operator), `ggml_set_loss()` the scalar
#' whose gradient [ggml_build_backward_expand()] builds.
#'
#' @param tensor A tensor.
#' @param name One string.
#' @return The tensor. `ggml_get_name()`: a string, or `NULL` without a name.
#' @export
#' @examples
#' ctx <- ggml_init()
#' w <- ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3), "weights")
#' ggml_get_name(w)
#' ggml_free(ctx)
ggml_set_name <- function(tensor, name) {
  rs_tensor_set_name(tensor, if (is.character(name)) enc2utf8(name) else name)
  tensor
}

#' @rdname ggml_set_name
#' @export
ggml_get_name <- function(tensor) rs_tensor_info(tensor)$name

#' @rdname ggml_set_name
#' @export
ggml_set_input <- function(tensor) set_flag(tensor, "input")

#' @rdname ggml_set_name
#' @export
ggml_set_output <- function(tensor) set_flag(tensor, "output")

#' @rdname ggml_set_name
#' @export
ggml_set_param <- function(tensor) set_flag(tensor, "param")

#' @rdname ggml_set_name
#' @export
ggml_set_loss <- function(tensor) set_flag(tensor, "loss")

set_flag <- function(tensor, flag) {
  rs_tensor_set_flag(tensor, flag)
  tensor
}

#' Print a handle
#'
#' @param x A tensor, context, graph, backend or buffer.
#' @param ... Not used.
#' @return `print()`: `x`, invisibly. `format()`: a string.
#' @export
#' @examples
#' ctx <- ggml_init()
#' print(ctx)
#' print(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3))
#' ggml_free(ctx)
print.ggml_tensor <- function(x, ...) print_handle(x)

#' @rdname print.ggml_tensor
#' @export
format.ggml_tensor <- function(x, ...) {
  describe_handle(x, "tensor", {
    info <- rs_tensor_info(x)
    ne <- info$ne[seq_len(max(info$n_dims, 1L))]
    paste0(
      info$type_name, " [", paste(format(ne, scientific = FALSE, trim = TRUE), collapse = ", "), "]",
      if (info$op != "none") paste0(" ", info$op_desc),
      if (info$view) " (view)",
      if (!info$storage) " (no storage)",
      if (!is.null(info$name)) paste0(" '", info$name, "'")
    )
  })
}

#' @rdname print.ggml_tensor
#' @export
print.ggml_context <- function(x, ...) print_handle(x)

#' @rdname print.ggml_tensor
#' @export
format.ggml_context <- function(x, ...) {
  describe_handle(x, "context", {
    usage <- rs_context_usage(x)
    sprintf(
      "%d tensors, %.2f of %.2f MB used%s", usage$tensors, usage$used / 1024^2, usage$total / 1024^2,
      if (usage$no_alloc) ", no_alloc" else ""
    )
  })
}

# An object that is gone is no reason for print() to fail.
describe_handle <- function(x, what, text) {
  text <- tryCatch(text, ggmlr_error_freed = function(e) "freed")
  paste0("<ggml ", what, ": ", text, ">")
}

print_handle <- function(x) {
  writeLines(format(x))
  invisible(x)
}
