# Shared by the tests of contexts, tensors, graphs and handles.

# A tensor with values; extents default to the length.
filled <- function(ctx, values, ne = length(values), type = GGML_TYPE_F32) {
  t <- ggml_new_tensor(ctx, type, length(ne), ne)
  if (type %in% c(GGML_TYPE_I32, GGML_TYPE_I64)) {
    ggml_set_i32(t, values)
  } else {
    ggml_set_f32(t, values)
  }
  t
}

# Values of a node after computing all it needs.
computed <- function(ctx, node) {
  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, node))
  ggml_get_f32(node)
}

# The error of an expression, which must have the kind and whose message must
# hold every piece of text.
expect_ggml_error <- function(expr, kind, ...) {
  cnd <- tryCatch(
    {
      force(expr)
      NULL
    },
    error = function(e) e
  )
  expect_s3_class(cnd, c(paste0("ggmlr_error_", kind), "ggmlr_error", "error", "condition"),
    exact = TRUE
  )
  for (piece in c(...)) expect_match(conditionMessage(cnd), piece, fixed = TRUE)
  expect_session_computes()
  invisible(cnd)
}

# What every test of an error ends with.
expect_session_computes <- function() {
  ctx <- ggml_init(1024^2)
  on.exit(ggml_free(ctx))
  y <- ggml_add(ctx, filled(ctx, c(1, 2)), filled(ctx, c(10, 20)))
  expect_identical(computed(ctx, y), c(11, 22))
}

# Runs code in a fresh R process with the package attached.
in_process <- function(code, ...) {
  file <- tempfile(fileext = ".R")
  on.exit(unlink(file))
  writeLines(c("library(ggmlR)", code), file)
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(file)),
    stdout = TRUE, stderr = TRUE,
    env = paste0("R_LIBS=", paste(.libPaths(), collapse = .Platform$path.sep)), ...
  ))
  list(text = out, status = attr(out, "status") %||% 0L)
}

`%||%` <- function(x, y) if (is.null(x)) y else x

# An operator by the name of its function, before its R function is generated.
op_of <- function(fn, ctx, ..., params = list()) ggmlR:::op_node(ctx, fn, list(...), params)
