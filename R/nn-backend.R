# Which device a model runs on.

nn_backends <- list(auto = "auto", cpu = "cpu", vulkan = "vulkan", gpu = "vulkan")

# The devices that this build can use; the Vulkan backend will add itself here.
nn_gpu_device <- function() NULL

nn_choose_backend <- function(backend) {
  requested <- nn_check_choice(backend, "backend", nn_backends, "backend")
  gpu <- nn_gpu_device()
  if (requested == "vulkan" && is.null(gpu)) {
    nn_abort("backend", paste0(
      "`backend = \"", backend, "\"` needs a Vulkan device, and none was found. ",
      "Use \"auto\" or \"cpu\"."
    ), arg = "backend")
  }
  use_gpu <- requested != "cpu" && !is.null(gpu)
  list(
    backend_requested = requested,
    backend_used = if (use_gpu) "vulkan" else "cpu",
    device = if (use_gpu) gpu else "CPU"
  )
}

nn_session <- new.env(parent = emptyenv())
nn_session$announced <- character()

# Once a session, not at each model.
nn_announce_backend <- function(backend) {
  text <- if (backend$backend_used == "vulkan") {
    paste0("Using Vulkan GPU backend: ", backend$device)
  } else {
    "Using CPU backend"
  }
  if (!text %in% nn_session$announced) {
    nn_session$announced <- c(nn_session$announced, text)
    message(text)
  }
}

#' The backend that a model runs on
#'
#' @param object A compiled model.
#' @param verbose Whether to tell more than the name.
#' @return `"cpu"` or `"vulkan"`; with `verbose = TRUE` a list of
#'   `requested`, `used`, `device` and `fallback` (whether `"auto"` ended on the
#'   CPU).
#' @export
#' @examples
#' model <- ggml_model_sequential() |>
#'   ggml_layer_dense(1, input_shape = 2) |>
#'   ggml_compile(loss = "mse")
#' ggml_model_backend(model)
ggml_model_backend <- function(object, verbose = FALSE) {
  nn_check_model(object, "object")
  if (!isTRUE(object$compiled)) {
    nn_abort("argument", "The model is not compiled, so it has no backend yet.",
      arg = "object"
    )
  }
  used <- object$compilation
  if (!nn_check_flag(verbose, "verbose")) return(used$backend_used)
  list(
    requested = used$backend_requested, used = used$backend_used, device = used$device,
    fallback = used$backend_requested == "auto" && used$backend_used == "cpu"
  )
}
