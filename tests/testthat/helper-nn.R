# Shared by the tests of models. Small data with known structure, values of a
# model's weights as R matrices, and child processes.

# Three groups of points in four dimensions, easy to tell apart.
nn_groups <- function(n = 60L, seed = 42L) {
  nn_with_seed(seed, {
    class <- rep(0:2, length.out = n)
    x <- matrix(stats::rnorm(4L * n, sd = 0.3), n) + cbind(class, -class, class == 1, 0)
    list(x = x, class = class, y = diag(3L)[class + 1L, ])
  })
}

# As withr::with_seed(), without the package.
nn_with_seed <- function(seed, code) {
  old <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (is.null(old)) {
    rm(".Random.seed", envir = globalenv())
  } else {
    assign(".Random.seed", old, globalenv())
  })
  set.seed(seed)
  force(code)
}

nn_classifier <- function(seed = 1L, ..., units = 8L, inputs = 4L, outputs = 3L) {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(units, activation = "relu", input_shape = inputs) |>
    ggml_layer_dense(outputs, activation = "softmax")
  nn_with_seed(seed, suppressMessages(ggml_compile(model, ...)))
}

nn_linear <- function(seed = 1L, inputs = 2L, outputs = 1L, loss = "mse", ...) {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(outputs, input_shape = inputs)
  nn_with_seed(seed, suppressMessages(ggml_compile(model, loss = loss, ...)))
}

# The values of one layer's weights, matrices with one column per unit.
nn_values <- function(model, layer = 1L) {
  lapply(model$layers[[layer]]$weights, function(w) {
    v <- readBin(w$data, "double", prod(w$ne), size = 4L, endian = "little")
    if (length(w$ne) == 2L) matrix(v, w$ne[1L]) else v
  })
}

nn_put_values <- function(model, values, layer = 1L) {
  for (name in names(values)) {
    model$layers[[layer]]$weights[[name]]$data <-
      writeBin(as.double(values[[name]]), raw(), size = 4L, endian = "little")
  }
  model
}

# x W + b by R, for a dense layer.
nn_affine <- function(model, x, layer = 1L) {
  w <- nn_values(model, layer)
  sweep(x %*% w[[1L]], 2L, w[[2L]], `+`)
}

nn_softmax <- function(z) {
  e <- exp(z - apply(z, 1L, max))
  e / rowSums(e)
}

# After an error the same session must compute correctly.
expect_still_computes <- function() {
  model <- nn_linear()
  x <- matrix(1:6 / 3, 3L)
  expect_equal(ggml_predict(model, x), nn_affine(model, x), tolerance = 1e-6)
}

# An error of the kind, with all the patterns in its message, raised for a user's
# call, and a working session afterwards.
expect_refused <- function(object, kind, ..., arg = NULL) {
  condition <- expect_error(object, class = paste0("ggmlr_error_", kind))
  expect_s3_class(condition, "ggmlr_error")
  for (pattern in c(...)) {
    expect_match(conditionMessage(condition), pattern, fixed = TRUE)
  }
  if (!is.null(arg)) expect_identical(condition$arg, arg)
  call <- conditionCall(condition)
  if (!is.null(call)) expect_no_match(paste(deparse(call), collapse = ""), "^nn_")
  expect_still_computes()
  invisible(condition)
}

# Runs R code in a new process that has the package attached; returns what it
# prints. Values are passed through files.
nn_new_process <- function(code, wait = TRUE, output = TRUE) {
  file <- tempfile(fileext = ".R")
  library_dir <- dirname(find.package("ggmlR"))
  writeLines(c(
    paste0(".libPaths(c(", deparse(library_dir), ", .libPaths()))"),
    "library(ggmlR)", code
  ), file)
  system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(file)),
    stdout = if (wait && output) TRUE else FALSE, stderr = FALSE, wait = wait
  )
}

nn_path <- function(path) deparse(normalizePath(path, winslash = "/", mustWork = FALSE))

# Runs code at each of the numbers of threads, and puts the number back.
nn_at_threads <- function(threads, run) {
  old <- ggmlR::ggml_get_n_threads()
  on.exit(ggmlR::ggml_set_n_threads(old))
  lapply(threads, function(n) {
    ggmlR::ggml_set_n_threads(n)
    run()
  })
}
