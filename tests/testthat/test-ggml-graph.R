test_that("a graph computes what was recorded", {
  ctx <- ggml_init()
  a <- filled(ctx, 1:6, c(2, 3))
  b <- filled(ctx, c(10, 20))
  y <- ggml_add(ctx, a, b)
  expect_identical(typeof(y), "externalptr")
  g <- ggml_build_forward_expand(ctx, y)
  expect_identical(typeof(g), "externalptr")
  expect_invisible(ggml_graph_compute(ctx, g))
  expect_identical(ggml_get_f32(y), c(11, 22, 13, 24, 15, 26))
  # Again, and with new inputs.
  ggml_graph_compute(ctx, g)
  expect_identical(ggml_get_f32(y), c(11, 22, 13, 24, 15, 26))
  ggml_set_f32(b, c(0, 0))
  ggml_graph_compute_with_ctx(ctx, g, n_threads = 1)
  expect_identical(ggml_get_f32(y), c(1, 2, 3, 4, 5, 6))
})

test_that("the examples of the product description run", {
  ctx <- ggml_init(16 * 1024 * 1024)
  w <- filled(ctx, c(1, 0, 0, 1, 1, 1), c(2, 3))
  x <- filled(ctx, c(2, -3), c(2, 1))
  y <- ggml_relu(ctx, ggml_mul_mat(ctx, w, x))
  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))
  expect_identical(ggml_get_f32(y), c(2, 0, 0))
  rows <- ggml_get_rows(ctx, filled(ctx, 1:6, c(2, 3)), filled(ctx, c(2, 0, 1), type = GGML_TYPE_I32))
  expect_identical(computed(ctx, rows), c(5, 6, 1, 2, 3, 4))
})

test_that("nodes, positions and names", {
  ctx <- ggml_init()
  x <- ggml_set_name(filled(ctx, 2), "x")
  y <- ggml_sqr(ctx, x)
  z <- ggml_neg(ctx, y)
  g <- ggml_build_forward_expand(ctx, z)
  expect_identical(ggml_graph_n_nodes(g), 2L)
  expect_identical(ggml_graph_node(g, 0), y)
  expect_identical(ggml_graph_node(g, -1), z)
  expect_identical(ggml_graph_get_tensor(g, "x"), x)
  expect_identical(ggml_graph_get_tensor(g, "node_1"), z)
  expect_null(ggml_graph_get_tensor(g, "nobody"))
  expect_ggml_error(ggml_graph_node(g, 2), "argument", "index 2 is out of range", "2 nodes")
  expect_ggml_error(ggml_graph_node(g, -3), "argument", "out of range")
  expect_ggml_error(ggml_graph_node(g, 0.5), "argument", "i must be a whole number")
})

test_that("graphs can be expanded, viewed, copied and cleared", {
  ctx <- ggml_init()
  x <- filled(ctx, 3)
  y <- ggml_sqr(ctx, x)
  z <- ggml_neg(ctx, y)
  other <- ggml_add(ctx, z, x)
  g <- ggml_build_forward_expand(ctx, z)
  ggml_graph_expand(g, other)
  expect_identical(ggml_graph_n_nodes(g), 3L)
  first <- ggml_graph_view(g, 0, 1)
  rest <- ggml_graph_view(g, 1, 3)
  ggml_graph_compute(ctx, first)
  expect_identical(ggml_get_f32(z), 0)
  ggml_graph_compute(ctx, rest)
  expect_identical(ggml_get_f32(other), -6)
  expect_ggml_error(ggml_graph_view(g, 1, 4), "argument", "out of range")
  copy <- ggml_graph_dup(ctx, g)
  ggml_graph_clear(g)
  expect_identical(ggml_graph_n_nodes(g), 0L)
  ggml_graph_compute(ctx, g)
  expect_identical(ggml_graph_n_nodes(copy), 3L)
  ggml_graph_cpy(copy, g)
  expect_identical(ggml_graph_node(g, 2), other)
  ggml_graph_clear(g)
  ggml_graph_add_node(g, y)
  expect_identical(ggml_graph_node(g, 0), y)
})

