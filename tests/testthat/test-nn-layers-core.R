test_that("KER-07: a dense layer computes activation(x W + b) for every activation", {
  x <- matrix(seq(-3, 3, length.out = 40), 10)
  expected <- list(
    linear = function(z) z,
    relu = function(z) pmax(z, 0),
    sigmoid = function(z) 1 / (1 + exp(-z)),
    tanh = tanh,
    silu = function(z) z / (1 + exp(-z)),
    hardsigmoid = function(z) pmin(pmax((z + 3) / 6, 0), 1),
    hardswish = function(z) z * pmin(pmax((z + 3) / 6, 0), 1),
    softmax = nn_softmax
  )
  for (name in names(expected)) {
    set.seed(2)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(5, activation = name, input_shape = 4)
    model <- suppressMessages(ggml_compile(model, loss = "mse"))
    model <- nn_put_values(model, list(bias = 1:5 / 10))
    z <- nn_affine(model, x)
    expect_equal(ggml_predict(model, x), expected[[name]](z), tolerance = 1e-5, info = name)
  }
  # The exact form and the usual tanh form of gelu differ by less than 1e-3.
  set.seed(2)
  model <- ggml_model_sequential() |> ggml_layer_dense(5, "gelu", input_shape = 4)
  model <- ggml_compile(model, loss = "mse")
  z <- nn_affine(model, x)
  expect_lt(max(abs(ggml_predict(model, x) - z * stats::pnorm(z))), 1e-3)
})

test_that("KER-69: every activation trains", {
  d <- nn_groups()
  for (name in c(
    "linear", "relu", "sigmoid", "tanh", "silu", "gelu", "hardsigmoid", "hardswish"
  )) {
    set.seed(3)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(16, activation = name, input_shape = 4) |>
      ggml_layer_dense(3, activation = "softmax")
    model <- suppressMessages(ggml_compile(model))
    before <- ggml_evaluate(model, d$x, d$y)$loss
    fitted <- ggml_fit(model, d$x, d$y, epochs = 30, verbose = 0)
    expect_lt(ggml_evaluate(fitted, d$x, d$y)$loss, before * 0.9, label = name)
    expect_false(identical(fitted$layers[[1]]$weights, model$layers[[1]]$weights), info = name)
  }
})

test_that("NULL and \"linear\" mean no activation", {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(2, input_shape = 2) |>
    ggml_layer_dense(2, activation = "linear")
  expect_identical(model$layers[[1]]$config$activation, "linear")
  expect_identical(model$layers[[2]]$config$activation, "linear")
})

test_that("a softmax layer inside a model stays a softmax", {
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(3, activation = "softmax", input_shape = 4) |>
    ggml_layer_dense(3, activation = "softmax")
  model <- suppressMessages(ggml_compile(model))
  x <- nn_groups()$x
  inner <- nn_softmax(nn_affine(model, x, 1))
  expect_equal(ggml_predict(model, x), nn_softmax(nn_affine(model, inner, 2)), tolerance = 1e-5)
})

test_that("KER-15: flatten puts the last axis of a matrix first", {
  model <- ggml_model_sequential() |> ggml_layer_flatten()
  model$input_shape <- c(3L, 2L)
  model <- suppressMessages(ggml_compile(model, loss = "mse"))
  x <- array(stats::rnorm(24), c(4, 3, 2))
  expected <- t(apply(x, 1, function(sample) as.vector(t(sample))))
  expect_equal(ggml_predict(model, x), expected, tolerance = 1e-6)
  # One sample only.
  expect_equal(ggml_predict(model, x[1, , , drop = FALSE]), expected[1, , drop = FALSE],
    tolerance = 1e-6
  )

  # A dense layer after several axes flattens first.
  set.seed(1)
  model <- ggml_model_sequential() |> ggml_layer_dense(2, input_shape = c(3, 2))
  model <- ggml_compile(model, loss = "mse")
  expect_equal(ggml_predict(model, x), nn_affine(model, expected), tolerance = 1e-5)

  # Images: width, height, channels.
  model <- ggml_model_sequential() |> ggml_layer_flatten()
  model$input_shape <- c(2L, 3L, 2L)
  model <- ggml_compile(model, loss = "mse")
  x <- array(stats::rnorm(48), c(4, 2, 3, 2))
  expected <- t(apply(x, 1, function(image) as.vector(aperm(image, c(2, 1, 3)))))
  expect_equal(ggml_predict(model, x), expected, tolerance = 1e-6)
})

