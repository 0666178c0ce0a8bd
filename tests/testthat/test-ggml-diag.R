test_that("clocks go forward", {
  expect_null(ggml_time_init())
  a <- ggml_time_us()
  b <- ggml_time_us()
  expect_gte(b, a)
  expect_gte(ggml_time_ms(), 0)
  expect_gt(ggml_cycles(), 0)
  expect_gt(ggml_cycles_per_ms(), 0)
})

test_that("the seed is R's", {
  expect_identical(withVisible(ggml_set_seed(7)), list(value = 7, visible = FALSE))
  a <- runif(1)
  set.seed(7)
  expect_identical(runif(1), a)
  expect_null(ggml_set_seed(NULL))
  for (bad in list(NA, "a", 1:2, 1.5, 1e10)) expect_ggml_error(ggml_set_seed(bad), "argument", "single")
})

test_that("version, self-test and build facts", {
  expect_match(ggml_version(), "^[0-9]+\\.[0-9]+\\.[0-9]+$")
  expect_true(ggml_is_available())
  expect_output(expect_true(ggml_test()), "works")
  info <- ggml_build_info()
  expect_true(all(c("version", "rustc", "target", "simd", "tier", "vulkan", "hard_exit") %in% names(info)))
})

test_that("CPU features come in the documented order", {
  features <- ggml_cpu_features()
  expect_named(features, c(
    "sse3", "ssse3", "avx", "avx_vnni", "avx2", "bmi2", "f16c", "fma", "avx512", "avx512_vbmi",
    "avx512_vnni", "avx512_bf16", "amx_int8", "neon", "arm_fma", "fp16_va", "dotprod",
    "matmul_int8", "sve", "sve_cnt", "sme", "riscv_v", "rvv_vlen", "vsx", "vxe", "wasm_simd",
    "llamafile"
  ))
  for (name in setdiff(names(features), c("sve_cnt", "rvv_vlen"))) {
    has <- getExportedValue("ggmlR", paste0("ggml_cpu_has_", name))
    expect_identical(has(), features[[name]])
  }
  expect_identical(ggml_cpu_get_sve_cnt(), 0L)
  expect_identical(ggml_cpu_get_rvv_vlen(), 0L)
  expect_false(ggml_cpu_has_llamafile())
})