test_that("a graph uses tensors of several contexts", {
  a <- ggml_init()
  b <- ggml_init()
  x <- filled(a, 2)
  y <- ggml_sqr(b, x)
  expect_identical(computed(b, y), 4)
  g <- ggml_build_forward_expand(b, y)
  ggml_free(a)
  expect_ggml_error(ggml_graph_compute(b, g), "freed")
  expect_ggml_error(ggml_neg(b, x), "freed", "context has been freed")
})

test_that("tensors keep their context alive", {
  make <- function() {
    ctx <- ggml_init()
    ggml_sqr(ctx, filled(ctx, 3))
  }
  y <- make()
  gc()
  ctx <- ggml_init()
  expect_identical(computed(ctx, ggml_neg(ctx, y)), -9)
  g <- local({
    inner <- ggml_init()
    ggml_build_forward_expand(inner, ggml_sqr(inner, filled(inner, 4)))
  })
  gc()
  node <- ggml_graph_node(g, 0)
  rm(g)
  gc()
  expect_identical(ggml_tensor_shape(node), c(1, 1, 1, 1))
})

test_that("in-place functions write into their first tensor", {
  ctx <- ggml_init()
  a <- filled(ctx, c(3, -4))
  y <- op_of("ggml_sqr_inplace", ctx, a)
  expect_identical(computed(ctx, y), c(9, 16))
  expect_identical(ggml_get_f32(a), c(9, 16))
  expect_identical(ggml_tensor_data_ptr(y), ggml_tensor_data_ptr(a))
  b <- filled(ctx, c(-1, 2))
  z <- op_of("ggml_leaky_relu", ctx, b, params = list(negative_slope = 0.5, inplace = TRUE))
  expect_identical(computed(ctx, z), c(-0.5, 2))
  expect_identical(ggml_get_f32(b), c(-0.5, 2))
})

test_that("graphs print in the documented form", {
  ctx <- ggml_init()
  w <- ggml_set_param(filled(ctx, 1:12, c(4, 3)))
  x <- filled(ctx, 1:4)
  y <- ggml_relu(ctx, ggml_mul_mat(ctx, w, x))
  g <- ggml_build_forward_expand(ctx, y)
  out <- capture.output(ggml_graph_print(g))
  expect_identical(out, c(
    "=== GRAPH ===",
    "n_nodes = 3",
    " -   0: [     4,     3,     1]             NONE x",
    " -   1: [     3,     1,     1]          MUL_MAT  ",
    " -   2: [     3,     1,     1]            UNARY  ",
    "n_leafs = 1",
    " -   0: [     4,     1]     NONE           leaf_0",
    "========================================"
  ))
  ggml_log_set_default()
  expect_length(capture.output(ggml_graph_print(g), type = "message"), 8)
  ggml_log_set_r()
  expect_identical(format(g), "<ggml graph: 3 nodes>")
})

test_that("graphs are drawn for Graphviz", {
  ctx <- ggml_init()
  w <- ggml_set_param(ggml_set_name(filled(ctx, 3), "w"))
  y <- ggml_add(ctx, w, filled(ctx, 1))
  g <- ggml_build_forward_expand(ctx, y)
  file <- tempfile(fileext = ".dot")
  expect_invisible(ggml_graph_dump_dot(g, filename = file))
  lines <- readLines(file)
  expect_identical(lines[1], "digraph G {")
  expect_match(lines, "fillcolor = yellow.*w \\(f32\\)", all = FALSE)
  expect_match(lines, "fillcolor = pink.*leaf_0", all = FALSE)
  expect_match(lines, "fillcolor = white.*x\\+y", all = FALSE)
  expect_match(lines, "src 1", all = FALSE)
  expect_silent(ggml_graph_dump_dot(g, g, file))
  expect_ggml_error(ggml_graph_dump_dot(g, NULL, file.path(tempdir(), "no", "such")), "io", "cannot write")
  unlink(file)
})

