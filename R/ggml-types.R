# Element types and operator codes as tables.

#' What an element type is
#'
#' `ggml_type_size()` is the number of bytes of a block, `ggml_blck_size()` the
#' number of elements in it (1 for plain types), `ggml_type_sizef()` the bytes per
#' element. `ggml_ftype_to_ggml_type()` translates the number by which a model
#' file says how it is quantised.
#'
#' @param type A [GGML_TYPE_F32][ggml_types] constant or the name of a type.
#' @param ftype One whole number.
#' @return `ggml_type_name()`: a string in lower case (`"q4_K"`).
#'   `ggml_is_quantized()`: a logical. `ggml_ftype_to_ggml_type()`: a type, `NA`
#'   for numbers without one. The others: a number.
#' @export
#' @examples
#' ggml_type_name(GGML_TYPE_Q4_0)
#' ggml_type_size(GGML_TYPE_Q4_0)
#' ggml_blck_size(GGML_TYPE_Q4_0)
#' ggml_type_sizef(GGML_TYPE_Q4_0)
#' ggml_is_quantized("F16")
ggml_type_name <- function(type) rs_tensor_type(type)$name

#' @rdname ggml_type_name
#' @export
ggml_type_size <- function(type) rs_tensor_type(type)$size

#' @rdname ggml_type_name
#' @export
ggml_type_sizef <- function(type) {
  info <- rs_tensor_type(type)
  info$size / info$block
}

#' @rdname ggml_type_name
#' @export
ggml_blck_size <- function(type) rs_tensor_type(type)$block

#' @rdname ggml_type_name
#' @export
ggml_is_quantized <- function(type) rs_tensor_type(type)$quantized

#' @rdname ggml_type_name
#' @export
ggml_ftype_to_ggml_type <- function(ftype) {
  if (!is.numeric(ftype) || length(ftype) != 1L) {
    ggmlr_abort("argument", "ftype must be one number", arg = "ftype", got = show_value(ftype))
  }
  from <- c(0:3, 7:27)
  to <- c(0:3, 8L, 6L, 7L, 10:14, 16:23, 29L, 30L, 39:41)
  to[match(ftype, from)]
}

#' Codes and names of operators
#'
#' Operators and element-wise functions have numbers, which are ggml's.
#' `ggml_op_name()` and `ggml_unary_op_name()` give the name for a number,
#' `ggml_op_symbol()` a short formula, and `ggml_op_can_inplace()` tells whether an
#' allocator may let the operator write over its first source. Numbers out of
#' range give `"unknown"`.
#'
#' `ggml_op_desc()` is the name of the operator that makes a tensor, for
#' element-wise functions and gated units that of the function;
#' `ggml_get_unary_op()` is the number of the element-wise function.
#'
#' @param op One whole number.
#' @param tensor A tensor.
#' @return A string; `ggml_op_can_inplace()`: a logical; `ggml_get_unary_op()`: an
#'   integer, an error for tensors of other operators.
#' @export
#' @examples
#' ggml_op_name(2)
#' ggml_op_symbol(2)
#' ggml_unary_op_name(6)
#' ggml_op_can_inplace(2)
#' ctx <- ggml_init()
#' y <- ggml_relu(ctx, ggml_new_f32(ctx, 1))
#' ggml_op_desc(y)
#' ggml_get_unary_op(y)
#' ggml_free(ctx)
ggml_op_name <- function(op) table_entry(rs_diag_ops()$name, op, "unknown")

#' @rdname ggml_op_name
#' @export
ggml_op_symbol <- function(op) table_entry(rs_diag_ops()$symbol, op, "unknown")

#' @rdname ggml_op_name
#' @export
ggml_unary_op_name <- function(op) table_entry(rs_diag_ops()$unary, op, "unknown")

#' @rdname ggml_op_name
#' @export
ggml_op_can_inplace <- function(op) table_entry(rs_diag_ops()$in_place, op, FALSE)

#' @rdname ggml_op_name
#' @export
ggml_op_desc <- function(tensor) rs_tensor_info(tensor)$op_desc

#' @rdname ggml_op_name
#' @export
ggml_get_unary_op <- function(tensor) {
  name <- rs_tensor_info(tensor)$op_desc
  code <- match(name, rs_diag_ops()$unary)
  if (is.na(code)) {
    ggmlr_abort(
      "argument", "the tensor is not made by an element-wise function",
      arg = "tensor", got = name
    )
  }
  code - 1L
}

# Entry for a code from 0.
table_entry <- function(table, code, otherwise) {
  if (!is.numeric(code) || length(code) != 1L || is.na(code) || code != round(code)) {
    ggmlr_abort(
      "argument", paste0("op must be one whole number, got ", show_value(code)),
      arg = "op", got = show_value(code)
    )
  }
  if (code < 0 || code >= length(table)) otherwise else table[[code + 1]]
}
