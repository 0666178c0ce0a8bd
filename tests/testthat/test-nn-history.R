groups <- nn_groups()
trained <- function(epochs = 3, model = nn_classifier(), y = groups$y, split = 0.2) {
  ggml_fit(model, groups$x, y, epochs = epochs, validation_split = split, verbose = 0)
}

# Draws to a file and returns what was drawn, as text.
drawn <- function(history, ...) {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file, compress = FALSE, useKerning = FALSE)
  before <- graphics::par(no.readonly = TRUE)
  tryCatch(plot(history, ...), finally = {
    after <- graphics::par(no.readonly = TRUE)
    grDevices::dev.off()
  })
  expect_identical(after$mfrow, before$mfrow)
  text <- readLines(file, warn = FALSE)
  unlink(file)
  text
}
count <- function(text, what) sum(grepl(what, text, fixed = TRUE, useBytes = TRUE))

test_that("a history has one value per epoch and measure", {
  history <- trained()$history
  expect_s3_class(history, "ggml_history")
  expect_named(
    history, c("train_loss", "train_accuracy", "val_loss", "val_accuracy", "epochs")
  )
  expect_identical(history$epochs, 1:3)
  expect_true(all(lengths(history) == 3))
  expect_true(all(is.finite(unlist(history))))

  plain <- trained(split = 0)$history
  expect_true(all(is.na(plain$val_loss)), all(is.na(plain$val_accuracy)))
  regression <- trained(model = nn_linear(inputs = 4L), y = groups$class)$history
  expect_true(all(is.na(regression$train_accuracy)))
  unmeasured <- trained(model = nn_classifier(metrics = NULL))$history
  expect_true(all(is.na(unmeasured$train_accuracy)), all(is.na(unmeasured$val_accuracy)))
})

test_that("the training accuracy is the share of rows that were right", {
  model <- nn_classifier(optimizer = "sgd")
  fitted <- ggml_fit(model, groups$x, groups$y, batch_size = 60, verbose = 0)
  right <- max.col(ggml_predict(model, groups$x), "first") == groups$class + 1
  expect_equal(fitted$history$train_accuracy, mean(right))
})

test_that("KER-04: plot() draws training and validation, and leaves par alone", {
  text <- drawn(trained()$history)
  # Two panels with blue and red lines, and legends.
  expect_gte(count(text, "(Loss)"), 1)
  expect_gte(count(text, "(Accuracy)"), 1)
  expect_gte(count(text, "0.000 0.000 1.000 SCN"), 2)
  expect_gte(count(text, "1.000 0.000 0.000 SCN"), 2)
  expect_gte(count(text, "(v"), 2)

  # Regression: the loss only.
  text <- drawn(trained(model = nn_linear(inputs = 4L), y = groups$class)$history)
  expect_identical(count(text, "(Accuracy)"), 0L)
  # No validation: nothing red.
  text <- drawn(trained(split = 0)$history)
  expect_identical(count(text, "1.000 0.000 0.000 SCN"), 0L)
  # One epoch, and arguments of plot().
  expect_gte(count(drawn(trained(1)$history, main = "Mine"), "(Mine)"), 2)
})

test_that("a history without an epoch can't be plotted", {
  history <- trained(0)$history
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_refused(plot(history), "argument", "no completed epoch")
  expect_output(print(history), "(0 epochs)", fixed = TRUE)
  expect_identical(nrow(as.data.frame(history)), 0L)
})

test_that("print() shows the last values with four decimals", {
  history <- trained()$history
  expect_output(print(history), "Training History (3 epochs)", fixed = TRUE)
  expect_output(print(history), sprintf("%.4f", history$train_loss[3]), fixed = TRUE)
  expect_output(print(history), sprintf("%.4f", history$val_loss[3]), fixed = TRUE)
  shown <- paste(utils::capture.output(print(trained(1, split = 0)$history)), collapse = "\n")
  expect_match(shown, "(1 epoch)", fixed = TRUE)
  expect_no_match(shown, "val")
  utils::capture.output(expect_invisible(print(history)))
})

test_that("a history becomes a data frame, wide and long", {
  model <- trained()
  frame <- as.data.frame(model$history)
  expect_named(frame, c("epoch", "train_loss", "train_accuracy", "val_loss", "val_accuracy"))
  expect_identical(frame$epoch, 1:3)
  expect_identical(ggml_training_history(model), frame)
  expect_identical(ggml_training_history(model$history), frame)

  long <- ggml_training_history(model, "long")
  expect_named(long, c("epoch", "metric", "split", "value"))
  expect_identical(nrow(long), 12L)
  expect_setequal(long$metric, c("loss", "accuracy"))
  expect_setequal(long$split, c("train", "val"))
  expect_identical(
    long$value[long$split == "val" & long$metric == "loss"], model$history$val_loss
  )

  expect_named(
    ggml_training_history(trained(split = 0)), c("epoch", "train_loss", "train_accuracy")
  )
  expect_warning(
    none <- ggml_training_history(nn_classifier()), "no training history",
    class = "ggmlr_warning"
  )
  expect_null(none)
  expect_refused(ggml_training_history(model, "tall"), "argument", "tall", "wide")
})

test_that("what is no model, and a damaged history, is refused", {
  for (bad in list(1, "a", quote(x), mean)) {
    expect_refused(ggml_training_history(bad), "argument", arg = "object")
  }
  model <- trained(split = 0)
  expect_refused(ggml_training_history(model, format = mean), "argument", arg = "format")
  model$history <- structure(list(), class = "ggml_history")
  expect_refused(ggml_training_history(model), "argument", "damaged")
  expect_refused(print(model$history), "argument", "damaged")
  expect_refused(plot(model$history), "argument", "damaged")
  expect_refused(as.data.frame(model$history), "argument", "damaged")
})
