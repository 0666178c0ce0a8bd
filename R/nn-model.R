# The sequential model as an R object, and the functions that look at or change
# its layers. A model is a plain list: all that it knows, trained weights
# included, is ordinary R data, so it can be copied, saved and sent anywhere.

#' Start a sequential model
#'
#' Makes an empty model. Layers are added with the pipe, see
#' [ggml_layer_dense()] and [ggml_layer_rms_norm()]; then the model is compiled
#' ([ggml_compile()]), trained ([ggml_fit()]) and used ([ggml_predict()]).
#'
#' Models have value semantics, like any R object: a function that changes a
#' model returns the changed copy, so assign its result. Trained weights are
#' part of the object, hence `saveRDS()` keeps them.
#'
#' Shapes are those of one sample and never count the batch: `4` for four
#' features, `c(28, 28)` for a matrix per sample. The R array with the data has
#' the samples as its first dimension: `[N, 4]`, `[N, 28, 28]`.
#'
#' @return A list of class `ggml_sequential_model` with elements
#'   \item{layers}{the layers in order}
#'   \item{input_shape}{the shape of one sample, or `NULL`. Normally set by the
#'     `input_shape` argument of the first layer; it may also be assigned by
#'     hand before compiling.}
#'   \item{compiled}{`TRUE` after [ggml_compile()]}
#'   \item{compilation}{optimizer, loss, metrics and backend in use}
#'   \item{history}{training history, after [ggml_fit()]}
#' @export
#' @examples
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(8, activation = "relu", input_shape = 4) |>
#'   ggml_layer_dense(3, activation = "softmax")
#' model
ggml_model_sequential <- function() {
  structure(
    list(layers = list(), input_shape = NULL, compiled = FALSE, compilation = NULL),
    class = "ggml_sequential_model"
  )
}

# The description of the layer graph that the engine takes. The model's input is
# its first entry, so entry i + 1 is layer i and reads entry i.
nn_spec <- function(model) {
  input <- list(
    type = "input", name = "input", inputs = integer(),
    config = list(shape = as.integer(model$input_shape), dtype = "float32"),
    trainable = FALSE
  )
  layers <- lapply(seq_along(model$layers), function(i) {
    layer <- model$layers[[i]]
    list(
      type = layer$type, name = layer$name, inputs = i - 1L,
      config = layer$config, trainable = layer$trainable
    )
  })
  list(layers = c(list(input), layers), outputs = length(layers))
}

# Weights in the order of nn_spec().
nn_weights <- function(model) {
  c(list(list()), lapply(model$layers, function(layer) {
    if (is.null(layer$weights)) list() else layer$weights
  }))
}

# Extents are integers in the object, whatever the engine counts with.
nn_set_weights <- function(model, weights) {
  for (i in seq_along(model$layers)) {
    model$layers[[i]]$weights <- lapply(weights[[i + 1L]], function(w) {
      w$ne <- as.integer(w$ne)
      w
    })
  }
  model
}

# Shape of one sample of the result; known once compiled.
nn_output_shape <- function(model) {
  model$layers[[length(model$layers)]]$output_shape
}

nn_check_compiled <- function(model, arg = "model") {
  nn_check_model(model, arg)
  if (!isTRUE(model$compiled)) {
    nn_abort("argument", paste0(
      "The model is not compiled: call ggml_compile() first and assign its result."
    ), arg = arg)
  }
  # A hand-edited model must not reach the engine with weights that do not fit.
  shape <- model$input_shape
  if (!is.numeric(shape) || !identical(as.integer(shape), model$compilation$input_shape)) {
    nn_abort("argument", paste0(
      "`input_shape` of the model was changed after it was compiled: call ",
      "ggml_compile() again."
    ), arg = arg)
  }
  missing <- vapply(model$layers, function(layer) {
    wanted <- layer$weight_names
    !all(wanted %in% names(layer$weights))
  }, logical(1L))
  if (any(missing)) {
    nn_abort("argument", paste0(
      "Layer \"", model$layers[[which(missing)[1L]]]$name, "\" has no weights. ",
      "Read them with ggml_load_weights(), or call ggml_compile() for new ones."
    ), arg = arg)
  }
  invisible(model)
}

