# Constructors of the layers that need no axis beyond the features: dense,
# dropout and flatten; and how a layer enters a model. Layers only describe
# themselves here; shapes and mathematics are the engine's.

nn_activations <- c(
  "linear", "relu", "sigmoid", "tanh", "silu", "gelu", "hardsigmoid", "hardswish",
  "softmax"
)

nn_check_activation <- function(activation, arg = "activation") {
  if (is.null(activation)) return("linear")
  table <- as.list(stats::setNames(nn_activations, nn_activations))
  nn_check_choice(activation, arg, table, "activation")
}

# Adds a layer at the end. The model counts as not compiled afterwards, but the
# layers before keep their weights: this is how a trained body gets a new head.
nn_add_layer <- function(model, type, config, name, trainable, input_shape = NULL) {
  nn_check_model(model)
  if (!is.null(input_shape)) {
    input_shape <- nn_check_shape(input_shape)
    first <- length(model$layers) == 0L
    same <- is.numeric(model$input_shape) && identical(as.integer(model$input_shape), input_shape)
    if (!first || (!is.null(model$input_shape) && !same)) {
      nn_abort("argument", paste0(
        "`input_shape` belongs to the first layer only: ",
        if (first) {
          paste0("the model already has ", nn_show(model$input_shape), ".")
        } else {
          "later layers take their shape from the layer before."
        }
      ), arg = "input_shape")
    }
    model$input_shape <- input_shape
  }
  layer <- list(
    type = type,
    name = nn_new_layer_name(model, type, name),
    config = config,
    trainable = nn_check_flag(trainable, "trainable"),
    weights = list()
  )
  model$layers <- c(model$layers, list(layer))
  model$compiled <- FALSE
  model
}

# dense_1, dense_2, ...: counts the layers of the type.
nn_new_layer_name <- function(model, type, name) {
  taken <- nn_layer_names(model)
  if (!is.null(name)) {
    name <- nn_check_string(name, "name")
    if (name %in% taken) {
      nn_abort("argument", paste0(
        "The model already has a layer with name \"", name, "\"."
      ), arg = "name")
    }
    return(name)
  }
  k <- sum(vapply(model$layers, function(layer) layer$type == type, logical(1L))) + 1L
  while (paste0(type, "_", k) %in% taken) k <- k + 1L
  paste0(type, "_", k)
}

#' Dense, dropout and flatten layers
#'
#' Each function adds a layer at the end of a model and returns the model.
#'
#' `ggml_layer_dense()` computes `activation(x W + b)` for every sample. Input
#' with more than one axis is flattened first. `W` has one row per input and
#' one column per unit and starts uniform on plus or minus
#' `sqrt(6 / (inputs + units))` (Glorot and Bengio 2010); `b` starts at 0. In
#' the engine's order the weight is `[inputs, units]` and the bias `[units]`.
#'
#' `ggml_layer_dropout()` acts while training only; it sets a random share
#' `rate` of its input to 0 and divides the rest by `1 - rate`, so that the
#' expected value stays (Srivastava et al. 2014). The masks follow
#' `set.seed()`. With `stochastic = FALSE` nothing is random: while training
#' every value is multiplied by `1 - rate`.
#'
#' `ggml_layer_flatten()` turns every sample into one row, in the engine's order
#' of elements. For samples `[a, b]` the last axis runs fastest: row `i` is
#' `as.vector(t(x[i, , ]))`. For images `[height, width, channels]` the width
#' runs fastest, then the height, then the channels.
#'
#' @param model A sequential model.
#' @param units Number of outputs.
#' @param activation `NULL` or `"linear"` (none), `"relu"`, `"sigmoid"`,
#'   `"tanh"`, `"silu"`, `"gelu"`, `"hardsigmoid"`, `"hardswish"` or
#'   `"softmax"` (over the units).
#' @param input_shape Shape of one sample, without the batch. Needed by the
#'   first layer, not allowed for others.
#' @param name Name of the layer; by default the type and a number, such as
#'   `"dense_1"`.
#' @param trainable Whether training changes the weights of the layer.
#' @param time_distributed Apply the layer to each position of a sequence
#'   instead of flattening. Not for sequential models.
#' @param rate Share of values dropped, at least 0 and below 1.
#' @param stochastic Whether dropout is random.
#' @return The model with one more layer. It has to be compiled (again);
#'   weights that earlier layers have are kept then.
#' @references
#' Glorot, X. and Bengio, Y. (2010) Understanding the difficulty of training
#' deep feedforward neural networks. *AISTATS*.
#'
#' Srivastava, N. et al. (2014) Dropout: a simple way to prevent neural networks
#' from overfitting. *JMLR* 15.
#' @seealso [ggml_layer_rms_norm()] for normalisation layers.
#' @export
#' @examples
#' ggml_model_sequential() |>
#'   ggml_layer_dense(32, activation = "relu", input_shape = 10) |>
#'   ggml_layer_dropout(0.3) |>
#'   ggml_layer_dense(1)
ggml_layer_dense <- function(model, units, activation = NULL, input_shape = NULL,
                             name = NULL, trainable = TRUE, time_distributed = FALSE) {
  units <- nn_check_count(units, "units")
  activation <- nn_check_activation(activation)
  if (nn_check_flag(time_distributed, "time_distributed")) {
    nn_abort("unsupported", paste0(
      "`time_distributed = TRUE` works in functional models, not in sequential ones."
    ), arg = "time_distributed")
  }
  config <- list(units = units, activation = activation, time_distributed = FALSE)
  nn_add_layer(model, "dense", config, name, trainable, input_shape)
}

#' @rdname ggml_layer_dense
#' @export
ggml_layer_dropout <- function(model, rate, stochastic = TRUE, name = NULL,
                               trainable = FALSE) {
  config <- list(
    rate = nn_check_fraction(rate, "rate"),
    stochastic = nn_check_flag(stochastic, "stochastic")
  )
  nn_add_layer(model, "dropout", config, name, trainable)
}

#' @rdname ggml_layer_dense
#' @export
ggml_layer_flatten <- function(model, name = NULL, trainable = TRUE) {
  nn_add_layer(model, "flatten", list(), name, trainable)
}
