use crate::blocks::{Pointwise, pointwise};
use crate::slices::check_lengths;
use ggmlr_formula::{Double, Fused, GluId, GluRow, Plain, with_glu_row};
use std::marker::PhantomData;

#[derive(Clone, Copy)]
struct Value<R>(PhantomData<R>);

impl<R: GluRow<Plain> + GluRow<Fused> + Copy> Pointwise<2, 1> for Value<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [x, g]: [f32; 2]) -> [f32; 1] {
        if FUSED { [<R as GluRow<Fused>>::value(x, g)] } else { [<R as GluRow<Plain>>::value(x, g)] }
    }
}

#[derive(Clone, Copy)]
struct Gradient<R>(PhantomData<R>);

impl<R: GluRow<Plain> + GluRow<Fused> + Copy> Pointwise<3, 2> for Gradient<R> {
    #[inline(always)]
    fn at<const FUSED: bool>(self, [x, g, dy]: [f32; 3]) -> [f32; 2] {
        if FUSED {
            [dy * <R as GluRow<Fused>>::by_x(x, g), dy * <R as GluRow<Fused>>::by_g(x, g)]
        } else {
            [dy * <R as GluRow<Plain>>::by_x(x, g), dy * <R as GluRow<Plain>>::by_g(x, g)]
        }
    }
}

/// `y = f(x, g)`: `x` is the activated half, `g` the gate
pub fn glu(id: GluId, x: &[f32], g: &[f32], y: &mut [f32]) {
    check_lengths([x.len(), g.len(), y.len()]);
    with_glu_row!(id, R => pointwise(Value::<R>(PhantomData), [x, g], [y]));
}

/// `dx = dy * df/dx`, `dg = dy * df/dg`
pub fn glu_grad(id: GluId, x: &[f32], g: &[f32], dy: &[f32], dx: &mut [f32], dg: &mut [f32]) {
    check_lengths([x.len(), g.len(), dy.len(), dx.len(), dg.len()]);
    with_glu_row!(id, R => pointwise(Gradient::<R>(PhantomData), [x, g, dy], [dx, dg]));
}

/// `y = f(x, g)`: `x` is the activated half, `g` the gate
pub fn glu_f64(id: GluId, x: &[f64], g: &[f64], y: &mut [f64]) {
    check_lengths([x.len(), g.len(), y.len()]);
    with_glu_row!(id, R => {
        for (y, (x, g)) in y.iter_mut().zip(x.iter().zip(g)) {
            *y = <R as GluRow<Double>>::value(*x, *g);
        }
    });
}

/// `dx = dy * df/dx`, `dg = dy * df/dg`
pub fn glu_grad_f64(id: GluId, x: &[f64], g: &[f64], dy: &[f64], dx: &mut [f64], dg: &mut [f64]) {
    check_lengths([x.len(), g.len(), dy.len(), dx.len(), dg.len()]);
    with_glu_row!(id, R => {
        for i in 0..dy.len() {
            dx[i] = dy[i] * <R as GluRow<Double>>::by_x(x[i], g[i]);
            dg[i] = dy[i] * <R as GluRow<Double>>::by_g(x[i], g[i]);
        }
    });
}
