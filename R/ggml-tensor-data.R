# Values in and out of tensors.

#' Read and write the values of a tensor
#'
#' Values travel in logical order (`ne0` fastest, as in an R matrix), whatever
#' the strides of a view are, and whichever device holds them. `ggml_set_f32()`
#' and `ggml_get_f32()` take floating point tensors (F32, and F16, BF16, F64 with
#' conversion), `ggml_set_i32()` and `ggml_get_i32()` integer ones (I32, and I8,
#' I16, I64). Writing needs exactly as many numbers as the tensor has elements.
#'
#' The `_nd` functions read and write one element by its 0-based index, of any
#' type that does not store blocks. `ggml_set_zero()` sets every byte to zero,
#' `ggml_tensor_set_f32_scalar()` every element to one number. `ggml_tensor_copy()`
#' copies the bytes of `src` into `dst`, which must have the same size.
#' `ggml_cpu_add()` and `ggml_cpu_mul()` combine two F32 tensors of one length at
#' once, without a graph.
#'
#' The result of an operator has values only after a graph with it was computed.
#'
#' @param tensor,a,b,dst,src Tensors.
#' @param data Numbers, one for each element. Missing values become NaN; integer
#'   tensors refuse them, and numbers that are not whole or out of range.
#' @param value One number.
#' @param i0,i1,i2,i3 Index of an element, from 0.
#' @return Getters: a numeric or integer vector. An I64 value beyond the range of
#'   R integers is an error in `ggml_get_i32()`; `ggml_get_f32_nd()` reads it.
#'   `ggml_tensor_data_ptr()`: the address of the first element as a number, to
#'   find out whether tensors share memory. Setters: `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 2)
#' ggml_set_f32(a, c(1, 2, 3, 4))
#' ggml_set_f32_nd(a, 1, 1, value = 40)
#' ggml_get_f32(a)
#' matrix(ggml_get_f32(a), 2)
#' ggml_free(ctx)
ggml_set_f32 <- function(tensor, data) {
  rs_tensor_set(tensor, data, "f32")
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_get_f32 <- function(tensor) rs_tensor_get(tensor, "f32")

#' @rdname ggml_set_f32
#' @export
ggml_set_i32 <- function(tensor, data) {
  rs_tensor_set(tensor, data, "i32")
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_get_i32 <- function(tensor) rs_tensor_get(tensor, "i32")

#' @rdname ggml_set_f32
#' @export
ggml_set_zero <- function(tensor) {
  rs_tensor_zero(tensor)
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_tensor_set_f32_scalar <- function(tensor, value) {
  rs_tensor_fill(tensor, value, "f32")
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_set_f32_nd <- function(tensor, i0, i1 = 0, i2 = 0, i3 = 0, value) {
  rs_tensor_set_at(tensor, list(i0, i1, i2, i3), value)
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_get_f32_nd <- function(tensor, i0, i1 = 0, i2 = 0, i3 = 0) {
  rs_tensor_get_at(tensor, list(i0, i1, i2, i3), "f32")
}

#' @rdname ggml_set_f32
#' @export
ggml_set_i32_nd <- function(tensor, i0, i1 = 0, i2 = 0, i3 = 0, value) {
  rs_tensor_set_at(tensor, list(i0, i1, i2, i3), value)
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_get_i32_nd <- function(tensor, i0, i1 = 0, i2 = 0, i3 = 0) {
  rs_tensor_get_at(tensor, list(i0, i1, i2, i3), "i32")
}

#' @rdname ggml_set_f32
#' @export
ggml_tensor_copy <- function(dst, src) {
  rs_tensor_copy(dst, src)
  invisible(NULL)
}

#' @rdname ggml_set_f32
#' @export
ggml_cpu_add <- function(a, b) rs_tensor_combine(a, b, "add")

#' @rdname ggml_set_f32
#' @export
ggml_cpu_mul <- function(a, b) rs_tensor_combine(a, b, "mul")

#' @rdname ggml_set_f32
#' @export
ggml_tensor_data_ptr <- function(tensor) rs_tensor_address(tensor)

#' The free parameter block of a tensor
#'
#' Each tensor carries 64 bytes that a script may use as it likes: as raw bytes,
#' or as 16 integers or 16 single precision numbers. The operators of this
#' package keep their parameters elsewhere, so the block changes nothing.
#'
#' @param tensor A tensor.
#' @param params A raw vector of at most 64 bytes; further bytes stay as they are.
#' @param index Position, 0 to 15.
#' @param value One number.
#' @return `ggml_get_op_params()`: 64 raw bytes; the other getters: one number.
#'   Setters: `NULL`, invisibly.
#' @export
#' @examples
#' ctx <- ggml_init()
#' t <- ggml_new_f32(ctx, 1)
#' ggml_set_op_params_i32(t, 0, 7L)
#' ggml_set_op_params_f32(t, 1, 0.5)
#' ggml_get_op_params_i32(t, 0)
#' ggml_get_op_params_f32(t, 1)
#' ggml_free(ctx)
ggml_get_op_params <- function(tensor) rs_tensor_op_params(tensor)

#' @rdname ggml_get_op_params
#' @export
ggml_set_op_params <- function(tensor, params) {
  if (!is.raw(params) || length(params) > 64L) {
    ggmlr_abort(
      "argument", "params must be a raw vector of at most 64 bytes",
      arg = "params", got = show_value(params)
    )
  }
  rs_tensor_set_op_params(tensor, 0L, params)
  invisible(NULL)
}

#' @rdname ggml_get_op_params
#' @export
ggml_get_op_params_i32 <- function(tensor, index) {
  at <- op_param_at(index)
  readBin(rs_tensor_op_params(tensor)[at + 1:4], "integer", endian = "little")
}

#' @rdname ggml_get_op_params
#' @export
ggml_get_op_params_f32 <- function(tensor, index) {
  at <- op_param_at(index)
  readBin(rs_tensor_op_params(tensor)[at + 1:4], "numeric", size = 4L, endian = "little")
}

#' @rdname ggml_get_op_params
#' @export
ggml_set_op_params_i32 <- function(tensor, index, value) {
  whole <- is.numeric(value) && length(value) == 1L && !is.na(value) &&
    value == round(value) && abs(value) <= .Machine$integer.max
  if (!whole) {
    ggmlr_abort("argument", "value must be one whole number of 32 bits", arg = "value")
  }
  bytes <- writeBin(as.integer(value), raw(), endian = "little")
  rs_tensor_set_op_params(tensor, op_param_at(index), bytes)
  invisible(NULL)
}

#' @rdname ggml_get_op_params
#' @export
ggml_set_op_params_f32 <- function(tensor, index, value) {
  if (!is.numeric(value) || length(value) != 1L) {
    ggmlr_abort("argument", "value must be one number", arg = "value")
  }
  bytes <- writeBin(as.numeric(value), raw(), size = 4L, endian = "little")
  rs_tensor_set_op_params(tensor, op_param_at(index), bytes)
  invisible(NULL)
}

op_param_at <- function(index) {
  if (!is.numeric(index) || length(index) != 1L || !index %in% 0:15) {
    ggmlr_abort(
      "argument", "Index out of range (0-15)",
      arg = "index", expected = "0 to 15", got = show_value(index)
    )
  }
  as.integer(index) * 4L
}
