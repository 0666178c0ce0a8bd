//! CPU kernels of softmax.

use super::{SoftMax, slope};
use crate::elementwise::real::by_real;
use crate::norm::row::Row;
use crate::shape::to_real;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, Desc, MAX_DIMS, Result, Src};

/// Nanoseconds for one element on one thread.
pub const NS: f64 = 1.0;

pub fn forward(op: &SoftMax, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => forward_as::<T>(op, call))
}

fn forward_as<T: Row>(op: &SoftMax, call: &mut CpuCall<'_>) -> Result<()> {
    let desc = call.y(0);
    let n = desc.ne[0];
    let x = call.get_unless_in_place::<T>(0)?;
    let converted;
    let mask = match call.src.get(1) {
        None => None,
        Some(&Src::Data { desc, bytes }) if desc.dtype != T::TYPE => {
            converted = to_real::<T>(call.pool, desc.dtype, bytes)?;
            Some((desc, &converted[..]))
        }
        Some(_) => Some((call.x(1), call.get::<T>(1)?)),
    };
    let y = call.out::<T>(0)?;
    let scale = T::of(f64::from(op.scale));
    rows(call.pool, y, n, n as f64 * NS, |first, part| {
        for (r, y) in part.chunks_mut(n).enumerate() {
            let row = first + r;
            let x = x.map(|x| &x[row * n..(row + 1) * n]);
            match (mask, x) {
                (None, Some(x)) => T::softmax(x, y, scale),
                (None, None) => T::softmax_inplace(y, scale),
                (Some((mask_desc, mask)), x) => {
                    if let Some(x) = x {
                        y.copy_from_slice(x);
                    }
                    let (from, head) = mask_row(desc, mask_desc, row);
                    let slope = T::of(slope(op.max_bias, head, desc.ne[2]));
                    y.iter_mut().zip(&mask[from..from + n]).for_each(|(y, &m)| *y = *y * scale + slope * m);
                    T::softmax_inplace(y, T::of(1.0));
                }
            }
        }
    });
    Ok(())
}

/// Where the mask of row `r` of `x` begins, and the row's head.
fn mask_row(x: &Desc, mask: &Desc, mut r: usize) -> (usize, usize) {
    let (mut from, mut step, mut head) = (0, mask.ne[0], 0);
    for d in 1..MAX_DIMS {
        let i = r % x.ne[d];
        r /= x.ne[d];
        if d == 2 {
            head = i;
        }
        from += i % mask.ne[d] * step;
        step *= mask.ne[d];
    }
    (from, head)
}

pub fn backward(scale: f32, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => backward_as::<T>(f64::from(scale), call))
}

fn backward_as<T: Row>(scale: f64, call: &mut CpuCall<'_>) -> Result<()> {
    let n = call.y(0).ne[0];
    let g = call.get_unless_in_place::<T>(0)?;
    let y = call.get::<T>(1)?;
    let dx = call.out::<T>(0)?;
    let scale = T::of(scale);
    rows(call.pool, dx, n, n as f64 * 0.3, |first, part| {
        for (r, dx) in part.chunks_mut(n).enumerate() {
            let at = (first + r) * n..(first + r + 1) * n;
            if let Some(g) = g {
                dx.copy_from_slice(&g[at.clone()]);
            }
            let y = &y[at];
            let dot = T::of(T::dot(dx, y));
            dx.iter_mut().zip(y).for_each(|(g, &y)| *g = scale * y * (*g - dot));
        }
    });
    Ok(())
}