test_that("threads can be changed at any time and the results stay", {
  old <- ggml_get_n_threads()
  on.exit(ggml_set_n_threads(old))
  ctx <- ggml_init(64 * 1024^2)
  a <- filled(ctx, sin(1:65536), c(256, 256))
  y <- ggml_mul_mat(ctx, a, a)
  g <- ggml_build_forward_expand(ctx, y)
  expect_visible(ggml_set_n_threads(1))
  ggml_graph_compute(ctx, g)
  one <- ggml_get_f32(y)
  expect_identical(ggml_set_n_threads(2), 2L)
  ggml_graph_compute(ctx, g)
  expect_identical(ggml_get_f32(y), one)
  expect_identical(ggml_get_n_threads(), 2L)
  expect_identical(ggml_set_omp_threads(1), 1L)
})

test_that("A14: the number of threads follows the setting after work has been done", {
  skip_if_not(dir.exists("/proc/self/task"))
  old <- ggml_get_n_threads()
  on.exit(ggml_set_n_threads(old))
  ctx <- ggml_init(64 * 1024^2)
  y <- ggml_mul_mat(ctx, filled(ctx, numeric(65536), c(256, 256)), filled(ctx, numeric(65536), c(256, 256)))
  g <- ggml_build_forward_expand(ctx, y)
  tasks <- function(n) {
    ggml_set_n_threads(n)
    ggml_graph_compute(ctx, g)
    # Helpers that are no longer wanted end a moment later.
    Sys.sleep(0.2)
    length(list.files("/proc/self/task"))
  }
  one <- tasks(1)
  expect_identical(tasks(2), one + 1L)
  expect_identical(tasks(1), one)
})

test_that("a long computation can be interrupted and the session goes on", {
  skip_on_os("windows")
  system(sprintf("sh -c 'sleep 0.3; kill -INT %d' &", Sys.getpid()))
  start <- Sys.time()
  caught <- tryCatch(ggmlR:::rs_diag_fail("wait", "20"), interrupt = function(cnd) cnd)
  expect_s3_class(caught, c("interrupt", "condition"), exact = TRUE)
  expect_lt(as.numeric(Sys.time() - start, units = "secs"), 10)
  expect_session_computes()
})

test_that("a graph above the limit of short work computes on a thread of its own", {
  ctx <- ggml_init(64 * 1024^2)
  a <- filled(ctx, numeric(1024 * 1024) + 1, c(1024, 1024))
  y <- ggml_mul_mat(ctx, a, a)
  expect_identical(unique(computed(ctx, y)), 1024)
})

test_that("a forked child computes", {
  skip_on_os("windows")
  expect_session_computes()
  child <- function(i) {
    ctx <- ggml_init(64 * 1024^2)
    a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 512, 512)
    ggml_set_f32(a, rep(i, 512^2))
    y <- ggml_sum(ctx, ggml_mul_mat(ctx, a, a))
    ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))
    ggml_get_f32(y)
  }
  expect_identical(parallel::mclapply(1:2, child, mc.cores = 2), list(512^3, 4 * 512^3))
  expect_session_computes()
})

