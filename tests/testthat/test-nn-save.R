groups <- nn_groups()
every_layer <- function() {
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_flatten() |>
    ggml_layer_dense(8, "silu", trainable = FALSE) |>
    ggml_layer_batch_norm() |>
    ggml_layer_rms_norm(eps = 1e-3) |>
    ggml_layer_dropout(0.2, stochastic = FALSE) |>
    ggml_layer_layer_norm() |>
    ggml_layer_dense(3, "softmax", name = "head")
  model$input_shape <- c(2L, 2L)
  model <- suppressMessages(ggml_compile(model, metrics = c("accuracy", "mae")))
  x <- array(groups$x, c(60, 2, 2))
  list(model = ggml_fit(model, x, groups$y, epochs = 2, verbose = 0), x = x)
}
saved <- function(object) {
  path <- tempfile(fileext = ".rds")
  saveRDS(object, path)
  path
}

test_that("KER-83: a saved model predicts the same after loading", {
  m <- every_layer()
  path <- tempfile(fileext = ".rds")
  expect_identical(ggml_save_model(m$model, path), path)
  set.seed(1)
  seed <- .Random.seed
  loaded <- ggml_load_model(path)
  expect_identical(.Random.seed, seed)
  expect_true(loaded$compiled)
  expect_identical(ggml_predict(loaded, m$x), ggml_predict(m$model, m$x))
  expect_identical(loaded$layers, m$model$layers)
  expect_identical(loaded$compilation, m$model$compilation)
  expect_identical(
    ggml_evaluate(loaded, m$x, groups$y), ggml_evaluate(m$model, m$x, groups$y)
  )
  # It can be trained further.
  again <- ggml_fit(loaded, m$x, groups$y, verbose = 0)
  expect_identical(again$layers[[2]]$weights, loaded$layers[[2]]$weights)
  expect_false(identical(again$layers[[7]]$weights, loaded$layers[[7]]$weights))
})

test_that("the file format is the documented one", {
  path <- tempfile(fileext = ".rds")
  ggml_save_model(nn_classifier(), path)
  file <- readRDS(path)
  expect_named(
    file, c("class", "version", "input_shape", "layers", "weights", "compilation")
  )
  expect_identical(file$version, 3L)
  weight <- file$weights$dense_1[[1]]
  expect_identical(weight[c("dtype", "ne")], list(dtype = "f32", ne = c(4L, 8L)))
  expect_type(weight$data, "raw")

  # Version 2 held plain numbers.
  file$version <- 2L
  file$weights <- lapply(file$weights, lapply, function(w) {
    readBin(w$data, "double", prod(w$ne), 4L, endian = "little")
  })
  old <- ggml_load_model(saved(file))
  expect_identical(ggml_predict(old, groups$x), ggml_predict(nn_classifier(), groups$x))
})

test_that("C1: saveRDS() and readRDS() of a fitted model work in a new process", {
  m <- every_layer()
  path <- saved(m)
  expect_equal(
    ggml_predict(readRDS(path)$model, m$x), ggml_predict(m$model, m$x), tolerance = 1e-6
  )
  result <- tempfile(fileext = ".rds")
  nn_new_process(c(
    paste0("m <- readRDS(", nn_path(path), ")"),
    "again <- ggml_compile(m$model)",
    paste0(
      "saveRDS(list(ggml_predict(m$model, m$x), ggml_predict(again, m$x)), ",
      nn_path(result), ")"
    )
  ))
  other <- readRDS(result)
  expect_equal(other[[1]], ggml_predict(m$model, m$x), tolerance = 1e-6)
  expect_equal(other[[2]], other[[1]], tolerance = 1e-6)
})

test_that("C2: a model inside lists, environments and closures survives", {
  model <- ggml_fit(nn_classifier(), groups$x, groups$y, verbose = 0)
  expected <- ggml_predict(model, groups$x)
  nested <- unserialize(serialize(list(a = list(model)), NULL))
  expect_identical(ggml_predict(nested$a[[1]], groups$x), expected)
  holder <- new.env()
  holder$model <- model
  holder <- unserialize(serialize(holder, NULL))
  expect_identical(ggml_predict(holder$model, groups$x), expected)
  predictor <- local({
    inner <- model
    function(x) ggml_predict(inner, x)
  })
  expect_identical(unserialize(serialize(predictor, NULL))(groups$x), expected)

  # Through a file, in another process.
  path <- saved(list(a = list(model)))
  result <- tempfile(fileext = ".rds")
  nn_new_process(c(
    paste0("nested <- readRDS(", nn_path(path), ")"),
    paste0("x <- readRDS(", nn_path(saved(groups$x)), ")"),
    paste0("saveRDS(ggml_predict(nested$a[[1]], x), ", nn_path(result), ")")
  ))
  expect_equal(readRDS(result), expected, tolerance = 1e-6)
})

