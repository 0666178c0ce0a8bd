# Constructors of the normalisation layers.

#' Normalisation layers
#'
#' Each function adds a layer that rescales the features of every position of
#' every sample, with a learnt factor `gamma` (starts at 1) and a learnt shift
#' `beta` (starts at 0) per feature:
#'
#' * `ggml_layer_rms_norm()`: `x / sqrt(mean(x^2) + eps) * gamma + beta`
#'   (Zhang and Sennrich 2019, here with a shift).
#' * `ggml_layer_layer_norm()`: `(x - mean(x)) / sqrt(var(x) + eps) * gamma + beta`
#'   with the population variance (Ba, Kiros and Hinton 2016).
#' * `ggml_layer_batch_norm()`: the same formula as `ggml_layer_rms_norm()`. In
#'   spite of its name it keeps no running statistics of batches, so it does
#'   the same while training and predicting, for one sample as for many.
#'
#' Means go over the features of one position: the last axis of the R array.
#'
#' @inheritParams ggml_layer_dense
#' @param eps Small positive number that keeps the root away from 0.
#' @inherit ggml_layer_dense return
#' @references
#' Ba, J. L., Kiros, J. R. and Hinton, G. E. (2016) Layer normalization.
#' arXiv:1607.06450.
#'
#' Zhang, B. and Sennrich, R. (2019) Root mean square layer normalization.
#' *NeurIPS*.
#' @export
#' @examples
#' ggml_model_sequential() |>
#'   ggml_layer_dense(16, input_shape = 4) |>
#'   ggml_layer_layer_norm() |>
#'   ggml_layer_dense(1)
ggml_layer_rms_norm <- function(model, eps = 1e-5, name = NULL, trainable = TRUE) {
  nn_add_layer(model, "rms_norm", list(eps = nn_check_eps(eps)), name, trainable)
}

#' @rdname ggml_layer_rms_norm
#' @export
ggml_layer_layer_norm <- function(model, eps = 1e-5, name = NULL, trainable = TRUE) {
  nn_add_layer(model, "layer_norm", list(eps = nn_check_eps(eps)), name, trainable)
}

#' @rdname ggml_layer_rms_norm
#' @export
ggml_layer_batch_norm <- function(model, eps = 1e-5, name = NULL, trainable = TRUE) {
  nn_add_layer(model, "batch_norm", list(eps = nn_check_eps(eps)), name, trainable)
}
