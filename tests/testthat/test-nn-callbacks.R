groups <- nn_groups()
fit_with <- function(callbacks, epochs = 5, ..., model = nn_classifier()) {
  ggml_fit(model, groups$x, groups$y, epochs = epochs, verbose = 0, callbacks = callbacks, ...)
}

test_that("callbacks are called in order, with epoch, logs and state", {
  seen <- list()
  note <- function(tag) {
    list(
      on_epoch_begin = function(epoch, logs, state) {
        seen[[length(seen) + 1L]] <<- list(paste0(tag, "begin"), epoch, logs)
      },
      on_epoch_end = function(epoch, logs, state) {
        seen[[length(seen) + 1L]] <<- list(paste0(tag, "end"), epoch, logs, state$nepoch)
      }
    )
  }
  fitted <- fit_with(list(note("a"), note("b")), epochs = 2, validation_split = 0.2)
  expect_identical(
    vapply(seen, `[[`, "", 1), rep(c("abegin", "bbegin", "aend", "bend"), 2)
  )
  expect_identical(vapply(seen, function(s) as.integer(s[[2]]), 1L), rep(1:2, each = 4))
  expect_identical(seen[[1]][[3]], list())
  logs <- seen[[3]][[3]]
  expect_named(logs, c("train_loss", "train_accuracy", "val_loss", "val_accuracy"))
  expect_identical(logs$val_loss, fitted$history$val_loss[1])
  expect_identical(seen[[5]][[3]], logs)
  expect_identical(as.integer(seen[[3]][[4]]), 2L)
})

test_that("KER-41: initial_epoch shifts the numbers that callbacks see", {
  epochs <- NULL
  callback <- list(on_epoch_end = function(epoch, logs, state) epochs <<- c(epochs, epoch))
  fitted <- fit_with(callback, epochs = 3, initial_epoch = 10)
  expect_equal(epochs, 11:13)
  expect_identical(fitted$history$epochs, 1:3)
})

test_that("a callback can stop the fit, at the beginning or the end of an epoch", {
  at <- function(hook) {
    stats::setNames(list(function(epoch, logs, state) {
      if (epoch == 3) state$stop <- TRUE
    }), hook)
  }
  expect_length(fit_with(at("on_epoch_end"))$history$epochs, 3)
  expect_length(fit_with(at("on_epoch_begin"))$history$epochs, 2)
})

test_that("what is no callback is refused", {
  expect_refused(fit_with(list(list(on_batch_end = mean))), "argument", "on_epoch_begin")
  expect_refused(
    fit_with(list(list(on_epoch_end = mean, on_batch_end = mean))),
    "argument", "on_batch_end", arg = "callbacks"
  )
  expect_refused(fit_with(list(mean)), "argument", "Callback 1")
  expect_refused(fit_with(list(list(on_epoch_end = 1))), "argument", "Callback 1")
  expect_refused(fit_with("early_stopping"), "argument", "callbacks")
})

test_that("early stopping ends after patience epochs without improvement", {
  # A rate of almost nothing: the loss stands still.
  freeze <- list(on_epoch_begin = function(epoch, logs, state) {
    ggml_opt_set_lr(state$lr_ud, adamw_lr = 1e-30)
  })
  stopping <- ggml_callback_early_stopping(patience = 3, min_delta = 1e-6)
  expect_message(
    fitted <- fit_with(list(freeze, stopping), 50, validation_data = groups[c("x", "y")]),
    "epoch 4.*val_loss"
  )
  expect_length(fitted$history$epochs, 4)
  # The same callback starts afresh in another fit.
  expect_message(
    again <- fit_with(list(freeze, stopping), 50, validation_data = groups[c("x", "y")])
  )
  expect_length(again$history$epochs, 4)
})