test_that("models work in forked workers, and after them", {
  skip_on_os("windows")
  model <- ggml_fit(nn_classifier(), groups$x, groups$y, verbose = 0)
  expected <- ggml_predict(model, groups$x)
  results <- parallel::mclapply(1:2, function(i) {
    set.seed(i)
    list(
      predicted = ggml_predict(model, groups$x),
      fitted = ggml_fit(model, groups$x, groups$y, epochs = 2, verbose = 0)
    )
  }, mc.cores = 2)
  for (result in results) {
    expect_equal(result$predicted, expected, tolerance = 1e-6)
    expect_identical(dim(ggml_predict(result$fitted, groups$x)), c(60L, 3L))
  }
  set.seed(1)
  here <- ggml_fit(model, groups$x, groups$y, epochs = 2, verbose = 0)
  expect_equal(results[[1]]$fitted$history, here$history, tolerance = 1e-6)
  expect_identical(ggml_predict(model, groups$x), expected)
})

test_that("C5: a model without usable weights says which function helps", {
  model <- nn_classifier()
  model$layers[[1]]$weights <- NULL
  expect_refused(ggml_predict(model, groups$x), "argument", "dense_1", "ggml_load_weights()")
  # It can get them back.
  path <- tempfile(fileext = ".rds")
  ggml_save_weights(nn_classifier(), path)
  expect_identical(
    ggml_predict(ggml_load_weights(model, path), groups$x),
    ggml_predict(nn_classifier(), groups$x)
  )
})

test_that("load_model_not_model: another file is refused", {
  path <- saved(iris)
  expect_refused(ggml_load_model(path), "format", "not a ggmlR model file", basename(path))
  expect_refused(ggml_load_model(saved(1:3)), "format", "not a ggmlR model file")
  expect_refused(ggml_load_model(saved(list(layers = 1))), "format", "not a ggmlR model file")
  text <- tempfile(fileext = ".rds")
  writeLines("no rds", text)
  expect_refused(ggml_load_model(text), "format", "not a ggmlR model file")
  file.create(text)
  expect_refused(ggml_load_model(text), "format", "not a ggmlR model file")
})

test_that("load_model_missing: the path of a missing file is shown", {
  expect_refused(
    ggml_load_model("no/such/model.rds"), "io", "does not exist", "no/such/model.rds",
    arg = "path"
  )
  expect_refused(ggml_load_model(7), "argument", "path")
  expect_refused(ggml_load_weights(nn_classifier(), "no/such.rds"), "io", "does not exist")
})

test_that("damaged model files are refused", {
  path <- tempfile(fileext = ".rds")
  ggml_save_model(nn_classifier(), path)
  good <- readRDS(path)
  broken <- function(change) ggml_load_model(saved(change(good)))
  expect_refused(broken(function(f) {
    f$version <- 9L
    f
  }), "format", "version 9", "2 and 3")
  expect_refused(broken(function(f) {
    f$class <- "no_such_model"
    f
  }), "format", "no_such_model")
  expect_refused(broken(function(f) {
    f$weights[[1]][[1]]$data <- raw(4)
    f
  }), "format", "mismatch", "dense_1")
  expect_refused(broken(function(f) {
    f$weights[[2]] <- NULL
    f
  }), "format", "mismatch", "2 layers")
  expect_refused(broken(function(f) {
    f$layers[[1]]$config$units <- 9L
    f
  }), "format", "mismatch")
  expect_error(broken(function(f) {
    f$layers[[1]]$type <- "no_such_layer"
    f
  }), class = "ggmlr_error")
  expect_error(broken(function(f) {
    f$compilation$loss <- "no_such_loss"
    f
  }), class = "ggmlr_error")
  expect_still_computes()
})

test_that("weights can be saved alone and are checked when read", {
  fitted <- ggml_fit(nn_classifier(), groups$x, groups$y, epochs = 2, verbose = 0)
  path <- tempfile(fileext = ".rds")
  expect_identical(ggml_save_weights(fitted, path), path)
  expect_named(readRDS(path), c("weights", "architecture", "version"))
  other <- ggml_load_weights(nn_classifier(seed = 99), path)
  expect_identical(ggml_predict(other, groups$x), ggml_predict(fitted, groups$x))

  expect_refused(
    ggml_load_weights(nn_classifier(units = 9L), path), "format", "mismatch", "dense_1"
  )
  expect_refused(
    ggml_load_weights(nn_linear(), path), "format", "mismatch", "dense, dense"
  )
  expect_refused(
    ggml_load_model(path), "format", "ggml_save_weights", "ggml_load_weights"
  )
  model_file <- tempfile(fileext = ".rds")
  ggml_save_model(fitted, model_file)
  expect_refused(
    ggml_load_weights(nn_classifier(), model_file), "format", "not a ggmlR weights file"
  )
  raw <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(ggml_load_weights(raw, path), "argument", "not compiled")
  expect_refused(ggml_save_weights(raw, path), "argument", "not compiled")
  expect_refused(ggml_save_model(raw, path), "argument", "not compiled")
})