nn_layer_names <- function(model) {
  vapply(model$layers, function(layer) layer$name, character(1L))
}

#' Look at, remove and freeze the layers of a model
#'
#' `ggml_get_layer()` returns one layer, `ggml_pop_layer()` the model without
#' its last layer. A frozen layer keeps its weights in later calls of
#' [ggml_fit()]; that works before and after compiling.
#'
#' @param model A sequential model.
#' @param index Position of the layer, from 1.
#' @param name Name of the layer. Give either `index` or `name`.
#' @param from,to Positions of the first and the last layer to freeze or
#'   unfreeze; by default all.
#' @param layer_names Names of the layers instead of positions.
#' @param ... For methods; nothing else may be given.
#' @return `ggml_get_layer()`: a list with at least `type`, `name`, `config`,
#'   `trainable` and, once compiled, `weights` and `output_shape`. The others:
#'   the changed model, so assign the result. `ggml_pop_layer()` works on
#'   models that are not compiled.
#' @export
#' @examples
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(8, activation = "relu", input_shape = 4, name = "body") |>
#'   ggml_layer_dense(3, activation = "softmax")
#' ggml_get_layer(model, name = "body")$config$units
#' model <- ggml_freeze_weights(model, layer_names = "body")
#' ggml_get_layer(model, 1)$trainable
ggml_get_layer <- function(model, index = NULL, name = NULL) {
  nn_check_model(model)
  if (is.null(index) && is.null(name)) {
    nn_abort("argument", "Give either index or name of the layer.", arg = "index")
  }
  if (!is.null(index) && !is.null(name)) {
    nn_abort("argument", "Give index or name of the layer, not both.", arg = "index")
  }
  if (!is.null(name)) {
    name <- nn_check_string(name, "name")
    index <- match(name, nn_layer_names(model))
    if (is.na(index)) {
      nn_abort("argument", paste0(
        "No layer with name \"", name, "\". ", nn_show_layers(model)
      ), arg = "name")
    }
  }
  index <- nn_check_count(index, "index")
  if (index > length(model$layers)) {
    nn_abort("argument", paste0(
      "`index` is out of range: ", index, ", and the model has ",
      length(model$layers), " layers."
    ), arg = "index")
  }
  model$layers[[index]]
}

nn_show_layers <- function(model) {
  if (length(model$layers) == 0L) return("The model has no layers.")
  paste0("The layers are ", nn_show_names(nn_layer_names(model)), ".")
}

#' @rdname ggml_get_layer
#' @export
ggml_pop_layer <- function(model) {
  nn_check_model(model)
  if (length(model$layers) == 0L) {
    nn_abort("argument", "The model has no layers to remove.", arg = "model")
  }
  if (isTRUE(model$compiled)) {
    nn_abort("argument", paste0(
      "The model is compiled: remove layers before ggml_compile(), or set ",
      "`model$compiled <- FALSE` and compile it again afterwards."
    ), arg = "model")
  }
  model$layers[[length(model$layers)]] <- NULL
  if (length(model$layers) == 0L) model["input_shape"] <- list(NULL)
  model
}

#' @rdname ggml_get_layer
#' @export
ggml_freeze_weights <- function(model, from = 1L, to = length(model$layers),
                                layer_names = NULL, ...) {
  UseMethod("ggml_freeze_weights")
}

#' @rdname ggml_get_layer
#' @export
ggml_unfreeze_weights <- function(model, from = 1L, to = length(model$layers),
                                  layer_names = NULL, ...) {
  UseMethod("ggml_unfreeze_weights")
}

#' @export
ggml_freeze_weights.default <- function(model, from = 1L, to = length(model$layers),
                                        layer_names = NULL, ...) {
  nn_check_model(model)
}

#' @export
ggml_unfreeze_weights.default <- function(model, from = 1L, to = length(model$layers),
                                          layer_names = NULL, ...) {
  nn_check_model(model)
}

#' @rdname ggml_get_layer
#' @export
ggml_freeze_weights.ggml_sequential_model <- function(model, from = 1L,
                                                      to = length(model$layers),
                                                      layer_names = NULL, ...) {
  nn_check_dots(...)
  nn_refuse_both(!missing(from) || !missing(to), layer_names)
  nn_set_trainable(model, from, to, layer_names, FALSE)
}

