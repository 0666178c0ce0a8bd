test_that("compile_no_gpu: a GPU that is not there is an error, not a CPU", {
  skip_if(!is.null(ggmlR:::nn_gpu_device()), "there is a GPU")
  model <- ggml_model_sequential() |> ggml_layer_dense(3, input_shape = 4)
  expect_refused(
    ggml_compile(model, backend = "vulkan"), "backend", "vulkan", "\"cpu\"", arg = "backend"
  )
  expect_refused(ggml_compile(model, backend = "gpu"), "backend", "gpu")
  expect_refused(
    ggml_compile(model, backend = "tpu"), "argument", "tpu", "auto", "cpu", arg = "backend"
  )
})

test_that("the backend in use can be asked for", {
  skip_if(!is.null(ggmlR:::nn_gpu_device()), "there is a GPU")
  model <- nn_classifier()
  expect_identical(ggml_model_backend(model), "cpu")
  expect_identical(
    ggml_model_backend(model, verbose = TRUE),
    list(requested = "auto", used = "cpu", device = "CPU", fallback = TRUE)
  )
  expect_false(ggml_model_backend(nn_classifier(backend = "cpu"), TRUE)$fallback)
  expect_refused(ggml_model_backend(ggml_model_sequential()), "argument", "not compiled")
})

test_that("the backend is announced once a session", {
  shown <- nn_new_process(c(
    "for (i in 1:2) withCallingHandlers(",
    "  ggml_compile(ggml_layer_dense(ggml_model_sequential(), 2, input_shape = 1)),",
    "  message = function(m) cat('said', conditionMessage(m)))"
  ))
  expect_length(grep("^said Using (CPU|Vulkan)", shown), 1)
})
