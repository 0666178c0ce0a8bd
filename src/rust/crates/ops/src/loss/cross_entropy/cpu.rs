//! CPU kernels of the cross entropy of logits.

use crate::elementwise::real::by_real;
use crate::norm::row::Row;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Result};

/// Nanoseconds for one element on one thread.
pub const NS: f64 = 2.0;

/// Elements, in whole rows, whose losses are added at a time; the sums are added in order, so that no thread changes
/// the result.
const BLOCK: usize = 8192;

pub fn forward(call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => forward_as::<T>(call))
}

fn forward_as<T: Row>(call: &mut CpuCall<'_>) -> Result<()> {
    let k = call.x(0).ne[0];
    let (x, t) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    if x.is_empty() {
        y.fill(T::of(0.0));
        return Ok(());
    }
    let w = if call.src.len() > 2 { Some(call.get::<T>(2)?) } else { None };
    let n = x.len() / k;
    let block = (BLOCK / k).clamp(1, n);
    let mut sums = vec![0.0_f64; n.div_ceil(block)];
    rows(call.pool, &mut sums, 1, (block * k) as f64 * NS, |first, part| {
        for (b, sum) in part.iter_mut().enumerate() {
            let from = (first + b) * block;
            for r in from..(from + block).min(n) {
                let at = r * k..(r + 1) * k;
                *sum += w.map_or(1.0, |w| w[r].f64()) * row_loss(&x[at.clone()], &t[at]);
            }
        }
    });
    y.fill(T::of(sums.iter().sum::<f64>() / n as f64));
    Ok(())
}

/// `sum_k t_k ((max - x_k) + log(sum_j exp(x_j - max)))`: both parts are exact where they are small.
fn row_loss<T: Row>(x: &[T], t: &[T]) -> f64 {
    let (max, sum) = T::exp_sum(x);
    let log_sum = sum.ln();
    let mut loss = 0.0;
    for (x, t) in x.iter().zip(t) {
        let t = t.f64();
        if t != 0.0 {
            loss += t * ((max - x.f64()) + log_sum);
        }
    }
    loss
}

pub fn backward(call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => backward_as::<T>(call))
}

fn backward_as<T: Row>(call: &mut CpuCall<'_>) -> Result<()> {
    let k = call.y(0).ne[0];
    let (dy, x, t) = (call.get::<T>(0)?, call.get::<T>(1)?, call.get::<T>(2)?);
    let w = if call.src.len() > 3 { Some(call.get::<T>(3)?) } else { None };
    let y = call.out::<T>(0)?;
    let scale = dy[0].f64() / (y.len() / k) as f64;
    rows(call.pool, y, k, k as f64 * NS, |first, part| {
        for (i, y) in part.chunks_mut(k).enumerate() {
            let r = first + i;
            let t = &t[r * k..(r + 1) * k];
            let scale = T::of(scale * w.map_or(1.0, |w| w[r].f64()));
            T::cross_entropy_back(&x[r * k..(r + 1) * k], t, y, scale);
        }
    });
    Ok(())
}