test_that("KER-20: dropout acts while training only and follows the seed", {
  d <- nn_groups()
  build <- function(rate) {
    set.seed(5)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(32, activation = "relu", input_shape = 4) |>
      ggml_layer_dropout(rate) |>
      ggml_layer_dense(3, activation = "softmax")
    suppressMessages(ggml_compile(model))
  }
  # Same weights with and without: dropout draws no weights.
  with <- build(0.5)
  without <- build(0)
  expect_identical(ggml_predict(with, d$x), ggml_predict(without, d$x))

  fit <- function(model, seed) {
    set.seed(seed)
    ggml_fit(model, d$x, d$y, epochs = 2, verbose = 0)
  }
  expect_identical(
    ggml_predict(fit(with, 1), d$x), ggml_predict(fit(with, 1), d$x)
  )
  expect_false(identical(fit(with, 1)$history, fit(without, 1)$history))
  set.seed(1)
  first <- ggml_fit(with, d$x, d$y, epochs = 1, verbose = 0, shuffle = FALSE)
  second <- ggml_fit(with, d$x, d$y, epochs = 1, verbose = 0, shuffle = FALSE)
  expect_false(identical(first$history$train_loss, second$history$train_loss))
})

test_that("dropout keeps the expected value, and is a factor when not random", {
  # One linear unit on 4000 equal inputs: the loss shows what dropout let through.
  train_loss <- function(rate, stochastic) {
    set.seed(6)
    model <- ggml_model_sequential() |> ggml_layer_dropout(rate, stochastic = stochastic)
    model$input_shape <- 4000L
    model <- ggml_layer_dense(model, 1)
    model <- suppressMessages(ggml_compile(model, loss = "mae", optimizer = "sgd"))
    model <- nn_put_values(model, list(weight = rep(1 / 4000, 4000)), layer = 2)
    fitted <- ggml_fit(model, matrix(1, 8, 4000), numeric(8), batch_size = 8, verbose = 0)
    fitted$history$train_loss
  }
  expect_equal(train_loss(0.25, FALSE), 0.75, tolerance = 1e-5)
  expect_equal(train_loss(0.25, TRUE), 1, tolerance = 0.02)
  expect_false(train_loss(0.25, TRUE) == 1)
})

test_that("layer_bad_activation: unknown activations are listed at the layer call", {
  model <- ggml_model_sequential()
  expect_refused(
    ggml_layer_dense(model, 3, activation = "no_such", input_shape = 4),
    "argument", "Unknown activation: no_such", "relu", "softmax", arg = "activation"
  )
  expect_refused(ggml_layer_dense(model, 3, activation = 1), "argument", "activation")
  two <- c("relu", "tanh")
  expect_refused(ggml_layer_dense(model, 3, activation = two), "argument", "activation")
})

test_that("layer_units_negative: units must be positive, at the layer call", {
  model <- ggml_model_sequential()
  expect_refused(
    ggml_layer_dense(model, -3), "argument", "units", "positive whole number", "-3",
    arg = "units"
  )
  expect_refused(ggml_layer_dense(model, 0), "argument", "units")
  expect_refused(ggml_layer_dense(model, 2.5), "argument", "units", "2.5")
  expect_refused(ggml_layer_dense(model, NA), "argument", "units")
  expect_refused(ggml_layer_dense(model, Inf), "argument", "units")
  expect_refused(ggml_layer_dense(model, 1:2), "argument", "units")
  expect_refused(ggml_layer_dense(model, 3e9), "argument", "units")
})

test_that("layer_units_string: units must be a number, at the layer call", {
  expect_refused(
    ggml_layer_dense(ggml_model_sequential(), "eight"),
    "argument", "units", "positive whole number", "\"eight\"", arg = "units"
  )
})

test_that("layer_units_huge: a layer that can't fit tells its size", {
  model <- ggml_model_sequential() |> ggml_layer_dense(2e9, input_shape = 4)
  expect_refused(ggml_compile(model, loss = "mse"), "memory", "dense_1", "40 GB")
})

test_that("dropout rates outside [0, 1) are refused", {
  model <- ggml_model_sequential()
  for (rate in list(1, -0.1, NA, "a", c(0.1, 0.2), Inf)) {
    expect_refused(ggml_layer_dropout(model, rate), "argument", "rate", "[0, 1)", arg = "rate")
  }
  expect_refused(ggml_layer_dropout(model, 0.1, stochastic = NA), "argument", "stochastic")
})

test_that("the common arguments of layers are checked", {
  model <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4, name = "body")
  expect_refused(ggml_layer_dense(model, 2, name = "body"), "argument", "body")
  expect_refused(ggml_layer_dense(model, 2, name = 7), "argument", "name")
  expect_refused(ggml_layer_dense(model, 2, trainable = "yes"), "argument", "trainable")
  expect_refused(ggml_layer_dense(model, 2, input_shape = 3), "argument", "input_shape")
  expect_refused(
    ggml_layer_dense(ggml_model_sequential(), 2, input_shape = c(2, -1)),
    "argument", "input_shape"
  )
  expect_refused(
    ggml_layer_dense(model, 2, time_distributed = TRUE), "unsupported", "time_distributed"
  )
  # A name that looks like an automatic one is stepped over.
  model <- ggml_layer_dense(model, 2, name = "dense_3") |> ggml_layer_dense(2)
  expect_identical(model$layers[[3]]$name, "dense_4")
})
