//! CPU kernel of the gradient descent step.

use crate::optim::{gate_is_open, updated};
use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, DType, Error, Result};

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.6;

macro_rules! update {
    ($t:ty, $call:ident) => {
        step_as::<$t>($call, |&[alpha, decay], g, w| {
            let keep = 1.0 - alpha * decay;
            w.iter_mut().zip(g).for_each(|(w, g)| *w = *w * keep - alpha * g);
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
    update: impl Fn(&[T; 2], &[T], &mut [T]) + Sync,
) -> Result<()> {
    let open = gate_is_open(call, 3)?;
    let g = call.get::<T>(1)?;
    let params: [T; 2] = call.get::<T>(2)?.try_into().map_err(|_| Error::internal("two parameters expected"))?;
    let w = updated::<T>(call, 0, 0)?;
    if open {
        rows(call.pool, w, 1, NS, |first, part| update(&params, &g[first..first + part.len()], part));
    }
    Ok(())
}
