test_that("KER-01: layers are piped onto a sequential model", {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(8, activation = "relu", input_shape = 4L) |>
    ggml_layer_dropout(rate = 0.3) |>
    ggml_layer_dense(3L, activation = "softmax")
  expect_s3_class(model, "ggml_sequential_model")
  expect_false(model$compiled)
  expect_identical(model$input_shape, 4L)
  expect_identical(
    vapply(model$layers, `[[`, "", "name"), c("dense_1", "dropout_1", "dense_2")
  )
})

test_that("input_shape may be set by hand", {
  model <- ggml_model_sequential() |>
    ggml_layer_dropout(0.1) |>
    ggml_layer_dense(2)
  model$input_shape <- 4L
  model <- suppressMessages(ggml_compile(model, loss = "mse"))
  expect_identical(dim(ggml_predict(model, matrix(0, 5, 4))), c(5L, 2L))

  # Numbers are taken as they are typed, and nonsense is refused at compile.
  model$input_shape <- 6
  expect_refused(ggml_predict(model, matrix(0, 5, 6)), "argument", "input_shape", "ggml_compile()")
  model <- suppressMessages(ggml_compile(model, loss = "mse"))
  expect_identical(dim(ggml_predict(model, matrix(0, 5, 6))), c(5L, 2L))
  model$input_shape <- "four"
  expect_refused(ggml_compile(model), "argument", "input_shape", "\"four\"")
})

test_that("the models of the package's description build, train and predict", {
  x_train <- matrix(stats::runif(784 * 80), 80)
  y_train <- diag(10)[rep(1:10, 8), ]
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(128L, activation = "relu", input_shape = 784L) |>
    ggml_layer_dropout(rate = 0.3) |>
    ggml_layer_dense(10L, activation = "softmax")
  model <- suppressMessages(ggml_compile(model,
    optimizer = "adam", loss = "categorical_crossentropy", metrics = "accuracy"
  ))
  utils::capture.output(
    model <- ggml_fit(model, x_train, y_train,
      epochs = 2L, batch_size = 32L, validation_split = 0.1, verbose = 1L
    )
  )
  expect_true(all(is.finite(model$history$val_loss)))
  expect_named(ggml_evaluate(model, x_train, y_train), c("loss", "accuracy", "n_samples"))
  expect_identical(dim(ggml_predict(model, x_train)), c(80L, 10L))

  # The regression model of the mlr3 example, gelu and "linear" included.
  set.seed(1)
  model <- ggml_model_sequential() |>
    ggml_layer_dense(256L, activation = "gelu", input_shape = 10) |>
    ggml_layer_dropout(0.2) |>
    ggml_layer_dense(64L, activation = "gelu") |>
    ggml_layer_dense(1, activation = "linear")
  model <- ggml_compile(model, loss = "mse")
  x <- scale(as.matrix(datasets::mtcars[, -1]))
  model <- ggml_fit(model, x, scale(datasets::mtcars$mpg), epochs = 60, verbose = 0)
  expect_lt(ggml_evaluate(model, x, scale(datasets::mtcars$mpg))$loss, 0.5)
})

test_that("layers are found by position or name", {
  model <- nn_classifier()
  expect_identical(ggml_get_layer(model, 2)$config$units, 3L)
  expect_identical(ggml_get_layer(model, name = "dense_1")$config$units, 8L)
  expect_refused(ggml_get_layer(model), "argument", "either index or name")
  expect_refused(ggml_get_layer(model, 1, "dense_1"), "argument", "not both")
  expect_refused(ggml_get_layer(model, 3), "argument", "out of range", "2 layers")
  expect_refused(ggml_get_layer(model, 0), "argument", "index")
  expect_refused(ggml_get_layer(model, name = "x"), "argument", "No layer with name", "dense_2")
})

test_that("the last layer can be removed", {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(8, input_shape = 4) |>
    ggml_layer_dense(3)
  model <- ggml_pop_layer(model)
  expect_length(model$layers, 1)
  expect_identical(model$input_shape, 4L)
  model <- ggml_pop_layer(model)
  expect_null(model$input_shape)
  expect_true("input_shape" %in% names(model))
  expect_refused(ggml_pop_layer(model), "argument", "no layers")
  expect_refused(ggml_pop_layer(nn_classifier()), "argument", "compiled")
})

test_that("frozen layers keep their weights, unfrozen ones learn again", {
  d <- nn_groups()
  model <- nn_classifier()
  before <- lapply(model$layers, `[[`, "weights")
  model <- ggml_freeze_weights(model, 1, 1)
  expect_false(ggml_get_layer(model, 1)$trainable)
  fitted <- ggml_fit(model, d$x, d$y, epochs = 2, verbose = 0)
  expect_identical(fitted$layers[[1]]$weights, before[[1]])
  expect_false(identical(fitted$layers[[2]]$weights, before[[2]]))

  fitted <- ggml_fit(ggml_unfreeze_weights(fitted), d$x, d$y, epochs = 1, verbose = 0)
  expect_false(identical(fitted$layers[[1]]$weights, before[[1]]))

  fitted <- ggml_fit(ggml_freeze_weights(model), d$x, d$y, epochs = 1, verbose = 0)
  expect_identical(lapply(fitted$layers, `[[`, "weights"), before)

  by_name <- ggml_freeze_weights(nn_classifier(), layer_names = "dense_2")
  expect_identical(vapply(by_name$layers, `[[`, NA, "trainable"), c(TRUE, FALSE))
})

