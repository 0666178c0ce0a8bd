# How values come back from Rust, and how errors and warnings are raised.
#
# A binding never throws. It returns its value, or a list of class ggmlr_failure
# that describes an error, or a list of class ggmlr_noted with a value and log
# messages to print. Every error that leaves the package has the classes
# ggmlr_error_<kind> and ggmlr_error and the fields op, arg, expected, got, hint.

#' What the errors of this package look like
#'
#' Every error is a condition of class `ggmlr_error_<kind>`, `ggmlr_error`,
#' `error`. The kinds are
#'
#' * `argument`: a value that the argument does not take,
#' * `shape`: shapes that do not fit together,
#' * `dtype`: an element type that is not accepted here,
#' * `memory`: a budget or the machine's memory is exhausted, or a tensor has no
#'   storage,
#' * `freed`: the object behind a handle is gone, or the handle comes from
#'   another session,
#' * `unsupported`: valid, but not available here,
#' * `no_gradient`: a gradient was asked for where none exists,
#' * `backend`, `device_lost`: a device failed,
#' * `io`, `format`: a file cannot be read, or is not what it should be,
#' * `internal`: a defect of the package.
#'
#' The condition has the fields `op` (operator or function), `arg` (argument at
#' fault), `expected`, `got` and `hint`; what does not apply is `NULL`. An
#' interrupt by the user stays an interrupt.
#'
#' Warnings have the classes `ggmlr_warning_<what>`, `ggmlr_warning`, `warning`.
#'
#' @name ggmlr_error
#' @aliases ggmlr_warning
#' @examples
#' ctx <- ggml_init()
#' tryCatch(
#'   ggml_new_tensor_1d(ctx, GGML_TYPE_F32, -5),
#'   ggmlr_error_argument = function(e) e$arg
#' )
#' ggml_free(ctx)
NULL

# The value of a binding, or the error that it describes. `call` is the call to
# show; by default the outermost one of this package.
outcome <- function(x, call = NULL) {
  if (inherits(x, c("ggmlr_failure", "ggmlr_noted"))) settle(x, call) else x
}

settle <- function(x, call) {
  if (inherits(x, "ggmlr_noted")) {
    for (i in seq_along(x$text)) log_emit(x$level[i], x$text[i])
    return(outcome(x$value, call))
  }
  call <- call %||% user_call()
  if (identical(x$kind, "interrupted")) interrupt_again(call)
  stop(new_error(
    x$kind, x$message,
    op = x$op, arg = x$arg, expected = x$expected, got = x$got, hint = x$hint, call = call
  ))
}

# Raises an error for a check done in R.
ggmlr_abort <- function(kind, message, arg = NULL, expected = NULL, got = NULL,
                        hint = NULL, op = NULL, call = user_call()) {
  stop(new_error(
    kind, message,
    op = op, arg = arg, expected = expected, got = got, hint = hint, call = call
  ))
}

# Raises a warning of class ggmlr_warning_<class>; further arguments are fields.
ggmlr_warn <- function(class, message, ..., call = user_call()) {
  warning(structure(
    class = c(paste0("ggmlr_warning_", class), "ggmlr_warning", "warning", "condition"),
    list(message = message, call = call, ...)
  ))
}

new_error <- function(kind, message, op, arg, expected, got, hint, call) {
  name <- call_name(call)
  prefix <- if (is.null(op) || identical(op, name)) name else c(name, op)
  lines <- c(
    paste(c(prefix, message), collapse = ": "),
    if (!is.null(expected)) paste("i expected:", expected),
    if (!is.null(got)) paste("x got:", got),
    if (!is.null(hint)) paste("i", hint)
  )
  # list() and not c(): a NULL must stay a field.
  structure(
    class = c(paste0("ggmlr_error_", kind), "ggmlr_error", "error", "condition"),
    list(
      message = paste(lines, collapse = "\n"), call = call, kind = kind, op = op,
      arg = arg, expected = expected, got = got, hint = hint
    )
  )
}

# Name of the function in a call; NULL where it has none, as in do.call(f, ...).
call_name <- function(call) {
  if (!is.call(call)) return(NULL)
  f <- call[[1L]]
  if (is.symbol(f)) {
    as.character(f)
  } else if (is.call(f) && length(f) == 3L && as.character(f[[1L]])[1L] %in% c("::", ":::")) {
    as.character(f[[3L]])
  }
}

# The call that the user wrote: outwards from here as long as functions of this
# package call each other, also through base R's (vapply() and the like), but not
# out of an expression of the user's that is being evaluated.
user_call <- function() {
  home <- topenv(environment(user_call))
  parents <- sys.parents()
  at <- parents[length(parents)]
  found <- NULL
  while (at > 0L) {
    f <- sys.function(at)
    where <- topenv(environment(f))
    if (identical(where, home)) {
      found <- at
    } else if (!identical(where, .BaseNamespaceEnv) || identical(f, eval)) {
      break
    }
    # A method that R calls while printing a list is its own parent.
    if (parents[at] >= at) break
    at <- parents[at]
  }
  if (is.null(found)) return(NULL)
  call <- sys.call(found)
  # The functions on models are generic; a user wrote ggml_fit(), not the method.
  if (is.call(call) && is.symbol(call[[1L]])) {
    call[[1L]] <- as.name(sub("[.](default|ggml_[a-z_]+)$", "", as.character(call[[1L]])))
  }
  call
}

# The user pressed Ctrl-C or Esc. Whoever handles interrupts gets this one; otherwise it
# ends the expression as R's own does, back at the prompt or at the end of a script.
# stop() asks no error handler here: the class is not "error".
interrupt_again <- function(call) {
  stop(structure(
    class = c("interrupt", "condition"),
    list(message = "interrupted", call = call)
  ))
}

`%||%` <- function(x, y) if (is.null(x)) y else x
