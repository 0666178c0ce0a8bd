# How models look on the console.

#' Print and summarise a model
#'
#' @param x,object A sequential model.
#' @param ... Not used.
#' @return The model, invisibly.
#' @export
#' @examples
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(8, activation = "relu", input_shape = 4) |>
#'   ggml_layer_dense(3, activation = "softmax")
#' model
#' summary(ggml_freeze_weights(model, 1, 1))
print.ggml_sequential_model <- function(x, ...) {
  nn_check_model(x, "x")
  nn_print_layers(x, nn_layer_table(x))
  invisible(x)
}

#' @rdname print.ggml_sequential_model
#' @export
summary.ggml_sequential_model <- function(object, ...) {
  nn_check_model(object, "object")
  table <- nn_layer_table(object)
  shape <- object$input_shape
  nn_print_layers(object, table,
    before = paste0("Input shape: ", if (is.null(shape)) "unknown" else nn_show_shape(shape))
  )
  if (nrow(table) > 0L && !anyNA(table$params)) {
    trainable <- sum(table$params[table$trainable])
    total <- sum(table$params)
    line <- function(label, value) cat(formatC(label, width = -25L), value, "\n", sep = "")
    line("Trainable:", nn_show_number(trainable))
    line("Non-trainable:", nn_show_number(total - trainable))
    line("Estimated weight memory:", nn_show_bytes(4 * total))
  }
  if (isTRUE(object$compiled)) {
    used <- object$compilation
    cat("Optimizer: ", used$optimizer, ", loss: ", used$loss, ", backend: ",
      used$backend_used, "\n",
      sep = ""
    )
  }
  invisible(object)
}

nn_print_layers <- function(model, table, before = NULL) {
  cat("ggmlR Sequential Model\n")
  if (!is.null(before)) cat(before, "\n", sep = "")
  if (nrow(table) == 0L) {
    cat("(no layers)\n")
  } else {
    columns <- list(
      c("Layer", table$layer), c("Output Shape", table$shape),
      c("Params", nn_show_number(table$params))
    )
    left <- c(TRUE, TRUE, FALSE)
    padded <- Map(function(column, left) {
      formatC(column, width = (if (left) -1L else 1L) * max(nchar(column)))
    }, columns, left)
    lines <- do.call(paste, c(padded, sep = "  "))
    writeLines(c(lines[1L], strrep("-", nchar(lines[1L])), lines[-1L]))
    cat("Total parameters: ", nn_show_number(sum(table$params)), "\n", sep = "")
  }
  cat("Compiled: ", if (isTRUE(model$compiled)) "yes" else "no", "\n", sep = "")
}

# One row per layer; NA where the shapes can't be known yet. Printing must work in
# any state of a model that is not damaged, so trouble in planning is not its business.
nn_layer_table <- function(model) {
  n <- length(model$layers)
  if (n == 0L) {
    return(data.frame(
      layer = character(), type = character(), shape = character(), params = numeric(),
      trainable = logical(), stringsAsFactors = FALSE
    ))
  }
  plan <- if (is.numeric(model$input_shape)) {
    tryCatch(rs_nn_plan(nn_spec(model)), error = function(cnd) NULL)
  }
  field <- function(name) vapply(model$layers, function(layer) layer[[name]], character(1L))
  data.frame(
    layer = paste0(field("name"), " (", field("type"), ")"),
    type = field("type"),
    shape = if (is.null(plan)) "?" else vapply(plan[-1L], function(layer) {
      nn_show_shape(layer$shape)
    }, character(1L)),
    params = if (is.null(plan)) NA_real_ else vapply(plan[-1L], function(layer) {
      sum(vapply(layer$weights, function(w) prod(as.double(w$ne)), numeric(1L)))
    }, numeric(1L)),
    trainable = vapply(model$layers, function(layer) isTRUE(layer$trainable), logical(1L)),
    stringsAsFactors = FALSE
  )
}

nn_show_shape <- function(shape) paste0("(", paste(shape, collapse = ", "), ")")

nn_show_number <- function(x) {
  ifelse(is.na(x), "?", format(x, big.mark = ",", trim = TRUE, scientific = FALSE))
}
