# Backends and buffers. Only the CPU so far.

#' Backends
#'
#' A backend is an opened device. `ggml_backend_cpu_init()` opens the CPU;
#' `ggml_backend_cpu_set_n_threads()` sets how many threads it uses.
#' `ggml_backend_graph_compute()` computes every node of a graph.
#' `ggml_backend_free()` closes it; closing twice does nothing.
#'
#' @param backend A backend.
#' @param graph A graph.
#' @param n_threads Number of threads, at least 1.
#' @return `ggml_backend_cpu_init()`: a backend. `ggml_backend_name()`: a string,
#'   `"CPU"`. `ggml_backend_graph_compute()`: 0, invisibly; a failure is an error.
#'   The others: `NULL`, invisibly.
#' @export
#' @examples
#' backend <- ggml_backend_cpu_init()
#' ctx <- ggml_init(no_alloc = TRUE)
#' x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
#' y <- ggml_sqr(ctx, x)
#' buffer <- ggml_backend_alloc_ctx_tensors(ctx, backend)
#' ggml_backend_tensor_set_data(x, c(1, 2, 3))
#' ggml_backend_graph_compute(backend, ggml_build_forward_expand(ctx, y))
#' ggml_backend_tensor_get_data(y)
#' ggml_backend_buffer_free(buffer)
#' ggml_backend_free(backend)
#' ggml_free(ctx)
ggml_backend_cpu_init <- function() rs_backend_cpu()

#' @rdname ggml_backend_cpu_init
#' @export
ggml_backend_cpu_set_n_threads <- function(backend, n_threads) {
  rs_backend_set_threads(backend, n_threads)
  invisible(NULL)
}

#' @rdname ggml_backend_cpu_init
#' @export
ggml_backend_name <- function(backend) rs_backend_name(backend)

#' @rdname ggml_backend_cpu_init
#' @export
ggml_backend_graph_compute <- function(backend, graph) {
  rs_backend_compute(backend, graph)
  invisible(0L)
}

#' @rdname ggml_backend_cpu_init
#' @export
ggml_backend_free <- function(backend) {
  rs_backend_free(backend)
  invisible(NULL)
}

#' Buffers
#'
#' `ggml_backend_alloc_ctx_tensors()` gives all tensors of a context that have no
#' storage a place in one new buffer; the context is one made with
#' `no_alloc = TRUE`, and its tensors and operators are made before. The buffer
#' stays until it is freed or the context ends.
#'
#' After `ggml_backend_buffer_free()` the tensors have no storage: reading them is
#' an error. `ggml_backend_buffer_clear()` sets every byte.
#'
#' @param ctx A context.
#' @param backend A backend.
#' @param buffer A buffer.
#' @param value A byte, 0 to 255.
#' @param usage One of the numbers of `ggml_backend_buffer_usage_any()` and its
#'   relatives.
#' @return `ggml_backend_alloc_ctx_tensors()`: a buffer. Sizes in bytes, names as
#'   strings. `ggml_backend_buffer_is_host()`: whether the CPU reaches the memory
#'   directly. The others: `NULL`, invisibly.
#' @export
#' @examples
#' backend <- ggml_backend_cpu_init()
#' ctx <- ggml_init(no_alloc = TRUE)
#' x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100)
#' buffer <- ggml_backend_alloc_ctx_tensors(ctx, backend)
#' ggml_backend_buffer_get_size(buffer)
#' ggml_backend_buffer_name(buffer)
#' ggml_free(ctx)
ggml_backend_alloc_ctx_tensors <- function(ctx, backend) rs_backend_alloc(ctx, backend)

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_free <- function(buffer) {
  rs_backend_buffer_free(buffer)
  invisible(NULL)
}

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_get_size <- function(buffer) rs_backend_buffer_size(buffer)

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_name <- function(buffer) rs_backend_buffer_name(buffer)

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_is_host <- function(buffer) rs_backend_buffer_is_host(buffer)

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_clear <- function(buffer, value = 0L) {
  rs_backend_buffer_clear(buffer, value)
  invisible(NULL)
}

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_get_usage <- function(buffer) rs_backend_buffer_usage(buffer)

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_set_usage <- function(buffer, usage) {
  rs_backend_buffer_set_usage(buffer, usage)
  invisible(NULL)
}

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_usage_any <- function() 0L

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_usage_weights <- function() 1L

#' @rdname ggml_backend_alloc_ctx_tensors
#' @export
ggml_backend_buffer_usage_compute <- function() 2L

#' Values of tensors in a buffer
#'
#' For tensors that [ggml_backend_alloc_ctx_tensors()] has given storage. Numbers
#' are converted to the type of the tensor (F32, F16, BF16, I32 and other types
#' of single elements); tensors of a block type take and give raw bytes. Values
#' travel in the order of memory.
#'
#' @param tensor A tensor.
#' @param data Numbers, or raw bytes as they are stored.
#' @param offset First byte to read or write.
#' @param n_elements Number of elements to read; `NULL` for all that follow.
#' @param backend The backend of the tensor.
#' @param size Number of bytes to read.
#' @return `ggml_backend_tensor_get_data()`: numbers, raw bytes for a block type.
#'   `ggml_backend_tensor_get_f32_first()`: the first number.
#'   `ggml_backend_tensor_get_and_sync()`: raw bytes.
#'   `ggml_backend_tensor_set_data()`: `NULL`, invisibly.
#' @export
#' @examples
#' backend <- ggml_backend_cpu_init()
#' ctx <- ggml_init(no_alloc = TRUE)
#' x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 4)
#' buffer <- ggml_backend_alloc_ctx_tensors(ctx, backend)
#' ggml_backend_tensor_set_data(x, 1:4)
#' ggml_backend_tensor_get_data(x, offset = 2, n_elements = 2)
#' ggml_free(ctx)
ggml_backend_tensor_set_data <- function(tensor, data, offset = 0) {
  rs_tensor_write(tensor, data, offset)
  invisible(NULL)
}

#' @rdname ggml_backend_tensor_set_data
#' @export
ggml_backend_tensor_get_data <- function(tensor, offset = 0, n_elements = NULL) {
  rs_tensor_read(tensor, offset, n_elements)
}

#' @rdname ggml_backend_tensor_set_data
#' @export
ggml_backend_tensor_get_f32_first <- function(tensor) rs_tensor_read(tensor, 0, 1)[1L]

#' @rdname ggml_backend_tensor_set_data
#' @export
ggml_backend_tensor_get_and_sync <- function(backend, tensor, offset = 0, size) {
  # Work on a backend is done when the call that started it returns.
  rs_backend_name(backend)
  rs_tensor_read_raw(tensor, offset, size)
}

#' @rdname print.ggml_tensor
#' @export
print.ggml_backend <- function(x, ...) print_handle(x)

#' @rdname print.ggml_tensor
#' @export
format.ggml_backend <- function(x, ...) describe_handle(x, "backend", rs_backend_name(x))

#' @rdname print.ggml_tensor
#' @export
print.ggml_buffer <- function(x, ...) print_handle(x)

#' @rdname print.ggml_tensor
#' @export
format.ggml_buffer <- function(x, ...) {
  describe_handle(x, "buffer", sprintf("%.0f bytes on %s", rs_backend_buffer_size(x), rs_backend_buffer_name(x)))
}
