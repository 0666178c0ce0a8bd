fail <- function(kind, message) ggmlR:::rs_diag_fail(kind, message)

test_that("messages are data, never formats", {
  for (text in c("100%d %s", "50%", "%n%n%n", strrep("x", 20000), "\u00e4\u20ac")) {
    cnd <- tryCatch(fail("argument", text), error = identity)
    expect_identical(cnd$message, paste0("rs_diag_fail: ", text))
    expect_identical(cnd$arg, "message")
  }
  cnd <- tryCatch(fail("nul", "a"), error = identity)
  expect_match(cnd$message, "a\\0end", fixed = TRUE)
})

test_that("a panic is an internal error and the session goes on", {
  expect_ggml_error(fail("panic", "x"), "internal", "internal error", "report it")
})

test_that("errors have fields and bullets", {
  ctx <- ggml_init()
  cnd <- tryCatch(ggml_set_f32(ggml_new_f32(ctx, 1), 1:3), error = identity)
  expect_identical(cnd$kind, "shape")
  expect_identical(cnd$arg, "data")
  expect_identical(cnd$expected, "1 numbers for ne=[1,1,1,1]")
  expect_identical(cnd$got, "3 numbers")
  expect_identical(conditionMessage(cnd), paste(
    "ggml_set_f32: Data length (3) does not match tensor size (1)",
    "i expected: 1 numbers for ne=[1,1,1,1]",
    "x got: 3 numbers",
    sep = "\n"
  ))
  expect_true(all(c("op", "arg", "expected", "got", "hint") %in% names(cnd)))
})

test_that("the call is the one the user wrote", {
  cnd <- tryCatch(ggml_init_auto(c(-1, 2)), error = identity)
  expect_identical(cnd$call, quote(ggml_init_auto(c(-1, 2))))
  cnd <- tryCatch(ggmlR::ggml_init(-1), error = identity)
  expect_match(conditionMessage(cnd), "^ggml_init: ")
  mine <- function(ctx) ggml_new_f32(ctx, 1)
  cnd <- tryCatch(mine(3), error = identity)
  expect_identical(cnd$call, quote(ggml_new_f32(ctx, 1)))
  cnd <- tryCatch(ggml_with_temp_ctx(1024^2, ggml_get_f32(1)), error = identity)
  expect_identical(cnd$call, quote(ggml_get_f32(1)))
  cnd <- tryCatch(do.call(ggml_get_f32, list(1)), error = identity)
  expect_match(conditionMessage(cnd), "expected a tensor")
})

test_that("log messages reach R", {
  expect_message(expect_true(fail("log", "100% sure")), "100% sure", fixed = TRUE)
  expect_true(ggml_log_is_r_enabled())
  ggml_log_set_default()
  expect_false(ggml_log_is_r_enabled())
  expect_identical(capture.output(fail("log", "100% err"), type = "message"), "100% err")
  ggml_log_set_r()
  expect_true(ggml_abort_is_r_enabled())
  ggml_set_abort_callback_default()
  expect_false(ggml_abort_is_r_enabled())
  ggml_set_abort_callback_r()
})

test_that("errors and warnings of R code have the same form", {
  f <- function() ggmlR:::ggmlr_abort("shape", "a and b differ", arg = "b", got = "3")
  cnd <- tryCatch(f(), error = identity)
  expect_s3_class(cnd, c("ggmlr_error_shape", "ggmlr_error", "error", "condition"), exact = TRUE)
  expect_match(conditionMessage(cnd), "a and b differ\nx got: 3", fixed = TRUE)
  cnd <- tryCatch(ggmlR:::ggmlr_warn("odd", "50% done", step = 3), warning = identity)
  expect_s3_class(cnd, c("ggmlr_warning_odd", "ggmlr_warning", "warning", "condition"), exact = TRUE)
  expect_identical(cnd$step, 3)
})
