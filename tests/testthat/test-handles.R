test_that("handles say what they are", {
  ctx <- ggml_init()
  t <- ggml_new_f32(ctx, 1)
  g <- ggml_build_forward_expand(ctx, ggml_neg(ctx, t))
  backend <- ggml_backend_cpu_init()
  for (h in list(ctx, t, g, backend)) expect_identical(typeof(h), "externalptr")
  expect_identical(class(ctx), c("ggml_context", "externalptr"))
  expect_identical(class(t), c("ggml_tensor", "externalptr"))
  expect_identical(class(g), c("ggml_graph", "externalptr"))
  expect_identical(class(backend), c("ggml_backend", "externalptr"))
  expect_false(identical(t, ggml_new_f32(ctx, 1)))
  expect_identical(ggml_get_first_tensor(ctx), t)
})

test_that("pointer_is_number", {
  cnd <- expect_ggml_error(ggml_get_f32(42), "argument", "ggml_get_f32", "expected a tensor, got numeric")
  expect_identical(cnd$arg, "tensor")
  expect_identical(cnd$call, quote(ggml_get_f32(42)))
  expect_ggml_error(ggml_get_f32(42L), "argument", "got integer")
  expect_ggml_error(ggml_get_f32(NULL), "argument", "got NULL")
  expect_ggml_error(ggml_get_f32("a"), "argument", "got character")
  expect_ggml_error(ggml_get_f32(mean), "argument", "got function")
  expect_ggml_error(ggml_get_f32(data.frame()), "argument", "got data frame")
  expect_ggml_error(ggml_used_mem(globalenv()), "argument", "expected a context, got environment")
  expect_ggml_error(ggml_graph_n_nodes(1), "argument", "expected a graph, got numeric")
})

test_that("pointer_wrong_kind", {
  ctx <- ggml_init()
  expect_ggml_error(ggml_get_f32(ctx), "argument", "expected a tensor, got a context")
  expect_ggml_error(ggml_free(ggml_new_f32(ctx, 1)), "argument", "expected a context, got a tensor")
  foreign <- methods::new("externalptr")
  expect_ggml_error(ggml_get_f32(foreign), "argument", "external pointer of another package")
})

test_that("backend_wrong_kind", {
  ctx <- ggml_init()
  expect_ggml_error(ggml_backend_name(ctx), "argument", "expected a backend, got a context")
  expect_ggml_error(ggml_backend_alloc_ctx_tensors(ctx, ctx), "argument", "expected a backend, got a context")
})

test_that("backend_double_free", {
  backend <- ggml_backend_cpu_init()
  expect_invisible(ggml_backend_free(backend))
  expect_null(ggml_backend_free(backend))
  expect_ggml_error(ggml_backend_name(backend), "freed", "the backend has been freed")
})

test_that("tensor_from_rds", {
  ctx <- ggml_init()
  t <- ggml_new_f32(ctx, 1)
  g <- ggml_build_forward_expand(ctx, ggml_neg(ctx, t))
  file <- tempfile()
  saveRDS(list(t, ctx, g, ggml_backend_cpu_init()), file)
  back <- readRDS(file)
  expect_ggml_error(ggml_get_f32(back[[1]]), "freed", "handle is no longer valid", "another R session")
  expect_ggml_error(ggml_used_mem(back[[2]]), "freed", "no longer valid")
  expect_ggml_error(ggml_graph_compute(ctx, back[[3]]), "freed", "no longer valid")
  expect_ggml_error(ggml_backend_name(back[[4]]), "freed", "no longer valid")
  expect_identical(format(back[[1]]), "<ggml tensor: freed>")
  # The right kind is asked for first.
  expect_ggml_error(ggml_get_f32(back[[2]]), "argument", "expected a tensor, got a context")
  child <- in_process(sprintf(
    "x <- readRDS(%s); cat(tryCatch(ggml_get_f32(x[[1]]), error = function(e) class(e)[1]))",
    deparse(file)
  ))
  expect_identical(child$status, 0L)
  expect_match(child$text, "ggmlr_error_freed", all = FALSE)
  unlink(file)
})

