# The training loop. It only decides: the order of the rows, when to stop, what
# to record. Steps are done by the engine, about 100 ms at a time, so that R sees
# Ctrl-C and the progress bar moves.

nn_step_budget_ms <- 100

# data: list(train, validation); settings: see ggml_fit(). Returns the model.
nn_train <- function(model, data, settings) {
  run <- nn_run_start(model, data, settings)
  on.exit(rs_nn_fit_free(run$handle))
  tryCatch(
    nn_run_epochs(run),
    interrupt = function(cnd) run$status <- "interrupted"
  )
  # Whoever presses Ctrl-C twice still gets the model.
  suspendInterrupts({
    nn_progress_end(run$bar)
    model <- nn_run_result(run)
    nn_run_warn(run)
  })
  model
}

# All that changes during a fit is in this environment, so that it survives an
# interrupt at any point.
nn_run_start <- function(model, data, settings) {
  compilation <- nn_engine_compilation(model)
  run <- new.env(parent = emptyenv())
  run$model <- model
  run$settings <- settings
  run$n <- dim(data$train$x[[1L]])[1L]
  run$validates <- !is.null(data$validation)
  run$state <- nn_callback_state(
    model$compilation$optimizer_settings,
    settings$initial_epoch + settings$epochs
  )
  run$accuracy <- "accuracy" %in% compilation$metrics
  run$history <- nn_history()
  run$epoch <- 0L
  run$batch <- 0L
  run$status <- "done"
  run$bar <- NULL
  run$handle <- rs_nn_fit_new(
    nn_spec(model), nn_weights(model), compilation, data$train, data$validation,
    settings$batch_size, stats::runif(2L), model$compilation$backend_used
  )
  run
}

nn_run_epochs <- function(run) {
  settings <- run$settings
  for (epoch in seq_len(settings$epochs)) {
    run$epoch <- epoch
    run$batch <- 0L
    number <- settings$initial_epoch + epoch
    nn_run_hooks(run, "on_epoch_begin", number)
    if (isTRUE(run$state$stop)) break
    totals <- nn_run_epoch(run)
    if (run$status != "done") break
    nn_run_record(run, totals)
    nn_print_epoch(run)
    nn_run_hooks(run, "on_epoch_end", number)
    if (isTRUE(run$state$stop)) break
  }
  invisible()
}

# One pass over the training rows. Sets run$status if it ended early.
nn_run_epoch <- function(run) {
  order <- if (run$settings$shuffle) sample.int(run$n) else seq_len(run$n)
  order <- order - 1L
  totals <- c(loss = 0, correct = 0, samples = 0)
  run$bar <- nn_progress_start(run)
  from <- 0
  repeat {
    run$rate <- nn_lr_get(run$state$lr_ud)
    part <- rs_nn_fit_steps(run$handle, order, from, run$rate, nn_step_budget_ms)
    totals <- totals + c(part$loss_sum, part$correct, part$samples)
    run$batch <- part$batch
    # R looks for Ctrl-C only every thousand evaluations, this loop has few.
    Sys.sleep(0)
    if (part$status != "running") break
    from <- part[["next"]]
    nn_progress_step(run$bar, from)
  }
  nn_progress_end(run$bar)
  run$bar <- NULL
  run$status <- part$status
  totals
}

nn_run_record <- function(run, totals) {
  mean_of <- function(name) totals[[name]] / totals[["samples"]]
  row <- c(
    train_loss = mean_of("loss"),
    train_accuracy = if (run$accuracy) mean_of("correct") else NA_real_,
    val_loss = NA_real_, val_accuracy = NA_real_
  )
  # Recorded first without validation: an interrupt may come in the middle of it.
  run$history <- nn_history_add(run$history, row)
  if (run$validates) {
    measured <- rs_nn_fit_validate(run$handle)
    row[["val_loss"]] <- measured$loss
    if (run$accuracy) row[["val_accuracy"]] <- measured$accuracy
    run$history <- nn_history_replace_last(run$history, row)
  }
}

nn_run_hooks <- function(run, hook, number) {
  logs <- nn_history_last(run$history)
  nn_call_hooks(run$settings$callbacks, hook, number, logs, run$state,
    on_error = function(cnd, name, hook) nn_callback_failed(run, cnd, name, hook, number)
  )
}

# The fit can't go on, but hours of training must not be lost with it: the error
# carries the model as it stands.
nn_callback_failed <- function(run, cnd, name, hook, number) {
  model <- nn_run_result(run)
  wrapped <- tryCatch(
    nn_abort("argument", paste0(
      "Callback ", name, " failed in ", hook, "(), epoch ", number, ": ",
      conditionMessage(cnd)
    ), arg = "callbacks", hint = paste0(
      "The model as trained so far is in the element `model` of this condition."
    ), call = run$settings$call),
    error = identity
  )
  wrapped$parent <- cnd
  wrapped$model <- model
  stop(wrapped)
}

# The model with the weights of the last whole step and the history so far.
nn_run_result <- function(run) {
  model <- run$model
  if (run$settings$epochs > 0L) {
    model <- nn_set_weights(model, rs_nn_fit_weights(run$handle))
  }
  model$history <- run$history
  model
}

nn_run_warn <- function(run) {
  where <- paste0("epoch ", run$epoch, " of ", run$settings$epochs)
  if (run$status == "interrupted") {
    ggmlr_warn("interrupted", paste0(
      "Training was interrupted in ", where, "; the model has the weights of the last ",
      "whole step."
    ), epoch = run$epoch, call = run$settings$call)
  } else if (run$status == "nan") {
    ggmlr_warn("nan_loss", paste0(
      "The loss became NaN in ", where, ", batch ", run$batch, ", at learning rate ",
      format(run$rate), "; training ended and the model has the last finite weights."
    ), epoch = run$epoch, batch = run$batch, rate = run$rate, call = run$settings$call)
  }
}
