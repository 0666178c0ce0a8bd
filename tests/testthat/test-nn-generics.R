groups <- nn_groups()

test_that("KER-80: compile() and fit() are those of package generics", {
  expect_identical(ggmlR::compile, generics::compile)
  expect_identical(ggmlR::fit, generics::fit)
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(8, "relu", input_shape = 4) |>
    ggml_layer_dense(3, "softmax") |>
    compile(optimizer = "sgd", loss = "cross_entropy", backend = "cpu")
  expect_identical(model$compilation$optimizer, "sgd")
  expect_identical(model$compilation$backend_requested, "cpu")
  set.seed(2)
  w <- c("0" = 1, "1" = 2, "2" = 3)
  a <- fit(model, groups$x, groups$y, epochs = 2, verbose = 0, class_weight = w)
  set.seed(2)
  b <- ggml_fit(model, groups$x, groups$y, epochs = 2, verbose = 0, class_weight = w)
  expect_identical(a, b)
  expect_refused(fit(model, groups$x, groups$y, verbose = 0, foo = 1), "argument", "foo")
  expect_refused(fit(model, groups$x, verbose = 0), "argument", "`y` is missing")
})

test_that("KER-81: evaluate() takes data by position and by name", {
  model <- nn_classifier()
  expected <- ggml_evaluate(model, groups$x, groups$y)
  expect_identical(evaluate(model, groups$x, groups$y), expected)
  expect_identical(evaluate(model, x = groups$x, y = groups$y), expected)
  expect_identical(evaluate(model, y = groups$y, x = groups$x, batch_size = 32), expected)
  expect_identical(names(formals(ggmlR::evaluate)), c("object", "..."))
  w <- rep(c(1, 2), 30)
  expect_identical(
    evaluate(model, groups$x, groups$y, sample_weight = w),
    ggml_evaluate(model, groups$x, groups$y, sample_weight = w)
  )
})

test_that("KER-82: evaluate() works when another package hides it", {
  model <- nn_classifier()
  evaluate <- function(...) stop("hidden")
  expect_named(
    ggmlR::evaluate(model, groups$x, groups$y), c("loss", "accuracy", "n_samples")
  )
})

test_that("predict() passes batch_size on and treats NULL as 32", {
  model <- nn_classifier()
  p <- ggml_predict(model, groups$x)
  expect_equal(predict(model, groups$x, batch_size = 7), p, tolerance = 1e-6)
  expect_identical(predict(model, groups$x, batch_size = NULL), p)
  expect_refused(predict(model), "argument", "`x` is missing")
})
