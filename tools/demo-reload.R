# Second half of the demo: a fresh R process must predict exactly what the one
# that trained the model did. Usage: Rscript tools/demo-reload.R DIRECTORY
dir <- commandArgs(trailingOnly = TRUE)[1]

library(ggmlR)

model <- ggml_load_model(file.path(dir, "letters.rds"))
held_out <- readRDS(file.path(dir, "held-out.rds"))
again <- ggml_predict(model, held_out$x)

difference <- max(abs(again - held_out$predicted))
cat(sprintf("  %d predictions, largest difference %.3g\n",
            nrow(again), difference))
if (!identical(dim(again), dim(held_out$predicted)) ||
    is.na(difference) || difference > 1e-6) {
  stop("the loaded model predicts something else")
}
cat("  the loaded model predicts the same values\n")
