groups <- nn_groups()
said <- function(...) {
  utils::capture.output(
    ggml_fit(nn_classifier(), groups$x, groups$y, validation_split = 0.2, ...)
  )
}

test_that("verbose prints one line per epoch on the standard output", {
  lines <- said(epochs = 2)
  expect_length(lines, 2)
  number <- "[0-9]+[.][0-9]{4}"
  expect_match(lines[2], paste0(
    "^Epoch 2/2 - loss: ", number, " - accuracy: ", number, " - val_loss: ", number,
    " - val_accuracy: ", number, "$"
  ))
  expect_length(said(epochs = 2, verbose = TRUE), 2)
  expect_length(said(epochs = 2, verbose = 2), 2)
  # Measures that do not exist are not shown.
  lines <- utils::capture.output(ggml_fit(nn_linear(inputs = 4L), groups$x, groups$class))
  expect_match(lines, paste0("^Epoch 1/1 - loss: ", number, "$"))
})

test_that("verbose = 0 and documents made by knitr are silent", {
  expect_length(said(epochs = 2, verbose = 0), 0)
  expect_length(said(epochs = 2, verbose = FALSE), 0)
  old <- options(knitr.in.progress = TRUE)
  on.exit(options(old))
  expect_length(said(epochs = 2), 0)
  expect_silent(ggml_fit(nn_classifier(), groups$x, groups$y))
})

test_that("the progress bars take what the loop gives them", {
  plain <- function() {
    bar <- ggmlR:::nn_progress_plain("Epoch 1/3", 200)
    bar$step(50)
    bar$step(200)
    bar$end()
  }
  file <- tempfile()
  con <- file(file, "w")
  sink(con, type = "message")
  tryCatch(plain(), finally = {
    sink(type = "message")
    close(con)
  })
  text <- readChar(file, file.size(file))
  expect_match(text, "Epoch 1/3  25%", fixed = TRUE)
  expect_match(text, "Epoch 1/3 100%", fixed = TRUE)
  expect_match(text, "\r *\r?$")
  skip_if_not_installed("cli")
  bar <- ggmlR:::nn_progress_cli("Epoch 1/3", 200)
  expect_silent(suppressMessages({
    bar$step(50)
    bar$end()
  }))
})
