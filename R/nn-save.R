# Models and weights in files. A file is an R data file with a plain list, so that
# any R can look into it. Models also survive saveRDS() by themselves; the functions
# here add checks, a format version and a way to move weights between models.

nn_model_version <- 3L
nn_weights_version <- 1L

#' Save and load models
#'
#' `ggml_save_model()` writes a compiled model to a file, `ggml_load_model()` reads it;
#' the loaded model is compiled, ready to predict or to train on, and predicts the same
#' numbers. `ggml_save_weights()` writes the weights only, `ggml_load_weights()` puts
#' them into a compiled model with the same layers.
#'
#' The weights are ordinary data of the model object. So `saveRDS()` and `readRDS()`
#' work too, also for lists of models, and a model can be sent to another process.
#'
#' @param model A compiled model.
#' @param path Name of the file, by custom ending in `.rds`.
#' @param backend Where the loaded model runs, see [ggml_compile()].
#' @return `ggml_save_model()` and `ggml_save_weights()`: `path`, invisibly.
#'   `ggml_load_model()`: the model. `ggml_load_weights()`: `model` with the weights from
#'   the file; assign it.
#' @section Format:
#' A model file has the list elements `class`, `version` (3), `input_shape`, `layers` (type,
#' name, configuration and whether it is trainable), `weights` and `compilation`. `weights`
#' has one named list per layer; a weight is a list of `dtype` (`"f32"`), `ne` (extents, the
#' fastest first) and `data` (raw, little endian). Files of version 2, in which a weight is
#' a numeric vector, can be read.
#' @export
#' @examples
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 2) |>
#'   ggml_compile(loss = "mse")
#' path <- tempfile(fileext = ".rds")
#' ggml_save_model(model, path)
#' same <- ggml_load_model(path)
#' identical(ggml_predict(model, c(1, 2)), ggml_predict(same, c(1, 2)))
ggml_save_model <- function(model, path) UseMethod("ggml_save_model")

#' @export
ggml_save_model.default <- function(model, path) nn_check_model(model)

#' @rdname ggml_save_model
#' @export
ggml_save_model.ggml_sequential_model <- function(model, path) {
  nn_check_compiled(model)
  weights <- lapply(model$layers, function(layer) layer$weights)
  names(weights) <- nn_layer_names(model)
  compilation <- model$compilation
  file <- list(
    class = class(model)[1L],
    version = nn_model_version,
    input_shape = model$input_shape,
    layers = lapply(model$layers, function(layer) {
      layer[c("type", "name", "config", "trainable")]
    }),
    weights = weights,
    compilation = compilation[c("optimizer", "loss", "metrics")]
  )
  nn_write(file, path)
}

#' @rdname ggml_save_model
#' @export
ggml_load_model <- function(path, backend = "auto") {
  file <- nn_read(path, "model")
  # saveRDS(model) is a model file of its own kind.
  if (inherits(file, "ggml_sequential_model")) {
    nn_check_compiled(file, "path")
    return(nn_recompile(file, file$compilation, backend))
  }
  nn_check_model_file(file, path)
  model <- ggml_model_sequential()
  model$input_shape <- nn_check_shape(file$input_shape)
  model$layers <- unname(file$layers)
  # With its weights in place: compiling then draws no random numbers.
  model <- nn_put_weights(model, unname(file$weights), path)
  nn_recompile(model, file$compilation, backend)
}

nn_recompile <- function(model, compilation, backend) {
  ggml_compile(model,
    optimizer = compilation$optimizer, loss = compilation$loss,
    metrics = compilation$metrics, backend = backend
  )
}

nn_check_model_file <- function(file, path) {
  if (nn_is_weights_file(file)) {
    nn_abort("format", paste0(
      "'", path, "' has weights only, written by ggml_save_weights(): use ",
      "ggml_load_weights() on a compiled model."
    ), arg = "path")
  }
  version <- file$version
  known <- is.character(file$class) && is.numeric(version) && length(version) == 1L &&
    is.list(file$layers) && all(vapply(file$layers, nn_is_layer, logical(1L))) &&
    is.list(file$weights) && is.list(file$compilation)
  if (!known) {
    nn_abort("format", paste0(
      "'", path, "' is not a ggmlR model file; ggml_save_model() writes them."
    ), arg = "path")
  }
  if (!identical(file$class, "ggml_sequential_model")) {
    nn_abort("format", paste0(
      "'", path, "' has a model of class ", nn_show(file$class), ", which is not known."
    ), arg = "path")
  }
  if (!version %in% 2:3) {
    nn_abort("format", paste0(
      "'", path, "' has format version ", version, "; this version of ggmlR reads 2 and 3."
    ), arg = "path")
  }
}

