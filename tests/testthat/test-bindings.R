# Looks at the sources, so it is skipped where only the installed package is.
rust_sources <- function() {
  dir <- test_path("..", "..", "src", "rust", "src")
  skip_if_not(dir.exists(dir), "no Rust sources")
  list.files(dir, "[.]rs$", full.names = TRUE, recursive = TRUE)
}

test_that("every function reaches R through the one macro", {
  for (file in rust_sources()) {
    if (basename(file) == "bindings.rs") next
    lines <- readLines(file)
    expect_false(any(grepl("extendr_module!|#\\[(::)?(extendr_api::)?extendr", lines)), info = file)
    # No printing, no errors thrown past R's own machinery.
    expect_false(any(grepl("println!|rprintln!|throw_r_error|Rf_error", lines)), info = file)
  }
})

test_that("unsafe code lives in handles.rs", {
  for (file in rust_sources()) {
    if (basename(file) == "handles.rs") next
    code <- sub("//.*", "", readLines(file))
    expect_false(any(grepl("\\bunsafe\\b", code)), info = file)
  }
})

test_that("each binding has its R function with the same arguments", {
  lines <- unlist(lapply(rust_sources(), readLines))
  found <- regmatches(lines, regexec("^fn (rs_\\w+)\\((.*)\\) \\{$", lines))
  found <- found[lengths(found) > 0]
  expect_gt(length(found), 70)
  for (f in found) {
    fun <- get0(f[2], asNamespace("ggmlR"), mode = "function")
    expect_true(is.function(fun), info = f[2])
    expect_identical(names(formals(fun)) %||% character(), strsplit(f[3], ", ")[[1]], info = f[2])
  }
})
