use crate::blocks::{Pointwise, pointwise};
use crate::slices::{check_lengths, in_pieces};
use ggmlr_formula::{BinaryId, BinaryRow, Double, Plain, with_binary_row};
use std::marker::PhantomData;

// The arithmetic operations have nothing to fuse, so that one arithmetic serves all tiers.

#[derive(Clone, Copy)]
struct Value<R>(PhantomData<R>);

impl<R: BinaryRow<Plain> + Copy> Pointwise<2, 1> for Value<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [a, b]: [f32; 2]) -> [f32; 1] {
        [R::value(a, b)]
    }
}

#[derive(Clone, Copy)]
struct ScalarB<R> {
    b: f32,
    row: PhantomData<R>,
}

impl<R: BinaryRow<Plain> + Copy> Pointwise<1, 1> for ScalarB<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [a]: [f32; 1]) -> [f32; 1] {
        [R::value(a, self.b)]
    }
}

/// `y = f(a, b)`
pub fn binary(id: BinaryId, a: &[f32], b: &[f32], y: &mut [f32]) {
    check_lengths([a.len(), b.len(), y.len()]);
    with_binary_row!(id, R => pointwise(Value::<R>(PhantomData), [a, b], [y]));
}

/// `y = f(y, b)`
pub fn binary_inplace(id: BinaryId, a_and_y: &mut [f32], b: &[f32]) {
    check_lengths([a_and_y.len(), b.len()]);
    in_pieces(a_and_y, |at, a, y| binary(id, a, &b[at..at + a.len()], y));
}

/// `y = f(a, y)`
pub fn binary_inplace_b(id: BinaryId, a: &[f32], b_and_y: &mut [f32]) {
    check_lengths([a.len(), b_and_y.len()]);
    in_pieces(b_and_y, |at, b, y| binary(id, &a[at..at + b.len()], b, y));
}

/// `y = f(a, b)` with one `b` for all
pub fn binary_scalar_b(id: BinaryId, a: &[f32], b: f32, y: &mut [f32]) {
    check_lengths([a.len(), y.len()]);
    with_binary_row!(id, R => pointwise(ScalarB::<R> { b, row: PhantomData }, [a], [y]));
}

/// `y = f(y, b)` with one `b` for all
pub fn binary_scalar_b_inplace(id: BinaryId, a_and_y: &mut [f32], b: f32) {
    in_pieces(a_and_y, |_, a, y| binary_scalar_b(id, a, b, y));
}

/// `y = f(a, b)`
pub fn binary_f64(id: BinaryId, a: &[f64], b: &[f64], y: &mut [f64]) {
    check_lengths([a.len(), b.len(), y.len()]);
    with_binary_row!(id, R => {
        for (y, (a, b)) in y.iter_mut().zip(a.iter().zip(b)) {
            *y = <R as BinaryRow<Double>>::value(*a, *b);
        }
    });
}

/// `y = f(y, b)`
pub fn binary_inplace_f64(id: BinaryId, a_and_y: &mut [f64], b: &[f64]) {
    check_lengths([a_and_y.len(), b.len()]);
    with_binary_row!(id, R => {
        for (y, b) in a_and_y.iter_mut().zip(b) {
            *y = <R as BinaryRow<Double>>::value(*y, *b);
        }
    });
}

/// `y = f(a, y)`
pub fn binary_inplace_b_f64(id: BinaryId, a: &[f64], b_and_y: &mut [f64]) {
    check_lengths([a.len(), b_and_y.len()]);
    with_binary_row!(id, R => {
        for (y, a) in b_and_y.iter_mut().zip(a) {
            *y = <R as BinaryRow<Double>>::value(*a, *y);
        }
    });
}

/// `y = f(a, b)` with one `b` for all
pub fn binary_scalar_b_f64(id: BinaryId, a: &[f64], b: f64, y: &mut [f64]) {
    check_lengths([a.len(), y.len()]);
    with_binary_row!(id, R => {
        for (y, a) in y.iter_mut().zip(a) {
            *y = <R as BinaryRow<Double>>::value(*a, b);
        }
    });
}

/// `y = f(y, b)` with one `b` for all
pub fn binary_scalar_b_inplace_f64(id: BinaryId, a_and_y: &mut [f64], b: f64) {
    with_binary_row!(id, R => {
        for y in a_and_y {
            *y = <R as BinaryRow<Double>>::value(*y, b);
        }
    });
}
