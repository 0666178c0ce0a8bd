test_that("a NaN loss ends training with the last finite weights and a full warning", {
  d <- nn_groups()
  rate <- 1e30
  explode <- list(on_epoch_begin = function(epoch, logs, state) {
    if (epoch == 3) ggml_opt_set_lr(state$lr_ud, sgd_lr = rate)
  })
  model <- nn_linear(inputs = 4L, optimizer = "sgd")
  warning <- expect_warning(
    fitted <- ggml_fit(model, d$x, d$class, epochs = 9, batch_size = 20, verbose = 0,
      callbacks = list(explode)
    ),
    class = "ggmlr_warning_nan_loss"
  )
  expect_s3_class(warning, "ggmlr_warning")
  expect_match(conditionMessage(warning), "epoch 3 of 9", fixed = TRUE)
  expect_match(conditionMessage(warning), "batch [0-9]+")
  expect_match(conditionMessage(warning), "1e+30", fixed = TRUE)
  expect_equal(warning[c("epoch", "rate")], list(epoch = 3L, rate = rate))
  expect_identical(fitted$history$epochs, 1:2)
  expect_true(all(is.finite(unlist(nn_values(fitted)))))
  expect_still_computes()

  # The model can be used and trained on.
  expect_silent(ggml_predict(fitted, d$x))
})

test_that("a loss that is NaN from the start leaves the weights alone", {
  d <- nn_groups()
  model <- nn_put_values(nn_linear(inputs = 4L), list(bias = NaN))
  expect_warning(
    fitted <- ggml_fit(model, d$x, d$class, verbose = 0), class = "ggmlr_warning_nan_loss"
  )
  expect_identical(nn_values(fitted)$weight, nn_values(model)$weight)
  expect_length(fitted$history$epochs, 0)
})

# A child process trains for ever; it gets SIGINT once its callback has run.
interrupt_child <- function(body, extra = character()) {
  dir <- tempfile("interrupt")
  dir.create(dir)
  started <- file.path(dir, "started")
  result <- file.path(dir, "result.rds")
  nn_new_process(wait = FALSE, code = c(
    "set.seed(1)",
    "x <- matrix(rnorm(64 * 20000), ncol = 64)",
    "y <- diag(10)[1 + seq_len(nrow(x)) %% 10, ]",
    "model <- ggml_model_sequential() |>",
    "  ggml_layer_dense(256, 'relu', input_shape = 64) |>",
    "  ggml_layer_dense(10, 'softmax') |> ggml_compile()",
    extra,
    paste0("started <- ", nn_path(started)),
    "tell <- list(on_epoch_end = function(epoch, logs, state) {",
    "  if (!file.exists(started)) writeLines(as.character(Sys.getpid()), started)",
    "})",
    "class <- text <- NULL",
    "fitted <- withCallingHandlers(",
    paste0("  ", body, ","),
    "  warning = function(w) { class <<- class(w); text <<- conditionMessage(w)",
    "    invokeRestart('muffleWarning') })",
    "done <- as.numeric(Sys.time())",
    "after <- ggml_predict(fitted, x[1:3, ])",
    paste0("result <- ", nn_path(result)),
    "saveRDS(list(class = class, text = text, done = done, model = fitted, after = after),",
    "  paste0(result, '.part'))",
    "file.rename(paste0(result, '.part'), result)"
  ))
  wait_for <- function(path, seconds) {
    end <- Sys.time() + seconds
    while (!file.exists(path) && Sys.time() < end) Sys.sleep(0.05)
    file.exists(path)
  }
  if (!wait_for(started, 60)) return(NULL)
  Sys.sleep(0.5)
  pid <- as.integer(readLines(started))
  sent <- as.numeric(Sys.time())
  tools::pskill(pid, tools::SIGINT)
  if (!wait_for(result, 30)) {
    tools::pskill(pid, tools::SIGKILL)
    return(NULL)
  }
  c(readRDS(result), list(sent = sent))
}

test_that("Ctrl-C stops at once and returns model and history with a warning", {
  skip_on_os("windows")
  skip_on_cran()
  got <- interrupt_child(
    "ggml_fit(model, x, y, epochs = 1e6, batch_size = 32, verbose = 0, callbacks = tell)"
  )
  expect_false(is.null(got))
  expect_identical(got$class[1:2], c("ggmlr_warning_interrupted", "ggmlr_warning"))
  expect_match(got$text, "interrupted in epoch [0-9]+ of 1000000")
  # Meant to be 0.2 s; a busy machine adds to it.
  expect_lt(got$done - got$sent, 1)
  expect_gte(length(got$model$history$train_loss), 1)
  expect_true(all(is.finite(got$model$history$train_loss)))
  expect_equal(rowSums(got$after), rep(1, 3), tolerance = 1e-5)
  expect_equal(ggml_predict(got$model, diag(64)[1:2, ]), ggml_predict(got$model, diag(64)[1:2, ]))
})

