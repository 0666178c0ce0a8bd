groups <- nn_groups()
fit_quietly <- function(x = groups$x, y = groups$y, ..., model = nn_classifier()) {
  ggml_fit(model, x, y, verbose = 0, ...)
}

# The same data in another dress must give the same fit.
expect_same_fit <- function(x = groups$x, y = groups$y, model = nn_classifier()) {
  set.seed(9)
  plain <- fit_quietly(as.matrix(groups$x), model = model)
  set.seed(9)
  dressed <- fit_quietly(x, y, model = model)
  expect_identical(dressed$history, plain$history)
  expect_identical(dressed$layers, plain$layers)
}

test_that("fit_x_too_many_cols: the number of columns is checked", {
  expect_refused(
    fit_quietly(matrix(0, 64, 6), diag(3)[rep(1:3, length.out = 64), ]),
    "shape", "`x`", "expected 4 columns, got 6", arg = "x"
  )
})

test_that("fit_y_short: x and y need the same number of rows", {
  expect_refused(
    fit_quietly(matrix(0, 64, 4), diag(3)[rep(1:3, length.out = 40), ]),
    "shape", "`x`", "`y`", "rows", "64", "40", arg = "y"
  )
  expect_refused(
    fit_quietly(y = groups$class[1:40]), "shape", "60", "40"
  )
  expect_refused(
    fit_quietly(y = factor(groups$class)[1:40]), "shape", "60", "40"
  )
})

test_that("fit_y_vector_labels: labels from 0 are accepted, others explained", {
  expect_same_fit(y = groups$class)
  expect_same_fit(y = as.double(groups$class))
  expect_refused(
    fit_quietly(y = groups$class + 1L), "argument", "labels", "from 0 to 2", "subtract 1",
    "one-hot"
  )
  expect_refused(fit_quietly(y = replace(groups$class, 3, 7)), "argument", "element 3 is 7")
  expect_refused(fit_quietly(y = replace(groups$class, 3, NA)), "argument", "element 3 is NA")
  expect_refused(fit_quietly(y = groups$class + 0.5), "argument", "whole numbers")
  expect_refused(
    fit_quietly(y = matrix(groups$class)), "shape", "expected 3 columns, got 1", "factor"
  )
  expect_refused(
    fit_quietly(y = groups$class, model = nn_classifier(loss = "mse")),
    "shape", "expected 3 columns, got 1"
  )
})

test_that("fit_y_factor: a factor is one-hot encoded", {
  expect_same_fit(y = factor(c("a", "b", "c")[groups$class + 1L]))
  expect_same_fit(y = data.frame(class = factor(groups$class)))
  expect_refused(fit_quietly(y = factor(groups$class > 0)), "shape", "2 levels", "3 classes")
  expect_refused(
    fit_quietly(y = factor(replace(groups$class, 5, NA))), "argument", "missing labels", "row 5"
  )
  expect_refused(
    fit_quietly(y = as.character(groups$class)), "argument", "character", "factor()"
  )
  expect_refused(
    fit_quietly(y = factor(groups$class), model = nn_classifier(loss = "mse")),
    "argument", "a factor", "one-hot"
  )
  # Two levels and one sigmoid.
  set.seed(1)
  model <- ggml_model_sequential() |> ggml_layer_dense(1, "sigmoid", input_shape = 4)
  model <- ggml_compile(model, loss = "binary_crossentropy")
  two <- groups$class > 0
  set.seed(2)
  a <- fit_quietly(y = factor(two), model = model)
  set.seed(2)
  b <- fit_quietly(y = two + 0, model = model)
  expect_identical(a$history, b$history)
})

test_that("fit_x_Inf: missing and infinite values are refused with their place", {
  for (bad in c(Inf, -Inf, NaN, NA)) {
    x <- groups$x
    x[7, 2] <- bad
    expect_refused(
      fit_quietly(x), "argument", "`x`", "1 missing or infinite value", "row 7, column 2"
    )
    y <- groups$y
    y[7, 2] <- bad
    expect_refused(fit_quietly(y = y), "argument", "`y`", "row 7, column 2")
  }
  # Large but finite sums pass.
  expect_silent(ggmlR:::nn_check_finite(matrix(1e308, 2, 2), "x"))
})

