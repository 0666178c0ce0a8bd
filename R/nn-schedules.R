# Learning rate schedules: callbacks that change the rate of the optimizer in use.

nn_check_factor <- function(x, arg) {
  nn_check_number(x, arg, "a positive number", function(v) is.finite(v) && v > 0)
}

nn_check_lowest <- function(x, arg) {
  nn_check_number(x, arg, "a finite number, zero or more", function(v) is.finite(v) && v >= 0)
}

#' @rdname ggml_callback_early_stopping
#' @export
ggml_schedule_step_decay <- function(step_size = 10, gamma = 0.1) {
  nn_check_count(step_size, "step_size")
  nn_check_factor(gamma, "gamma")
  list(
    name = "step decay",
    on_epoch_begin = function(epoch, logs, state) {
      if (epoch > 1L && (epoch - 1L) %% step_size == 0L) {
        nn_lr_set(state$lr_ud, nn_lr_get(state$lr_ud) * gamma)
      }
    }
  )
}

#' @rdname ggml_callback_early_stopping
#' @export
ggml_schedule_cosine_decay <- function(eta_min = 0, T_max = NULL) { # nolint: object_name
  nn_check_lowest(eta_min, "eta_min")
  if (!is.null(T_max)) nn_check_count(T_max, "T_max")
  fit <- NULL
  start <- NULL
  list(
    name = "cosine decay",
    on_epoch_begin = function(epoch, logs, state) {
      if (!identical(fit, state)) {
        fit <<- state
        start <<- nn_lr_get(state$lr_ud)
      }
      length <- if (is.null(T_max)) state$nepoch else T_max
      # Beyond the end the cosine would rise again.
      share <- min((epoch - 1) / length, 1)
      nn_lr_set(state$lr_ud, eta_min + (start - eta_min) * (1 + cos(pi * share)) / 2)
    }
  )
}

#' @rdname ggml_callback_early_stopping
#' @export
ggml_schedule_reduce_on_plateau <- function(monitor = "val_loss", factor = 0.5,
                                            patience = 5, min_lr = 1e-7,
                                            min_delta = 1e-4, mode = "auto") {
  nn_check_number(factor, "factor", "a number between 0 and 1", function(v) v > 0 && v < 1)
  nn_check_lowest(min_lr, "min_lr")
  watch <- nn_watch(monitor, patience, min_delta, mode)
  list(
    name = "reduce on plateau",
    on_epoch_begin = function(epoch, logs, state) watch$begin(epoch, state),
    on_epoch_end = function(epoch, logs, state) {
      if (watch$exhausted(logs)) {
        rate <- nn_lr_get(state$lr_ud)
        nn_lr_set(state$lr_ud, min(rate, max(rate * factor, min_lr)))
      }
    }
  )
}
