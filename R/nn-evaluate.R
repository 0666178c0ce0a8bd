# Using a model: evaluation and prediction.

#' Evaluate a model and predict with it
#'
#' `ggml_evaluate()` measures loss and accuracy on data with known targets, on all
#' rows. `ggml_predict()` returns the outputs, `ggml_predict_classes()` the number
#' of the largest output of each row. Dropout does not act here.
#'
#' For prediction a row of `x` may be incomplete: if it holds a missing or infinite
#' value, its results are `NA`. `ggml_evaluate()` refuses such rows.
#'
#' @param model,object A compiled model.
#' @param x,y Data as for [ggml_fit()].
#' @param batch_size Number of rows that are computed together; `NULL` means 32. It
#'   does not change the results.
#' @param sample_weight,class_weight Weights of the rows, as for [ggml_fit()]. They
#'   act on the loss only.
#' @param ... For methods; unknown arguments are errors.
#' @return `ggml_evaluate()`: a list of `loss`, `accuracy` and `n_samples`, and of those
#'   of `mae`, `mse` and `rmse` that the model was compiled with. See
#'   [ggml_compile()] for their meaning.
#'
#'   `ggml_predict()`: a matrix with one row per sample and one column per output (an
#'   array for outputs with several axes). Row names of `x` are kept.
#'
#'   `ggml_predict_classes()`: integers from **1** to the number of outputs, the first
#'   of equals. With one output and `"binary_crossentropy"`: 1 for outputs up to 0.5
#'   (label 0, first level), else 2 (label 1, second level); one output with another loss
#'   is an error. `levels(f)[...]` gives the names if the model was trained on a factor
#'   `f`.
#' @export
#' @examples
#' set.seed(1)
#' x <- as.matrix(iris[, 1:4])
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(16, activation = "relu", input_shape = 4) |>
#'   ggml_layer_dense(3, activation = "softmax") |>
#'   ggml_compile()
#' model <- ggml_fit(model, x, iris$Species, epochs = 20, verbose = 0)
#' ggml_evaluate(model, x, iris$Species)
#' ggml_predict(model, x[1:3, ])
#' levels(iris$Species)[ggml_predict_classes(model, x[c(1, 51, 101), ])]
ggml_evaluate <- function(model, ...) UseMethod("ggml_evaluate")

#' @export
ggml_evaluate.default <- function(model, ...) nn_check_model(model)

#' @rdname ggml_evaluate
#' @export
ggml_evaluate.ggml_sequential_model <- function(model, x, y, batch_size = 32,
                                                sample_weight = NULL,
                                                class_weight = NULL, ...) {
  nn_check_dots(...)
  nn_check_compiled(model)
  batch_size <- nn_check_batch_size(batch_size)
  loss <- model$compilation$loss
  x <- nn_check_x(nn_given(x), model$input_shape)
  y <- nn_check_y(nn_given(y), dim(x)[1L], nn_output_shape(model), loss)
  weights <- nn_row_weights(y, loss, sample_weight, class_weight)
  measured <- rs_nn_eval(
    nn_spec(model), nn_weights(model), nn_engine_compilation(model),
    nn_data(x, y, weights), batch_size, model$compilation$backend_used
  )
  result <- list(
    loss = measured$loss, accuracy = measured$accuracy, n_samples = dim(x)[1L]
  )
  wanted <- model$compilation$metrics
  if ("mae" %in% wanted) result$mae <- measured$mae
  if ("mse" %in% wanted) result$mse <- measured$mse
  if ("rmse" %in% wanted) result$rmse <- sqrt(measured$mse)
  result
}

# NULL for an argument that was left out; the check of x or y then names it.
nn_given <- function(value) if (missing(value)) NULL else value

nn_check_batch_size <- function(batch_size) {
  if (is.null(batch_size)) 32L else nn_check_count(batch_size, "batch_size")
}

#' @rdname ggml_evaluate
#' @export
ggml_predict <- function(model, ...) UseMethod("ggml_predict")

#' @export
ggml_predict.default <- function(model, ...) nn_check_model(model)

#' @rdname ggml_evaluate
#' @export
ggml_predict.ggml_sequential_model <- function(model, x, batch_size = 32L, ...) {
  nn_check_dots(...)
  nn_check_compiled(model)
  batch_size <- nn_check_batch_size(batch_size)
  x <- nn_given(x)
  names <- if (is.data.frame(x) && .row_names_info(x) <= 0L) NULL else rownames(x)
  x <- nn_check_x(x, model$input_shape, finite = FALSE)
  result <- rs_nn_predict(
    nn_spec(model), nn_weights(model), list(x), batch_size, model$compilation$backend_used
  )[[1L]]
  nn_blank_rows(nn_name_rows(result, names), x)
}

nn_name_rows <- function(result, names) {
  if (!is.null(names) && length(names) == dim(result)[1L]) {
    dimnames(result) <- c(list(names), rep(list(NULL), length(dim(result)) - 1L))
  }
  result
}

# A maximum or a comparison inside the model can turn NaN into an ordinary number,
# so unusable rows are marked here.
nn_blank_rows <- function(result, x) {
  if (is.finite(sum(x))) return(result)
  flat <- x
  dim(flat) <- c(dim(x)[1L], length(x) / dim(x)[1L])
  bad <- which(rowSums(!is.finite(flat)) > 0)
  wide <- result
  dim(wide) <- c(dim(x)[1L], length(result) / dim(x)[1L])
  wide[bad, ] <- NA_real_
  result[] <- wide
  result
}

#' @rdname ggml_evaluate
#' @export
ggml_predict_classes <- function(model, x, batch_size = 32L) {
  nn_check_compiled(model)
  single <- identical(as.integer(nn_output_shape(model)), 1L)
  if (single && model$compilation$loss != "binary_crossentropy") {
    nn_abort("argument", paste0(
      "ggml_predict_classes() needs at least two outputs, or binary_crossentropy; the ",
      "model has one output and loss \"", model$compilation$loss, "\"."
    ), arg = "model")
  }
  result <- ggml_predict(model, nn_given(x), batch_size = batch_size)
  if (length(dim(result)) != 2L) {
    nn_abort("shape", paste0(
      "ggml_predict_classes() needs one row of outputs per sample, but the model's ",
      "outputs have shape ", nn_show_dim(dim(result)[-1L]), "."
    ), arg = "model")
  }
  result <- unname(result)
  if (single) return(1L + (result[, 1L] > 0.5))
  known <- !is.na(rowSums(result))
  classes <- rep(NA_integer_, nrow(result))
  classes[known] <- max.col(result[known, , drop = FALSE], ties.method = "first")
  classes
}
