//! Arithmetic over one row, by type.

use crate::elementwise::real::Real;
use ggmlr_formula::{BinaryId, UnaryId};
use ggmlr_simd::reduce;
use std::ops::{Add, Mul, Sub};

/// Elements of a row that a plain loop is done with before a vector kernel has begun.
const SHORT: usize = 16;

/// Elements that a vector kernel is given at a time.
const PIECE: usize = 256;

/// What kernels that work on rows need beyond [`Real`].
pub(crate) trait Row: Real + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// Sum of products.
    fn dot(a: &[Self], b: &[Self]) -> f64;
    /// Mean and population variance.
    fn mean_var(x: &[Self]) -> (f64, f64);
    /// The largest number; NaN if any is NaN.
    fn max(x: &[Self]) -> Self;
    /// `y = softmax(x scale)`; zeros for a row of minus infinity.
    fn softmax(x: &[Self], y: &mut [Self], scale: Self);
    /// `y = softmax(y scale)`; zeros for a row of minus infinity.
    fn softmax_inplace(y: &mut [Self], scale: Self);
    /// `dx = scale (softmax(x) sum(t) - t)`
    fn cross_entropy_back(x: &[Self], t: &[Self], dx: &mut [Self], scale: Self);

    /// The largest number, and the sum of `exp(x - max)`. Apart, they lose nothing where the sum is close to 1.
    fn exp_sum(x: &[Self]) -> (f64, f64) {
        let max = Self::max(x);
        if x.len() <= SHORT {
            return (max.f64(), x.iter().map(|x| (x.f64() - max.f64()).exp()).sum());
        }
        let mut buffer = [max; PIECE];
        let mut sum = 0.0;
        for x in x.chunks(PIECE) {
            let y = &mut buffer[..x.len()];
            Self::binary_scalar_b(BinaryId::Sub, x, max, y);
            Self::unary_inplace(UnaryId::Exp, y, [max; 2]);
            sum += Self::sum(y);
        }
        (max.f64(), sum)
    }
}

impl Row for f32 {
    fn dot(a: &[f32], b: &[f32]) -> f64 {
        reduce::dot_wide(a, b)
    }
    fn mean_var(x: &[f32]) -> (f64, f64) {
        reduce::mean_var(x)
    }
    fn max(x: &[f32]) -> f32 {
        reduce::max(x)
    }
    fn softmax(x: &[f32], y: &mut [f32], scale: f32) {
        reduce::softmax_row(x, y, scale);
    }
    fn softmax_inplace(y: &mut [f32], scale: f32) {
        reduce::softmax_row_inplace(y, scale);
    }
    fn cross_entropy_back(x: &[f32], t: &[f32], dx: &mut [f32], scale: f32) {
        reduce::cross_entropy_back_row(x, t, dx, scale);
    }
}

impl Row for f64 {
    fn dot(a: &[f64], b: &[f64]) -> f64 {
        reduce::dot_f64(a, b)
    }
    fn mean_var(x: &[f64]) -> (f64, f64) {
        reduce::mean_var_f64(x)
    }
    fn max(x: &[f64]) -> f64 {
        reduce::max_f64(x)
    }
    fn softmax(x: &[f64], y: &mut [f64], scale: f64) {
        reduce::softmax_row_f64(x, y, scale);
    }
    fn softmax_inplace(y: &mut [f64], scale: f64) {
        reduce::softmax_row_inplace_f64(y, scale);
    }
    fn cross_entropy_back(x: &[f64], t: &[f64], dx: &mut [f64], scale: f64) {
        reduce::cross_entropy_back_row_f64(x, t, dx, scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_exponentials_close_to_one_keeps_its_digits() {
        let mut x = vec![80.0_f32; 1];
        x.extend([60.0; 700]);
        let (max, sum) = f32::exp_sum(&x);
        let want = 700.0 * (-20.0_f64).exp();
        assert_eq!(max, 80.0);
        assert!(((sum - 1.0) / want - 1.0).abs() < 1e-6, "{sum}");
    }
}
