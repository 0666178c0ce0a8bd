//! Sums over f32 slices, added up in f64.
//!
//! Products of two f32 are exact in f64 and the order of additions is fixed, so that a sum is the same on every tier, and
//! good to the last place of f32 for any length that fits in memory.

use crate::isa::{Kernel, dispatch};

/// Running sums: enough of them that no addition waits for the one before.
pub(crate) const LANES: usize = 32;

/// A term of a sum, made from one element of each of `I` slices.
pub(crate) trait Term<const I: usize>: Copy {
    /// Has to be `#[inline(always)]`.
    fn at(self, x: [f32; I]) -> f64;
}

/// The sum of all terms. All slices have the same length; callers check.
pub(crate) fn sum_terms<T: Term<I>, const I: usize>(term: T, x: [&[f32]; I]) -> f64 {
    dispatch(Sum { term, x })
}

/// Adds up the lanes, in a fixed order.
#[inline(always)]
pub(crate) fn total(mut lanes: [f64; LANES]) -> f64 {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

struct Sum<'a, T, const I: usize> {
    term: T,
    x: [&'a [f32]; I],
}

impl<T: Term<I>, const I: usize> Kernel for Sum<'_, T, I> {
    type Output = f64;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let x = self.x.map(|x| x.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for i in 0..x[0].0.len() {
            for lane in 0..LANES {
                let mut point = [0.0; I];
                for k in 0..I {
                    point[k] = x[k].0[i][lane];
                }
                sums[lane] += self.term.at(point);
            }
        }
        for lane in 0..x[0].1.len() {
            let mut point = [0.0; I];
            for k in 0..I {
                point[k] = x[k].1[lane];
            }
            sums[lane] += self.term.at(point);
        }
        total(sums)
    }
}
