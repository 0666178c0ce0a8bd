# Weights of samples: sample_weight and class_weight become what the engine
# takes, one number per sample or one per element of y.

# The largest number that the engine's single precision holds.
nn_f32_max <- 3.4028234663852886e38

nn_row_weights <- function(y, loss, sample_weight, class_weight) {
  if (!is.null(sample_weight) && !is.null(class_weight)) {
    nn_abort("argument", paste0(
      "Give `sample_weight` or `class_weight`, not both: a sample's weight would be ",
      "ambiguous."
    ), arg = "sample_weight")
  }
  if (!is.null(sample_weight)) return(nn_check_sample_weight(sample_weight, y, loss))
  if (!is.null(class_weight)) return(nn_class_row_weights(class_weight, y, loss))
  NULL
}

nn_check_sample_weight <- function(w, y, loss) {
  arg <- "sample_weight"
  w <- nn_numeric(w, arg)
  mask <- length(dim(w)) > 1L
  if (mask && identical(dim(w), c(dim(y)[1L], 1L)) && dim(y)[2L] != 1L) {
    # A column is a vector of weights.
    dim(w) <- NULL
    mask <- FALSE
  }
  if (mask && loss != "mse") {
    nn_abort("argument", paste0(
      "`sample_weight` may be a matrix with loss = \"mse\" only, not with \"", loss, "\"."
    ), arg = arg)
  }
  if (mask && !identical(as.integer(dim(w)), as.integer(dim(y)))) {
    nn_abort("shape", paste0(
      "`sample_weight` as a matrix must have the shape of `y`, ", nn_show_dim(dim(y)),
      ", got ", nn_show_dim(dim(w)), "."
    ), arg = arg)
  }
  if (!mask && length(w) != dim(y)[1L]) {
    nn_abort("shape", paste0(
      "`sample_weight` must have length ", dim(y)[1L], ", one per sample, got length ",
      length(w), "."
    ), arg = arg)
  }
  nn_check_weight_values(w, arg)
  if (!mask) dim(w) <- NULL
  storage.mode(w) <- "double"
  w
}

nn_check_weight_values <- function(w, arg) {
  if (!all(is.finite(w)) || any(w < 0)) {
    nn_abort("argument", paste0(
      "`", arg, "` must hold finite numbers that are not negative."
    ), arg = arg)
  }
}

nn_class_row_weights <- function(class_weight, y, loss) {
  arg <- "class_weight"
  classes <- if (length(dim(y)) != 2L) {
    0L
  } else if (loss == "categorical_crossentropy") {
    dim(y)[2L]
  } else if (loss == "binary_crossentropy" && dim(y)[2L] == 1L) {
    2L
  } else {
    0L
  }
  if (classes == 0L) {
    nn_abort("argument", paste0(
      "`class_weight` needs one class per sample; it works with ",
      "\"categorical_crossentropy\" and with one output and \"binary_crossentropy\", ",
      "not with loss = \"", loss, "\"."
    ), arg = arg)
  }
  fine <- is.numeric(class_weight) ||
    (is.list(class_weight) && all(vapply(class_weight, function(w) {
      is.numeric(w) && length(w) == 1L
    }, logical(1L))))
  if (!fine || is.null(names(class_weight))) {
    nn_abort("argument", paste0(
      "`class_weight` must be a named numeric vector or list, with the classes 0 to ",
      classes - 1L, " as names, for example c(\"0\" = 1, \"1\" = 2)."
    ), arg = arg)
  }
  wanted <- as.character(seq_len(classes) - 1L)
  unknown <- setdiff(names(class_weight), wanted)
  missing <- setdiff(wanted, names(class_weight))
  if (length(missing) || length(unknown) || anyDuplicated(names(class_weight))) {
    nn_abort("argument", paste0(
      "The names of `class_weight` must cover all classes, ", nn_show_names(wanted), ".",
      if (length(missing)) paste0(" Missing: ", nn_show_names(missing), "."),
      if (length(unknown)) paste0(" Unknown: ", nn_show_names(unknown), ".")
    ), arg = arg)
  }
  values <- as.double(unlist(class_weight)[wanted])
  nn_check_weight_values(values, arg)
  huge <- which(values > nn_f32_max)
  if (length(huge)) {
    nn_abort("argument", paste0(
      "`class_weight` of class ", nn_show_names(wanted[huge[1L]]), " is ",
      format(values[huge[1L]]), ", too large for single precision."
    ), arg = arg)
  }
  code <- if (dim(y)[2L] == 1L) {
    1L + (y[, 1L] >= 0.5)
  } else {
    max.col(y, ties.method = "first")
  }
  values[code]
}

# Rows of an array with samples first, whatever its rank.
nn_take <- function(x, rows) {
  if (is.null(x)) return(NULL)
  if (is.null(dim(x))) return(x[rows])
  if (length(dim(x)) == 2L) return(x[rows, , drop = FALSE])
  # TRUE stands for all of an axis.
  index <- c(list(x, rows), rep(list(TRUE), length(dim(x)) - 1L))
  do.call(`[`, c(index, list(drop = FALSE)))
}

nn_data <- function(x, y, weights = NULL) {
  list(x = list(x), y = list(y), weights = weights)
}
