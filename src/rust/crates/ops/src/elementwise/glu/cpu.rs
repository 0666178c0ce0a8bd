//! CPU kernels of gated linear units.

use super::halves;
use crate::elementwise::real::{Real, by_real};
use ggmlr_core::pool::{block_rows, blocks, rows};
use ggmlr_core::{CpuCall, Desc, MAX_DIMS, Result};
use ggmlr_formula::GluId;

/// Nanoseconds for one element of the result on one thread.
pub const NS: f64 = 1.0;

/// Nanoseconds for the call on one row.
const ROW_NS: f64 = 8.0;

pub fn packed(id: GluId, swapped: bool, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => packed_as::<T>(id, swapped, call))
}

/// Where row `row` of a source begins, in elements.
fn row_start(d: &Desc, row: usize) -> usize {
    let (mut at, mut left) = (0, row);
    for i in 1..MAX_DIMS {
        at += left % d.ne[i] * d.nb[i];
        left /= d.ne[i];
    }
    at / d.dtype.bytes()
}

fn packed_as<T: Real>(id: GluId, swapped: bool, call: &mut CpuCall<'_>) -> Result<()> {
    let d = call.x(0);
    let a = call.get::<T>(0)?;
    let n = call.y(0).ne[0];
    let (xs, gs) = halves(n, swapped);
    let y = call.out::<T>(0)?;
    rows(call.pool, y, n, n as f64 * NS + ROW_NS, |first, part| {
        for (r, y) in part.chunks_mut(n).enumerate() {
            let a = &a[row_start(d, first + r)..];
            T::glu(id, &a[xs..xs + n], &a[gs..gs + n], y);
        }
    });
    Ok(())
}

pub fn packed_back(id: GluId, swapped: bool, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => packed_back_as::<T>(id, swapped, call))
}

fn packed_back_as<T: Real>(id: GluId, swapped: bool, call: &mut CpuCall<'_>) -> Result<()> {
    let (dy, a) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let n = call.x(0).ne[0];
    let (xs, gs) = halves(n, swapped);
    let da = call.out::<T>(0)?;
    rows(call.pool, da, 2 * n, 2.0 * n as f64 * NS + ROW_NS, |first, part| {
        for (r, da) in part.chunks_mut(2 * n).enumerate() {
            let r = first + r;
            let (dy, a) = (&dy[r * n..(r + 1) * n], &a[2 * r * n..2 * (r + 1) * n]);
            let (low, high) = da.split_at_mut(n);
            let (dx, dg) = if swapped { (high, low) } else { (low, high) };
            T::glu_grad(id, &a[xs..xs + n], &a[gs..gs + n], dy, dx, dg);
        }
    });
    Ok(())
}

pub fn split(id: GluId, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => split_as::<T>(id, call))
}

fn split_as<T: Real>(id: GluId, call: &mut CpuCall<'_>) -> Result<()> {
    let (a, b) = (call.get::<T>(0)?, call.get::<T>(1)?);
    let y = call.out::<T>(0)?;
    rows(call.pool, y, 1, NS, |first, y| {
        let at = first..first + y.len();
        T::glu(id, &a[at.clone()], &b[at], y);
    });
    Ok(())
}

pub fn split_back(id: GluId, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => split_back_as::<T>(id, call))
}

fn split_back_as<T: Real>(id: GluId, call: &mut CpuCall<'_>) -> Result<()> {
    let (dy, a, b) = (call.get::<T>(0)?, call.get::<T>(1)?, call.get::<T>(2)?);
    let (da, db) = (call.out::<T>(0)?, call.out::<T>(1)?);
    let block = block_rows(da.len(), 2.0 * NS);
    blocks(call.pool, &mut [(da, 1), (db, 1)], block, |first, parts| {
        if let [da, db] = parts {
            let at = first..first + da.len();
            T::glu_grad(id, &a[at.clone()], &b[at.clone()], &dy[at], da, db);
        }
    });
    Ok(())
}
