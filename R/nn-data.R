# What users pass as x and y becomes numeric arrays with samples first, or an
# error that names the argument and both sizes. Nothing is transposed here: the
# engine reads R's layout.

# x: data for one input; shape: of one sample. finite: whether missing and
# infinite values are refused.
nn_check_x <- function(x, shape, arg = "x", finite = TRUE) {
  x <- nn_single(x, arg, "input")
  x <- nn_numeric(x, arg, frames = length(shape) == 1L)
  if (length(dim(x)) < 2L) x <- nn_vector_to_rows(x, shape, arg)
  got <- dim(x)
  if (!identical(as.integer(got[-1L]), as.integer(shape))) {
    nn_abort("shape", nn_shape_message(got, shape, arg), arg = arg)
  }
  if (got[1L] == 0L) {
    nn_abort("shape", paste0("No samples provided: `", arg, "` has 0 rows."), arg = arg)
  }
  if (finite) nn_check_finite(x, arg)
  x
}

nn_shape_message <- function(got, shape, arg) {
  if (length(shape) == 1L && length(got) == 2L) {
    return(paste0(
      "`", arg, "` must have one column per feature: expected ", shape,
      if (shape == 1L) " column, got " else " columns, got ", got[2L], "."
    ))
  }
  paste0(
    "`", arg, "` must be an array of samples with shape N x ", nn_show_dim(shape),
    ", got ", nn_show_dim(got), "."
  )
}

# Several inputs or outputs come as a list; a sequential model has one of each.
nn_single <- function(x, arg, what) {
  if (is.null(x)) {
    nn_abort("argument", paste0("`", arg, "` is missing."), arg = arg)
  }
  if (!is.list(x) || is.data.frame(x)) return(x)
  if (length(x) != 1L) {
    nn_abort("argument", paste0(
      "`", arg, "` is a list of ", length(x), ", but the model has 1 ", what, "."
    ), arg = arg)
  }
  x[[1L]]
}

# A bare double or integer array, or an error that names the class. Attributes
# other than the dimensions are dropped, so that nothing acts unseen.
nn_numeric <- function(x, arg, frames = TRUE) {
  if (is.data.frame(x) && frames) return(nn_frame_to_matrix(x, arg))
  plain <- (is.numeric(x) || is.logical(x)) &&
    (!is.object(x) || inherits(x, c("ts", "table", "AsIs")))
  if (!plain) {
    what <- if (!is.object(x) && is.character(x)) "character data" else nn_show(x)
    nn_abort("argument", paste0(
      "`", arg, "` must be a numeric ", if (frames) "matrix or data frame" else "array",
      ", not ", what, "."
    ), arg = arg)
  }
  dims <- dim(x)
  x <- if (is.logical(x)) as.double(x) else as.vector(x)
  dim(x) <- dims
  x
}

nn_frame_to_matrix <- function(x, arg) {
  fine <- vapply(x, function(column) {
    is.logical(column) || (is.numeric(column) && !inherits(column, "integer64"))
  }, logical(1L))
  if (!all(fine)) {
    bad <- names(x)[!fine]
    kinds <- vapply(x[!fine], function(column) class(column)[1L], character(1L))
    nn_abort("argument", paste0(
      "`", arg, "` must have numeric columns only; not numeric: ",
      paste0("`", bad, "` (", kinds, ")", collapse = ", "),
      ". Encode them as numbers first, for example with model.matrix()."
    ), arg = arg)
  }
  # Columns may be matrices themselves, which data.matrix() does not take.
  x <- as.matrix(x)
  storage.mode(x) <- "double"
  dimnames(x) <- NULL
  x
}

# One sample if it has the length of one; many, if each is one number.
nn_vector_to_rows <- function(x, shape, arg) {
  size <- prod(shape)
  if (size == 1) return(array(as.vector(x), c(length(x), shape)))
  if (length(x) == size) return(array(as.vector(x), c(1L, shape)))
  nn_abort("shape", paste0(
    "`", arg, "` is a vector of length ", length(x), "; it must be ",
    if (length(shape) == 1L) "a matrix with " else "an array with shape N x ",
    nn_show_dim(shape), if (length(shape) == 1L) " columns",
    ", or a vector of length ", size, " for one sample."
  ), arg = arg)
}

nn_check_finite <- function(x, arg) {
  # The sum is cheap and finite in all normal cases.
  if (is.finite(sum(x))) return(invisible())
  bad <- !is.finite(x)
  if (!any(bad)) return(invisible())
  first <- arrayInd(which(bad)[1L], dim(x))
  nn_abort("argument", paste0(
    "`", arg, "` holds ", sum(bad), " missing or infinite value",
    if (sum(bad) > 1L) "s", "; the first is ", format(x[first]), " in row ",
    first[1L], ", column ", paste(first[-1L], collapse = ", "), "."
  ), arg = arg)
}

nn_check_rows <- function(n_x, n_y, arg_x = "x", arg_y = "y") {
  if (n_x != n_y) {
    nn_abort("shape", paste0(
      "`", arg_x, "` and `", arg_y, "` must have the same number of rows, but have ",
      n_x, " and ", n_y, "."
    ), arg = arg_y)
  }
}

# ---- targets --------------------------------------------------------------------

