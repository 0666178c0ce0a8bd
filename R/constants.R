# Numbers that are part of the interface: they are ggml's own, and are found in
# files and in scripts.

#' Element types
#'
#' Type of the elements of a tensor, for example in [ggml_new_tensor_1d()].
#' Functions with an argument `type` also take the name, in upper or lower case
#' (`"f16"`).
#'
#' Plain types are `F32`, `F16`, `BF16`, `F64` and the integers `I8`, `I16`,
#' `I32`, `I64`. All others store blocks of elements that share a scale; a row of
#' such a tensor must be a multiple of the block (see [ggml_blck_size()]).
#'
#' @format An integer.
#' @name ggml_types
#' @seealso [ggml_type_name()]
#' @examples
#' ggml_type_name(GGML_TYPE_Q4_K)
#' ggml_type_sizef(GGML_TYPE_Q4_0)
NULL

#' @rdname ggml_types
#' @export
GGML_TYPE_F32 <- 0L
#' @rdname ggml_types
#' @export
GGML_TYPE_F16 <- 1L
#' @rdname ggml_types
#' @export
GGML_TYPE_BF16 <- 30L
#' @rdname ggml_types
#' @export
GGML_TYPE_F64 <- 28L
#' @rdname ggml_types
#' @export
GGML_TYPE_I8 <- 24L
#' @rdname ggml_types
#' @export
GGML_TYPE_I16 <- 25L
#' @rdname ggml_types
#' @export
GGML_TYPE_I32 <- 26L
#' @rdname ggml_types
#' @export
GGML_TYPE_I64 <- 27L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q1_0 <- 41L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q4_0 <- 2L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q4_1 <- 3L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q5_0 <- 6L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q5_1 <- 7L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q8_0 <- 8L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q8_1 <- 9L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q2_K <- 10L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q3_K <- 11L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q4_K <- 12L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q5_K <- 13L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q6_K <- 14L
#' @rdname ggml_types
#' @export
GGML_TYPE_Q8_K <- 15L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ2_XXS <- 16L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ2_XS <- 17L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ3_XXS <- 18L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ1_S <- 19L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ4_NL <- 20L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ3_S <- 21L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ2_S <- 22L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ4_XS <- 23L
#' @rdname ggml_types
#' @export
GGML_TYPE_IQ1_M <- 29L
#' @rdname ggml_types
#' @export
GGML_TYPE_TQ1_0 <- 34L
#' @rdname ggml_types
#' @export
GGML_TYPE_TQ2_0 <- 35L
#' @rdname ggml_types
#' @export
GGML_TYPE_MXFP4 <- 39L
#' @rdname ggml_types
#' @export
GGML_TYPE_NVFP4 <- 40L

#' Choices of operators
#'
#' Values for the arguments of operators that choose between variants: the gated
#' linear unit, the rotary embedding, the sort order, the interpolation of
#' `ggml_upscale()`, the kind of pooling, and the number of tasks of a custom
#' operator.
#'
#' @format An integer.
#' @name ggml_choices
#' @examples
#' GGML_SORT_ORDER_DESC
NULL

#' @rdname ggml_choices
#' @export
GGML_GLU_OP_REGLU <- 0L
#' @rdname ggml_choices
#' @export
GGML_GLU_OP_GEGLU <- 1L
#' @rdname ggml_choices
#' @export
GGML_GLU_OP_SWIGLU <- 2L
#' @rdname ggml_choices
#' @export
GGML_GLU_OP_SWIGLU_OAI <- 3L
#' @rdname ggml_choices
#' @export
GGML_GLU_OP_GEGLU_ERF <- 4L
#' @rdname ggml_choices
#' @export
GGML_GLU_OP_GEGLU_QUICK <- 5L
#' @rdname ggml_choices
#' @export
GGML_OP_POOL_MAX <- 0L
#' @rdname ggml_choices
#' @export
GGML_OP_POOL_AVG <- 1L
#' @rdname ggml_choices
#' @export
GGML_ROPE_TYPE_NORM <- 0L
#' @rdname ggml_choices
#' @export
GGML_ROPE_TYPE_NEOX <- 2L
#' @rdname ggml_choices
#' @export
GGML_ROPE_TYPE_MROPE <- 8L
#' @rdname ggml_choices
#' @export
GGML_ROPE_TYPE_VISION <- 24L
#' @rdname ggml_choices
#' @export
GGML_SCALE_MODE_NEAREST <- 0L
#' @rdname ggml_choices
#' @export
GGML_SCALE_MODE_BILINEAR <- 1L
#' @rdname ggml_choices
#' @export
GGML_SCALE_MODE_BICUBIC <- 2L
#' @rdname ggml_choices
#' @export
GGML_SORT_ORDER_ASC <- 0L
#' @rdname ggml_choices
#' @export
GGML_SORT_ORDER_DESC <- 1L
#' @rdname ggml_choices
#' @export
GGML_N_TASKS_MAX <- -1L
