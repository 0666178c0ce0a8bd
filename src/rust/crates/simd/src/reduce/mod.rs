//! Rows: reductions to a number, scaled sums, softmax.
//!
//! f32 sums are formed in f64 and are the same on every tier; the `_wide` forms return them unrounded, for callers that add
//! up the sums of several pieces.

mod double;
mod scaled;
mod softmax;

pub use double::*;
pub use scaled::{axpy, scale, scale_add};
pub use softmax::{
    cross_entropy_back_row, log_softmax_dot, log_softmax_row, log_sum_exp, softmax_back_row, softmax_row,
    softmax_row_inplace,
};

use crate::isa::{Kernel, dispatch};
use crate::slices::check_lengths;
use crate::sums::{Term, sum_terms};

#[derive(Clone, Copy)]
struct Element;

impl Term<1> for Element {
    #[inline(always)]
    fn at(self, [x]: [f32; 1]) -> f64 {
        f64::from(x)
    }
}

#[derive(Clone, Copy)]
struct Product;

impl Term<2> for Product {
    #[inline(always)]
    fn at(self, [a, b]: [f32; 2]) -> f64 {
        f64::from(a) * f64::from(b)
    }
}

/// Squared distance from a centre.
#[derive(Clone, Copy)]
struct Square {
    centre: f64,
}

impl Term<1> for Square {
    #[inline(always)]
    fn at(self, [x]: [f32; 1]) -> f64 {
        let distance = f64::from(x) - self.centre;
        distance * distance
    }
}

pub fn sum(x: &[f32]) -> f32 {
    sum_wide(x) as f32
}

pub fn sum_wide(x: &[f32]) -> f64 {
    sum_terms(Element, [x])
}

pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    dot_wide(a, b) as f32
}

pub fn dot_wide(a: &[f32], b: &[f32]) -> f64 {
    check_lengths([a.len(), b.len()]);
    sum_terms(Product, [a, b])
}

/// Sum of squares.
pub fn sum_sq(x: &[f32]) -> f32 {
    sum_sq_wide(x) as f32
}

pub fn sum_sq_wide(x: &[f32]) -> f64 {
    sum_terms(Square { centre: 0.0 }, [x])
}

/// Mean and population variance, in two passes. NaN for an empty slice.
pub fn mean_var(x: &[f32]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = sum_wide(x) / n;
    (mean, sum_terms(Square { centre: mean }, [x]) / n)
}

/// The largest element; NaN if any is NaN, -Inf for an empty slice.
pub fn max(x: &[f32]) -> f32 {
    max_scaled(x, 1.0)
}

/// The largest `x * scale`.
fn max_scaled(x: &[f32], scale: f32) -> f32 {
    dispatch(Max { x, scale })
}

struct Max<'a> {
    x: &'a [f32],
    scale: f32,
}

impl Kernel for Max<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f32 {
        const LANES: usize = 64;
        let (blocks, rest) = self.x.as_chunks::<LANES>();
        let mut lanes = [f32::NEG_INFINITY; LANES];
        // Apart from the maxima, which would otherwise wait for the test.
        let mut nans = [0u32; LANES];
        for block in blocks {
            for lane in 0..LANES {
                let x = block[lane] * self.scale;
                lanes[lane] = larger(x, lanes[lane]);
                nans[lane] |= u32::from(x.is_nan());
            }
        }
        for lane in 0..rest.len() {
            let x = rest[lane] * self.scale;
            lanes[lane] = larger(x, lanes[lane]);
            nans[lane] |= u32::from(x.is_nan());
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] = larger(lanes[lane + width], lanes[lane]);
                nans[lane] |= nans[lane + width];
            }
            width /= 2;
        }
        if nans[0] == 0 { lanes[0] } else { f32::NAN }
    }
}

/// What the maximum instructions of processors do: not NaN unless `old` is.
#[inline(always)]
fn larger(new: f32, old: f32) -> f32 {
    if new > old { new } else { old }
}

/// Index of the first element that is the largest, or of the first NaN; none for an empty slice.
pub fn argmax(x: &[f32]) -> Option<usize> {
    let largest = max(x);
    x.iter().position(|x| *x == largest || x.is_nan())
}
