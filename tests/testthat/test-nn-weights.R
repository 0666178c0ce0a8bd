test_that("KER-33: a sample's weight multiplies its loss", {
  d <- nn_groups(12)
  w <- c(0, 2, 1, 0.5)[rep(1:4, 3)]
  p <- function(model) ggml_predict(model, d$x)
  per_row <- list(
    categorical_crossentropy = function(p) -rowSums(d$y * log(p)),
    mse = function(p) rowMeans((p - d$y)^2),
    mae = function(p) rowMeans(abs(p - d$y)),
    huber = function(p) rowMeans((p - d$y)^2 / 2),
    binary_crossentropy = function(p) -rowMeans(d$y * log(p) + (1 - d$y) * log(1 - p))
  )
  for (loss in names(per_row)) {
    model <- nn_classifier(loss = loss, optimizer = "sgd")
    expected <- mean(w * per_row[[loss]](p(model)))
    expect_equal(ggml_evaluate(model, d$x, d$y, sample_weight = w)$loss, expected,
      tolerance = 1e-5, info = loss
    )
    fitted <- ggml_fit(model, d$x, d$y, sample_weight = w, verbose = 0)
    expect_equal(fitted$history$train_loss, expected, tolerance = 1e-5, info = loss)
  }
})

test_that("rows of weight 0 do not train, and double weight is double rate", {
  d <- nn_groups()
  keep <- d$class != 2
  fit <- function(x, y, ...) {
    ggml_fit(nn_classifier(optimizer = "sgd"), x, y, batch_size = 100, verbose = 0, ...)
  }
  masked <- fit(d$x, d$y, sample_weight = keep + 0)
  alone <- fit(d$x[keep, ], d$y[keep, ])
  start <- nn_values(nn_classifier())$weight
  # The mean is over all rows, so the step is smaller by the share that counts.
  expect_equal((nn_values(masked)$weight - start) * 1.5, nn_values(alone)$weight - start,
    tolerance = 1e-3
  )
})

test_that("KER-34: a matrix of weights masks outputs of mse", {
  x <- matrix(1, 4, 2)
  y <- matrix(c(1, 2, 3, 4, 100, 100, 100, 100), 4)
  mask <- cbind(rep(1, 4), rep(0, 4))
  model <- nn_linear(outputs = 2L)
  p <- ggml_predict(model, x)
  expect_equal(ggml_evaluate(model, x, y, sample_weight = mask)$loss,
    sum(mask * (p - y)^2) / 8,
    tolerance = 1e-5
  )
  fitted <- ggml_fit(model, x, y, sample_weight = mask, epochs = 5, verbose = 0)
  before <- nn_values(model)
  after <- nn_values(fitted)
  expect_identical(after$weight[, 2], before$weight[, 2])
  expect_identical(after$bias[2], before$bias[2])
  expect_false(identical(after$weight[, 1], before$weight[, 1]))
})

test_that("class_weight weighs rows by their class", {
  d <- nn_groups()
  model <- nn_classifier()
  w <- c(1, 5, 0.5)[d$class + 1]
  by_row <- ggml_evaluate(model, d$x, d$y, sample_weight = w)$loss
  weights <- c("1" = 5, "0" = 1, "2" = 0.5)
  expect_equal(ggml_evaluate(model, d$x, d$y, class_weight = weights)$loss, by_row)
  set.seed(1)
  a <- ggml_fit(model, d$x, d$y, class_weight = as.list(weights), verbose = 0)
  set.seed(1)
  b <- ggml_fit(model, d$x, d$y, sample_weight = w, verbose = 0)
  expect_identical(a$history, b$history)
  expect_identical(a$layers, b$layers)

  # One sigmoid has the classes 0 and 1.
  set.seed(1)
  model <- ggml_model_sequential() |> ggml_layer_dense(1, "sigmoid", input_shape = 4)
  model <- ggml_compile(model, loss = "binary_crossentropy")
  y <- d$class > 0
  expect_equal(
    ggml_evaluate(model, d$x, y, class_weight = c("0" = 3, "1" = 1))$loss,
    ggml_evaluate(model, d$x, y, sample_weight = ifelse(y, 1, 3))$loss
  )
})

test_that("fit_class_weight_gap: class_weight must cover all classes", {
  d <- nn_groups()
  model <- nn_classifier()
  fit <- function(w, ...) ggml_fit(model, d$x, d$y, class_weight = w, verbose = 0, ...)
  expect_refused(
    fit(c("0" = 1, "2" = 1)), "argument", "cover all classes", "\"0\", \"1\", \"2\"",
    "Missing: \"1\"", arg = "class_weight"
  )
  expect_refused(fit(c("1" = 1, "2" = 1, "3" = 1)), "argument", "Unknown: \"3\"")
  expect_refused(fit(c(1, 2, 3)), "argument", "named")
  expect_refused(fit("heavy"), "argument", "class_weight")
  expect_refused(fit(c("0" = 1, "1" = -1, "2" = 1)), "argument", "not negative")
  expect_refused(
    fit(c("0" = 1, "1" = 1, "2" = 1), sample_weight = rep(1, 60)), "argument", "not both"
  )
  expect_refused(
    ggml_fit(nn_linear(), matrix(0, 2, 2), 1:2, class_weight = c("0" = 1), verbose = 0),
    "argument", "class_weight", "mse"
  )
})

test_that("wrong sample weights are refused", {
  d <- nn_groups()
  fit <- function(w, loss = "mse") {
    ggml_fit(nn_classifier(loss = loss), d$x, d$y, sample_weight = w, verbose = 0)
  }
  expect_refused(fit(1:3), "shape", "sample_weight", "length 60", "length 3")
  expect_refused(fit(matrix(1, 60, 2)), "shape", "60 x 3", "60 x 2")
  expect_refused(
    fit(matrix(1, 60, 3), "categorical_crossentropy"), "argument", "matrix", "mse"
  )
  expect_refused(fit(rep(-1, 60)), "argument", "not negative")
  expect_refused(fit(rep(NA_real_, 60)), "argument", "finite")
  expect_refused(fit(rep("a", 60)), "argument", "sample_weight")
  # A column is a vector.
  expect_silent(fit(matrix(1, 60, 1)))
})

test_that("class weights beyond single precision are refused by class", {
  d <- nn_groups()
  expect_refused(
    ggml_fit(nn_classifier(), d$x, d$y, class_weight = c("0" = 1, "1" = 1e39, "2" = 1)),
    "argument", "\"1\"", "1e+39", arg = "class_weight"
  )
})
