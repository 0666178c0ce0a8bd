# The callback protocol of a fit: what a callback may define, how the hooks are
# called, and the handle through which the learning rate is read and changed.

nn_hooks <- c("on_epoch_begin", "on_epoch_end")

# A list of callbacks; a single one is taken as a list of one.
nn_check_callbacks <- function(callbacks, arg = "callbacks") {
  if (is.null(callbacks)) return(list())
  if (is.list(callbacks) && any(nn_hooks %in% names(callbacks))) {
    callbacks <- list(callbacks)
  }
  if (!is.list(callbacks)) {
    nn_abort("argument", paste0(
      "`callbacks` must be a list of callbacks, not ", nn_show(callbacks), "."
    ), arg = arg)
  }
  for (i in seq_along(callbacks)) nn_check_callback(callbacks[[i]], i, arg)
  callbacks
}

nn_check_callback <- function(callback, i, arg) {
  has <- intersect(nn_hooks, names(callback))
  fine <- is.list(callback) && length(has) > 0L &&
    all(vapply(callback[has], is.function, logical(1L)))
  if (!fine) {
    nn_abort("argument", paste0(
      "Callback ", i, " of `callbacks` must be a list with a function ",
      "`on_epoch_begin` or `on_epoch_end`, taking (epoch, logs, state)."
    ), arg = arg)
  }
  # A hook that nobody calls would be ignored in silence.
  other <- setdiff(grep("^on_", names(callback), value = TRUE), nn_hooks)
  if (length(other)) {
    nn_abort("argument", paste0(
      "Callback ", i, " of `callbacks` has the unknown hook ", nn_show_names(other),
      "; known are ", nn_show_names(nn_hooks), "."
    ), arg = arg)
  }
}

nn_callback_name <- function(callback, i) {
  name <- callback$name
  if (is.character(name) && length(name) == 1L) paste0("\"", name, "\"") else i
}

# What callbacks see of the fit that calls them.
nn_callback_state <- function(optimizer, epochs) {
  state <- new.env(parent = emptyenv())
  state$stop <- FALSE
  state$lr_ud <- nn_lr_handle(optimizer)
  state$nepoch <- epochs
  state
}

# Calls one hook of all callbacks. on_error gets the condition, the callback's
# name and the hook while the callback's frames still stand, so that a debugger
# shows them.
nn_call_hooks <- function(callbacks, hook, epoch, logs, state, on_error) {
  for (i in seq_along(callbacks)) {
    run <- callbacks[[i]][[hook]]
    if (is.null(run)) next
    withCallingHandlers(
      {
        run(epoch, logs, state)
        nn_check_state(state)
      },
      error = function(cnd) on_error(cnd, nn_callback_name(callbacks[[i]], i), hook)
    )
  }
  invisible()
}

# What a hook may have done to the state, reported as its failure.
nn_check_state <- function(state) {
  stopping <- state$stop
  if (!(is.logical(stopping) && length(stopping) == 1L && !is.na(stopping))) {
    stop("`state$stop` must be TRUE or FALSE, not ", nn_show(stopping), ".", call. = FALSE)
  }
  rate <- nn_lr_get(state$lr_ud)
  fine <- is.numeric(rate) && length(rate) == 1L && is.finite(rate) && rate >= 0 &&
    rate <= nn_f32_max
  if (!fine) {
    stop("the learning rate became ", nn_show(rate), ".", call. = FALSE)
  }
}

# ---- learning rate ----------------------------------------------------------------

nn_lr_handle <- function(optimizer) {
  handle <- new.env(parent = emptyenv())
  handle$adamw <- nn_optimizers$adamw$lr
  handle$sgd <- nn_optimizers$sgd$lr
  handle$used <- if (optimizer$name == "sgd") "sgd" else "adamw"
  handle[[handle$used]] <- optimizer$lr
  structure(handle, class = "ggml_opt_lr")
}

nn_check_lr_handle <- function(lr_ud) {
  if (!inherits(lr_ud, "ggml_opt_lr")) {
    nn_abort("argument", paste0(
      "`lr_ud` must be the handle of a running fit, state$lr_ud of a callback, not ",
      nn_show(lr_ud), "."
    ), arg = "lr_ud")
  }
}

