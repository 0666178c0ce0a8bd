groups <- nn_groups()
fit_quietly <- function(..., model = nn_classifier()) {
  ggml_fit(model, groups$x, groups$y, verbose = 0, ...)
}

test_that("KER-03: fitting returns the model with other weights and learns", {
  model <- nn_classifier()
  fitted <- fit_quietly(model = model, epochs = 60, batch_size = 3, validation_split = 0.2)
  expect_s3_class(fitted, "ggml_sequential_model")
  expect_false(identical(fitted$layers, model$layers))
  expect_null(model$history)
  expect_identical(fitted$history$epochs, 1:60)
  expect_gt(ggml_evaluate(fitted, groups$x, groups$y)$accuracy, 0.95)
  expect_lt(fitted$history$train_loss[60], fitted$history$train_loss[1])
  expect_invisible(ggml_fit(model, groups$x, groups$y, verbose = 0))
})

test_that("fitting goes on from the weights that the model has", {
  set.seed(3)
  whole <- fit_quietly(epochs = 4, model = nn_classifier(optimizer = "sgd"))
  set.seed(3)
  model <- nn_classifier(optimizer = "sgd")
  once <- fit_quietly(epochs = 2, model = model, shuffle = FALSE)
  twice <- fit_quietly(epochs = 2, model = once, shuffle = FALSE)
  straight <- fit_quietly(epochs = 4, model = model, shuffle = FALSE)
  # sgd has no memory of its own, so two halves make a whole.
  expect_equal(nn_values(twice), nn_values(straight), tolerance = 1e-6)
})

test_that("fit_rows_lt_batch: fewer rows than a batch are one short batch", {
  d <- nn_groups(5)
  fitted <- ggml_fit(nn_classifier(), d$x, d$y, batch_size = 32, verbose = 0)
  expect_true(is.finite(fitted$history$train_loss))
  set.seed(1)
  short <- ggml_fit(nn_classifier(), d$x, d$y, batch_size = 32, verbose = 0, shuffle = FALSE)
  exact <- ggml_fit(nn_classifier(), d$x, d$y, batch_size = 5, verbose = 0, shuffle = FALSE)
  expect_equal(nn_values(short), nn_values(exact), tolerance = 1e-6)
})

test_that("fit_rows_not_multiple: all 50 rows count with batches of 32", {
  # The training loss of an epoch is the mean over all rows.
  d <- nn_groups(50)
  set.seed(1)
  model <- nn_linear(inputs = 4L, optimizer = "sgd")
  p <- ggml_predict(model, d$x)
  y <- p
  y[50] <- y[50] + 3
  fitted <- ggml_fit(model, d$x, y, batch_size = 32, verbose = 0, shuffle = FALSE)
  expect_equal(fitted$history$train_loss, 9 / 50, tolerance = 1e-3)
  expect_false(identical(nn_values(fitted), nn_values(model)))
})

test_that("D6: the row after the last full batch changes the fit, and rows are shuffled", {
  x <- matrix(c(rep(0, 32), 1), 33, 1)
  fit <- function(last, ...) {
    set.seed(1)
    ggml_fit(nn_linear(inputs = 1L, optimizer = "sgd"), x, c(rep(0, 32), last),
      batch_size = 32, verbose = 0, ...
    )
  }
  expect_false(identical(nn_values(fit(50)), nn_values(fit(0))))
  expect_false(identical(
    nn_values(fit(50, shuffle = FALSE)), nn_values(fit(0, shuffle = FALSE))
  ))

  # iris in the order of its file: without shuffling a linear softmax stays poor.
  x <- scale(as.matrix(iris[1:4]))
  accuracy <- function(shuffle) {
    set.seed(1)
    model <- ggml_model_sequential() |> ggml_layer_dense(3, "softmax", input_shape = 4)
    model <- suppressMessages(ggml_compile(model))
    fitted <- ggml_fit(model, x, iris$Species, epochs = 200, batch_size = 8, verbose = 0,
      shuffle = shuffle
    )
    ggml_evaluate(fitted, x, iris$Species)$accuracy
  }
  expect_gt(accuracy(TRUE), 0.85)
})

test_that("fit_batch_negative: batch_size must be positive", {
  for (bad in list(-4, 0, 2.5, NA, "8", 1:2, Inf, NULL)) {
    expect_refused(
      fit_quietly(batch_size = bad), "argument", "batch_size", "positive whole number",
      arg = "batch_size"
    )
  }
})

test_that("fit_epochs_negative: epochs must be zero or more", {
  for (bad in list(-1, 1.5, NA, "8", NULL)) {
    expect_refused(
      fit_quietly(epochs = bad), "argument", "epochs", "zero or more", arg = "epochs"
    )
  }
  model <- nn_classifier()
  none <- fit_quietly(epochs = 0, model = model)
  expect_identical(none$layers, model$layers)
  expect_length(none$history$epochs, 0)
})

