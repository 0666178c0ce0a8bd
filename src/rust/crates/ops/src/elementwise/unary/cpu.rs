//! CPU kernels of the formulas of one tensor.

use super::back::{Given, reads_y};
use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};
use ggmlr_formula::UnaryId;

/// Nanoseconds for one element on one thread.
pub fn ns(id: UnaryId) -> f64 {
    use UnaryId as U;
    match id {
        U::Tanh | U::Elu | U::Sigmoid | U::Gelu | U::GeluQuick | U::Silu | U::Exp | U::Expm1 | U::Log => 1.0,
        U::Softplus | U::GeluErf | U::Sin | U::Cos => 1.5,
        _ => 0.4,
    }
}

/// The parameters as the run has them, which may differ from the operator's.
fn params<T: Real>(call: &CpuCall<'_>) -> [T; 2] {
    [T::of(call.scalar(0)), T::of(call.scalar(1))]
}

pub fn forward(id: UnaryId, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => forward_as::<T>(id, call))
}

fn forward_as<T: Real>(id: UnaryId, call: &mut CpuCall<'_>) -> Result<()> {
    let p = params::<T>(call);
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    rows(call.pool, y, 1, ns(id), |first, y| match x {
        Some(x) => T::unary(id, &x[first..first + y.len()], y, p),
        None => T::unary_inplace(id, y, p),
    });
    Ok(())
}

pub fn backward(id: UnaryId, given: Given, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => backward_as::<T>(id, given, call))
}

/// Elements whose result is computed again at a time: stays in the innermost cache.
const PIECE: usize = 512;

fn backward_as<T: Real>(id: UnaryId, given: Given, call: &mut CpuCall<'_>) -> Result<()> {
    let p = params::<T>(call);
    let (dy, x) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = if given == Given::Both { call.get::<T>(2)? } else { x };
    let dx = call.out::<T>(0)?;
    rows(call.pool, dx, 1, 2.0 * ns(id), |first, dx| {
        let at = first..first + dx.len();
        let (dy, x, y) = (&dy[at.clone()], &x[at.clone()], &y[at]);
        if given != Given::X || !reads_y(id) {
            return T::unary_grad(id, x, y, dy, dx, p);
        }
        let mut again = [T::of(0.0); PIECE];
        for ((x, dy), dx) in x.chunks(PIECE).zip(dy.chunks(PIECE)).zip(dx.chunks_mut(PIECE)) {
            let y = &mut again[..x.len()];
            T::unary(id, x, y, p);
            T::unary_grad(id, x, y, dy, dx, p);
        }
    });
    Ok(())
}
