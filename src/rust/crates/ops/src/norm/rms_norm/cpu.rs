//! CPU kernels of root mean square normalisation.

use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, DType, Error, Result};
use ggmlr_simd::reduce;

/// Nanoseconds for one element of a row on one thread.
const NS: f64 = 0.2;

pub fn forward(eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    match call.dtype() {
        DType::F32 => forward_as::<f32>(call, |x, y| {
            let scale = 1.0 / (reduce::sum_sq(x.unwrap_or(y)) / y.len() as f32 + eps).sqrt();
            match x {
                Some(x) => y.iter_mut().zip(x).for_each(|(y, x)| *y = x * scale),
                None => y.iter_mut().for_each(|y| *y *= scale),
            }
        }),
        DType::F64 => forward_as::<f64>(call, |x, y| {
            let scale = 1.0 / (reduce::sum_sq_f64(x.unwrap_or(y)) / y.len() as f64 + f64::from(eps)).sqrt();
            match x {
                Some(x) => y.iter_mut().zip(x).for_each(|(y, x)| *y = x * scale),
                None => y.iter_mut().for_each(|y| *y *= scale),
            }
        }),
        other => Err(Error::dtype(format!("no kernel for {other}"))),
    }
}

/// Calls `row` with the source row (or `None` when it already lies in the result) and the result row.
fn forward_as<T: Pod + Send + Sync>(call: &mut CpuCall<'_>, row: impl Fn(Option<&[T]>, &mut [T]) + Sync) -> Result<()> {
    let n = call.y(0).ne[0];
    let x = call.get_unless_in_place::<T>(0)?;
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * NS, |first, part| {
        for (r, yr) in part.chunks_mut(n).enumerate() {
            let at = (first + r) * n;
            row(x.map(|x| &x[at..at + n]), yr);
        }
    });
    Ok(())
}

pub fn backward(eps: f32, call: &mut CpuCall<'_>) -> Result<()> {
    match call.dtype() {
        DType::F32 => backward_as::<f32>(call, |g, x, y| {
            let n = y.len() as f32;
            let r = 1.0 / (reduce::sum_sq(x) / n + eps).sqrt();
            let k = r * r * r * reduce::dot(g, x) / n;
            y.iter_mut().zip(g.iter().zip(x)).for_each(|(y, (g, x))| *y = g * r - x * k);
        }),
        DType::F64 => backward_as::<f64>(call, |g, x, y| {
            let n = y.len() as f64;
            let r = 1.0 / (reduce::sum_sq_f64(x) / n + f64::from(eps)).sqrt();
            let k = r * r * r * reduce::dot_f64(g, x) / n;
            y.iter_mut().zip(g.iter().zip(x)).for_each(|(y, (g, x))| *y = g * r - x * k);
        }),
        other => Err(Error::dtype(format!("no kernel for {other}"))),
    }
}

fn backward_as<T: Pod + Send + Sync>(call: &mut CpuCall<'_>, row: impl Fn(&[T], &[T], &mut [T]) + Sync) -> Result<()> {
    let n = call.y(0).ne[0];
    let (g, x) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * 2.0 * NS, |first, part| {
        for (r, yr) in part.chunks_mut(n).enumerate() {
            let at = (first + r) * n..(first + r + 1) * n;
            row(&g[at.clone()], &x[at], yr);
        }
    });
    Ok(())
}