test_that("fit_val_split_one: validation_split must leave rows", {
  for (bad in list(1, -0.1, 1.5, NA, "a", c(0.1, 0.2))) {
    expect_refused(
      fit_quietly(validation_split = bad), "argument", "validation_split", "[0, 1)",
      arg = "validation_split"
    )
  }
  expect_refused(
    ggml_fit(nn_classifier(), groups$x[1, , drop = FALSE], groups$y[1, , drop = FALSE],
      validation_split = 0.5, verbose = 0
    ),
    "argument", "validation_split", "1 row"
  )
})

test_that("rows are split without losing one", {
  split <- function(n, share, shuffle = FALSE) {
    x <- matrix(seq_len(n), n, 1)
    parts <- ggmlR:::nn_split(x, x, NULL, share, shuffle)
    list(parts$train$x[[1]][, 1], parts$validation$x[[1]][, 1])
  }
  expect_identical(split(10, 0.3), list(1:7, 8:10))
  expect_identical(split(10, 0.9), list(1L, 2:10))
  expect_identical(split(100, 0.1)[[2]], 91:100)
  expect_identical(split(5, 0.01), list(1:4, 5L))
  set.seed(1)
  mixed <- split(100, 0.25, TRUE)
  expect_length(mixed[[1]], 75)
  expect_setequal(unlist(mixed), 1:100)
  expect_false(identical(mixed[[1]], 1:75))

  # Weights and arrays go with their rows.
  x <- array(1:24, c(4, 3, 2))
  parts <- ggmlR:::nn_split(x, matrix(1:4), c(10, 20, 30, 40), 0.5, FALSE)
  expect_identical(parts$train$x[[1]], x[1:2, , ])
  expect_identical(parts$train$weights, c(10, 20))
  expect_null(parts$validation$weights)
})

test_that("validation rows are not trained on", {
  # All of the last tenth is absurd; without shuffling it is held out.
  y <- groups$y
  y[55:60, ] <- y[55:60, ] * 1000
  model <- nn_classifier()
  a <- ggml_fit(model, groups$x, y, validation_split = 0.1, shuffle = FALSE, verbose = 0)
  b <- ggml_fit(model, groups$x[1:54, ], groups$y[1:54, ], shuffle = FALSE, verbose = 0)
  expect_equal(nn_values(a), nn_values(b), tolerance = 1e-6)
  expect_gt(a$history$val_loss, 100)
})

test_that("the last validation value is what ggml_evaluate() says", {
  held <- nn_groups(37, seed = 7)
  for (loss in c("categorical_crossentropy", "mse", "mae", "huber", "binary_crossentropy")) {
    model <- nn_classifier(loss = loss)
    fitted <- fit_quietly(
      model = model, epochs = 3, batch_size = 16, validation_data = list(held$x, held$y)
    )
    result <- ggml_evaluate(fitted, held$x, held$y)
    expect_equal(fitted$history$val_loss[3], result$loss, tolerance = 1e-6, info = loss)
    expect_equal(fitted$history$val_accuracy[3], result$accuracy, info = loss)
  }
})

test_that("dropout is off in validation and evaluation", {
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(32, "relu", input_shape = 4) |>
    ggml_layer_dropout(0.5) |>
    ggml_layer_dense(3, "softmax")
  model <- suppressMessages(ggml_compile(model))
  fitted <- fit_quietly(model = model, epochs = 2, validation_data = list(groups$x, groups$y))
  p <- ggml_predict(fitted, groups$x)
  expect_equal(fitted$history$val_loss[2], -mean(log(p[groups$y == 1])), tolerance = 1e-5)
})

test_that("validation_data is checked and takes named parts in any order", {
  d <- list(groups$x, groups$y)
  fit <- function(data, ...) {
    set.seed(1)
    fit_quietly(validation_data = data, ...)$history
  }
  expect_identical(fit(list(y = d[[2]], x = d[[1]])), fit(d))
  # It wins over validation_split.
  expect_identical(fit(d, validation_split = 0.5), fit(d))
  expect_refused(fit(groups$x), "argument", "list(x, y)", arg = "validation_data")
  expect_refused(fit(list(groups$x)), "argument", "list(x, y)")
  expect_refused(fit(list(groups$x[, 1:3], groups$y)), "shape", "validation_data[[1]]", "got 3")
  expect_refused(fit(list(groups$x[1:5, ], groups$y)), "shape", "5", "60")
  expect_refused(fit(list(groups$x, groups$y[, 1:2])), "shape", "validation_data[[2]]", "got 2")
})

