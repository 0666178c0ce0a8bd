groups <- nn_groups()

test_that("KER-05: evaluation measures loss and accuracy on all rows", {
  model <- nn_classifier(metrics = c("accuracy", "mae", "mse", "rmse"))
  d <- nn_groups(50)
  p <- ggml_predict(model, d$x)
  result <- ggml_evaluate(model, d$x, d$y)
  expect_named(result, c("loss", "accuracy", "n_samples", "mae", "mse", "rmse"))
  expect_identical(as.integer(result$n_samples), 50L)
  expect_equal(result$loss, -mean(log(p[d$y == 1])), tolerance = 1e-5)
  expect_equal(result$accuracy, mean(max.col(p, "first") == d$class + 1))
  expect_equal(result$mae, mean(abs(p - d$y)), tolerance = 1e-5)
  expect_equal(result$mse, mean((p - d$y)^2), tolerance = 1e-5)
  expect_equal(result$rmse, sqrt(mean((p - d$y)^2)), tolerance = 1e-5)
  for (size in c(1, 7, 32, 50, 1000)) {
    expect_equal(ggml_evaluate(model, d$x, d$y, batch_size = size), result, tolerance = 1e-5)
  }
  expect_identical(ggml_evaluate(model, d$x, factor(d$class)), result)
})

test_that("the accuracy of one output", {
  d <- nn_groups()
  expect_identical(ggml_evaluate(nn_linear(inputs = 4L), d$x, d$class)$accuracy, NA_real_)
  set.seed(1)
  model <- ggml_model_sequential() |> ggml_layer_dense(1, "sigmoid", input_shape = 4)
  model <- ggml_compile(model, loss = "binary_crossentropy")
  truth <- d$class > 0
  p <- ggml_predict(model, d$x)[, 1]
  expect_equal(ggml_evaluate(model, d$x, truth)$accuracy, mean((p >= 0.5) == truth))
  fitted <- ggml_fit(model, d$x, truth, epochs = 120, batch_size = 4, verbose = 0)
  expect_gt(ggml_evaluate(fitted, d$x, truth)$accuracy, 0.9)
})

test_that("KER-06: prediction returns one row per sample", {
  model <- nn_classifier()
  p <- ggml_predict(model, groups$x)
  hidden <- pmax(nn_affine(model, groups$x, 1), 0)
  expect_equal(p, nn_softmax(nn_affine(model, hidden, 2)), tolerance = 1e-5)
  expect_identical(predict(model, groups$x), p)
  x <- groups$x
  rownames(x) <- paste0("s", 1:60)
  expect_identical(rownames(ggml_predict(model, x)), rownames(x))
  expect_null(rownames(ggml_predict(model, as.data.frame(groups$x))))
})

test_that("predict_wrong_cols: the number of columns is checked", {
  model <- nn_classifier()
  expect_refused(
    ggml_predict(model, groups$x[, 1:3]), "shape", "expected 4 columns, got 3", arg = "x"
  )
  expect_refused(predict(model, groups$x[, 1:3]), "shape", "expected 4 columns, got 3")
  expect_refused(ggml_predict_classes(model, groups$x[, 1:3]), "shape", "got 3")
  expect_refused(ggml_evaluate(model, groups$x[, 1:3], groups$y), "shape", "got 3")
})

test_that("predict_NA: rows that can't be computed are NA, the others are not", {
  model <- nn_classifier()
  full <- ggml_predict(model, groups$x)
  for (bad in c(NA, NaN, Inf, -Inf)) {
    x <- groups$x
    x[5, 2] <- bad
    p <- ggml_predict(model, x)
    expect_true(all(is.na(p[5, ])))
    expect_equal(p[-5, ], full[-5, ], tolerance = 1e-6)
    classes <- ggml_predict_classes(model, x)
    expect_identical(classes[5], NA_integer_)
    expect_false(anyNA(classes[-5]))
    expect_refused(ggml_evaluate(model, x, groups$y), "argument", "row 5, column 2")
  }
})

test_that("predict_50_rows: 50 rows come back for batches of 32, and for others", {
  model <- nn_classifier()
  d <- nn_groups(50)
  p <- ggml_predict(model, d$x, batch_size = 32)
  expect_identical(dim(p), c(50L, 3L))
  for (size in c(1, 7, 49, 50, 51, 1e6)) {
    expect_equal(ggml_predict(model, d$x, batch_size = size), p, tolerance = 1e-6)
  }
  expect_identical(dim(ggml_predict(model, d$x[1, , drop = FALSE])), c(1L, 3L))
  expect_refused(ggml_predict(model, d$x[0, ]), "shape", "No samples provided")
  expect_refused(ggml_predict(model, d$x, batch_size = 0), "argument", "batch_size")
})

test_that("predict_vector: a vector is one row if it has that length", {
  model <- nn_classifier()
  p <- ggml_predict(model, groups$x[1:2, ])
  expect_equal(ggml_predict(model, groups$x[1, ]), p[1, , drop = FALSE], tolerance = 1e-6)
  expect_refused(
    ggml_predict(model, 1:8), "shape", "vector of length 8", "matrix with 4 columns"
  )
  # One feature: every element is a sample.
  one <- nn_linear(inputs = 1L)
  expect_identical(dim(ggml_predict(one, 1:5)), c(5L, 1L))
})

test_that("classes are counted from 1, and the first of equals wins", {
  model <- nn_linear(outputs = 3L)
  model <- nn_put_values(model, list(weight = numeric(6), bias = c(1, 2, 2)))
  expect_identical(ggml_predict_classes(model, diag(2)), c(2L, 2L))
  expect_identical(
    ggml_predict_classes(nn_classifier(), groups$x),
    max.col(ggml_predict(nn_classifier(), groups$x), "first")
  )
  norm <- ggml_model_sequential() |> ggml_layer_rms_norm()
  norm$input_shape <- c(2L, 3L)
  norm <- ggml_compile(norm, loss = "mse")
  expect_refused(ggml_predict_classes(norm, array(1, c(2, 2, 3))), "shape", "2 x 3")
})

test_that("unknown and missing arguments are refused", {
  model <- nn_classifier()
  expect_refused(ggml_predict(model), "argument", "`x` is missing")
  expect_refused(ggml_evaluate(model, groups$x), "argument", "`y` is missing")
  expect_refused(ggml_predict(model, groups$x, verbose = 1), "argument", "verbose")
  expect_refused(ggml_evaluate(model, groups$x, groups$y, foo = 1), "argument", "foo")
  raw <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(ggml_predict(raw, groups$x), "argument", "not compiled")
  expect_refused(ggml_evaluate(raw, groups$x, groups$y), "argument", "not compiled")
})

test_that("predicting draws no random numbers", {
  model <- nn_classifier()
  set.seed(1)
  before <- .Random.seed
  ggml_predict(model, groups$x)
  ggml_evaluate(model, groups$x, groups$y)
  expect_identical(.Random.seed, before)
})

test_that("classes of a single output are told apart at 0.5", {
  model <- nn_linear(inputs = 1L, loss = "binary_crossentropy")
  model <- nn_put_values(model, list(1, 0) |> stats::setNames(names(nn_values(model))))
  x <- matrix(c(0.1, 0.5, 0.6, NA), 4)
  expect_identical(ggml_predict_classes(model, x), c(1L, 1L, 2L, NA))
  expect_refused(
    ggml_predict_classes(nn_linear(inputs = 1L), x), "argument", "at least two outputs"
  )
})
