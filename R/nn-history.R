# The record of a fit: one value per completed epoch and measure.

nn_history_measures <- c("train_loss", "train_accuracy", "val_loss", "val_accuracy")

nn_history <- function() {
  empty <- stats::setNames(rep(list(numeric()), 4L), nn_history_measures)
  structure(c(empty, list(epochs = integer())), class = "ggml_history")
}

nn_history_add <- function(history, row) {
  for (name in nn_history_measures) history[[name]] <- c(history[[name]], row[[name]])
  history$epochs <- seq_along(history$train_loss)
  history
}

nn_history_replace_last <- function(history, row) {
  n <- length(history$epochs)
  for (name in nn_history_measures) history[[name]][n] <- row[[name]]
  history
}

# The last epoch as a plain list, empty before the first.
nn_history_last <- function(history) {
  n <- length(history$epochs)
  if (n == 0L) return(list())
  lapply(unclass(history)[nn_history_measures], function(values) values[n])
}

nn_check_history <- function(history, arg = "x") {
  fields <- c("epochs", nn_history_measures)
  fine <- is.list(history) && all(vapply(fields, function(name) {
    is.numeric(history[[name]]) && length(history[[name]]) == length(history$epochs)
  }, NA))
  if (!fine) {
    nn_abort("argument", paste0(
      "`", arg, "` has a damaged training history: it needs the numeric elements ",
      nn_show_names(fields), ", all of one length."
    ), arg = arg)
  }
}

nn_history_validated <- function(history) any(!is.na(history$val_loss))

#' Training history
#'
#' The record that [ggml_fit()] leaves in the element `history` of the model. It can
#' be printed, plotted and turned into a data frame.
#'
#' `train_loss` and `train_accuracy` are means over the batches of an epoch, measured
#' while the weights change; `val_loss` and `val_accuracy` are measured at its end, as
#' [ggml_evaluate()] would. Without validation they are `NA`; so is the accuracy of a
#' model that has none.
#'
#' `plot()` draws one panel for the loss and, where there is one, another for the
#' accuracy: training in blue, validation in red.
#'
#' @param object A fitted model, or a history.
#' @param x A history.
#' @param format `"wide"`: one row per epoch. `"long"`: one row per epoch, measure and
#'   split.
#' @param row.names,optional As for [as.data.frame()].
#' @param ... For methods. `plot()` passes them on to [graphics::plot.default()].
#' @return `ggml_training_history()`: a data frame with columns `epoch`, `train_loss`,
#'   `train_accuracy` and, if there was validation, `val_loss` and `val_accuracy`; in long
#'   format `epoch`, `metric`, `split` and `value`. `NULL` with a warning if the model was
#'   not trained. `as.data.frame()`: the wide format with all columns. `print()` and
#'   `plot()`: the history, invisibly.
#' @export
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(100), 50)
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 2) |>
#'   ggml_compile(loss = "mse")
#' model <- ggml_fit(model, x, x[, 1], epochs = 4, validation_split = 0.2, verbose = 0)
#' model$history
#' ggml_training_history(model, "long")
#' plot(model$history)
ggml_training_history <- function(object, format = c("wide", "long"), ...) {
  nn_check_dots(...)
  formats <- list(wide = "wide", long = "long")
  format <- nn_check_choice(nn_first(format), "format", formats, "format")
  if (inherits(object, "ggml_sequential_model")) nn_check_model(object, "object")
  if (!is.list(object)) {
    nn_abort("argument", paste0(
      "`object` must be a fitted model or a history, not ", nn_show(object), "."
    ), arg = "object")
  }
  history <- if (inherits(object, "ggml_history")) object else object$history
  if (!inherits(history, "ggml_history")) {
    ggmlr_warn("no_history", "There is no training history: train with ggml_fit() first.")
    return(NULL)
  }
  nn_check_history(history, "object")
  wide <- as.data.frame(history)
  if (!nn_history_validated(history)) {
    wide <- wide[c("epoch", "train_loss", "train_accuracy")]
  }
  if (format == "wide") wide else nn_history_long(wide)
}

nn_history_long <- function(wide) {
  measures <- names(wide)[-1L]
  parts <- lapply(measures, function(name) {
    data.frame(
      epoch = wide$epoch,
      metric = rep(sub("^(train|val)_", "", name), nrow(wide)),
      split = rep(if (startsWith(name, "val_")) "val" else "train", nrow(wide)),
      value = wide[[name]],
      stringsAsFactors = FALSE
    )
  })
  do.call(rbind, parts)
}

#' @rdname ggml_training_history
#' @export
as.data.frame.ggml_history <- function(x, row.names = NULL, # nolint: object_name
                                       optional = FALSE, ...) {
  nn_check_history(x)
  data.frame(
    epoch = x$epochs, train_loss = x$train_loss, train_accuracy = x$train_accuracy,
    val_loss = x$val_loss, val_accuracy = x$val_accuracy, row.names = row.names
  )
}

#' @rdname ggml_training_history
#' @export
print.ggml_history <- function(x, ...) {
  nn_check_history(x)
  n <- length(x$epochs)
  cat("Training History (", n, if (n == 1L) " epoch)\n" else " epochs)\n", sep = "")
  last <- nn_history_last(x)
  labels <- c(
    train_loss = "Final train loss:", train_accuracy = "Final train accuracy:",
    val_loss = "Final val loss:", val_accuracy = "Final val accuracy:"
  )
  for (name in names(last)) {
    if (is.na(last[[name]])) next
    cat("  ", formatC(labels[[name]], width = -22L),
      formatC(last[[name]], digits = 4L, format = "f"), "\n",
      sep = ""
    )
  }
  invisible(x)
}

#' @rdname ggml_training_history
#' @export
plot.ggml_history <- function(x, ...) {
  nn_check_history(x)
  if (length(x$epochs) == 0L) {
    nn_abort("argument", "The history has no completed epoch to plot.", arg = "x")
  }
  with_accuracy <- any(is.finite(c(x$train_accuracy, x$val_accuracy)))
  old <- graphics::par(mfrow = c(1L, 1L + with_accuracy))
  on.exit(graphics::par(old))
  nn_plot_measure(x$epochs, x$train_loss, x$val_loss, "Loss", ...)
  if (with_accuracy) {
    nn_plot_measure(x$epochs, x$train_accuracy, x$val_accuracy, "Accuracy", ...)
  }
  invisible(x)
}

nn_plot_measure <- function(epochs, train, validation, title, ...) {
  values <- c(train, validation)
  values <- values[is.finite(values)]
  defaults <- list(
    x = epochs, y = train, type = "n", main = title, xlab = "Epoch", ylab = title,
    ylim = if (length(values)) range(values) else c(0, 1)
  )
  given <- list(...)
  do.call(graphics::plot.default, c(defaults[setdiff(names(defaults), names(given))], given))
  # A single epoch makes a point, not a line.
  graphics::lines(epochs, train, type = "o", pch = 20L, col = "blue")
  if (any(is.finite(validation))) {
    graphics::lines(epochs, validation, type = "o", pch = 20L, col = "red")
    graphics::legend(
      if (title == "Loss") "topright" else "bottomright",
      legend = c("train", "validation"), col = c("blue", "red"), lty = 1L, bty = "n"
    )
  }
}
