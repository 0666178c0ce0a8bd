# The demo of tools/demo.sh: which capital letter is it? 20,000 printed letters
# in 20 fonts, each described by 16 whole numbers (Frey and Slate, 1991; in R as
# LetterRecognition of package mlbench). Usage: Rscript tools/demo.R DIRECTORY
dir <- commandArgs(trailingOnly = TRUE)[1]

library(ggmlR)
set.seed(1)

data(LetterRecognition, package = "mlbench")
x <- as.matrix(LetterRecognition[, -1])
letter <- LetterRecognition[[1]]
y <- diag(nlevels(letter))[as.integer(letter), ]

# The first 16,000 rows are for training, as in the paper. The rest is held out:
# not even its mean may be used, so the scaling comes from the training rows.
train <- seq_len(16000)
center <- colMeans(x[train, ])
spread <- apply(x[train, ], 2, sd)
x <- scale(x, center = center, scale = spread)
x_test <- x[-train, ]
y_test <- y[-train, ]

model <- ggml_model_sequential() |>
  ggml_layer_dense(256, activation = "relu", input_shape = 16) |>
  ggml_layer_dense(128, activation = "relu") |>
  ggml_layer_dense(26, activation = "softmax")

model <- ggml_compile(
  model,
  optimizer = "adam",
  loss = "categorical_crossentropy",
  metrics = "accuracy"
)

seconds <- system.time(
  model <- ggml_fit(
    model, x[train, ], y[train, ],
    epochs = 30, batch_size = 64, validation_split = 0.1, verbose = 1
  )
)[["elapsed"]]

result <- ggml_evaluate(model, x_test, y_test)
predicted <- ggml_predict(model, x_test)

# The report is computed from the predictions, independently of the metric.
guess <- factor(levels(letter)[max.col(predicted, "first")], levels(letter))
truth <- letter[-train]
accuracy <- mean(guess == truth)
recall <- tapply(guess == truth, truth, mean)
wrong <- as.data.frame(table(truth = truth, guess = guess))
wrong <- wrong[wrong$truth != wrong$guess, ]
wrong <- wrong[order(-wrong$Freq), ][1:3, ]

plot_file <- file.path(dir, "training.png")
# cairo needs no display.
type <- if (capabilities("cairo")) "cairo" else getOption("bitmapType")
png(plot_file, width = 900, height = 600, type = type)
plot(model$history)
invisible(dev.off())

model_file <- file.path(dir, "letters.rds")
ggml_save_model(model, model_file)
saveRDS(list(x = x_test, predicted = predicted), file.path(dir, "held-out.rds"))

cat("\nLetterRecognition: ", length(train), " letters for training, ",
    nrow(x_test), " held out\n", sep = "")
cat(sprintf("  accuracy on held-out letters  %.4f\n", accuracy))
cat("  ggml_evaluate()               ",
    paste(names(result), format(unlist(result), digits = 4), collapse = ", "),
    "\n", sep = "")
cat(sprintf("  easiest letter                %s (%.0f%% right)\n",
            names(which.max(recall)), 100 * max(recall)))
cat(sprintf("  hardest letter                %s (%.0f%% right)\n",
            names(which.min(recall)), 100 * min(recall)))
cat("  most frequent confusions      ",
    paste0(wrong$truth, " read as ", wrong$guess, ": ", wrong$Freq,
           collapse = ", "), "\n", sep = "")
cat(sprintf("  training time                 %.1f seconds\n", seconds))
cat("  training plot                 ", plot_file, "\n", sep = "")
cat("  saved model                   ", model_file, "\n", sep = "")

# Anything worse means that something is broken, not that luck was bad.
if (accuracy < 0.95) stop("the held-out accuracy is below 0.95")