test_that("a model written by saveRDS() loads like a model file", {
  fitted <- ggml_fit(nn_classifier(), groups$x, groups$y, verbose = 0)
  loaded <- ggml_load_model(saved(fitted))
  expect_identical(ggml_predict(loaded, groups$x), ggml_predict(fitted, groups$x))
})

test_that("a file that can't be written is an error with the path", {
  expect_refused(
    ggml_save_model(nn_classifier(), "no/such/dir/model.rds"), "io", "no/such/dir",
    arg = "path"
  )
  expect_refused(ggml_save_model(nn_classifier(), c("a", "b")), "argument", "path")
})

test_that("damaged contents of files give a format error, no plain ones", {
  path <- tempfile(fileext = ".rds")
  ggml_save_model(nn_classifier(), path)
  good <- readRDS(path)
  weights_path <- tempfile(fileext = ".rds")
  ggml_save_weights(nn_classifier(), weights_path)
  good_weights <- readRDS(weights_path)
  refuse <- function(load, file, change) {
    path <- saved(change(file))
    expect_no_warning(expect_refused(load(path), "format", "damaged"))
  }
  for (change in list(
    function(f) { f$weights[[1]] <- 3; f },
    function(f) { f$weights[[1]] <- mean; f },
    function(f) { f$version <- mean; f },
    function(f) { f$version <- "a"; f },
    function(f) { f$layers[[1]]$name <- mean; f },
    function(f) { f$layers[[2]]$name <- f$layers[[1]]$name; f }
  )) {
    refuse(ggml_load_model, good, change)
  }
  for (change in list(
    function(f) { f$weights[[1]] <- 3; f },
    function(f) { f$architecture[[1]]$type <- NULL; f },
    function(f) { f$architecture[[1]] <- mean; f }
  )) {
    refuse(function(path) ggml_load_weights(nn_classifier(), path), good_weights, change)
  }
  for (bad in list("a", mean, NULL, NA)) {
    path <- saved(utils::modifyList(good_weights, list(version = bad)))
    expect_no_warning(
      expect_refused(ggml_load_weights(nn_classifier(), path), "format", "version")
    )
  }
  # Whatever the reading code did not foresee.
  for (code in expression(stop("plain"), as.integer("plain"))) {
    expect_error(
      ggmlR:::nn_reading("p", "model", eval(code)), "damaged ggmlR model file: ",
      class = "ggmlr_error_format"
    )
  }
  for (change in list(
    function(f) { f$layers[[1]]$config$units <- mean; f },
    function(f) { f$input_shape <- list(mean); f },
    function(f) { f$compilation$loss <- mean; f }
  )) {
    refuse(ggml_load_model, good, change)
  }
  expect_refused(ggml_load_model(path, backend = "x"), "argument", arg = "backend")
})

test_that("a full disk is an error and keeps the old file", {
  skip_if_not(file.exists("/dev/full"))
  for (save in list(ggml_save_model, ggml_save_weights)) {
    expect_refused(save(nn_classifier(), "/dev/full"), "io", "/dev/full", arg = "path")
  }
  expect_identical(file.size("/dev/full"), 0)
})

test_that("saving over a file replaces it and leaves no other files", {
  folder <- tempfile()
  dir.create(folder)
  path <- file.path(folder, "model.rds")
  writeLines("old", path)
  ggml_save_model(nn_classifier(), path)
  expect_identical(dir(folder, all.files = TRUE, no.. = TRUE), "model.rds")
  expect_true(ggml_load_model(path)$compiled)
  expect_refused(ggml_save_model(nn_classifier(), folder), "io", "directory")
})

test_that("a very long path gives no plain warning", {
  for (n in c(300, 5000, 1e5)) {
    path <- file.path(tempdir(), strrep("a", n))
    expect_no_warning(expect_refused(ggml_save_model(nn_classifier(), path), "io", arg = "path"))
    expect_no_warning(expect_refused(ggml_load_model(path), "io", arg = "path"))
  }
  expect_false(any(startsWith(dir(tempdir()), "ggmlr-")))
})