test_that("early stopping looks in the right direction and skips what is missing", {
  steps <- function(values, ...) {
    callback <- ggml_callback_early_stopping(...)
    state <- new.env()
    state$stop <- FALSE
    for (epoch in seq_along(values)) {
      callback$on_epoch_begin(epoch, list(), state)
      logs <- list(train_loss = values[epoch], val_accuracy = values[epoch])
      suppressMessages(callback$on_epoch_end(epoch, logs, state))
      if (state$stop) return(epoch)
    }
    Inf
  }
  expect_equal(steps(c(5, 4, 3, 2, 1), "train_loss", 2), Inf)
  expect_equal(steps(c(5, 4, 4, 4, 1), "train_loss", 2), 4)
  expect_equal(steps(c(5, 4, 4, 4, 1), "val_accuracy", 2), 3)
  expect_equal(steps(c(1, 2, 3, 4, 5), "val_accuracy", 2), Inf)
  expect_equal(steps(c(1, 2, 3, 4, 5), "train_loss", 2, mode = "max"), Inf)
  expect_equal(steps(c(5, NA, NaN, NA, NA), "train_loss", 2), Inf)
  expect_equal(steps(c(5, 4.9, 4.8, 4.7), "train_loss", 2, min_delta = 0.5), 3)
})

test_that("a measure that does not exist is told once, one that is NA is not", {
  warnings <- 0
  withCallingHandlers(
    fit_with(ggml_callback_early_stopping("no_such")),
    ggmlr_warning_unknown_monitor = function(w) {
      warnings <<- warnings + 1
      expect_match(conditionMessage(w), "no_such.*train_loss")
      invokeRestart("muffleWarning")
    }
  )
  expect_identical(warnings, 1)
  expect_silent(fitted <- fit_with(ggml_callback_early_stopping("val_loss", patience = 1)))
  expect_length(fitted$history$epochs, 5)
})

test_that("the learning rate handle reads and writes both rates", {
  handle <- NULL
  callback <- list(on_epoch_begin = function(epoch, logs, state) handle <<- state$lr_ud)
  fit_with(callback, epochs = 1)
  expect_identical(ggml_opt_get_lr(handle), c(adamw = 1e-3, sgd = 1e-3))
  ggml_opt_set_lr(handle, adamw_lr = 0.5)
  expect_identical(ggml_opt_get_lr(handle), c(adamw = 0.5, sgd = 1e-3))
  ggml_opt_set_lr(handle, adamw_lr = 0.5, sgd_lr = 0.25)
  expect_identical(ggml_opt_get_lr(handle), c(adamw = 0.5, sgd = 0.25))
  for (bad in list(0, -1, Inf, "a", c(1, 2), NaN, NULL)) {
    expect_refused(ggml_opt_set_lr(handle, bad), "argument", "adamw_lr")
  }
  expect_refused(ggml_opt_get_lr(1), "argument", "lr_ud", "state$lr_ud")
  expect_refused(ggml_opt_set_lr(new.env()), "argument", "lr_ud")
})

test_that("arguments of early stopping are checked", {
  expect_refused(ggml_callback_early_stopping(1), "argument", "monitor")
  expect_refused(ggml_callback_early_stopping(patience = -1), "argument", "patience")
  expect_refused(ggml_callback_early_stopping(min_delta = -1), "argument", "min_delta")
  expect_refused(ggml_callback_early_stopping(mode = "best"), "argument", "best", "auto")
})

test_that("a rate that the optimizer does not use, or that is text, is refused", {
  handle <- NULL
  callback <- list(on_epoch_begin = function(epoch, logs, state) handle <<- state$lr_ud)
  fit_with(callback, epochs = 1)
  expect_refused(ggml_opt_set_lr(handle, sgd_lr = 0.1), "argument", "adamw_lr", arg = "sgd_lr")
  expect_refused(
    ggml_opt_set_lr(handle, adamw_lr = NA_character_), "argument", arg = "adamw_lr"
  )
})

test_that("state$stop that is not TRUE or FALSE fails, naming the callback", {
  for (bad in list("yes", NA, 1, NULL, c(TRUE, TRUE), mean)) {
    callback <- list(name = "odd", on_epoch_end = function(epoch, logs, state) {
      assign("stop", bad, state)
    })
    expect_refused(fit_with(callback), "argument", "\"odd\"", "state$stop", arg = "callbacks")
  }
})

test_that("early stopping with an infinite min_delta or invalid text is refused", {
  expect_refused(ggml_callback_early_stopping(min_delta = Inf), "argument", "min_delta")
  expect_refused(ggml_callback_early_stopping("\xff"), "argument", "monitor")
})
