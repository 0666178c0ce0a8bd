//! CPU kernels of normalisation to mean 0 and variance 1.

use crate::elementwise::real::by_real;
use crate::norm::row::Row;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};

/// Nanoseconds for one element of a row on one thread.
const NS: f64 = 0.3;

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
            normalise(eps, y);
        }
    });
    Ok(())
}

/// Normalises a row; gives `1 / sqrt(var + eps)`.
fn normalise<T: Row>(eps: f64, y: &mut [T]) -> f64 {
    let (mean, var) = T::mean_var(y);
    let r = 1.0 / (var + eps).sqrt();
    let (mean, scale) = (T::of(mean), T::of(r));
    y.iter_mut().for_each(|y| *y = (*y - mean) * scale);
    r
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
            let g = &g[at.clone()];
            y.copy_from_slice(&x[at]);
            let r = normalise(eps, y);
            let shift = T::of(T::sum(g) / n as f64);
            let slope = T::of(T::dot(g, y) / n as f64);
            let r = T::of(r);
            y.iter_mut().zip(g).for_each(|(y, &g)| *y = (g - shift - *y * slope) * r);
        }
    });
    Ok(())
}