nn_is_layer <- function(layer) {
  is.list(layer) && is.character(layer$type) && is.character(layer$name) &&
    is.list(layer$config) && is.logical(layer$trainable)
}

#' @rdname ggml_save_model
#' @export
ggml_save_weights <- function(model, path) {
  nn_check_compiled(model)
  file <- list(
    weights = lapply(model$layers, function(layer) layer$weights),
    architecture = lapply(model$layers, function(layer) {
      list(type = layer$type, name = layer$name, output_shape = layer$output_shape)
    }),
    version = nn_weights_version
  )
  nn_write(file, path)
}

#' @rdname ggml_save_model
#' @export
ggml_load_weights <- function(model, path) {
  nn_check_model(model)
  if (!isTRUE(model$compiled)) nn_check_compiled(model)
  file <- nn_read(path, "weights")
  if (!nn_is_weights_file(file)) {
    nn_abort("format", paste0(
      "'", path, "' is not a ggmlR weights file; ggml_save_weights() writes them."
    ), arg = "path")
  }
  if (!identical(as.numeric(file$version), as.numeric(nn_weights_version))) {
    nn_abort("format", paste0(
      "'", path, "' has format version ", nn_show(file$version),
      "; this version of ggmlR reads ", nn_weights_version, "."
    ), arg = "path")
  }
  types <- function(layers) vapply(layers, function(layer) layer$type, character(1L))
  have <- types(model$layers)
  got <- types(file$architecture)
  if (!identical(have, got)) {
    nn_abort("format", paste0(
      "Architecture mismatch: the model has the layers ", paste(have, collapse = ", "),
      "; '", path, "' has weights for ", paste(got, collapse = ", "), "."
    ), arg = "path")
  }
  nn_put_weights(model, file$weights, path)
}

nn_is_weights_file <- function(file) {
  is.list(file) && is.list(file$weights) && is.list(file$architecture) &&
    is.null(file$layers)
}

# Gives the layers the weights of a file, if these are what the layers need.
nn_put_weights <- function(model, weights, path) {
  if (length(weights) != length(model$layers)) {
    nn_abort("format", paste0(
      "Architecture mismatch: the model has ", length(model$layers), " layers, '", path,
      "' has weights for ", length(weights), "."
    ), arg = "path")
  }
  plan <- rs_nn_plan(nn_spec(model))
  for (i in seq_along(model$layers)) {
    wanted <- plan[[i + 1L]]$weights
    read <- lapply(wanted, function(w) {
      nn_read_weight(weights[[i]][[w$name]], w, model$layers[[i]]$name, path)
    })
    if (length(read)) names(read) <- vapply(wanted, function(w) w$name, character(1L))
    model$layers[[i]]$weights <- read
  }
  model
}

nn_read_weight <- function(found, wanted, layer, path) {
  size <- prod(as.double(wanted$ne))
  ne <- as.integer(wanted$ne)
  # Version 2: the bare values.
  if (is.numeric(found) && length(found) == size) {
    return(list(dtype = "f32", ne = ne, data = nn_pack(as.vector(found))))
  }
  fits <- is.list(found) && identical(found$dtype, "f32") && is.raw(found$data) &&
    identical(as.double(found$ne), as.double(wanted$ne)) &&
    length(found$data) == 4 * size
  if (!fits) {
    nn_abort("format", paste0(
      "Architecture mismatch: weight \"", wanted$name, "\" of layer \"", layer, "\" needs ",
      nn_show_dim(wanted$ne), " values; '", path, "' has ",
      if (is.null(found)) {
        "none"
      } else if (is.list(found) && is.numeric(found$ne)) {
        nn_show_dim(found$ne)
      } else {
        nn_show(found)
      }, "."
    ), arg = "path")
  }
  list(dtype = "f32", ne = ne, data = found$data)
}

# ---- files -----------------------------------------------------------------------

nn_write <- function(file, path) {
  path <- nn_check_string(path, "path")
  tryCatch(
    suppressWarnings(saveRDS(file, path)),
    error = function(cnd) {
      nn_abort("io", paste0(
        "Can't write '", path, "': ",
        if (dir.exists(dirname(path))) {
          conditionMessage(cnd)
        } else {
          paste0("directory '", dirname(path), "' does not exist.")
        }
      ), arg = "path")
    }
  )
  invisible(path)
}

nn_read <- function(path, what) {
  path <- nn_check_string(path, "path")
  if (!file.exists(path)) {
    nn_abort("io", paste0("File '", path, "' does not exist."), arg = "path")
  }
  file <- tryCatch(suppressWarnings(readRDS(path)), error = function(cnd) NULL)
  if (!is.list(file)) {
    nn_abort("format", paste0("'", path, "' is not a ggmlR ", what, " file."), arg = "path")
  }
  file
}