test_that("Ctrl-C in a slow callback keeps the epochs that were completed", {
  skip_on_os("windows")
  skip_on_cran()
  got <- interrupt_child(
    extra = "slow <- list(on_epoch_end = function(epoch, logs, state) Sys.sleep(60))",
    body = paste(
      "ggml_fit(model, x[1:64, ], y[1:64, ], epochs = 5, verbose = 0,",
      "callbacks = list(tell, slow))"
    )
  )
  expect_false(is.null(got))
  expect_identical(got$class[1L], "ggmlr_warning_interrupted")
  expect_lt(got$done - got$sent, 1)
  expect_length(got$model$history$epochs, 1)
})

test_that("Ctrl-C during a step that takes long is not lost", {
  skip_on_os("windows")
  skip_on_cran()
  got <- interrupt_child(
    extra = c(
      "model <- ggml_model_sequential() |>",
      "  ggml_layer_dense(1024, 'relu', input_shape = 64) |>",
      "  ggml_layer_dense(1024, 'relu') |>",
      "  ggml_layer_dense(10, 'softmax') |> ggml_compile()"
    ),
    body = paste(
      "ggml_fit(model, x[1:4000, ], y[1:4000, ], epochs = 1e6, batch_size = 1000,",
      "verbose = 0, callbacks = tell)"
    )
  )
  expect_false(is.null(got))
  expect_identical(got$class[1L], "ggmlr_warning_interrupted")
  expect_lt(got$done - got$sent, 1)
})

test_that("an interrupt that the engine notices ends the fit the same way", {
  d <- nn_groups()
  interrupt <- list(on_epoch_end = function(epoch, logs, state) {
    if (epoch == 2) {
      signalCondition(structure(
        class = c("interrupt", "condition"), list(message = "interrupted", call = NULL)
      ))
    }
  })
  warning <- expect_warning(
    fitted <- ggml_fit(nn_classifier(), d$x, d$y, epochs = 5, verbose = 0, callbacks = interrupt),
    class = "ggmlr_warning_interrupted"
  )
  expect_identical(warning$epoch, 2L)
  expect_identical(fitted$history$epochs, 1:2)
})

test_that("a failing callback is named, and the training so far is not lost", {
  d <- nn_groups()
  bad <- list(name = "plotter", on_epoch_end = function(epoch, logs, state) {
    if (epoch == 2) stop("100% of %d is gone")
  })
  condition <- expect_refused(
    ggml_fit(nn_classifier(), d$x, d$y, epochs = 5, verbose = 0,
      callbacks = list(list(on_epoch_begin = function(...) NULL), bad)
    ),
    "argument", "\"plotter\"", "on_epoch_end()", "epoch 2", "100% of %d is gone",
    arg = "callbacks"
  )
  expect_identical(conditionMessage(condition$parent), "100% of %d is gone")
  expect_s3_class(condition$model, "ggml_sequential_model")
  expect_identical(condition$model$history$epochs, 1:2)
  expect_identical(dim(ggml_predict(condition$model, d$x)), c(60L, 3L))
  expect_false(identical(condition$model$layers, nn_classifier()$layers))

  # Without a name it is the number; errors that the callback handles are its own.
  handled <- list(on_epoch_begin = function(...) try(stop("inner"), silent = TRUE))
  bad <- list(on_epoch_begin = function(...) stop("outer"))
  expect_refused(
    ggml_fit(nn_classifier(), d$x, d$y, verbose = 0, callbacks = list(handled, bad)),
    "argument", "Callback 2", "on_epoch_begin", "outer"
  )
})

test_that("a fit inside a callback of another fit is possible", {
  d <- nn_groups()
  inner <- NULL
  callback <- list(on_epoch_end = function(epoch, logs, state) {
    inner <<- ggml_fit(nn_classifier(), d$x, d$y, verbose = 0)
  })
  set.seed(1)
  ggml_fit(nn_classifier(), d$x, d$y, verbose = 0, callbacks = list(callback))
  expect_s3_class(inner, "ggml_sequential_model")
})