# Schedules act on the optimizer in use, whichever it is.
nn_lr_get <- function(lr_ud) lr_ud[[lr_ud$used]]

nn_lr_set <- function(lr_ud, lr) lr_ud[[lr_ud$used]] <- lr

#' Read and change the learning rate of a running fit
#'
#' For use in callbacks, see [ggml_callback_early_stopping()]: the handle is
#' `state$lr_ud`. A new rate holds from the next step on; the optimizer's moments
#' are kept.
#'
#' @param lr_ud The handle.
#' @param adamw_lr New rate of `"adam"` and `"adamw"`; `NA` keeps the old one.
#' @param sgd_lr New rate of `"sgd"`; `NA` keeps the old one. Giving only the rate of
#'   the optimizer that is not in use is an error.
#' @return `ggml_opt_get_lr()`: a numeric vector with elements `adamw` and `sgd`;
#'   the fit uses the one of its optimizer. `ggml_opt_set_lr()`: the handle,
#'   invisibly.
#' @export
#' @examples
#' halve <- list(on_epoch_begin = function(epoch, logs, state) {
#'   rate <- ggml_opt_get_lr(state$lr_ud)[["adamw"]]
#'   ggml_opt_set_lr(state$lr_ud, adamw_lr = rate / 2)
#' })
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 1) |>
#'   ggml_compile(loss = "mse")
#' model <- ggml_fit(model, x = 1:8, y = 2 * 1:8, epochs = 3, verbose = 0,
#'                   callbacks = list(halve))
ggml_opt_get_lr <- function(lr_ud) {
  nn_check_lr_handle(lr_ud)
  c(adamw = lr_ud$adamw, sgd = lr_ud$sgd)
}

#' @rdname ggml_opt_get_lr
#' @export
ggml_opt_set_lr <- function(lr_ud, adamw_lr = NA, sgd_lr = NA) {
  nn_check_lr_handle(lr_ud)
  positive <- function(v) is.finite(v) && v > 0
  given <- list(adamw = adamw_lr, sgd = sgd_lr)
  keep <- vapply(given, function(rate) {
    (is.logical(rate) || is.numeric(rate)) && length(rate) == 1L && is.na(rate) &&
      !is.nan(rate)
  }, logical(1L))
  if (keep[[lr_ud$used]] && !all(keep)) {
    other <- paste0(names(given)[!keep], "_lr")
    nn_abort("argument", paste0(
      "`", other, "` is not the rate of the optimizer in use: give `", lr_ud$used, "_lr`."
    ), arg = other)
  }
  for (name in names(given)[!keep]) {
    rate <- given[[name]]
    lr_ud[[name]] <- nn_check_number(
      rate, paste0(name, "_lr"), "a positive number or NA", positive
    )
  }
  invisible(lr_ud)
}

# ---- early stopping ---------------------------------------------------------------

