groups <- nn_groups()

# The rates that the epochs of a fit were trained with.
rates_of <- function(schedule, epochs, optimizer = "adam", ...) {
  rates <- NULL
  used <- if (optimizer == "sgd") "sgd" else "adamw"
  note <- list(on_epoch_begin = function(epoch, logs, state) {
    rates <<- c(rates, ggml_opt_get_lr(state$lr_ud)[[used]])
  })
  ggml_fit(nn_classifier(optimizer = optimizer), groups$x, groups$y,
    epochs = epochs, verbose = 0, callbacks = list(schedule, note), ...
  )
  rates
}

test_that("step decay multiplies after every step_size epochs", {
  schedule <- ggml_schedule_step_decay(2, 0.1)
  expected <- 1e-3 * c(1, 1, 0.1, 0.1, 0.01, 0.01)
  for (optimizer in c("adam", "adamw", "sgd")) {
    expect_equal(rates_of(schedule, 6, optimizer), expected)
  }
  expect_equal(rates_of(schedule, 2, initial_epoch = 1), 1e-3 * c(1, 0.1))
})

test_that("cosine decay follows its formula and starts afresh in each fit", {
  schedule <- ggml_schedule_cosine_decay()
  expected <- 1e-3 * (1 + cos(pi * (0:4) / 5)) / 2
  expect_equal(rates_of(schedule, 5), expected)
  expect_equal(rates_of(schedule, 5, "sgd"), expected)
  low <- rates_of(ggml_schedule_cosine_decay(eta_min = 1e-4, T_max = 2), 5)
  expect_equal(low, c(1e-3, 5.5e-4, 1e-4, 1e-4, 1e-4))
})

test_that("the plateau schedule lowers the rate down to its limit", {
  # The loss can't improve by more than 1e6.
  schedule <- ggml_schedule_reduce_on_plateau(
    "train_loss", factor = 0.5, patience = 1, min_lr = 2e-4, min_delta = 1e6
  )
  expect_equal(rates_of(schedule, 5), 1e-3 * c(1, 1, 0.5, 0.25, 0.2))
  expect_equal(rates_of(schedule, 3, "sgd"), 1e-3 * c(1, 1, 0.5))
  # A rate that starts below the limit is not raised.
  expect_equal(
    rates_of(ggml_schedule_reduce_on_plateau("train_loss", min_lr = 1, patience = 1,
      min_delta = 1e6
    ), 3),
    rep(1e-3, 3)
  )
})

test_that("a schedule changes what is learnt", {
  fit <- function(callbacks) {
    set.seed(1)
    ggml_fit(nn_classifier(), groups$x, groups$y, epochs = 4, verbose = 0, callbacks = callbacks)
  }
  plain <- fit(list())$history$train_loss
  decayed <- fit(list(ggml_schedule_step_decay(2, 1e-3)))$history$train_loss
  expect_identical(decayed[1:2], plain[1:2])
  expect_gt(decayed[4], plain[4])
})

test_that("arguments of schedules are checked", {
  expect_refused(ggml_schedule_step_decay(0), "argument", "step_size")
  expect_refused(ggml_schedule_step_decay(gamma = 0), "argument", "gamma")
  expect_refused(ggml_schedule_cosine_decay(-1), "argument", "eta_min")
  expect_refused(ggml_schedule_cosine_decay(T_max = 0), "argument", "T_max")
  expect_refused(ggml_schedule_reduce_on_plateau(factor = "a"), "argument", "factor")
  expect_refused(ggml_schedule_reduce_on_plateau(min_lr = NA), "argument", "min_lr")
  expect_refused(ggml_schedule_reduce_on_plateau(patience = 0.5), "argument", "patience")
})

test_that("infinite rates of schedules are refused", {
  expect_refused(ggml_schedule_cosine_decay(eta_min = Inf), "argument", arg = "eta_min")
  for (bad in c(1, 2, Inf)) {
    expect_refused(ggml_schedule_reduce_on_plateau(factor = bad), "argument", arg = "factor")
  }
  expect_refused(ggml_schedule_reduce_on_plateau(min_lr = Inf), "argument", arg = "min_lr")
  expect_refused(
    rates_of(ggml_schedule_step_decay(1, 1e300), 4), "argument", "step decay", "learning rate",
    arg = "callbacks"
  )
})
