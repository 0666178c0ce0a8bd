//! CPU kernels of rows scaled to length 1.

use super::divisor;
use crate::elementwise::real::by_real;
use crate::norm::row::Row;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};

/// Nanoseconds for one element of a row on one thread.
const NS: f64 = 0.2;

pub fn forward(eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => forward_as::<T>(f64::from(eps), call))
}

fn forward_as<T: Row>(eps: f64, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.y(0).ne[0];
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * NS, |first, part| {
        for (r, y) in part.chunks_mut(n).enumerate() {
            let at = (first + r) * n;
            if let Some(x) = x {
                y.copy_from_slice(&x[at..at + n]);
            }
            let scale = T::of(1.0 / divisor(T::dot(y, y).sqrt(), eps));
            y.iter_mut().for_each(|y| *y = *y * scale);
        }
    });
    Ok(())
}

pub fn backward(eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => backward_as::<T>(f64::from(eps), call))
}

fn backward_as<T: Row>(eps: f64, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.y(0).ne[0];
    let (g, x) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * 2.0 * NS, |first, part| {
        for (r, y) in part.chunks_mut(n).enumerate() {
            let at = (first + r) * n..(first + r + 1) * n;
            let (g, x) = (&g[at.clone()], &x[at]);
            let norm = T::dot(x, x).sqrt();
            let scale = 1.0 / divisor(norm, eps);
            let slope = if norm > eps { T::of(T::dot(g, x) * scale * scale * scale) } else { T::of(0.0) };
            let scale = T::of(scale);
            y.iter_mut().zip(g.iter().zip(x)).for_each(|(y, (&g, &x))| *y = g * scale - x * slope);
        }
    });
    Ok(())
}
