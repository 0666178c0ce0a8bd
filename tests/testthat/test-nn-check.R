test_that("errors carry the call that the user wrote", {
  call_of <- function(expr) conditionCall(tryCatch(expr, error = identity))
  expect_identical(call_of(ggml_layer_dense(1, 2)), quote(ggml_layer_dense(1, 2)))
  model <- ggml_model_sequential()
  expect_identical(call_of(ggml_compile(model)), quote(ggml_compile(model)))
  expect_identical(
    call_of(ggml_schedule_step_decay(0)), quote(ggml_schedule_step_decay(0))
  )
  # In a pipe it is the call that failed, not those around it.
  expect_identical(
    call_of(ggml_model_sequential() |> ggml_layer_dropout(2) |> ggml_compile()),
    quote(ggml_model_sequential() |> ggml_layer_dropout(2))
  )
  fitted <- nn_linear()
  expect_identical(call_of(ggml_predict(fitted, 1:3)), quote(ggml_predict(fitted, 1:3)))
  expect_identical(call_of(predict(fitted, 1:3)), quote(predict(fitted, 1:3)))
  # Base functions on the way do not hide the call.
  expect_identical(
    call_of(do.call(ggml_default_mlp, list(0, 1)))[-1L], as.call(list(0, 1))
  )
})

test_that("an error inside a callback is not blamed on the fit that called it", {
  parent <- NULL
  callback <- list(on_epoch_begin = function(epoch, logs, state) {
    ggml_opt_set_lr(state$lr_ud, adamw_lr = -1)
  })
  d <- nn_groups()
  condition <- expect_error(
    ggml_fit(nn_classifier(), d$x, d$y, verbose = 0, callbacks = list(callback)),
    class = "ggmlr_error"
  )
  expect_identical(as.list(conditionCall(condition))[[1L]], quote(ggml_fit))
  expect_identical(
    as.list(conditionCall(condition$parent))[[1L]], quote(ggml_opt_set_lr)
  )
})

test_that("arguments that are no single numbers are described, not printed", {
  message_of <- function(expr) conditionMessage(tryCatch(expr, error = identity))
  model <- ggml_model_sequential()
  expect_match(message_of(ggml_layer_dense(model, matrix(1, 200, 3))), "200 x 3", fixed = TRUE)
  expect_match(message_of(ggml_layer_dense(model, NULL)), "not NULL", fixed = TRUE)
  expect_match(message_of(ggml_layer_dense(model, iris)), "data.frame", fixed = TRUE)
  expect_match(message_of(ggml_layer_dense(model, mean)), "a function", fixed = TRUE)
  expect_match(message_of(ggml_layer_dense(model, NA)), "not NA", fixed = TRUE)
  expect_match(message_of(ggml_layer_dense(model, 1:3)), "c(1, 2, 3)", fixed = TRUE)
  expect_lt(nchar(message_of(ggml_layer_dense(model, strrep("a", 1e5)))), 300)
})

test_that("anything but a model is refused by every function on models", {
  d <- nn_groups()
  for (bad in list(NULL, character(), list(), NaN, -1L, 1e308, mean, iris)) {
    expect_error(ggml_compile(bad), class = "ggmlr_error")
    expect_error(ggml_fit(bad, d$x, d$y), class = "ggmlr_error")
    expect_error(ggml_evaluate(bad, d$x, d$y), class = "ggmlr_error")
    expect_error(ggml_predict(bad, d$x), class = "ggmlr_error")
    expect_error(ggml_predict_classes(bad, d$x), class = "ggmlr_error")
    expect_error(ggml_layer_dense(bad, 1), class = "ggmlr_error")
    expect_error(ggml_layer_dropout(bad, 0.1), class = "ggmlr_error")
    expect_error(ggml_layer_flatten(bad), class = "ggmlr_error")
    expect_error(ggml_layer_layer_norm(bad), class = "ggmlr_error")
    expect_error(ggml_get_layer(bad, 1), class = "ggmlr_error")
    expect_error(ggml_pop_layer(bad), class = "ggmlr_error")
    expect_error(ggml_freeze_weights(bad), class = "ggmlr_error")
    expect_error(ggml_unfreeze_weights(bad), class = "ggmlr_error")
    expect_error(ggml_save_model(bad, tempfile()), class = "ggmlr_error")
    expect_error(ggml_save_weights(bad, tempfile()), class = "ggmlr_error")
    expect_error(ggml_load_weights(bad, tempfile()), class = "ggmlr_error")
    expect_error(ggml_model_backend(bad), class = "ggmlr_error")
  }
  expect_still_computes()
})

test_that("a damaged model is refused", {
  model <- nn_classifier()
  model$layers <- "dense"
  expect_refused(ggml_predict(model, matrix(0, 1, 4)), "argument", "damaged")
  expect_refused(ggml_layer_dense(model, 1), "argument", "damaged")
  expect_refused(ggml_compile(model), "argument", "damaged")
  model <- nn_classifier()
  model$layers[[1]]$type <- "no_such_layer"
  expect_error(ggml_predict(model, matrix(0, 1, 4)), "no_such_layer", class = "ggmlr_error")
})

test_that("text that is not valid UTF-8 gives a classed error", {
  bad <- "\xff"
  model <- nn_classifier()
  expect_refused(ggml_compile(model, loss = bad), "argument", "<ff>")
  expect_refused(ggml_layer_dense(ggml_model_sequential(), bad), "argument", "<ff>")
  expect_refused(ggml_get_layer(model, name = bad), "argument", "<ff>", arg = "name")
  expect_refused(ggml_freeze_weights(model, layer_names = bad), "argument", "<ff>")
  expect_refused(
    ggml_layer_dense(ggml_model_sequential(), 1, name = bad), "argument", arg = "name"
  )
})

test_that("every function refuses a damaged model with a classed error", {
  change <- list(
    compilation = function(m) { m$compilation <- 3; m },
    name = function(m) { m$layers[[1]]$name <- NULL; m },
    shape = function(m) { m$input_shape <- list(function() 1); m },
    output = function(m) { m$layers[[2]]$output_shape <- NULL; m },
    object = function(m) structure(3, class = class(m))
  )
  for (damage in change) {
    model <- damage(nn_classifier())
    for (use in list(
      print, summary, ggml_freeze_weights, ggml_training_history, ggml_pop_layer,
      ggml_model_backend, function(m) ggml_predict(m, matrix(0, 1, 4)),
      function(m) ggml_get_layer(m, 1), function(m) ggml_layer_dense(m, 1)
    )) {
      expect_refused(use(model), "argument", "damaged")
    }
  }
})
