# What a fit shows while it runs: a line per epoch and, if somebody watches, a bar.

nn_talks <- function(run) {
  run$settings$verbose > 0L && !isTRUE(getOption("knitr.in.progress"))
}

nn_print_epoch <- function(run) {
  if (!nn_talks(run)) return(invisible())
  logs <- nn_history_last(run$history)
  names(logs) <- sub("^train_", "", names(logs))
  shown <- logs[!is.na(logs)]
  cat(
    "Epoch ", run$epoch, "/", run$settings$epochs,
    paste0(" - ", names(shown), ": ", formatC(unlist(shown), digits = 4L, format = "f")),
    "\n",
    sep = ""
  )
  utils::flush.console()
}

# Functions of a bar: step(rows done) and end(). NULL where nobody watches.
nn_progress_start <- function(run) {
  if (!nn_talks(run) || !interactive()) return(NULL)
  label <- paste0("Epoch ", run$epoch, "/", run$settings$epochs)
  if (requireNamespace("cli", quietly = TRUE)) {
    nn_progress_cli(label, run$n)
  } else {
    nn_progress_plain(label, run$n)
  }
}

nn_progress_step <- function(bar, done) if (!is.null(bar)) bar$step(done)

nn_progress_end <- function(bar) if (!is.null(bar)) bar$end()

nn_progress_cli <- function(label, total) {
  id <- cli::cli_progress_bar(label, total = total, .auto_close = FALSE)
  list(
    step = function(done) cli::cli_progress_update(set = done, id = id),
    end = function() cli::cli_progress_done(id = id)
  )
}

nn_progress_plain <- function(label, total) {
  width <- 0L
  show <- function(text) {
    cat("\r", formatC(text, width = -width), sep = "", file = stderr())
    width <<- nchar(text)
  }
  list(
    step = function(done) show(sprintf("%s %3.0f%%", label, 100 * done / total)),
    end = function() show("")
  )
}
