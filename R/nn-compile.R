# Compiling: names of losses, optimizers and metrics are resolved, the engine
# works out every shape, and layers without weights get their first ones.

# What a user may write, and the name that the engine knows.
nn_losses <- list(
  categorical_crossentropy = "categorical_crossentropy",
  crossentropy = "categorical_crossentropy",
  cross_entropy = "categorical_crossentropy",
  binary_crossentropy = "binary_crossentropy",
  binary_cross_entropy = "binary_crossentropy",
  mse = "mse",
  mean_squared_error = "mse",
  mae = "mae",
  mean_absolute_error = "mae",
  huber = "huber",
  huber_loss = "huber"
)

nn_metrics <- list(
  accuracy = "accuracy",
  acc = "accuracy",
  mae = "mae",
  mean_absolute_error = "mae",
  mse = "mse",
  mean_squared_error = "mse",
  rmse = "rmse",
  root_mean_squared_error = "rmse"
)

# Defaults of the update rules; lr is where a fit starts.
nn_optimizers <- list(
  adam = list(
    name = "adam", lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0
  ),
  adamw = list(
    name = "adamw", lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0
  ),
  sgd = list(name = "sgd", lr = 1e-3, weight_decay = 0)
)

#' Compile a model
#'
#' Chooses loss, optimizer and metrics, works out the shape of every layer and
#' gives weights to the layers that have none. The initial weights are drawn
#' from R's generator, so `set.seed()` before this call makes them the same
#' again. Compiling a model that was trained keeps its weights; a layer gets new
#' ones only if its shape has changed.
#'
#' For predictions `p` and targets `t` of `N` samples with `K` outputs the losses
#' are
#'
#' * `"categorical_crossentropy"` (`"crossentropy"`, `"cross_entropy"`), for a
#'   softmax output: `-mean(rowSums(t * log(p)))`
#' * `"binary_crossentropy"` (`"binary_cross_entropy"`), for a sigmoid output:
#'   `-mean(t * log(p) + (1 - t) * log(1 - p))`
#' * `"mse"` (`"mean_squared_error"`): `mean((p - t)^2)`
#' * `"mae"` (`"mean_absolute_error"`): `mean(abs(p - t))`
#' * `"huber"` (`"huber_loss"`): the mean of `d^2 / 2` where `d = abs(p - t)` is at
#'   most 1, and of `d - 1/2` beyond
#'
#' with `p` kept within 1e-7 of 0 and 1 under a logarithm. A softmax layer before
#' the categorical cross entropy is trained from its logits, which is exact.
#'
#' `"adam"` (Kingma and Ba 2015) uses rates 0.9 and 0.999 for its two moments and
#' `eps` 1e-8; `"adamw"` (Loshchilov and Hutter 2019) is the same rule with weight
#' decay, which is 0 here. `"sgd"` is plain gradient descent. All start with
#' learning rate 0.001; callbacks change it, see [ggml_callback_early_stopping()].
#'
#' @param model,object A model with at least one layer and a known input shape.
#' @param optimizer `"adam"`, `"adamw"` or `"sgd"`.
#' @param loss Name of the loss, see below.
#' @param metrics Names of further measures: `"accuracy"` (`"acc"`), `"mae"`,
#'   `"mse"`, `"rmse"` or their long forms. Accuracy is the share of samples
#'   whose largest output is the right one; for a single output with
#'   `"binary_crossentropy"`, the share on the right side of 0.5; `NA` for
#'   other single outputs. The history shows the accuracy, [ggml_evaluate()]
#'   all of them.
#' @param backend `"auto"`, `"cpu"`, or `"vulkan"` (`"gpu"`), which is an error
#'   without such a device.
#' @param loss_weights Weights of the losses of a model with several outputs.
#'   A sequential model has one output and takes none, or 1.
#' @param ... For the method of `compile()`: `backend` and `loss_weights`.
#' @return The compiled model, invisibly. Assign it.
#' @references
#' Kingma, D. P. and Ba, J. (2015) Adam: a method for stochastic optimization.
#' *ICLR*.
#'
#' Loshchilov, I. and Hutter, F. (2019) Decoupled weight decay regularization.
#' *ICLR*.
#' @export
#' @examples
#' set.seed(1)
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(8, activation = "relu", input_shape = 4) |>
#'   ggml_layer_dense(3, activation = "softmax")
#' model <- ggml_compile(model, optimizer = "adam",
#'                       loss = "categorical_crossentropy", metrics = "accuracy")
#' model$compilation$loss
ggml_compile <- function(model, optimizer = "adam", loss = "categorical_crossentropy",
                         metrics = c("accuracy"), backend = "auto", loss_weights = NULL) {
  UseMethod("ggml_compile")
}

#' @export
ggml_compile.default <- function(model, optimizer = "adam",
                                 loss = "categorical_crossentropy",
                                 metrics = c("accuracy"), backend = "auto",
                                 loss_weights = NULL) {
  nn_check_model(model)
}

