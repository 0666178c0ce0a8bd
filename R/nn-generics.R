# The same verbs under the names that other modelling packages use.

#' @importFrom generics compile
#' @export
generics::compile

#' @importFrom generics fit
#' @export
generics::fit

#' @rdname ggml_compile
#' @export
compile.ggml_sequential_model <- function(object, optimizer = "adam",
                                          loss = "categorical_crossentropy",
                                          metrics = c("accuracy"), ...) {
  ggml_compile(object, optimizer = optimizer, loss = loss, metrics = metrics, ...)
}

#' @rdname ggml_fit
#' @export
fit.ggml_sequential_model <- function(object, x, y, epochs = 1L, batch_size = 32L,
                                      validation_split = 0, validation_data = NULL,
                                      verbose = 1L, shuffle = TRUE, callbacks = list(),
                                      ...) {
  ggml_fit(object,
    x = nn_given(x), y = nn_given(y), epochs = epochs, batch_size = batch_size,
    validation_split = validation_split, validation_data = validation_data,
    verbose = verbose, shuffle = shuffle, callbacks = callbacks, ...
  )
}

#' Evaluate a model
#'
#' Generic function for measuring a model on data; the method for models of this
#' package is [ggml_evaluate()]. Package keras3 has a function of the same name: when
#' both packages are attached, the later one hides the other. Then write
#' `ggmlR::evaluate()`.
#'
#' @param object A model.
#' @param x,y Data as for [ggml_fit()].
#' @param batch_size Number of rows that are computed together; `NULL` means 32.
#' @param ... Passed on to methods; here `sample_weight` and `class_weight`.
#' @return See [ggml_evaluate()].
#' @export
#' @examples
#' x <- matrix(rnorm(20), 10)
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 2) |>
#'   compile(loss = "mse") |>
#'   fit(x, x[, 1], verbose = 0)
#' evaluate(model, x, x[, 1])
evaluate <- function(object, ...) UseMethod("evaluate")

#' @rdname evaluate
#' @export
evaluate.ggml_sequential_model <- function(object, x, y, batch_size = NULL, ...) {
  ggml_evaluate(object, x = nn_given(x), y = nn_given(y), batch_size = batch_size, ...)
}

#' @rdname ggml_evaluate
#' @importFrom stats predict
#' @export
predict.ggml_sequential_model <- function(object, x, batch_size = NULL, ...) {
  ggml_predict(object, x = nn_given(x), batch_size = batch_size, ...)
}
