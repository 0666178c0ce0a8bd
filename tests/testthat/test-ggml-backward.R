# sum((w * x)^2), with w trained: the gradient is 2 w x^2.
squares <- function() {
  ctx <- ggml_init()
  w <- ggml_set_param(filled(ctx, c(1, 2, 3)))
  x <- filled(ctx, c(2, 0.5, -1))
  loss <- ggml_set_loss(ggml_sum(ctx, ggml_sqr(ctx, ggml_mul(ctx, w, x))))
  list(ctx = ctx, w = w, x = x, loss = loss)
}

test_that("gradients are right and the same at each computation", {
  m <- squares()
  g <- ggml_build_forward_expand_grads(m$ctx, m$loss)
  expect_invisible(ggml_build_backward_expand(m$ctx, g))
  expect_invisible(ggml_graph_reset(g))
  for (i in 1:2) {
    ggml_graph_compute(m$ctx, g)
    expect_identical(ggml_get_f32(m$loss), 14)
    expect_identical(ggml_get_f32(ggml_graph_get_grad(g, m$w)), c(8, 1, 6))
  }
  expect_null(ggml_graph_get_grad(g, m$x))
  expect_identical(ggml_get_f32(ggml_graph_get_grad_acc(g, m$loss)), 1)
  expect_null(ggml_graph_get_grad_acc(g, m$w))
  out <- capture.output(ggml_graph_print(g))
  expect_match(out, "NONE x", all = FALSE)
  expect_match(out, "SQR g", all = FALSE)
})

test_that("a step along the gradient makes the loss smaller", {
  m <- squares()
  g <- ggml_build_forward_expand_grads(m$ctx, m$loss)
  ggml_build_backward_expand(m$ctx, g)
  ggml_graph_reset(g)
  losses <- vapply(1:20, function(i) {
    ggml_graph_compute(m$ctx, g)
    grad <- ggml_get_f32(ggml_graph_get_grad(g, m$w))
    ggml_set_f32(m$w, ggml_get_f32(m$w) - 0.05 * grad)
    ggml_get_f32(m$loss)
  }, 0)
  expect_true(all(diff(losses) < 0))
})

test_that("a small network has the gradients of finite differences", {
  ctx <- ggml_init()
  set.seed(1)
  w <- ggml_set_param(filled(ctx, rnorm(12), c(4, 3)))
  b <- ggml_set_param(filled(ctx, rnorm(3)))
  x <- filled(ctx, rnorm(8), c(4, 2))
  y <- ggml_add(ctx, ggml_mul_mat(ctx, w, x), b)
  loss <- ggml_set_loss(ggml_sum(ctx, ggml_sqr(ctx, ggml_tanh(ctx, y))))
  g <- ggml_build_forward_expand_grads(ctx, loss)
  ggml_build_backward_expand(ctx, g)
  ggml_graph_reset(g)
  ggml_graph_compute(ctx, g)
  value <- function(t, at, shift) {
    old <- ggml_get_f32(t)
    ggml_set_f32(t, replace(old, at, old[at] + shift))
    on.exit(ggml_set_f32(t, old))
    ggml_graph_compute(ctx, g)
    ggml_get_f32(loss)
  }
  for (t in list(w, b)) {
    exact <- ggml_get_f32(ggml_graph_get_grad(g, t))
    for (at in seq_along(exact)) {
      slope <- (value(t, at, 1e-2) - value(t, at, -1e-2)) / 2e-2
      expect_lt(abs(exact[at] - slope), 5e-3)
    }
  }
})

test_that("gradients need storage, room, a loss and something to train", {
  m <- squares()
  plain <- ggml_build_forward_expand(m$ctx, m$loss)
  expect_ggml_error(ggml_build_backward_expand(m$ctx, plain), "argument", "no gradient storage")
  expect_ggml_error(ggml_graph_reset(plain), "argument", "no gradient storage")
  expect_null(ggml_graph_get_grad(plain, m$w))
  expect_ggml_error(ggml_build_forward_expand_grads(m$ctx, m$loss, 2), "argument", "graph of size 2 is too small")
  small <- ggml_build_forward_expand_grads(m$ctx, m$loss, 6)
  n <- ggml_tensor_num(m$ctx)
  expect_ggml_error(ggml_build_backward_expand(m$ctx, small), "argument", "too small")
  expect_identical(ggml_tensor_num(m$ctx), n)
  y <- ggml_sum(m$ctx, m$x)
  g <- ggml_build_forward_expand_grads(m$ctx, y)
  expect_ggml_error(ggml_build_backward_expand(m$ctx, g), "argument", "marked as a loss")
  ggml_set_loss(y)
  expect_ggml_error(ggml_build_backward_expand(m$ctx, g), "no_gradient", "does not depend")
  expect_ggml_error(ggml_build_forward_expand_grads(m$ctx, y, NULL), "argument", "graph_size")
})

test_that("resetting a graph clears the moments of AdamW", {
  ctx <- ggml_init()
  w <- filled(ctx, c(1, 2))
  grad <- filled(ctx, c(0.5, -0.5))
  m <- filled(ctx, c(0, 0))
  v <- filled(ctx, c(0, 0))
  params <- filled(ctx, c(0.1, 0.9, 0.999, 1e-8, 0, 10, 1000))
  step <- op_of("ggml_opt_step_adamw", ctx, w, grad, m, v, params)
  plain <- ggml_build_forward_expand(ctx, step)
  ggml_graph_compute(ctx, plain)
  expect_equal(ggml_get_f32(w), c(0.9, 2.1), tolerance = 1e-6)
  expect_equal(ggml_get_f32(m), c(0.05, -0.05), tolerance = 1e-6)
  g <- ggml_graph_dup(ctx, plain, force_grads = TRUE)
  ggml_graph_reset(g)
  expect_identical(c(ggml_get_f32(m), ggml_get_f32(v)), c(0, 0, 0, 0))
})