test_that("collected handles end their objects", {
  before <- ggmlR:::rs_diag_live_bytes()
  for (i in 1:3) {
    ctx <- ggml_init(64 * 1024^2)
    ggml_set_zero(ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8e6))
  }
  rm(ctx)
  gc()
  # The next call drops what R has collected.
  expect_session_computes()
  expect_lt(ggmlR:::rs_diag_live_bytes() - before, 32e6)
})

test_that("B1: no exported function ends the session, whatever it is given", {
  skip_on_cran()
  code <- '
    exports <- grep("^ggml_", getNamespaceExports("ggmlR"), value = TRUE)
    exports <- setdiff(exports, c("ggml_log_set_default", "ggml_set_abort_callback_default"))
    odd <- list(NULL, character(0), list(), NaN, -1L, 1e308, function(x) x, NA, "a", 1, TRUE)
    ctx <- ggml_init(no_alloc = FALSE)
    good <- list(ctx, ggml_new_f32(ctx, 1), ggml_build_forward_expand(ctx, ggml_new_f32(ctx, 1)))
    sink(tempfile())
    pdf(NULL)
    calls <- 0
    for (name in sort(exports)) {
      f <- getExportedValue("ggmlR", name)
      if (!is.function(f)) next
      n <- length(formals(f))
      for (value in c(odd, good)) {
        # All arguments, the first one only, and good handles followed by this.
        tries <- list(rep(list(value), n), list(value), c(good[1:2], rep(list(value), max(n - 2, 0))))
        for (args in tries[c(n > 0, n > 0, n > 2)]) {
          calls <- calls + 1
          suppressWarnings(suppressMessages(tryCatch(do.call(f, args), error = function(e) e)))
        }
      }
    }
    sink()
    ctx <- ggml_init()
    y <- ggml_add(ctx, ggml_new_f32(ctx, 1), ggml_new_f32(ctx, 2))
    ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))
    cat("alive after", calls, "calls:", ggml_get_f32(y), "\\n")
  '
  child <- in_process(code)
  expect_identical(child$status, 0L, info = paste(utils::tail(child$text, 20), collapse = "\n"))
  expect_match(child$text, "alive after [0-9]{3,} calls: 3", all = FALSE)
})

test_that("B4: the message is in the condition and nothing goes to stderr", {
  code <- '
    ctx <- ggml_init()
    a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 3)
    b <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 5, 2)
    cat(tryCatch(ggml_mul_mat(ctx, a, b), error = conditionMessage), "\\n")
    cat(tryCatch(ggmlR:::rs_diag_fail("panic", "x"), error = conditionMessage), "\\n")
  '
  file <- tempfile(fileext = ".R")
  err <- tempfile()
  writeLines(c("library(ggmlR)", code), file)
  out <- system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(file)),
    stdout = TRUE, stderr = err,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep))
  )
  expect_match(out, "ggml_mul_mat: .*ne=\\[4,3,1,1\\].*ne=\\[5,2,1,1\\]", all = FALSE)
  expect_match(out, "internal error", all = FALSE)
  expect_identical(file.size(err), 0)
  unlink(c(file, err))
})

test_that("a list that holds dead handles prints", {
  ctx <- ggml_init(1e5)
  tensor <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 3)
  ggml_free(ctx)
  expect_output(print(list(tensor, list(ctx))), "freed")
})

test_that("a flag is no number and a date is no size", {
  expect_ggml_error(ggml_set_n_threads(TRUE), "argument", "n_threads")
  expect_ggml_error(ggml_init(Sys.Date()), "argument", "mem_size")
  expect_ggml_error(ggml_init(1e6, no_alloc = 2), "argument", "no_alloc")
  ctx <- ggml_init(1e6)
  a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)
  expect_ggml_error(ggml_leaky_relu(ctx, a, inplace = 1.5), "argument", "inplace")
  expect_ggml_error(ggml_scale(ctx, a, TRUE), "argument", "s")
  ggml_free(ctx)
})
