# Runs the R tests:
#   Rscript tools/test.R [--install] [filter]
# against the package in _build/library, where tools/test.sh puts it (environment
# variable GGMLR_TEST_LIBRARY: in another library), or in your own library if
# there is none. --install first installs the source as it is now.
# filter is a regular expression for names of test files, as in testthat.
# The last line is "N passed, N failed"; the exit status says whether all passed.
args <- commandArgs(trailingOnly = TRUE)
install <- "--install" %in% args
filter <- setdiff(args, "--install")
filter <- if (length(filter)) filter[1] else NULL

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
root <- normalizePath(file.path(dirname(script), ".."))
build <- file.path(root, "_build")
library_dir <- Sys.getenv("GGMLR_TEST_LIBRARY", file.path(build, "library"))

if (install) {
  dir.create(library_dir, recursive = TRUE, showWarnings = FALSE)
  if (!nzchar(Sys.getenv("GGMLR_CARGO_TARGET_DIR"))) {
    Sys.setenv(GGMLR_CARGO_TARGET_DIR = file.path(build, "target"))
  }
  status <- system2(
    file.path(R.home("bin"), "R"),
    c("CMD", "INSTALL", "--no-docs", "--library", shQuote(library_dir),
      shQuote(root))
  )
  if (status != 0L) stop("the package could not be installed")
}
if (dir.exists(file.path(library_dir, "ggmlR"))) {
  # In the environment too, for tests that start R processes of their own.
  .libPaths(c(library_dir, .libPaths()))
  Sys.setenv(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
}

# Snapshots and other checks of the developers are on.
Sys.setenv(NOT_CRAN = "true")
library(testthat)
result <- test_dir(
  file.path(root, "tests", "testthat"),
  package = "ggmlR", load_package = "installed", filter = filter,
  reporter = "check", stop_on_failure = FALSE
)
result <- as.data.frame(result)

failed <- sum(result$failed) + sum(result$error)
passed <- sum(result$passed)
skipped <- result[result$skipped, ]
slow <- sort(tapply(result$real, result$file, sum), decreasing = TRUE)
slow <- slow[slow >= 5]
if (length(slow)) {
  cat("Seconds: ", paste(names(slow), round(slow), collapse = ", "), "\n", sep = "")
}
if (nrow(skipped)) {
  cat("Skipped: ", paste(skipped$test, collapse = "; "), "\n", sep = "")
}
if (nrow(result) == 0L) {
  cat("No test was found.\n")
  failed <- 1L
}
cat(passed, " passed, ", failed, " failed\n", sep = "")
quit(save = "no", status = as.integer(failed > 0))
