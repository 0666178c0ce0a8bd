# tests/cases/bad-inputs.csv lists inputs that went wrong for users of this and of
# neighbouring packages, and what has to happen instead. Column test names the file
# with the test, or "later: <area>" for what the package can't do yet.
read_cases <- function() {
  path <- test_path("..", "cases", "bad-inputs.csv")
  skip_if_not(file.exists(path), "the table is not here")
  utils::read.csv(path, colClasses = "character", encoding = "UTF-8")
}

# A test belongs to a case if its name is the id, or begins with it and a colon.
is_tested <- function(id, lines) {
  any(startsWith(lines, paste0("test_that(\"", id, "\"")) |
    startsWith(lines, paste0("test_that(\"", id, ":")))
}

test_that("the table of bad inputs is complete in itself", {
  cases <- read_cases()
  expect_named(cases, c("id", "area", "input", "outcome", "test"))
  expect_identical(anyDuplicated(cases$id), 0L)
  expect_true(all(nzchar(as.matrix(cases))))
  expect_gte(nrow(cases), 100)
})

test_that("every case whose time has come has a test with its id", {
  cases <- read_cases()
  now <- cases[!startsWith(cases$test, "later: "), ]
  here <- now[grepl("^test-.*[.]R$", now$test), ]
  expect_gt(nrow(here), 20)
  found <- mapply(function(id, file) {
    path <- test_path(file)
    file.exists(path) && is_tested(id, readLines(path, warn = FALSE))
  }, here$id, here$test)
  expect_identical(names(found)[!found], character())

  # Shell scripts are not part of the source package.
  scripts <- setdiff(now$test, here$test)
  skip_if_not(dir.exists(test_path("..", "install")))
  expect_true(all(file.exists(test_path("..", scripts))))
})

test_that("a case that has a test is not marked as later", {
  cases <- read_cases()
  later <- cases$id[startsWith(cases$test, "later: ")]
  files <- list.files(test_path("."), "^test-.*[.]R$", full.names = TRUE)
  text <- unlist(lapply(files, readLines, warn = FALSE))
  with_test <- vapply(later, is_tested, NA, lines = text)
  # If this fails, write the test's file into column test of the table.
  expect_identical(later[with_test], character())
})

test_that("D10: the defaults in the help are those of the functions", {
  library_dir <- dirname(find.package("ggmlR"))
  skip_if_not(file.exists(file.path(library_dir, "ggmlR", "help", "aliases.rds")))
  skip_if(length(readRDS(file.path(library_dir, "ggmlR", "help", "aliases.rds"))) == 0L)
  expect_length(tools::codoc("ggmlR", lib.loc = library_dir), 0)
})
