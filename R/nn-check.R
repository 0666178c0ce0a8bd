# Checks of plain arguments that the functions on models share. Each returns the
# value in the form that the caller goes on with, and its error names the
# argument, says what is expected and shows what came.

# The errors of this area carry the call that the user wrote, not the helper
# that noticed the problem.
nn_abort <- function(kind, message, arg = NULL, ..., call = user_call()) {
  ggmlr_abort(kind, message, arg = arg, ..., call = call)
}

# Text that is not valid in its encoding, made fit for messages.
nn_text <- function(x) {
  if (length(x) == 0L) return(x)
  Encoding(x)[Encoding(x) == "bytes"] <- "unknown"
  bad <- !nn_valid_text(x)
  x[bad] <- iconv(x[bad], "UTF-8", "UTF-8", sub = "byte")
  x
}

nn_valid_text <- function(x) Encoding(x) != "bytes" & validEnc(x)

# For arguments whose default lists the choices.
nn_first <- function(x) if (is.character(x) && length(x) > 0L) x[1L] else x

# A short description of a value for messages.
nn_show <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.character(x) && !is.object(x)) x <- nn_text(x)
  if (is.function(x)) return("a function")
  if (is.atomic(x) && !is.object(x) && length(x) == 1L) {
    if (is.character(x)) {
      return(if (is.na(x)) "NA" else paste0("\"", substr(x, 1L, 60L), "\""))
    }
    return(format(x, digits = 6L))
  }
  what <- class(x)[1L]
  if (is.matrix(x)) return(paste0("a ", what, " of ", nn_show_dim(dim(x))))
  if (is.atomic(x) && !is.object(x) && length(x) > 0L && length(x) <= 5L) {
    return(paste0("c(", paste(format(x, digits = 6L, trim = TRUE), collapse = ", "), ")"))
  }
  paste0("an object of class ", what, " and length ", length(x))
}

nn_show_dim <- function(dim) paste(dim, collapse = " x ")

nn_show_names <- function(x) paste0("\"", nn_text(as.character(x)), "\"", collapse = ", ")

# Sizes in messages: 123 MB, 40 GB.
nn_show_bytes <- function(bytes) {
  units <- c("bytes", "kB", "MB", "GB", "TB", "PB")
  power <- max(0, min(floor(log(max(bytes, 1), 1000)), length(units) - 1L))
  paste(format(signif(bytes / 1000^power, 3L), scientific = FALSE), units[power + 1L])
}

nn_check_count <- function(x, arg, min = 1L) {
  fine <- is.numeric(x) && !is.object(x) && length(x) == 1L && is.finite(x) &&
    x == round(x) && x >= min && x <= .Machine$integer.max
  if (!fine) {
    wanted <- if (min == 1L) {
      "a positive whole number"
    } else if (min == 0L) {
      "a whole number, zero or more"
    } else {
      paste("a whole number of at least", min)
    }
    nn_abort("argument", paste0("`", arg, "` must be ", wanted, ", not ", nn_show(x), "."),
      arg = arg
    )
  }
  as.integer(x)
}

# interval is for the message; test decides.
nn_check_number <- function(x, arg, interval, test) {
  fine <- is.numeric(x) && !is.object(x) && length(x) == 1L && !is.na(x) && test(x)
  if (!fine) {
    nn_abort("argument", paste0("`", arg, "` must be ", interval, ", not ", nn_show(x), "."),
      arg = arg
    )
  }
  as.double(x)
}

nn_check_fraction <- function(x, arg) {
  nn_check_number(x, arg, "in [0, 1)", function(v) v >= 0 && v < 1)
}

nn_check_eps <- function(x, arg = "eps") {
  nn_check_number(x, arg, "a positive number", function(v) is.finite(v) && v > 0)
}

nn_check_flag <- function(x, arg) {
  if (!(is.logical(x) && length(x) == 1L && !is.na(x))) {
    nn_abort("argument", paste0("`", arg, "` must be TRUE or FALSE, not ", nn_show(x), "."),
      arg = arg
    )
  }
  as.vector(x)
}