#' @rdname ggml_get_layer
#' @export
ggml_unfreeze_weights.ggml_sequential_model <- function(model, from = 1L,
                                                        to = length(model$layers),
                                                        layer_names = NULL, ...) {
  nn_check_dots(...)
  nn_refuse_both(!missing(from) || !missing(to), layer_names)
  nn_set_trainable(model, from, to, layer_names, TRUE)
}

nn_refuse_both <- function(positions, layer_names) {
  if (positions && !is.null(layer_names)) {
    nn_abort("argument", "Give `from` and `to`, or `layer_names`, not both.",
      arg = "layer_names"
    )
  }
}

nn_set_trainable <- function(model, from, to, layer_names, value) {
  nn_check_model(model)
  n <- length(model$layers)
  if (is.null(layer_names)) {
    whole <- function(v) is.numeric(v) && length(v) == 1L && is.finite(v) && v == round(v)
    if (!whole(from) || !whole(to) || from < 1 || to > n || from > to) {
      nn_abort("argument", paste0(
        "Invalid range of layers: from ", nn_show(from), " to ", nn_show(to),
        ". The model has ", n, " layers."
      ), arg = "from")
    }
    chosen <- seq(from, to)
  } else {
    if (!is.character(layer_names) || length(layer_names) == 0L) {
      nn_abort("argument", paste0(
        "`layer_names` must hold names of layers, not ", nn_show(layer_names), "."
      ), arg = "layer_names")
    }
    chosen <- match(layer_names, nn_layer_names(model))
    if (anyNA(chosen)) {
      nn_abort("argument", paste0(
        "No layers found with names ", nn_show_names(layer_names[is.na(chosen)]), ". ",
        nn_show_layers(model)
      ), arg = "layer_names")
    }
  }
  for (i in chosen) model$layers[[i]]$trainable <- value
  model
}

#' A multilayer perceptron ready to compile
#'
#' Dense layers of the given widths, each followed by dropout, and an output
#' layer that fits the task. It is the model that the mlr3 learners and the
#' parsnip engine use unless told otherwise.
#'
#' @param n_features Number of input columns.
#' @param n_out Number of outputs: classes, or regression targets.
#' @param task_type `"classif"` ends in a softmax layer (compile with
#'   `"categorical_crossentropy"`), `"regr"` in a linear one (compile with
#'   `"mse"`).
#' @param hidden_layers Widths of the hidden layers. `integer(0)` gives a
#'   linear model.
#' @param activation Activation of the hidden layers.
#' @param dropout Share of activations dropped after each hidden layer while
#'   training; 0 adds no dropout layers.
#' @return A model that is not compiled yet.
#' @export
#' @examples
#' ggml_default_mlp(4, 3, "classif", hidden_layers = c(16, 8))
#' ggml_default_mlp(10, 1, "regr", hidden_layers = integer(0))
ggml_default_mlp <- function(n_features, n_out, task_type = c("classif", "regr"),
                             hidden_layers = c(128L, 64L), activation = "relu",
                             dropout = 0.2) {
  n_features <- nn_check_count(n_features, "n_features")
  n_out <- nn_check_count(n_out, "n_out")
  tasks <- c(classif = "classif", regr = "regr")
  task_type <- nn_check_choice(nn_first(task_type), "task_type", tasks, "task type")
  widths_fine <- is.null(hidden_layers) || (is.numeric(hidden_layers) &&
    all(is.finite(hidden_layers)) && all(hidden_layers >= 1) &&
    all(hidden_layers == round(hidden_layers)))
  if (!widths_fine) {
    nn_abort("argument", paste0(
      "`hidden_layers` must hold positive whole numbers, one width per layer, not ",
      nn_show(hidden_layers), "."
    ), arg = "hidden_layers")
  }
  dropout <- nn_check_fraction(dropout, "dropout")
  activation <- nn_check_activation(activation)

  model <- ggml_model_sequential()
  model$input_shape <- n_features
  for (width in hidden_layers) {
    model <- ggml_layer_dense(model, width, activation = activation)
    if (dropout > 0) model <- ggml_layer_dropout(model, dropout)
  }
  ggml_layer_dense(model, n_out, activation = if (task_type == "classif") "softmax")
}