test_that("backends and their buffers", {
  backend <- ggml_backend_cpu_init()
  expect_identical(ggml_backend_name(backend), "CPU")
  ggml_backend_cpu_set_n_threads(backend, 1)
  ctx <- ggml_init(no_alloc = TRUE)
  x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
  half <- ggml_new_tensor_1d(ctx, GGML_TYPE_F16, 4)
  quant <- ggml_new_tensor_1d(ctx, GGML_TYPE_Q4_0, 32)
  y <- ggml_sqr(ctx, x)
  buffer <- ggml_backend_alloc_ctx_tensors(ctx, backend)
  expect_gte(ggml_backend_buffer_get_size(buffer), 12 + 8 + 18 + 12)
  expect_identical(ggml_backend_buffer_name(buffer), "CPU")
  expect_true(ggml_backend_buffer_is_host(buffer))
  ggml_backend_buffer_set_usage(buffer, ggml_backend_buffer_usage_weights())
  expect_identical(ggml_backend_buffer_get_usage(buffer), 1L)
  ggml_backend_tensor_set_data(x, c(1, 2, 3))
  expect_identical(ggml_backend_graph_compute(backend, ggml_build_forward_expand(ctx, y)), 0L)
  expect_identical(ggml_backend_tensor_get_data(y), c(1, 4, 9))
  expect_identical(ggml_get_f32(y), c(1, 4, 9))
  expect_identical(ggml_backend_tensor_get_f32_first(y), 1)
  expect_identical(ggml_backend_tensor_get_data(y, offset = 4, n_elements = 1), 4)
  ggml_backend_tensor_set_data(half, 1:2, offset = 4)
  expect_identical(ggml_backend_tensor_get_data(half), c(0, 0, 1, 2))
  bytes <- as.raw(1:18)
  ggml_backend_tensor_set_data(quant, bytes)
  expect_identical(ggml_backend_tensor_get_data(quant), bytes)
  expect_identical(ggml_backend_tensor_get_and_sync(backend, quant, 2, 3), bytes[3:5])
  expect_ggml_error(ggml_backend_tensor_set_data(x, 1:4), "argument", "16 bytes at 0", "12")
  expect_ggml_error(ggml_backend_tensor_get_data(x, offset = 8, n_elements = 2), "argument", "outside")
  expect_ggml_error(ggml_backend_tensor_set_data(quant, 1:4), "dtype", "q4_0")
  plain <- ggml_init()
  loose <- ggml_set_name(ggml_new_f32(plain, 1), "loose")
  expect_ggml_error(ggml_backend_tensor_set_data(loose, 1), "memory", "Tensor 'loose' has no backend buffer")
  expect_ggml_error(ggml_backend_alloc_ctx_tensors(plain, backend), "memory", "Failed to allocate context tensors")
  ggml_backend_buffer_clear(buffer)
  expect_identical(ggml_get_f32(x), c(0, 0, 0))
  ggml_backend_buffer_free(buffer)
  expect_null(ggml_backend_buffer_free(buffer))
  expect_ggml_error(ggml_get_f32(y), "freed", "its buffer has been freed")
  expect_ggml_error(ggml_backend_buffer_get_size(buffer), "freed", "buffer has been freed")
})

test_that("a buffer stays when R forgets its handle", {
  backend <- ggml_backend_cpu_init()
  ctx <- ggml_init(no_alloc = TRUE)
  x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
  invisible(ggml_backend_alloc_ctx_tensors(ctx, backend))
  rm(backend)
  gc()
  ggml_set_f32(x, 1:3)
  expect_identical(ggml_get_f32(x), c(1, 2, 3))
})

test_that("tensor_mulmat_shapes", {
  ctx <- ggml_init()
  a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 3)
  b <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 5, 2)
  expect_ggml_error(ggml_mul_mat(ctx, a, b), "shape", "ggml_mul_mat", "ne=[4,3,1,1]", "ne=[5,2,1,1]")
})

test_that("B5: a shape error names operator and both shapes", {
  ctx <- ggml_init()
  x <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 21)
  batch <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 32)
  expect_ggml_error(ggml_add(ctx, x, batch), "shape", "ggml_add", "ne=[4,32,1,1]", "ne=[4,21,1,1]")
})

test_that("compute_no_alloc", {
  ctx <- ggml_init(no_alloc = TRUE)
  x <- ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2), "x")
  g <- ggml_build_forward_expand(ctx, ggml_sqr(ctx, x))
  expect_ggml_error(ggml_graph_compute(ctx, g), "memory", "tensors are not allocated")
})

test_that("backend_set_integer", {
  ctx <- ggml_init(no_alloc = TRUE)
  x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
  buffer <- ggml_backend_alloc_ctx_tensors(ctx, ggml_backend_cpu_init())
  ggml_backend_tensor_set_data(x, 1:3)
  expect_identical(ggml_backend_tensor_get_data(x), c(1, 2, 3))
})

