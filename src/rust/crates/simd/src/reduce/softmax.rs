//! Softmax of a row and its relatives.
//!
//! A row that holds nothing but -Inf has a softmax of zeros, and a maximum and log-sum-exp of -Inf.

use super::{max_scaled, scale};
use crate::blocks::{Pointwise, pointwise};
use crate::isa::{Kernel, dispatch};
use crate::slices::{check_lengths, in_pieces};
use crate::sums::{LANES, Term, sum_terms, total};
use ggmlr_formula::math::{fused, plain};

/// `y = softmax(x * scale)`; returns the maximum of `x * scale` and the logarithm of the sum of its exponentials.
pub fn softmax_row(x: &[f32], y: &mut [f32], scale: f32) -> (f32, f32) {
    check_lengths([x.len(), y.len()]);
    let max = max_scaled(x, scale);
    if max == f32::NEG_INFINITY {
        y.fill(0.0);
        return (max, max);
    }
    let sum = dispatch(ExpSum::<true> { x, y, scale, max });
    self::scale((1.0 / sum) as f32, y);
    (max, log_sum(max, sum))
}

/// `y = softmax(y * scale)`; returns as [`softmax_row`].
pub fn softmax_row_inplace(y: &mut [f32], scale: f32) -> (f32, f32) {
    let max = max_scaled(y, scale);
    if max == f32::NEG_INFINITY {
        y.fill(0.0);
        return (max, max);
    }
    let mut sum = 0.0;
    in_pieces(y, |_, x, y| sum += dispatch(ExpSum::<true> { x, y, scale, max }));
    self::scale((1.0 / sum) as f32, y);
    (max, log_sum(max, sum))
}

/// The maximum and the logarithm of the sum of exponentials of `x * scale`.
pub fn log_sum_exp(x: &[f32], scale: f32) -> (f32, f32) {
    let max = max_scaled(x, scale);
    if max.is_infinite() {
        return (max, max);
    }
    (max, log_sum(max, dispatch(ExpSum::<false> { x, y: &mut [], scale, max })))
}

fn log_sum(max: f32, sum: f64) -> f32 {
    (f64::from(max) + sum.ln()) as f32
}

/// `y = exp(x * scale - max)` if `STORE`, and the sum of it.
struct ExpSum<'a, const STORE: bool> {
    x: &'a [f32],
    y: &'a mut [f32],
    scale: f32,
    max: f32,
}

impl<const STORE: bool> ExpSum<'_, STORE> {
    #[inline(always)]
    fn exponential<const FUSED: bool>(x: f32, scale: f32, max: f32) -> f32 {
        // Not fused: `max` is a rounded product too, and the largest element has to give exactly 1.
        let shifted = x * scale - max;
        if FUSED { fused::exp(shifted) } else { plain::exp(shifted) }
    }
}

impl<const STORE: bool> Kernel for ExpSum<'_, STORE> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let (x_blocks, x_rest) = self.x.as_chunks::<LANES>();
        let (y_blocks, y_rest) = self.y.as_chunks_mut::<LANES>();
        let mut sums = [0.0; LANES];
        for i in 0..x_blocks.len() {
            let mut block = [0.0; LANES];
            for lane in 0..LANES {
                block[lane] = Self::exponential::<FUSED>(x_blocks[i][lane], self.scale, self.max);
            }
            for lane in 0..LANES {
                sums[lane] += f64::from(block[lane]);
            }
            if STORE {
                y_blocks[i] = block;
            }
        }
        if !x_rest.is_empty() {
            let mut block = [0.0; LANES];
            block[..x_rest.len()].copy_from_slice(x_rest);
            for lane in 0..LANES {
                block[lane] = Self::exponential::<FUSED>(block[lane], self.scale, self.max);
            }
            for lane in 0..x_rest.len() {
                sums[lane] += f64::from(block[lane]);
            }
            if STORE {
                y_rest.copy_from_slice(&block[..x_rest.len()]);
            }
        }
        total(sums)
    }
}

/// `dx = scale * y * (dy - sum(y * dy))`, where `y` is a softmax of something times `scale`.
pub fn softmax_back_row(y: &[f32], dy: &[f32], dx: &mut [f32], scale: f32) {
    check_lengths([y.len(), dy.len(), dx.len()]);
    let dot = super::dot(y, dy);
    pointwise(SoftmaxBack { dot, scale }, [y, dy], [dx]);
}

#[derive(Clone, Copy)]
struct SoftmaxBack {
    dot: f32,
    scale: f32,
}

impl Pointwise<2, 1> for SoftmaxBack {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [y, dy]: [f32; 2]) -> [f32; 1] {
        [self.scale * (y * (dy - self.dot))]
    }
}

/// `y = log(softmax(x))`; returns the log-sum-exp.
pub fn log_softmax_row(x: &[f32], y: &mut [f32]) -> f32 {
    check_lengths([x.len(), y.len()]);
    let (_, log_sum) = log_sum_exp(x, 1.0);
    pointwise(Subtract { log_sum }, [x], [y]);
    log_sum
}

#[derive(Clone, Copy)]
struct Subtract {
    log_sum: f32,
}

impl Pointwise<1, 1> for Subtract {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [x]: [f32; 1]) -> [f32; 1] {
        [x - self.log_sum]
    }
}

/// `sum(target * log(softmax(x)))`, the negative cross entropy of a row. A target of 0 adds 0, even where the logarithm is
/// -Inf.
pub fn log_softmax_dot(x: &[f32], target: &[f32]) -> f64 {
    check_lengths([x.len(), target.len()]);
    let (_, log_sum) = log_sum_exp(x, 1.0);
    sum_terms(LogProbability { log_sum: f64::from(log_sum) }, [x, target])
}

#[derive(Clone, Copy)]
struct LogProbability {
    log_sum: f64,
}

impl Term<2> for LogProbability {
    #[inline(always)]
    fn at(self, [x, target]: [f32; 2]) -> f64 {
        let term = f64::from(target) * (f64::from(x) - self.log_sum);
        if target == 0.0 { 0.0 } else { term }
    }
}

/// `dx = scale * (softmax(x) * sum(target) - target)`: the derivative of the cross entropy times `scale`.
pub fn cross_entropy_back_row(x: &[f32], target: &[f32], dx: &mut [f32], scale: f32) {
    check_lengths([x.len(), target.len(), dx.len()]);
    let weight = super::sum(target);
    let max = max_scaled(x, 1.0);
    if max == f32::NEG_INFINITY {
        dx.fill(0.0);
        return;
    }
    let sum = dispatch(ExpSum::<true> { x, y: dx, scale: 1.0, max });
    self::scale((f64::from(weight) / sum) as f32, dx);
    super::scale_add(-scale, target, scale, dx);
}