test_that("wrong layers to freeze are named", {
  model <- nn_classifier()
  expect_refused(ggml_freeze_weights(model, 2, 1), "argument", "Invalid range", "2 layers")
  expect_refused(ggml_freeze_weights(model, 1, 5), "argument", "Invalid range")
  expect_refused(
    ggml_freeze_weights(model, layer_names = c("dense_1", "no_such")),
    "argument", "No layers found with names", "no_such", "dense_2"
  )
  expect_refused(ggml_unfreeze_weights(model, 1, 1, foo = 2), "argument", "foo")
})

test_that("a model without its weights says what to do", {
  model <- nn_classifier()
  model$layers[[2]]$weights <- list()
  expect_refused(
    ggml_predict(model, matrix(0, 1, 4)),
    "argument", "dense_2", "ggml_load_weights()", "ggml_compile()"
  )
})

test_that("a trained body gets a new head and keeps its weights", {
  d <- nn_groups()
  model <- ggml_fit(nn_classifier(), d$x, d$y, epochs = 2, verbose = 0)
  body <- model$layers[[1]]$weights
  model$compiled <- FALSE
  model <- ggml_pop_layer(model) |> ggml_layer_dense(2, activation = "sigmoid")
  expect_refused(ggml_predict(model, d$x), "argument", "not compiled", "ggml_compile()")
  model <- ggml_compile(model, loss = "binary_crossentropy")
  expect_identical(model$layers[[1]]$weights, body)
  expect_identical(dim(ggml_predict(model, d$x)), c(60L, 2L))
})

test_that("fitting does not change the model that it was given", {
  d <- nn_groups()
  model <- nn_classifier()
  before <- serialize(model, NULL)
  fitted <- ggml_fit(model, d$x, d$y, epochs = 1, verbose = 0)
  expect_identical(serialize(model, NULL), before)
  rm(model)
  gc()
  expect_identical(dim(ggml_predict(fitted, d$x)), c(60L, 3L))
})

test_that("the default network has the documented layers", {
  types <- function(model) vapply(model$layers, `[[`, "", "type")
  model <- ggml_default_mlp(4, 3)
  expect_false(model$compiled)
  expect_identical(types(model), c("dense", "dropout", "dense", "dropout", "dense"))
  expect_identical(model$layers[[5]]$config$activation, "softmax")
  expect_identical(model$layers[[1]]$config$units, 128L)
  expect_identical(model$layers[[2]]$config$rate, 0.2)

  model <- ggml_default_mlp(4, 1, "regr", c(16, 8), "tanh", dropout = 0)
  expect_identical(types(model), rep("dense", 3))
  expect_identical(model$layers[[3]]$config$activation, "linear")

  linear <- ggml_default_mlp(4, 3, hidden_layers = integer(0))
  expect_identical(types(linear), "dense")
  linear <- suppressMessages(ggml_compile(linear))
  expect_identical(dim(ggml_predict(linear, diag(4))), c(4L, 3L))

  expect_refused(ggml_default_mlp(0, 3), "argument", "n_features")
  expect_refused(ggml_default_mlp(4, -1), "argument", "n_out")
  expect_refused(ggml_default_mlp(4, 3, "cluster"), "argument", "cluster", "regr")
  expect_refused(ggml_default_mlp(4, 3, hidden_layers = c(8, -1)), "argument", "hidden_layers")
  expect_refused(ggml_default_mlp(4, 3, dropout = 1), "argument", "dropout")
  expect_refused(ggml_default_mlp(4, 3, activation = "elu"), "argument", "Unknown activation: elu")
})

test_that("positions and layer_names together, or no names, are refused", {
  model <- nn_classifier()
  for (change in list(ggml_freeze_weights, ggml_unfreeze_weights)) {
    expect_refused(change(model, 1, 1, layer_names = "dense_2"), "argument", "not both")
    expect_refused(change(model, to = 1, layer_names = "dense_2"), "argument", "not both")
    expect_refused(change(model, layer_names = character()), "argument", arg = "layer_names")
    expect_refused(change(model, layer_names = list(1)), "argument", arg = "layer_names")
  }
  frozen <- ggml_freeze_weights(model, layer_names = "dense_2")
  expect_false(frozen$layers[[2]]$trainable)
})

test_that("a function as task_type is refused", {
  expect_refused(ggml_default_mlp(3, 2, function(x) 1), "argument", arg = "task_type")
})
