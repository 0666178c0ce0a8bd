# ggml_fit(): checks what the user gave and hands data and settings to the
# training loop of nn-train.R.

#' Train a model
#'
#' Trains a compiled model on all of `x` and `y` and returns it with changed
#' weights: **assign the result**. Training goes on from the weights that the model
#' has; the optimizer starts anew.
#'
#' The rows are put in a new random order for every epoch, unless `shuffle = FALSE`.
#' If their number is no multiple of `batch_size`, the last batch of an epoch is
#' shorter; no row is left out. Shuffling, dropout and the choice of validation rows
#' follow `set.seed()`, whatever the number of threads.
#'
#' Ctrl-C ends the training, not the call: the model and its history are returned as
#' they stand after the last whole step, with a warning of class
#' `ggmlr_warning_interrupted`. If the loss becomes `NaN`, training ends with the
#' last finite weights and a warning of class `ggmlr_warning_nan_loss`. The history
#' has the epochs that were completed.
#'
#' @param model,object A compiled model, see [ggml_compile()].
#' @param x Training data, samples first: a numeric matrix with one row per sample,
#'   a data frame with numeric columns, or an array `[N, ...]` for samples with
#'   several axes. Integer and logical values are converted. A vector is one sample
#'   if it has the length of one. Missing and infinite values are errors.
#' @param y Targets: a matrix with one row per sample and one column per output, or
#'   a vector for one output. With `"categorical_crossentropy"` one-hot rows, a
#'   factor whose levels are the classes, or a vector of labels counted from 0; with
#'   `"binary_crossentropy"` and one output also a factor with two levels.
#' @param epochs Number of passes over the data; 0 changes nothing.
#' @param batch_size Number of rows per step.
#' @param validation_split Share of the rows, in `[0, 1)`, that is set aside to
#'   measure the model after each epoch. With `shuffle` they are drawn at random once
#'   per fit, otherwise they are the last ones.
#' @param validation_data `list(x, y)` to measure on instead; overrides
#'   `validation_split`. Validation is never weighted.
#' @param class_weight Named numeric vector or list, one weight for every class; the
#'   names count classes from 0: `c("0" = 1, "1" = 5)`.
#' @param sample_weight One weight per row of `x`, by which its loss is multiplied.
#'   With `loss = "mse"` also a matrix in the shape of `y` with a weight for each
#'   output; 0 leaves it out. Not together with `class_weight`.
#' @param verbose 0: silent. 1 or more: one line per epoch, `Epoch 1/10 - loss: ...`,
#'   on the standard output, and a progress bar in interactive sessions (by package
#'   cli if installed). Silent in documents made by knitr.
#' @param shuffle Whether to shuffle.
#' @param callbacks List of callbacks, see [ggml_callback_early_stopping()].
#' @param generator,steps_per_epoch,validation_generator,validation_steps For data
#'   that come batch by batch. Not supported yet: giving them is an error.
#' @param initial_epoch Added to the epoch numbers that callbacks see.
#' @param ... For methods; unknown arguments are errors.
#' @return The trained model, invisibly. Its element `history` has class
#'   `ggml_history`, see [ggml_training_history()].
#' @export
#' @examples
#' set.seed(1)
#' x <- as.matrix(iris[, 1:4])
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(16, activation = "relu", input_shape = 4) |>
#'   ggml_layer_dense(3, activation = "softmax") |>
#'   ggml_compile()
#' model <- ggml_fit(model, x, iris$Species, epochs = 5, validation_split = 0.2)
#' model$history
ggml_fit <- function(model, ...) {
  if (missing(model)) return(ggml_fit.default(NULL, ...))
  UseMethod("ggml_fit")
}

#' @rdname ggml_fit
#' @export
ggml_fit.default <- function(model, ...) {
  nn_check_model(model)
}