test_that("get_rows_out_of_range", {
  ctx <- ggml_init()
  y <- ggml_get_rows(ctx, filled(ctx, 1:6, c(2, 3)), filled(ctx, 100000, type = GGML_TYPE_I32))
  expect_ggml_error(
    ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y)), "argument",
    "ggml_graph_compute", "get_rows", "index 100000 outside 0..2"
  )
})

test_that("get_rows_range_2_threads", {
  old <- ggml_get_n_threads()
  on.exit(ggml_set_n_threads(old))
  ggml_set_n_threads(2)
  ctx <- ggml_init(512 * 1024^2)
  table <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2048, 3)
  index <- rep(0:2, length.out = 20000)
  index[c(5, 19999)] <- 100000
  y <- ggml_get_rows(ctx, table, filled(ctx, index, type = GGML_TYPE_I32))
  g <- ggml_build_forward_expand(ctx, y)
  expect_ggml_error(ggml_graph_compute(ctx, g), "argument", "index 100000 outside 0..2")
})

test_that("error_then_use", {
  ctx <- ggml_init()
  a <- filled(ctx, 1:4)
  expect_ggml_error(ggml_add(ctx, a, filled(ctx, 1:3)), "shape", "ne=[3,1,1,1]", "ne=[4,1,1,1]")
  expect_identical(computed(ctx, ggml_add(ctx, a, a)), c(2, 4, 6, 8))
})

test_that("compute_error_then_use", {
  ctx <- ggml_init()
  table <- filled(ctx, 1:6, c(2, 3))
  bad <- ggml_get_rows(ctx, table, filled(ctx, 7, type = GGML_TYPE_I32))
  g <- ggml_build_forward_expand(ctx, bad)
  expect_ggml_error(ggml_graph_compute(ctx, g), "argument", "index 7 outside 0..2")
  expect_identical(computed(ctx, ggml_add(ctx, table, table)), 2 * (1:6))
  good <- ggml_get_rows(ctx, table, filled(ctx, 2, type = GGML_TYPE_I32))
  expect_identical(computed(ctx, good), c(5, 6))
})

test_that("view_out_of_range", {
  ctx <- ggml_init()
  x <- filled(ctx, 1:4)
  expect_ggml_error(
    op_of("ggml_view_1d", ctx, x, params = list(ne0 = 100, offset = 4096)), "shape",
    "view of 400 bytes at 4096", "16"
  )
})

test_that("threads_zero", {
  expect_ggml_error(ggml_set_n_threads(0), "argument", "Number of threads must be at least 1")
  expect_ggml_error(ggml_set_n_threads(NA), "argument", "n_threads must not be missing")
  expect_ggml_error(ggml_set_n_threads(1e9), "argument", "1 to 1024")
  ctx <- ggml_init()
  g <- ggml_build_forward_expand(ctx, ggml_neg(ctx, filled(ctx, 1)))
  expect_ggml_error(ggml_graph_compute_with_ctx(ctx, g, -1), "argument", "n_threads")
  expect_ggml_error(ggml_backend_cpu_set_n_threads(ggml_backend_cpu_init(), 0), "argument", "n_threads")
})

test_that("operators refuse what is no tensor or no parameter", {
  ctx <- ggml_init()
  a <- filled(ctx, 1:4)
  expect_ggml_error(ggml_add(ctx, a, 3), "argument", "argument 'b'", "expected a tensor, got numeric")
  expect_ggml_error(ggml_add(ctx, a, NULL), "argument", "'b'")
  expect_ggml_error(ggml_add(a, a, a), "argument", "argument 'ctx'", "expected a context, got a tensor")
  expect_ggml_error(ggml_rms_norm(ctx, a, eps = "x"), "argument", "eps")
  expect_ggml_error(ggml_rms_norm(ctx, a, eps = NA), "argument", "eps must not be missing")
  expect_ggml_error(op_of("ggml_no_such", ctx, a), "argument", "ggml_no_such")
})