nn_check_string <- function(x, arg) {
  if (!(is.character(x) && length(x) == 1L && !is.na(x) && nzchar(x))) {
    nn_abort("argument", paste0("`", arg, "` must be one string, not ", nn_show(x), "."),
      arg = arg
    )
  }
  # Files may have any name that the system allows.
  if (arg != "path" && !nn_valid_text(x)) {
    nn_abort("argument", paste0("`", arg, "` is not valid text: ", nn_show(x), "."), arg = arg)
  }
  as.vector(x)
}

# table: names are what a user may write, values what they stand for.
nn_check_choice <- function(x, arg, table, what) {
  known <- is.character(x) && length(x) == 1L && x %in% names(table)
  if (!known) {
    nn_abort("argument", paste0(
      "Unknown ", what, ": ", if (is.character(x) && length(x) == 1L) nn_text(x) else nn_show(x),
      ". Known are ", nn_show_names(names(table)), "."
    ), arg = arg)
  }
  table[[x]]
}

# The extents of one sample, without the batch.
nn_check_shape <- function(x, arg = "input_shape") {
  fine <- is.numeric(x) && !is.object(x) && length(x) >= 1L && length(x) <= 4L &&
    all(is.finite(x)) && all(x == round(x)) && all(x >= 1) &&
    all(x <= .Machine$integer.max)
  if (!fine) {
    nn_abort("argument", paste0(
      "`", arg, "` must hold one to four positive whole numbers, the extents of one ",
      "sample, not ", nn_show(x), "."
    ), arg = arg)
  }
  as.integer(x)
}

# Nothing that a user writes may be dropped in silence.
nn_check_dots <- function(...) {
  if (...length() == 0L) return(invisible())
  given <- names(list(...))
  given <- if (is.null(given)) character(...length()) else given
  given[!nzchar(given)] <- "<unnamed>"
  nn_abort("argument", paste0(
    "Unknown argument", if (length(given) > 1L) "s", ": ",
    paste0("`", given, "`", collapse = ", "), "."
  ), arg = given[1L])
}

nn_check_model <- function(model, arg = "model") {
  if (!inherits(model, "ggml_sequential_model")) {
    nn_abort("argument", paste0(
      "`", arg, "` must be a model made by ggml_model_sequential(), not ",
      nn_show(model), "."
    ), arg = arg)
  }
  damage <- nn_damage(model)
  if (!is.null(damage)) {
    nn_abort("argument", paste0("`", arg, "` is a damaged model: ", damage), arg = arg)
  }
  invisible(model)
}

# What is wrong with a model that was edited by hand or read from somewhere.
nn_damage <- function(model) {
  if (!is.list(model)) return("it is no list.")
  if (!is.list(model$layers)) return("its layers are no list.")
  bad <- which(!vapply(model$layers, nn_is_layer, NA))
  if (length(bad)) {
    return(paste0("layer ", bad[1L], " must be a list with type, name, config and trainable."))
  }
  if (is.list(model$input_shape) || !(is.null(model$input_shape) || is.atomic(model$input_shape))) {
    return(paste0("its input_shape is ", nn_show(model$input_shape), "."))
  }
  if (isTRUE(model$compiled)) nn_compilation_damage(model)
}

nn_compilation_damage <- function(model) {
  used <- model$compilation
  string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)
  if (!is.list(used)) return("its compilation is no list.")
  fine <- string(used$optimizer) && string(used$loss) && string(used$backend_used) &&
    is.list(used$optimizer_settings) && string(used$optimizer_settings$name) &&
    (is.null(used$metrics) || is.character(used$metrics))
  if (!fine) return("its compilation is incomplete; call ggml_compile() on a new model.")
  if (!all(vapply(model$layers, function(layer) is.numeric(layer$output_shape), NA))) {
    return("a layer has no output_shape; call ggml_compile() on a new model.")
  }
  NULL
}

nn_is_layer <- function(layer) {
  string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)
  is.list(layer) && string(layer$type) && string(layer$name) && is.list(layer$config) &&
    is.logical(layer$trainable) && (is.null(layer$weights) || is.list(layer$weights))
}
