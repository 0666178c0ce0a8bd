test_that("a model prints its layers, shapes and parameters", {
  model <- ggml_model_sequential() |>
    ggml_layer_dense(128, "relu", input_shape = 784) |>
    ggml_layer_dropout(0.3) |>
    ggml_layer_layer_norm() |>
    ggml_layer_dense(10, "softmax")
  shown <- paste(utils::capture.output(out <- withVisible(print(model))), collapse = "\n")
  expect_false(out$visible)
  expect_identical(out$value, model)
  for (text in c(
    "ggmlR Sequential Model", "Layer", "Output Shape", "Params", "dense_1 (dense)", "(128)",
    "100,480", "dropout_1 (dropout)", "256", "1,290", "Total parameters: 102,026",
    "Compiled: no"
  )) {
    expect_match(shown, text, fixed = TRUE)
  }
  model <- suppressMessages(ggml_compile(model))
  expect_output(print(model), "Compiled: yes", fixed = TRUE)
})

test_that("printing works in any state of a model", {
  expect_output(print(ggml_model_sequential()), "(no layers)", fixed = TRUE)
  model <- ggml_model_sequential() |> ggml_layer_dense(3)
  expect_output(print(model), "Total parameters: ?", fixed = TRUE)
  expect_output(summary(model), "Input shape: unknown", fixed = TRUE)
  model$input_shape <- "nonsense"
  expect_output(print(model), "dense_1", fixed = TRUE)
  # Several axes.
  model <- ggml_model_sequential() |> ggml_layer_rms_norm() |> ggml_layer_flatten()
  model$input_shape <- c(7L, 3L)
  expect_output(print(model), "(7, 3)", fixed = TRUE)
  expect_output(print(model), "(21)", fixed = TRUE)
})

test_that("summary() counts trainable parameters and memory", {
  model <- ggml_freeze_weights(nn_classifier(), 1, 1)
  shown <- paste(utils::capture.output(out <- withVisible(summary(model))), collapse = "\n")
  expect_false(out$visible)
  expect_identical(out$value, model)
  expect_match(shown, "Input shape: (4)", fixed = TRUE)
  expect_match(shown, "Trainable: +27\n")
  expect_match(shown, "Non-trainable: +40\n")
  expect_match(shown, "Estimated weight memory: 268 bytes", fixed = TRUE)
  expect_match(shown, "Optimizer: adam", fixed = TRUE)
})
