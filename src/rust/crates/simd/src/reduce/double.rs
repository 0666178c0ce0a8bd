//! The same for f64, in plain loops.

use crate::slices::check_lengths;
use ggmlr_formula::math::f64 as math;

const LANES: usize = 16;

/// Sums with several running sums, which is both faster and more accurate than one.
#[inline(always)]
fn sum_lanes(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let whole = n / LANES * LANES;
    for start in (0..whole).step_by(LANES) {
        for lane in 0..LANES {
            sums[lane] += term(start + lane);
        }
    }
    for i in whole..n {
        sums[i - whole] += term(i);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            sums[i] += sums[i + width];
        }
        width /= 2;
    }
    sums[0]
}

pub fn sum_f64(x: &[f64]) -> f64 {
    sum_lanes(x.len(), |i| x[i])
}

pub fn dot_f64(a: &[f64], b: &[f64]) -> f64 {
    check_lengths([a.len(), b.len()]);
    sum_lanes(a.len(), |i| a[i] * b[i])
}

/// Sum of squares.
pub fn sum_sq_f64(x: &[f64]) -> f64 {
    sum_lanes(x.len(), |i| x[i] * x[i])
}

/// Mean and population variance, in two passes. NaN for an empty slice.
pub fn mean_var_f64(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = sum_f64(x) / n;
    (mean, sum_lanes(x.len(), |i| (x[i] - mean) * (x[i] - mean)) / n)
}

/// The largest element; NaN if any is NaN, -Inf for an empty slice.
pub fn max_f64(x: &[f64]) -> f64 {
    x.iter().fold(f64::NEG_INFINITY, |largest, x| math::max(largest, *x))
}

/// Index of the first element that is the largest, or of the first NaN; none for an empty slice.
pub fn argmax_f64(x: &[f64]) -> Option<usize> {
    let largest = max_f64(x);
    x.iter().position(|x| *x == largest || x.is_nan())
}

/// `y += a * x`
pub fn axpy_f64(a: f64, x: &[f64], y: &mut [f64]) {
    check_lengths([x.len(), y.len()]);
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// `y = a * x + b * y`
pub fn scale_add_f64(a: f64, x: &[f64], b: f64, y: &mut [f64]) {
    check_lengths([x.len(), y.len()]);
    for (y, x) in y.iter_mut().zip(x) {
        *y = a * x + b * *y;
    }
}

/// `y *= a`
pub fn scale_f64(a: f64, y: &mut [f64]) {
    for y in y {
        *y *= a;
    }
}

/// `y = softmax(x * scale)`; returns the maximum and the log-sum-exp of `x * scale`. Zeros for a row of -Inf.
pub fn softmax_row_f64(x: &[f64], y: &mut [f64], scale: f64) -> (f64, f64) {
    y.copy_from_slice(x);
    softmax_row_inplace_f64(y, scale)
}

/// `y = softmax(y * scale)`; returns as [`softmax_row_f64`].
pub fn softmax_row_inplace_f64(y: &mut [f64], scale: f64) -> (f64, f64) {
    scale_f64(scale, y);
    let max = max_f64(y);
    if max == f64::NEG_INFINITY {
        y.fill(0.0);
        return (max, max);
    }
    for y in y.iter_mut() {
        *y = math::exp(*y - max);
    }
    let sum = sum_f64(y);
    for y in y.iter_mut() {
        *y /= sum;
    }
    (max, max + math::log(sum))
}

/// `dx = scale * y * (dy - sum(y * dy))`, where `y` is a softmax of something times `scale`.
pub fn softmax_back_row_f64(y: &[f64], dy: &[f64], dx: &mut [f64], scale: f64) {
    check_lengths([y.len(), dy.len(), dx.len()]);
    let dot = dot_f64(y, dy);
    for (dx, (y, dy)) in dx.iter_mut().zip(y.iter().zip(dy)) {
        *dx = scale * (y * (dy - dot));
    }
}

/// The maximum and the logarithm of the sum of exponentials of `x * scale`.
pub fn log_sum_exp_f64(x: &[f64], scale: f64) -> (f64, f64) {
    let max = x.iter().fold(f64::NEG_INFINITY, |largest, x| math::max(largest, x * scale));
    if max.is_infinite() {
        return (max, max);
    }
    (max, max + math::log(sum_lanes(x.len(), |i| math::exp(x[i] * scale - max))))
}

/// `y = log(softmax(x))`; returns the log-sum-exp.
pub fn log_softmax_row_f64(x: &[f64], y: &mut [f64]) -> f64 {
    check_lengths([x.len(), y.len()]);
    let (_, log_sum) = log_sum_exp_f64(x, 1.0);
    for (y, x) in y.iter_mut().zip(x) {
        *y = x - log_sum;
    }
    log_sum
}

/// `sum(target * log(softmax(x)))`, the negative cross entropy of a row. A target of 0 adds 0, even where the logarithm is
/// -Inf.
pub fn log_softmax_dot_f64(x: &[f64], target: &[f64]) -> f64 {
    check_lengths([x.len(), target.len()]);
    let (_, log_sum) = log_sum_exp_f64(x, 1.0);
    sum_lanes(x.len(), |i| if target[i] == 0.0 { 0.0 } else { target[i] * (x[i] - log_sum) })
}

/// `dx = scale * (softmax(x) * sum(target) - target)`: the derivative of the cross entropy times `scale`.
pub fn cross_entropy_back_row_f64(x: &[f64], target: &[f64], dx: &mut [f64], scale: f64) {
    check_lengths([x.len(), target.len(), dx.len()]);
    let weight = sum_f64(target);
    let (max, _) = softmax_row_f64(x, dx, 1.0);
    if max == f64::NEG_INFINITY {
        return;
    }
    for (dx, target) in dx.iter_mut().zip(target) {
        *dx = scale * (*dx * weight - target);
    }
}