test_that("D1: one seed governs weights, dropout and shuffling, at any number of threads", {
  run <- function() {
    set.seed(1)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(64, "relu", input_shape = 4) |>
      ggml_layer_dropout(0.3) |>
      ggml_layer_dense(3, "softmax")
    model <- suppressMessages(ggml_compile(model))
    fitted <- fit_quietly(model = model, epochs = 3, validation_split = 0.2)
    fitted[c("layers", "history")]
  }
  first <- run()
  expect_identical(run(), first)
  for (other in nn_at_threads(c(1L, 2L), run)) expect_identical(other, first)
  set.seed(2)
  expect_false(identical(fit_quietly(epochs = 3)$history, fit_quietly(epochs = 3)$history))
})

test_that("D3: arguments act or are refused", {
  # A rate set by a callback.
  loss_at <- function(rate, optimizer) {
    set.seed(1)
    callback <- list(on_epoch_begin = function(epoch, logs, state) {
      ggml_opt_set_lr(state$lr_ud, adamw_lr = rate, sgd_lr = rate)
    })
    model <- fit_quietly(
      model = nn_classifier(optimizer = optimizer), epochs = 10, callbacks = list(callback)
    )
    ggml_evaluate(model, groups$x, groups$y)$loss
  }
  for (optimizer in c("adam", "adamw", "sgd")) {
    expect_gt(abs(loss_at(1e-7, optimizer) - loss_at(1e-2, optimizer)), 0.05)
  }

  model <- nn_classifier()
  for (name in c("generator", "steps_per_epoch", "validation_generator", "validation_steps")) {
    args <- c(list(model, groups$x, groups$y, verbose = 0), stats::setNames(list(1), name))
    expect_refused(do.call(ggml_fit, args), "unsupported", name, arg = name)
  }
  expect_refused(fit_quietly(learning_rate = 1), "argument", "learning_rate")
  expect_refused(fit_quietly(shuffle = NA), "argument", "shuffle")
  expect_refused(
    ggml_fit(model, groups$x, groups$y, verbose = "loud"), "argument", "verbose"
  )
  expect_refused(fit_quietly(initial_epoch = -1), "argument", "initial_epoch")
})

test_that("missing data and models are named", {
  model <- nn_classifier()
  expect_refused(ggml_fit(model, y = groups$y), "argument", "`x` is missing", arg = "x")
  expect_refused(ggml_fit(model, groups$x), "argument", "`y` is missing", arg = "y")
  expect_refused(ggml_fit(), "argument", "model")
  raw <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(ggml_fit(raw, groups$x, groups$y), "argument", "compiled", "ggml_compile()")
})

test_that("the demo's letters are learnt, the same at one and at two threads", {
  skip_if_not_installed("mlbench")
  skip_on_cran()
  letters_data <- new.env()
  utils::data("LetterRecognition", package = "mlbench", envir = letters_data)
  data <- letters_data$LetterRecognition
  x <- as.matrix(data[, -1])
  train <- seq_len(16000)
  x <- scale(x, colMeans(x[train, ]), apply(x[train, ], 2, stats::sd))
  run <- function() {
    set.seed(1)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(256, activation = "relu", input_shape = 16) |>
      ggml_layer_dense(128, activation = "relu") |>
      ggml_layer_dense(26, activation = "softmax")
    model <- suppressMessages(ggml_compile(model))
    ggml_fit(model, x[train, ], data$lettr[train],
      epochs = 30, batch_size = 64, validation_split = 0.1, verbose = 0
    )
  }
  runs <- nn_at_threads(c(1L, 2L), run)
  accuracy <- ggml_evaluate(runs[[2]], x[-train, ], data$lettr[-train])$accuracy
  expect_gte(accuracy, 0.95)
  expect_identical(runs[[1]]$history, runs[[2]]$history)
  expect_identical(runs[[1]]$layers, runs[[2]]$layers)
})

test_that("epoch numbers beyond the largest integer are refused", {
  d <- nn_groups()
  expect_refused(
    ggml_fit(nn_classifier(), d$x, d$y, initial_epoch = .Machine$integer.max),
    "argument", arg = "initial_epoch"
  )
})

test_that("validation_data with names other than x and y is refused", {
  d <- nn_groups()
  run <- function(data) {
    ggml_fit(nn_classifier(), d$x, d$y, verbose = 0, validation_data = data)
  }
  expect_refused(run(list(a = d$x, b = d$y)), "argument", "\"a\"", arg = "validation_data")
  expect_refused(run(list(x = d$x, x = d$y)), "argument", arg = "validation_data")
  expect_length(run(list(y = d$y, x = d$x))$history$val_loss, 1)
})