#' Callbacks and learning rate schedules
#'
#' A callback is a list with one or both of the functions
#' `on_epoch_begin(epoch, logs, state)` and `on_epoch_end(epoch, logs, state)`.
#' [ggml_fit()] calls them for every epoch, in the order of its argument
#' `callbacks`. The functions documented here make callbacks.
#'
#' `epoch` counts from 1 plus `initial_epoch`. `logs` is a list of `train_loss`,
#' `train_accuracy`, `val_loss` and `val_accuracy`; at the beginning of an epoch
#' it has the values of the epoch before, and is empty in the first. `state` is an
#' environment: setting `state$stop <- TRUE` ends the fit, before the epoch's
#' training when set in `on_epoch_begin`; `state$lr_ud` is the learning rate
#' ([ggml_opt_set_lr()]); `state$nepoch` is the last epoch's number. A callback may
#' have an element `name`, which error messages then use. If a callback fails, the
#' fit ends with an error that has the model trained so far as its element
#' `model`.
#'
#' `ggml_callback_early_stopping()` ends the fit after `patience` epochs without an
#' improvement of more than `min_delta`. Epochs in which the measure is `NA` do not
#' count.
#'
#' `ggml_schedule_step_decay()` multiplies the rate by `gamma` after every
#' `step_size` epochs. `ggml_schedule_cosine_decay()` sets it to
#' `eta_min + (lr0 - eta_min) * (1 + cos(pi * (epoch - 1) / T_max)) / 2`, where `lr0`
#' is the rate at the start of the fit (Loshchilov and Hutter 2017, without
#' restarts). `ggml_schedule_reduce_on_plateau()` multiplies it by `factor` after
#' `patience` epochs without an improvement. All act on the optimizer in use.
#'
#' Each callback starts afresh when it is used in another fit.
#'
#' @param monitor Name of the element of `logs` to watch.
#' @param patience Number of epochs to wait for an improvement.
#' @param min_delta Smallest change that counts as an improvement.
#' @param mode `"min"`, `"max"`, or `"auto"`: `"min"` if the name contains
#'   "loss", otherwise `"max"`.
#' @param step_size Number of epochs between two changes of the rate.
#' @param gamma,factor What the rate is multiplied by; `factor` is less than 1.
#' @param eta_min,min_lr Lowest rate.
#' @param T_max Epochs until the lowest rate; `NULL` for those of the fit.
#' @return A callback for the argument `callbacks` of [ggml_fit()].
#' @references
#' Loshchilov, I. and Hutter, F. (2017) SGDR: stochastic gradient descent with warm
#' restarts. *ICLR*.
#' @export
#' @examples
#' x <- matrix(rnorm(200), 50)
#' y <- rowSums(x)
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 4) |>
#'   ggml_compile(loss = "mse")
#' model <- ggml_fit(model, x, y, epochs = 30, validation_split = 0.2, verbose = 0,
#'   callbacks = list(
#'     ggml_callback_early_stopping(patience = 3),
#'     ggml_schedule_cosine_decay()
#'   )
#' )
#' length(model$history$epochs)
ggml_callback_early_stopping <- function(monitor = "val_loss", patience = 5,
                                         min_delta = 0, mode = "auto") {
  watch <- nn_watch(monitor, patience, min_delta, mode)
  list(
    name = "early stopping",
    on_epoch_begin = function(epoch, logs, state) watch$begin(epoch, state),
    on_epoch_end = function(epoch, logs, state) {
      if (!watch$exhausted(logs)) return(invisible())
      state$stop <- TRUE
      message("Early stopping in epoch ", epoch, ": no better ", monitor, " for ",
        patience, if (patience == 1) " epoch." else " epochs."
      )
    }
  )
}

# Counts the epochs since a measure was best; shared by early stopping and the
# plateau schedule.
nn_watch <- function(monitor, patience, min_delta, mode) {
  nn_check_string(monitor, "monitor")
  nn_check_count(patience, "patience", min = 0L)
  nn_check_number(min_delta, "min_delta", "a number, zero or more", function(v) {
    is.finite(v) && v >= 0
  })
  modes <- list(auto = "auto", min = "min", max = "max")
  mode <- nn_check_choice(mode, "mode", modes, "mode")
  if (mode == "auto") mode <- if (grepl("loss", monitor)) "min" else "max"
  sign <- if (mode == "min") 1 else -1

  fit <- NULL
  best <- Inf
  waited <- 0L
  warned <- FALSE

  # A new fit has a new state. Its first epoch wipes what the last fit left.
  begin <- function(epoch, state) {
    if (!identical(fit, state)) {
      fit <<- state
      best <<- Inf
      waited <<- 0L
      warned <<- FALSE
    }
  }

  exhausted <- function(logs) {
    if (!monitor %in% names(logs)) {
      if (!warned) {
        warned <<- TRUE
        ggmlr_warn("unknown_monitor", paste0(
          "There is no \"", monitor, "\" to watch; known are ",
          nn_show_names(names(logs)), "."
        ))
      }
      return(FALSE)
    }
    value <- sign * logs[[monitor]]
    if (is.na(value)) return(FALSE)
    if (value < best - min_delta) {
      best <<- value
      waited <<- 0L
      return(FALSE)
    }
    waited <<- waited + 1L
    if (waited < patience) return(FALSE)
    waited <<- 0L
    TRUE
  }
  list(begin = begin, exhausted = exhausted)
}
