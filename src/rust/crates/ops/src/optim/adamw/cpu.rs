//! CPU kernel of the AdamW step.

use crate::optim::{gate_is_open, updated};
use bytemuck::Pod;
use ggmlr_core::pool::{block_rows, blocks};
use ggmlr_core::{CpuCall, DType, Error, Result};

/// Nanoseconds for one element on one thread.
pub const NS: f64 = 1.6;

macro_rules! update {
    ($t:ty, $call:ident) => {
        step_as::<$t>($call, |p, g, w, m, v| {
            let [alpha, beta1, beta2, eps, decay, scale1, scale2] = *p;
            let keep = 1.0 - alpha * decay;
            for (((w, m), v), g) in w.iter_mut().zip(m).zip(v).zip(g) {
                *m = beta1 * *m + (1.0 - beta1) * g;
                *v = beta2 * *v + (1.0 - beta2) * g * g;
                *w = *w * keep - alpha * (*m * scale1) / ((*v * scale2).sqrt() + eps);
            }
        })
    };
}

pub fn step(call: &mut CpuCall<'_>) -> Result<()> {
    match call.dtype() {
        DType::F32 => update!(f32, call),
        DType::F64 => update!(f64, call),
        other => Err(Error::dtype(format!("no kernel for {other}"))),
    }
}

fn step_as<T: Pod + Send + Sync>(
    call: &mut CpuCall<'_>,
    update: impl Fn(&[T; 7], &[T], &mut [T], &mut [T], &mut [T]) + Sync,
) -> Result<()> {
    let open = gate_is_open(call, 5)?;
    let g = call.get::<T>(1)?;
    let params: [T; 7] = call.get::<T>(4)?.try_into().map_err(|_| Error::internal("seven parameters expected"))?;
    let (w, m, v) = (updated::<T>(call, 0, 0)?, updated::<T>(call, 1, 2)?, updated::<T>(call, 2, 3)?);
    if !open {
        return Ok(());
    }
    let block = block_rows(w.len(), NS);
    blocks(call.pool, &mut [(w, 1), (m, 1), (v, 1)], block, |first, parts| {
        if let [w, m, v] = parts {
            update(&params, &g[first..first + w.len()], w, m, v);
        }
    });
    Ok(())
}
