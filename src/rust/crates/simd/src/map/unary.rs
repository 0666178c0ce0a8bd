use crate::blocks::{Pointwise, pointwise};
use crate::slices::{check_lengths, in_pieces};
use ggmlr_formula::{Double, Fused, Plain, UnaryId, UnaryRow, with_unary_row};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
struct Value<R> {
    p: [f32; 2],
    row: PhantomData<R>,
}

impl<R: UnaryRow<Plain> + UnaryRow<Fused> + Copy> Pointwise<1, 1> for Value<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [x]: [f32; 1]) -> [f32; 1] {
        if FUSED { [<R as UnaryRow<Fused>>::value(x, self.p)] } else { [<R as UnaryRow<Plain>>::value(x, self.p)] }
    }
}

#[derive(Clone, Copy)]
struct Gradient<R> {
    p: [f32; 2],
    row: PhantomData<R>,
}

impl<R: UnaryRow<Plain> + UnaryRow<Fused> + Copy> Pointwise<3, 1> for Gradient<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [x, y, dy]: [f32; 3]) -> [f32; 1] {
        let slope = if FUSED {
            <R as UnaryRow<Fused>>::slope(x, y, self.p)
        } else {
            <R as UnaryRow<Plain>>::slope(x, y, self.p)
        };
        [dy * slope]
    }
}

/// `y = f(x)`
pub fn unary(id: UnaryId, x: &[f32], y: &mut [f32], p: [f32; 2]) {
    check_lengths([x.len(), y.len()]);
    with_unary_row!(id, R => pointwise(Value::<R> { p, row: PhantomData }, [x], [y]));
}

/// `y = f(y)`
pub fn unary_inplace(id: UnaryId, y: &mut [f32], p: [f32; 2]) {
    in_pieces(y, |_, old, piece| unary(id, old, piece, p));
}

/// `dx = dy * f'(x)`, where `y = f(x)`
pub fn unary_grad(id: UnaryId, x: &[f32], y: &[f32], dy: &[f32], dx: &mut [f32], p: [f32; 2]) {
    check_lengths([x.len(), y.len(), dy.len(), dx.len()]);
    with_unary_row!(id, R => pointwise(Gradient::<R> { p, row: PhantomData }, [x, y, dy], [dx]));
}

/// `y = f(x)`
pub fn unary_f64(id: UnaryId, x: &[f64], y: &mut [f64], p: [f64; 2]) {
    check_lengths([x.len(), y.len()]);
    with_unary_row!(id, R => {
        for (y, x) in y.iter_mut().zip(x) {
            *y = <R as UnaryRow<Double>>::value(*x, p);
        }
    });
}

/// `y = f(y)`
pub fn unary_inplace_f64(id: UnaryId, y: &mut [f64], p: [f64; 2]) {
    with_unary_row!(id, R => {
        for y in y {
            *y = <R as UnaryRow<Double>>::value(*y, p);
        }
    });
}

/// `dx = dy * f'(x)`, where `y = f(x)`
pub fn unary_grad_f64(id: UnaryId, x: &[f64], y: &[f64], dy: &[f64], dx: &mut [f64], p: [f64; 2]) {
    check_lengths([x.len(), y.len(), dy.len(), dx.len()]);
    with_unary_row!(id, R => {
        for (dx, ((x, y), dy)) in dx.iter_mut().zip(x.iter().zip(y).zip(dy)) {
            *dx = dy * <R as UnaryRow<Double>>::slope(*x, *y, p);
        }
    });
}