#' @rdname ggml_compile
#' @export
ggml_compile.ggml_sequential_model <- function(model, optimizer = "adam",
                                               loss = "categorical_crossentropy",
                                               metrics = c("accuracy"),
                                               backend = "auto",
                                               loss_weights = NULL) {
  nn_check_model(model)
  if (length(model$layers) == 0L) {
    nn_abort("argument", paste0(
      "The model has no layers to compile: add some, for example with ",
      "ggml_layer_dense()."
    ), arg = "model")
  }
  if (is.null(model$input_shape)) {
    nn_abort("argument", paste0(
      "The model has no input_shape: give it to the first layer (\"",
      model$layers[[1L]]$name, "\"), or set `model$input_shape`."
    ), arg = "input_shape")
  }
  model$input_shape <- nn_check_shape(model$input_shape)
  optimizer <- nn_check_optimizer(optimizer)
  loss <- nn_check_choice(loss, "loss", nn_losses, "loss")
  metrics <- nn_check_metrics(metrics)
  one <- is.numeric(loss_weights) && length(loss_weights) == 1L && loss_weights %in% 1
  if (!is.null(loss_weights) && !one) {
    nn_abort("argument", paste0(
      "`loss_weights` weighs the outputs of a model with several; a sequential ",
      "model has one, of weight 1; got ", nn_show(loss_weights), "."
    ), arg = "loss_weights")
  }
  backend <- nn_choose_backend(backend)

  model <- nn_plan_layers(model)
  if (loss == "categorical_crossentropy" && identical(nn_output_shape(model), 1L)) {
    nn_abort("argument", paste0(
      "loss = \"categorical_crossentropy\" needs one output per class, but the model has ",
      "a single output: use \"binary_crossentropy\" with a sigmoid output for two ",
      "classes, \"mse\" for numbers."
    ), arg = "loss")
  }
  model$compiled <- TRUE
  model$compilation <- c(
    list(
      optimizer = optimizer$name, loss = loss, metrics = metrics,
      optimizer_settings = optimizer, input_shape = model$input_shape
    ),
    backend
  )
  nn_announce_backend(backend)
  invisible(model)
}

nn_check_optimizer <- function(optimizer) {
  table <- nn_optimizers
  nn_check_choice(optimizer, "optimizer", table, "optimizer")
}

nn_check_metrics <- function(metrics) {
  if (!is.null(metrics) && !is.character(metrics) &&
        !(is.list(metrics) && !is.object(metrics))) {
    nn_abort("argument", paste0(
      "`metrics` must hold names of metrics, not ", nn_show(metrics), "."
    ), arg = "metrics")
  }
  resolved <- lapply(as.list(metrics), nn_check_choice, "metrics", nn_metrics, "metric")
  unique(as.character(resolved))
}

# What the engine needs to know beside layers and weights.
nn_engine_compilation <- function(model) {
  settings <- model$compilation$optimizer_settings
  list(
    loss = model$compilation$loss,
    optimizer = settings[setdiff(names(settings), "lr")],
    metrics = model$compilation$metrics
  )
}

# ---- shapes and first weights --------------------------------------------------

# Every layer learns its output shape, and its weights if they do not fit.
nn_plan_layers <- function(model) {
  plan <- rs_nn_plan(nn_spec(model))
  for (i in seq_along(model$layers)) {
    wanted <- plan[[i + 1L]]$weights
    layer <- model$layers[[i]]
    if (!nn_weights_fit(layer$weights, wanted)) {
      layer$weights <- nn_draw_weights(wanted)
    }
    layer$weight_names <- vapply(wanted, function(w) w$name, character(1L))
    layer$output_shape <- as.integer(plan[[i + 1L]]$shape)
    model$layers[[i]] <- layer
  }
  model
}

nn_weights_fit <- function(weights, wanted) {
  names <- vapply(wanted, function(w) w$name, character(1L))
  if (length(weights) != length(names) || !setequal(names(weights), names)) {
    return(FALSE)
  }
  all(vapply(wanted, function(w) {
    have <- weights[[w$name]]
    identical(as.double(have$ne), as.double(w$ne)) &&
      identical(length(have$data) + 0, 4 * prod(as.double(w$ne)))
  }, logical(1L)))
}

nn_draw_weights <- function(wanted) {
  weights <- lapply(wanted, function(w) {
    size <- prod(as.double(w$ne))
    list(dtype = "f32", ne = as.integer(w$ne), data = nn_draw_raw(w, size))
  })
  if (length(weights)) names(weights) <- vapply(wanted, function(w) w$name, character(1L))
  weights
}

# In pieces: writeBin() takes less than 2 GB at once, and a large layer should
# not need its double values all at the same time.
nn_draw_raw <- function(w, size, piece = 2^22) {
  draw <- function(n) {
    switch(w$init,
      uniform = stats::runif(n, -w$limit, w$limit),
      constant = rep(w$value, n)
    )
  }
  if (size <= piece) return(nn_pack(draw(size)))
  data <- raw(4 * size)
  done <- 0
  while (done < size) {
    n <- min(piece, size - done)
    data[4 * done + seq_len(4 * n)] <- nn_pack(draw(n))
    done <- done + n
  }
  data
}

nn_pack <- function(values) writeBin(as.double(values), raw(), size = 4L, endian = "little")