# y: targets for one output of the given shape; n: number of samples of x.
nn_check_y <- function(y, n, shape, loss, arg = "y", arg_x = "x") {
  y <- nn_single(y, arg, "output")
  if (is.data.frame(y) && ncol(y) == 1L && is.factor(y[[1L]])) y <- y[[1L]]
  if (is.factor(y) || is.character(y)) {
    y <- nn_factor_to_codes(y, nn_label_classes(shape, loss), arg)
    nn_check_rows(n, length(y), arg_x, arg)
    return(nn_codes_to_rows(y, shape))
  }
  y <- nn_numeric(y, arg, frames = length(shape) == 1L)
  if (length(dim(y)) < 2L) y <- nn_vector_target(y, n, shape, loss, arg, arg_x)
  nn_check_rows(n, dim(y)[1L], arg_x, arg)
  if (!identical(as.integer(dim(y)[-1L]), as.integer(shape))) {
    nn_abort("shape", nn_target_message(dim(y), shape, loss, arg), arg = arg)
  }
  nn_check_finite(y, arg)
  nn_check_target_range(y, loss, arg)
  y
}

# How many classes a factor may name; NULL where it can't be a target.
nn_label_classes <- function(shape, loss) {
  if (length(shape) != 1L) return(NULL)
  if (loss == "categorical_crossentropy") return(shape)
  if (loss == "binary_crossentropy" && shape == 1L) 2L
}

# With the categorical loss a vector holds labels, unless it is the single row;
# otherwise one number for each of the samples.
nn_vector_target <- function(y, n, shape, loss, arg, arg_x) {
  single <- n == 1L && length(y) == prod(shape)
  if (single) return(array(as.vector(y), c(1L, shape)))
  nn_check_rows(n, length(y), arg_x, arg)
  labels <- loss == "categorical_crossentropy" && length(shape) == 1L && shape > 1L
  if (labels) {
    nn_codes_to_rows(nn_check_codes(as.vector(y), shape, arg), shape)
  } else {
    array(as.vector(y), c(length(y), 1L))
  }
}

nn_target_message <- function(got, shape, loss, arg) {
  if (length(shape) != 1L || length(got) != 2L) {
    return(nn_shape_message(got, shape, arg))
  }
  paste0(
    "`", arg, "` must have one column per output of the model: expected ", shape,
    if (shape == 1L) " column, got " else " columns, got ", got[2L], ".",
    if (loss == "categorical_crossentropy") {
      paste0(
        " Class labels may also be a factor, or whole numbers from 0 to ", shape - 1L,
        " as a vector; or one-hot encode them, diag(", shape, ")[label, ]."
      )
    }
  )
}

nn_factor_to_codes <- function(y, classes, arg) {
  if (is.null(classes) || is.character(y)) {
    nn_abort("argument", paste0(
      "`", arg, "` must be numeric, not ",
      if (is.factor(y)) "a factor" else "character data", ". ",
      if (is.null(classes)) {
        paste0(
          "Class labels need loss = \"categorical_crossentropy\" and one output per ",
          "class; otherwise one-hot encode them."
        )
      } else {
        "Use factor() for class labels, or one-hot encode them."
      }
    ), arg = arg)
  }
  if (nlevels(y) != classes) {
    nn_abort("shape", paste0(
      "`", arg, "` is a factor with ", nlevels(y), " levels, but the model ",
      "tells ", classes, " classes apart."
    ), arg = arg)
  }
  if (anyNA(y)) {
    nn_abort("argument", paste0(
      "`", arg, "` holds ", sum(is.na(y)), " missing labels; the first is in row ",
      which(is.na(y))[1L], "."
    ), arg = arg)
  }
  as.integer(y) - 1L
}

nn_check_codes <- function(y, classes, arg) {
  bad <- is.na(y) | y != round(y) | y < 0 | y >= classes
  if (any(bad)) {
    where <- which(bad)[1L]
    one_based <- !anyNA(y) && all(y == round(y)) && min(y) >= 1 && max(y) == classes
    nn_abort("argument", paste0(
      "`", arg, "` is a vector of class labels, which must be whole numbers from 0 to ",
      classes - 1L, "; element ", where, " is ", format(y[where]), ". ",
      if (one_based) "Labels from 1 up: subtract 1, or use factor(). ",
      "Or one-hot encode the labels: one row per sample, one column per class."
    ), arg = arg)
  }
  as.integer(y)
}

# 0-based labels to one-hot rows, or to a column of zeros and ones.
nn_codes_to_rows <- function(codes, classes) {
  if (classes == 1L) return(matrix(as.double(codes), ncol = 1L))
  rows <- matrix(0, length(codes), classes)
  rows[cbind(seq_along(codes), codes + 1L)] <- 1
  rows
}

nn_check_target_range <- function(y, loss, arg) {
  range <- switch(loss,
    categorical_crossentropy = c(0, Inf),
    binary_crossentropy = c(0, 1)
  )
  if (is.null(range)) return(invisible())
  if (min(y) < range[1L] || max(y) > range[2L]) {
    nn_abort("argument", paste0(
      "`", arg, "` must ", if (is.finite(range[2L])) "lie in [0, 1]" else "not be negative",
      " with loss = \"", loss, "\"; its values go from ", format(min(y)), " to ",
      format(max(y)), "."
    ), arg = arg)
  }
}
