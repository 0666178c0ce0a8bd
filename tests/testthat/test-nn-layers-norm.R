norm_model <- function(layer, shape, eps = 1e-5) {
  model <- ggml_model_sequential()
  model$input_shape <- shape
  model <- suppressMessages(ggml_compile(layer(model, eps = eps), loss = "mse"))
  k <- shape[length(shape)]
  nn_put_values(model, list(gamma = seq_len(k) / k, beta = -seq_len(k)))
}

# By R, over the last axis of an array [N, ..., k].
norm_expected <- function(x, normalise, eps) {
  k <- dim(x)[length(dim(x))]
  flat <- matrix(x, ncol = k)
  flat <- t(apply(flat, 1, normalise, eps = eps))
  flat <- sweep(sweep(flat, 2, seq_len(k) / k, `*`), 2, -seq_len(k), `+`)
  array(flat, dim(x))
}

rms <- function(v, eps) v / sqrt(mean(v^2) + eps)
standard <- function(v, eps) (v - mean(v)) / sqrt(mean((v - mean(v))^2) + eps)

test_that("KER-12: batch_norm divides by the root mean square, then scales and shifts", {
  x <- matrix(stats::rnorm(35), 5)
  expect_equal(ggml_predict(norm_model(ggml_layer_batch_norm, 7L), x),
    norm_expected(x, rms, 1e-5),
    tolerance = 1e-5
  )
})

test_that("KER-13: rms_norm follows its formula", {
  x <- matrix(stats::rnorm(35), 5)
  for (eps in c(1e-5, 0.5)) {
    expect_equal(ggml_predict(norm_model(ggml_layer_rms_norm, 7L, eps), x),
      norm_expected(x, rms, eps),
      tolerance = 1e-5
    )
  }
})

test_that("KER-14: layer_norm centres as well as scales", {
  x <- matrix(stats::rnorm(35, mean = 3), 5)
  for (eps in c(1e-5, 0.5)) {
    expect_equal(ggml_predict(norm_model(ggml_layer_layer_norm, 7L, eps), x),
      norm_expected(x, standard, eps),
      tolerance = 1e-5
    )
  }
})

test_that("the norms work on the features of each position of a sequence", {
  x <- array(stats::rnorm(2 * 3 * 4), c(2, 3, 4))
  expect_equal(ggml_predict(norm_model(ggml_layer_rms_norm, c(3L, 4L)), x),
    norm_expected(x, rms, 1e-5),
    tolerance = 1e-5
  )
  expect_equal(ggml_predict(norm_model(ggml_layer_layer_norm, c(3L, 4L)), x),
    norm_expected(x, standard, 1e-5),
    tolerance = 1e-5
  )
})

test_that("models with norms train, gamma and beta included", {
  d <- nn_groups()
  for (layer in list(ggml_layer_batch_norm, ggml_layer_rms_norm, ggml_layer_layer_norm)) {
    set.seed(1)
    model <- ggml_model_sequential() |> ggml_layer_dense(8, input_shape = 4)
    model <- layer(model) |> ggml_layer_dense(3, activation = "softmax")
    model <- suppressMessages(ggml_compile(model))
    fitted <- ggml_fit(model, d$x, d$y, epochs = 80, batch_size = 4, verbose = 0)
    expect_gt(ggml_evaluate(fitted, d$x, d$y)$accuracy, 0.9)
    expect_false(all(nn_values(fitted, 2)$gamma == 1))
    expect_false(all(nn_values(fitted, 2)$beta == 0))
  }
})

test_that("eps must be positive", {
  model <- ggml_model_sequential()
  for (layer in list(ggml_layer_batch_norm, ggml_layer_rms_norm, ggml_layer_layer_norm)) {
    for (eps in list(0, -1, NA, "a", Inf)) {
      expect_refused(layer(model, eps = eps), "argument", "eps", arg = "eps")
    }
  }
})
