test_that("a context has a budget", {
  ctx <- ggml_init(1024^2)
  expect_identical(typeof(ctx), "externalptr")
  expect_identical(ggml_get_mem_size(ctx), 1024^2)
  expect_identical(ggml_used_mem(ctx), 0)
  expect_identical(ggml_get_max_tensor_size(ctx), 0)
  t <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 10, 10)
  expect_gte(ggml_used_mem(ctx), 400 + ggml_tensor_overhead())
  expect_identical(ggml_get_max_tensor_size(ctx), 400)
  before <- ggml_used_mem(ctx)
  ggml_build_forward_expand(ctx, ggml_neg(ctx, t))
  expect_gte(ggml_used_mem(ctx), before + ggml_graph_overhead())
  ggml_reset(ctx)
  expect_identical(ggml_used_mem(ctx), 0)
  ggml_free(ctx)
})

test_that("freeing gives NULL invisibly and can be repeated", {
  ctx <- ggml_init()
  expect_invisible(ggml_free(ctx))
  expect_null(ggml_free(ctx))
})

test_that("estimates know the type", {
  f32 <- ggml_estimate_memory(GGML_TYPE_F32, 1000)
  f16 <- ggml_estimate_memory(GGML_TYPE_F16, 1000)
  expect_identical(f32 - f16, 2000)
  expect_identical(ggml_estimate_memory("q4_0", 32, 2), 36 + ggml_tensor_overhead() + 256)
})

test_that("ggml_init_auto() makes room for the shapes it is given", {
  ctx <- ggml_init_auto(c(1000, 1000), 500, extra_mb = 1)
  expect_gte(ggml_get_mem_size(ctx), 4e6 + 2000 + 1024^2)
  ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 1000, 1000)
  ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 500)
  big <- ggml_init_auto(c(50000, 50000), extra_mb = 0)
  expect_gt(ggml_get_mem_size(big), 2^31)
  expect_ggml_error(ggml_init_auto(c(1, 2, 3, 4, 5)), "argument", "1 to 4 extents")
  expect_ggml_error(ggml_init_auto(10, extra_mb = -1), "argument", "extra_mb")
})

test_that("a temporary context is freed, also after an error", {
  kept <- NULL
  value <- ggml_with_temp_ctx(1024^2, {
    kept <<- ctx
    ggml_get_f32(ggml_new_f32(ctx, 42))
  })
  expect_identical(value, 42)
  expect_ggml_error(ggml_new_f32(kept, 1), "freed", "context has been freed")
  expect_error(ggml_with_temp_ctx(1024^2, {
    kept <<- ctx
    stop("mine")
  }), "mine")
  expect_ggml_error(ggml_used_mem(kept), "freed")
  # Variables of the caller are seen, and assigning to ctx does no harm.
  x <- 5
  expect_identical(ggml_with_temp_ctx(1024^2, {
    ctx <- NULL
    x + 1
  }), 6)
})

test_that("no_alloc is a switch for later tensors", {
  ctx <- ggml_init(1024^2, no_alloc = TRUE)
  expect_true(ggml_get_no_alloc(ctx))
  bare <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)
  expect_identical(ggml_used_mem(ctx), ggml_tensor_overhead())
  ggml_set_no_alloc(ctx, FALSE)
  full <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)
  expect_identical(ggml_get_f32(full), rep(0, 4))
  expect_ggml_error(ggml_get_f32(bare), "memory", "tensor has no storage yet")
})

test_that("tensors of a context can be walked through", {
  ctx <- ggml_init()
  expect_null(ggml_get_first_tensor(ctx))
  a <- ggml_new_f32(ctx, 1)
  b <- ggml_new_f32(ctx, 2)
  expect_identical(ggml_tensor_num(ctx), 2L)
  expect_identical(ggml_get_first_tensor(ctx), a)
  expect_identical(ggml_get_next_tensor(ctx, a), b)
  expect_null(ggml_get_next_tensor(ctx, b))
})

test_that("status and objects are printed", {
  ctx <- ggml_init(1024^2)
  ggml_set_name(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3), "weights")
  out <- capture.output(status <- ggml_print_mem_status(ctx))
  expect_length(out, 4)
  expect_match(out[2], "Total:.*1.00 MB.*100.0%")
  expect_named(status, c("total", "used", "free"))
  expect_identical(status$total, status$used + status$free)
  capture.output(expect_invisible(ggml_print_mem_status(ctx)))
  out <- capture.output(ggml_print_objects(ctx))
  expect_length(out, 3)
  expect_match(out[2], "f32 ne=\\[3,1,1,1\\].*weights")
  expect_match(capture.output(print(ctx)), "<ggml context: 1 tensors, 0.00 of 1.00 MB used>")
})

test_that("many contexts do not pile up memory that R cannot see", {
  for (i in 1:40) {
    ctx <- ggml_init(64 * 1024^2)
    t <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 12e6)
    ggml_tensor_set_f32_scalar(t, 1)
  }
  expect_lt(ggmlR:::rs_diag_live_bytes(), 24 * 48e6)
})

test_that("init_negative", {
  cnd <- expect_ggml_error(ggml_init(-1), "argument", "ggml_init", "size must be positive", "-1")
  expect_identical(cnd$arg, "mem_size")
})

test_that("init_NA", {
  expect_ggml_error(ggml_init(NA), "argument", "size must not be missing")
  expect_ggml_error(ggml_init(NaN), "argument", "size must not be missing")
  expect_ggml_error(ggml_init(1024, no_alloc = NA), "argument", "no_alloc must not be missing")
})

test_that("sizes that are no size are refused", {
  expect_ggml_error(ggml_init("a"), "argument", "mem_size must be one number", "\"a\"")
  expect_ggml_error(ggml_init(1.5), "argument", "mem_size")
  expect_ggml_error(ggml_init(c(1, 2)), "argument", "mem_size", "length 2")
  expect_ggml_error(ggml_init(1e308), "argument", "mem_size")
  expect_ggml_error(ggml_init(NULL), "argument", "mem_size", "NULL")
})

test_that("ctx_tiny_graph", {
  ctx <- ggml_init(2048)
  y <- ggml_neg(ctx, ggml_new_f32(ctx, 1))
  expect_ggml_error(
    ggml_build_forward_expand(ctx, y), "memory",
    "context is too small for a graph", "bytes needed"
  )
})

test_that("tensor_huge", {
  ctx <- ggml_init(1024^2)
  expect_ggml_error(
    ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1e15), "memory",
    "Not enough memory in context: need 3814697265.63 MB, available 1.00 MB"
  )
  for (make in list(
    function() ggml_new_tensor_2d(ctx, "f32", 1e9, 1e9),
    function() ggml_new_tensor_3d(ctx, "f32", 1e4, 1e4, 1e4),
    function() ggml_new_tensor_4d(ctx, "f32", 1e4, 1e4, 1e4, 1e4)
  )) {
    expect_ggml_error(make(), "memory")
  }
})

test_that("use_ctx_after_free", {
  ctx <- ggml_init()
  ggml_free(ctx)
  expect_ggml_error(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3), "freed", "context has been freed")
  expect_ggml_error(ggml_reset(ctx), "freed", "context has been freed")
})