#' @rdname ggml_fit
#' @export
ggml_fit.ggml_sequential_model <- function(model, x = NULL, y = NULL, epochs = 1L,
                                           batch_size = 32L, validation_split = 0,
                                           validation_data = NULL, class_weight = NULL,
                                           sample_weight = NULL, verbose = 1L,
                                           shuffle = TRUE, callbacks = list(),
                                           generator = NULL, steps_per_epoch = NULL,
                                           initial_epoch = 0L,
                                           validation_generator = NULL,
                                           validation_steps = NULL, ...) {
  nn_check_dots(...)
  nn_check_compiled(model)
  nn_refuse_generators(
    generator = generator, steps_per_epoch = steps_per_epoch,
    validation_generator = validation_generator, validation_steps = validation_steps
  )
  settings <- list(
    epochs = nn_check_count(epochs, "epochs", min = 0L),
    batch_size = nn_check_count(batch_size, "batch_size"),
    initial_epoch = nn_check_count(initial_epoch, "initial_epoch", min = 0L),
    shuffle = nn_check_flag(shuffle, "shuffle"),
    verbose = nn_check_verbose(verbose),
    callbacks = nn_check_callbacks(callbacks),
    call = user_call()
  )
  if (as.double(settings$initial_epoch) + settings$epochs > .Machine$integer.max) {
    nn_abort("argument", paste0(
      "`initial_epoch` + `epochs` must be at most ", .Machine$integer.max, ", not ",
      initial_epoch, " + ", epochs, "."
    ), arg = "initial_epoch")
  }
  validation_split <- nn_check_fraction(validation_split, "validation_split")

  shape <- model$input_shape
  target <- nn_output_shape(model)
  loss <- model$compilation$loss
  x <- nn_check_x(x, shape)
  y <- nn_check_y(y, dim(x)[1L], target, loss)
  weights <- nn_row_weights(y, loss, sample_weight, class_weight)
  data <- if (is.null(validation_data)) {
    nn_split(x, y, weights, validation_split, settings$shuffle)
  } else {
    list(
      train = nn_data(x, y, weights),
      validation = nn_check_validation(validation_data, shape, target, loss)
    )
  }
  invisible(nn_train(model, data, settings))
}

nn_refuse_generators <- function(...) {
  given <- list(...)
  given <- names(given)[!vapply(given, is.null, logical(1L))]
  if (length(given)) {
    nn_abort("unsupported", paste0(
      "Training from a generator is not supported yet (`", given[1L], "`): pass the ",
      "data as `x` and `y`."
    ), arg = given[1L])
  }
}

nn_check_verbose <- function(verbose) {
  if (is.logical(verbose) && length(verbose) == 1L && !is.na(verbose)) {
    return(as.integer(verbose))
  }
  nn_check_count(verbose, "verbose", min = 0L)
}

nn_check_validation <- function(data, shape, target, loss) {
  arg <- "validation_data"
  if (!is.list(data) || is.data.frame(data) || length(data) != 2L) {
    nn_abort("argument", paste0(
      "`validation_data` must be list(x, y), not ", nn_show(data), "."
    ), arg = arg)
  }
  if (setequal(names(data), c("x", "y"))) data <- data[c("x", "y")]
  if (!is.null(names(data)) && !all(names(data) == c("x", "y") | names(data) == "")) {
    nn_abort("argument", paste0(
      "`validation_data` must be list(x, y) without other names, not with ",
      nn_show_names(names(data)), "."
    ), arg = arg)
  }
  x <- nn_check_x(data[[1L]], shape, "validation_data[[1]]")
  y <- nn_check_y(data[[2L]], dim(x)[1L], target, loss,
    arg = "validation_data[[2]]", arg_x = "validation_data[[1]]"
  )
  nn_data(x, y)
}

# The rows are mixed once before they are divided, else a file sorted by class
# would be validated on a class that was never seen.
nn_split <- function(x, y, weights, share, shuffle) {
  n <- dim(x)[1L]
  # A product such as 10 * (1 - 0.9) must not lose a row to rounding.
  n_train <- floor(n * (1 - share) + 1e-9)
  if (n_train < 1) {
    nn_abort("argument", paste0(
      "`validation_split` = ", format(share), " leaves none of the ", n,
      if (n == 1L) " row" else " rows", " for training."
    ), arg = "validation_split")
  }
  if (n_train == n) return(list(train = nn_data(x, y, weights), validation = NULL))
  rows <- if (shuffle) sample.int(n) else seq_len(n)
  train <- rows[seq_len(n_train)]
  held <- rows[seq(n_train + 1, n)]
  list(
    train = nn_data(nn_take(x, train), nn_take(y, train), nn_take(weights, train)),
    validation = nn_data(nn_take(x, held), nn_take(y, held))
  )
}
