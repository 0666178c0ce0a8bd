test_that("KER-02: compiling records what was chosen", {
  model <- nn_classifier(
    optimizer = "adam", loss = "categorical_crossentropy", metrics = "accuracy"
  )
  expect_true(model$compiled)
  expect_identical(model$compilation$optimizer, "adam")
  expect_identical(model$compilation$loss, "categorical_crossentropy")
  expect_identical(model$compilation$metrics, "accuracy")
  expect_identical(model$layers[[1]]$output_shape, 8L)
  # Everything is there by default.
  expect_identical(nn_classifier()$compilation$loss, "categorical_crossentropy")
})

# Losses of a model with fixed predictions p, by R.
loss_of <- function(loss, p, t) {
  p_in <- pmin(pmax(p, 1e-7), 1 - 1e-7)
  d <- abs(p - t)
  switch(loss,
    categorical_crossentropy = -mean(rowSums(t * log(p_in))),
    mse = mean((p - t)^2),
    mae = mean(d),
    huber = mean(ifelse(d <= 1, d^2 / 2, d - 0.5)),
    binary_crossentropy = -mean(t * log(p_in) + (1 - t) * log(1 - p_in))
  )
}

expect_loss <- function(names, canonical, activation, target) {
  d <- nn_groups()
  for (name in names) {
    set.seed(4)
    model <- ggml_model_sequential() |>
      ggml_layer_dense(3, activation = activation, input_shape = 4)
    model <- suppressMessages(ggml_compile(model, loss = name, optimizer = "sgd"))
    expect_identical(model$compilation$loss, canonical)
    expected <- loss_of(canonical, ggml_predict(model, d$x), target)
    expect_equal(ggml_evaluate(model, d$x, target)$loss, expected, tolerance = 1e-5)
    # One batch with all rows: the training loss is that of the weights before.
    fitted <- ggml_fit(model, d$x, target, batch_size = 60, verbose = 0)
    expect_equal(fitted$history$train_loss, expected, tolerance = 1e-5)
    # A step against the gradient makes it smaller, and matches the gradient.
    expect_lt(ggml_evaluate(fitted, d$x, target)$loss, expected)
    expect_gradient(model, fitted, d$x, target, canonical)
  }
}

# sgd with rate 0.001 moves the bias by -0.001 times the gradient.
expect_gradient <- function(model, fitted, x, target, canonical) {
  moved <- (nn_values(fitted)$bias - nn_values(model)$bias) / -1e-3
  value_at <- function(bias) {
    z <- sweep(nn_affine(model, x), 2, bias - nn_values(model)$bias, `+`)
    p <- switch(model$layers[[1]]$config$activation,
      softmax = nn_softmax(z), sigmoid = 1 / (1 + exp(-z)), linear = z
    )
    loss_of(canonical, p, target)
  }
  bias <- nn_values(model)$bias
  numeric <- vapply(1:3, function(i) {
    step <- replace(numeric(3), i, 1e-4)
    (value_at(bias + step) - value_at(bias - step)) / 2e-4
  }, 0)
  # The move of a float is known to about 1e-7 / 1e-3.
  expect_equal(moved, numeric, tolerance = 2e-3)
}

test_that("KER-27: categorical cross entropy on a softmax", {
  expect_loss(c("categorical_crossentropy", "crossentropy", "cross_entropy"),
    "categorical_crossentropy", "softmax",
    target = nn_groups()$y
  )
})

test_that("KER-28: mse and its alias", {
  expect_loss(c("mse", "mean_squared_error"), "mse", "linear", 3 * nn_groups()$y)
})

test_that("KER-29: mae and its alias", {
  expect_loss(c("mae", "mean_absolute_error"), "mae", "linear", 3 * nn_groups()$y)
})

test_that("KER-30: huber and its alias", {
  expect_loss(c("huber", "huber_loss"), "huber", "linear", 3 * nn_groups()$y)
})

test_that("KER-31: binary cross entropy on sigmoids, and its alias", {
  d <- nn_groups()
  labels <- cbind(d$class == 1, d$class > 0, d$class == 2) + 0
  expect_loss(c("binary_crossentropy", "binary_cross_entropy"),
    "binary_crossentropy", "sigmoid", labels
  )
})

test_that("a cross entropy without a softmax before it clips what it gets", {
  set.seed(4)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(3, activation = "sigmoid", input_shape = 4)
  model <- suppressMessages(ggml_compile(model))
  d <- nn_groups()
  expected <- loss_of("categorical_crossentropy", ggml_predict(model, d$x), d$y)
  expect_equal(ggml_evaluate(model, d$x, d$y)$loss, expected, tolerance = 1e-5)
  # Certain and wrong: -log(1e-7), not Inf.
  model <- nn_put_values(model, list(bias = rep(-200, 3)))
  expect_equal(ggml_evaluate(model, d$x, d$y)$loss, -log(1e-7), tolerance = 1e-3)
})

test_that("compile_no_layers: an empty model can't be compiled", {
  expect_refused(ggml_compile(ggml_model_sequential()), "argument", "no layers")
})

