//! Sums of scaled slices. Without fused multiply-add: they wait for memory, and so give the same result on every tier.

use crate::isa::{Kernel, dispatch};
use crate::slices::check_lengths;

/// `y += a * x`
pub fn axpy(a: f32, x: &[f32], y: &mut [f32]) {
    check_lengths([x.len(), y.len()]);
    dispatch(Axpy { a, x, y });
}

struct Axpy<'a> {
    a: f32,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl Kernel for Axpy<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y += self.a * x;
        }
    }
}

/// `y = a * x + b * y`
pub fn scale_add(a: f32, x: &[f32], b: f32, y: &mut [f32]) {
    check_lengths([x.len(), y.len()]);
    dispatch(ScaleAdd { a, x, b, y });
}

struct ScaleAdd<'a> {
    a: f32,
    x: &'a [f32],
    b: f32,
    y: &'a mut [f32],
}

impl Kernel for ScaleAdd<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y = self.a * x + self.b * *y;
        }
    }
}

/// `y *= a`
pub fn scale(a: f32, y: &mut [f32]) {
    dispatch(Scale { a, y });
}

struct Scale<'a> {
    a: f32,
    y: &'a mut [f32],
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for y in self.y {
            *y *= self.a;
        }
    }
}