test_that("fit_x_integer_matrix: integers are numbers", {
  x <- round(groups$x * 10)
  set.seed(1)
  a <- fit_quietly(x)
  storage.mode(x) <- "integer"
  set.seed(1)
  b <- fit_quietly(x)
  expect_identical(a$history, b$history)
})

test_that("fit_x_logical_matrix: logical values count as 0 and 1", {
  x <- groups$x > 0
  set.seed(1)
  a <- fit_quietly(x + 0)
  set.seed(1)
  b <- fit_quietly(x)
  expect_identical(a$history, b$history)
})

test_that("fit_x_data_frame: numeric data frames are accepted, others explained", {
  frame <- as.data.frame(groups$x)
  expect_same_fit(frame)
  expect_same_fit(data.frame(frame[1:2], rest = I(as.matrix(frame[3:4]))))
  frame$V2 <- factor(groups$class)
  frame$V3 <- as.character(groups$class)
  expect_refused(fit_quietly(frame), "argument", "`V2` (factor)", "`V3` (character)", arg = "x")
  frame$V2 <- frame$V3 <- as.Date("2024-01-01")
  expect_refused(fit_quietly(frame), "argument", "`V2` (Date)")
})

test_that("attributes of x do not matter", {
  x <- groups$x
  dimnames(x) <- list(paste0("r", 1:60), letters[1:4])
  attr(x, "scaled:center") <- 1:4
  expect_same_fit(x)
})

test_that("x of a wrong class is refused by its name", {
  for (x in list("a", matrix("a", 60, 4), mean, Sys.Date() + 1:4, NULL, quote(a))) {
    expect_refused(fit_quietly(x), "argument", "`x`", arg = "x")
  }
  expect_refused(fit_quietly(array(0, c(60, 2, 2))), "shape", "N x 4", "60 x 2 x 2")
  expect_refused(fit_quietly(list(groups$x, groups$x)), "argument", "list of 2", "1 input")
  expect_refused(fit_quietly(matrix(0, 0, 4), matrix(0, 0, 3)), "shape", "No samples")
})

test_that("a list of one matrix is that matrix", {
  expect_same_fit(list(groups$x), list(groups$y))
})

test_that("arrays must have the model's axes", {
  model <- ggml_model_sequential() |> ggml_layer_dense(2, input_shape = c(3, 2))
  model <- suppressMessages(ggml_compile(model, loss = "mse"))
  expect_refused(ggml_predict(model, matrix(0, 5, 6)), "shape", "N x 3 x 2", "5 x 6")
  expect_refused(ggml_predict(model, array(0, c(5, 2, 3))), "shape", "N x 3 x 2", "5 x 2 x 3")
  expect_refused(ggml_predict(model, iris[1:4]), "argument", "numeric array")
  expect_identical(dim(ggml_predict(model, numeric(6))), c(1L, 2L))
})

test_that("targets must be possible for the loss", {
  expect_refused(fit_quietly(y = -groups$y), "argument", "not be negative", arg = "y")
  set.seed(1)
  model <- ggml_model_sequential() |> ggml_layer_dense(1, "sigmoid", input_shape = 4)
  model <- ggml_compile(model, loss = "binary_crossentropy")
  expect_refused(fit_quietly(y = groups$class, model = model), "argument", "[0, 1]", "2")
  expect_refused(
    fit_quietly(y = cbind(groups$y, 1)), "shape", "expected 3 columns, got 4"
  )
})

test_that("a vector is one column of targets, or the only row", {
  model <- nn_linear()
  x <- matrix(1:6 / 6, 3)
  set.seed(1)
  a <- ggml_fit(model, x, 1:3, verbose = 0)
  set.seed(1)
  b <- ggml_fit(model, x, matrix(1:3), verbose = 0)
  expect_identical(a$history, b$history)
  one <- ggml_fit(nn_classifier(), groups$x[1, ], groups$y[1, ], verbose = 0)
  expect_true(is.finite(one$history$train_loss))
  expect_refused(ggml_fit(model, c(1, 2), 1:3, verbose = 0), "shape", "1 and 3")
})
