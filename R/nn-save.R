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
  # Not the file's fault if this fails.
  nn_choose_backend(backend)
  nn_reading(path, "model", {
    nn_check_model_file(file, path)
    model <- ggml_model_sequential()
    model$input_shape <- nn_check_shape(file$input_shape)
    model$layers <- unname(file$layers)
    # With its weights in place: compiling then draws no random numbers.
    model <- nn_put_weights(model, unname(file$weights), path)
    nn_recompile(model, file$compilation, backend)
  })
}

# Whatever R, a warning of it or a check of arguments says about the contents of a
# file means that the file is damaged.
nn_reading <- function(path, what, code) {
  damaged <- function(cnd) {
    nn_abort("format", paste0(
      "'", path, "' is a damaged ggmlR ", what, " file: ",
      sub("^ggml_load_[a-z]+: ", "", conditionMessage(cnd))
    ), arg = "path")
  }
  tryCatch(
    withCallingHandlers(code, warning = function(cnd) {
      if (!inherits(cnd, "ggmlr_warning")) damaged(cnd)
    }),
    error = function(cnd) {
      contents <- c("ggmlr_error_argument", "ggmlr_error_shape")
      if (inherits(cnd, "ggmlr_error") && !inherits(cnd, contents)) stop(cnd)
      damaged(cnd)
    }
  )
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
    is.list(file$weights) && all(vapply(file$weights, is.list, NA)) &&
    is.list(file$compilation)
  if (!known) {
    nn_abort("format", paste0(
      "'", path, "' is not a ggmlR model file, or damaged; ggml_save_model() writes them."
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
  names <- vapply(file$layers, function(layer) layer$name, "")
  if (anyDuplicated(names)) {
    nn_abort("format", paste0(
      "'", path, "' is a damaged ggmlR model file: it has two layers with name ",
      nn_show_names(names[duplicated(names)][1L]), "."
    ), arg = "path")
  }
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
      "'", path, "' is not a ggmlR weights file, or damaged; ggml_save_weights() writes them."
    ), arg = "path")
  }
  if (!is.numeric(file$version) || !identical(file$version + 0, nn_weights_version + 0)) {
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
  nn_reading(path, "weights", nn_put_weights(model, file$weights, path))
}

nn_is_weights_file <- function(file) {
  typed <- function(layer) {
    is.list(layer) && is.character(layer$type) && length(layer$type) == 1L
  }
  is.list(file) && is.list(file$weights) && all(vapply(file$weights, is.list, NA)) &&
    is.list(file$architecture) && all(vapply(file$architecture, typed, NA)) &&
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

# A whole new file takes the place of an old one, so that a full disk does not cost
# the old model.
nn_write <- function(file, path) {
  path <- nn_check_string(path, "path")
  suppressWarnings(nn_write_whole(file, path, function(why) {
    nn_abort("io", paste0("Can't write '", nn_show_path(path), "': ", why), arg = "path")
  }))
  invisible(path)
}

nn_write_whole <- function(file, path, failed) {
  if (nchar(path, "bytes") > nn_longest_path) failed("the path is too long.")
  if (!dir.exists(dirname(path))) {
    failed(paste0("directory '", dirname(path), "' does not exist."))
  }
  if (dir.exists(path)) failed("it is a directory.")
  exists <- file.exists(path)
  target <- if (exists) normalizePath(path) else path
  # What exists and is empty may be a device, which must not be replaced.
  direct <- file.access(dirname(target), 2L) != 0L ||
    (exists && !isTRUE(file.size(target) > 0))
  written <- if (direct) target else tempfile("ggmlr-", dirname(target))
  if (!direct) on.exit(unlink(written))
  tryCatch(saveRDS(file, written), error = function(cnd) failed(conditionMessage(cnd)))
  back <- if (isTRUE(file.size(written) > 0)) {
    tryCatch(readRDS(written), error = function(cnd) NULL)
  }
  if (!identical(names(back), names(file))) {
    failed("it can't be read back; the disk may be full.")
  }
  if (direct) return(invisible())
  if (exists) Sys.chmod(written, file.mode(target), use_umask = FALSE)
  if (!file.rename(written, target)) failed("the name is not allowed, or taken.")
}

nn_longest_path <- 4000L

nn_show_path <- function(path) {
  if (nchar(path, "bytes") <= 300L) return(path)
  paste0(substr(nn_text(path), 1L, 100L), "...")
}

nn_read <- function(path, what) {
  path <- nn_check_string(path, "path")
  known <- nchar(path, "bytes") <= nn_longest_path && suppressWarnings(file.exists(path))
  if (!known) {
    nn_abort("io", paste0("File '", nn_show_path(path), "' does not exist."), arg = "path")
  }
  file <- tryCatch(suppressWarnings(readRDS(path)), error = function(cnd) NULL)
  if (!is.list(file)) {
    nn_abort("format", paste0("'", path, "' is not a ggmlR ", what, " file."), arg = "path")
  }
  file
}