test_that("compile_no_shape: the first layer needs an input_shape", {
  model <- ggml_model_sequential() |> ggml_layer_dense(3)
  expect_refused(ggml_compile(model), "argument", "input_shape", "dense_1", arg = "input_shape")
})

test_that("compile_bad_optimizer: optimizers are listed", {
  model <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(
    ggml_compile(model, optimizer = "no_such_optimizer"),
    "argument", "no_such_optimizer", "adam", "adamw", "sgd", arg = "optimizer"
  )
  expect_refused(ggml_compile(model, optimizer = NULL), "argument", "optimizer")
})

test_that("unknown losses, metrics and weights are refused", {
  model <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(
    ggml_compile(model, loss = "hinge"), "argument", "hinge", "mse", "huber", arg = "loss"
  )
  expect_refused(
    ggml_compile(model, metrics = c("accuracy", "auc")), "argument", "auc", "rmse",
    arg = "metrics"
  )
  expect_refused(ggml_compile(model, loss_weights = 0.5), "argument", "loss_weights")
})

test_that("metrics may be given in long and short form", {
  model <- nn_linear(metrics = c("acc", "mean_absolute_error", "mae", "root_mean_squared_error"))
  expect_identical(model$compilation$metrics, c("accuracy", "mae", "rmse"))
  expect_identical(nn_linear(metrics = NULL)$compilation$metrics, character())
})

test_that("initial weights follow the seed and the Glorot bounds", {
  first <- nn_classifier(seed = 1, units = 64L)
  expect_identical(first$layers, nn_classifier(seed = 1, units = 64L)$layers)
  expect_false(identical(first$layers, nn_classifier(seed = 2, units = 64L)$layers))
  w <- nn_values(first)
  limit <- sqrt(6 / (4 + 64))
  expect_true(all(abs(w$weight) <= limit))
  expect_gt(max(abs(w$weight)), 0.9 * limit)
  expect_lt(abs(mean(w$weight)), 0.1)
  expect_identical(w$bias, numeric(64))
  expect_identical(first$layers[[1]]$weights$weight$ne, c(4L, 64L))
})

test_that("a large weight is drawn in pieces as if at once", {
  w <- list(init = "uniform", limit = 2)
  set.seed(1)
  whole <- ggmlR:::nn_draw_raw(w, 1001)
  set.seed(1)
  pieces <- ggmlR:::nn_draw_raw(w, 1001, piece = 100)
  expect_identical(whole, pieces)
})

test_that("compiling again keeps trained weights and draws only what is new", {
  d <- nn_groups()
  model <- ggml_fit(nn_classifier(), d$x, d$y, epochs = 2, verbose = 0)
  again <- ggml_compile(model, optimizer = "sgd", loss = "mse")
  expect_identical(again$layers, model$layers)
  expect_identical(ggml_predict(again, d$x), ggml_predict(model, d$x))

  # Another input shape: the first layer is new, the second stays.
  model$input_shape <- 5L
  again <- ggml_compile(model)
  expect_identical(again$layers[[1]]$weights$weight$ne, c(5L, 8L))
  expect_identical(again$layers[[2]]$weights, model$layers[[2]]$weights)
})

test_that("the optimizers train", {
  d <- nn_groups()
  for (optimizer in c("adam", "adamw", "sgd")) {
    model <- nn_classifier(optimizer = optimizer)
    fitted <- ggml_fit(model, d$x, d$y, epochs = 30, verbose = 0)
    expect_lt(fitted$history$train_loss[30], fitted$history$train_loss[1])
  }
})

test_that("one adam step and one sgd step follow their formulas", {
  x <- matrix(c(1, 2), 1)
  for (optimizer in c("adam", "adamw", "sgd")) {
    model <- nn_linear(optimizer = optimizer)
    fitted <- ggml_fit(model, x, 5, verbose = 0)
    g <- 2 * (nn_affine(model, x)[1] - 5) * c(x, 1)
    step <- if (optimizer == "sgd") 1e-3 * g else 1e-3 * g / (abs(g) + 1e-8)
    moved <- unlist(nn_values(model)) - unlist(nn_values(fitted))
    expect_equal(unname(moved), step, tolerance = 1e-3)
  }
})

test_that("loss_weights other than 1 are refused", {
  model <- nn_linear()
  for (bad in list(mean, new.env(), quote(x), "a", TRUE, "1", list(1), NA_real_, c(1, 1))) {
    expect_no_warning(
      expect_refused(
        ggml_compile(model, loss = "mse", loss_weights = bad), "argument", arg = "loss_weights"
      )
    )
  }
  expect_true(ggml_compile(model, loss = "mse", loss_weights = 1)$compiled)
})

test_that("metrics that are no names are refused, not dropped", {
  for (bad in list(new.env(), mean, quote(x), 1, iris)) {
    expect_refused(ggml_compile(nn_classifier(), metrics = bad), "argument", arg = "metrics")
  }
})

test_that("categorical cross entropy with one output is refused", {
  expect_refused(
    nn_linear(loss = "categorical_crossentropy"), "argument", "binary_crossentropy",
    arg = "loss"
  )
})
