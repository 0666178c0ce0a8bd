//! CPU kernels of rows written by index.

use super::check_index;
use crate::assemble::NS;
use crate::assemble::rows::RowStarts;
use ggmlr_core::call::cast;
use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, DType, Desc, Error, MAX_DIMS, Result};
use ggmlr_simd::copy;

/// Marks a row that no index names.
const NONE: usize = usize::MAX;

/// For each row of `b`, which has the extents `ne`, the row of `a` that it goes to. All indices, source `i` of the
/// call, are checked before any row is written.
fn targets(call: &CpuCall<'_>, i: usize, ne: &[usize; MAX_DIMS], rows: usize) -> Result<Vec<usize>> {
    let c = call.x(i);
    let list: Vec<usize> = match c.dtype {
        DType::I32 => call.get::<i32>(i)?.iter().map(|&i| check_index(i64::from(i), rows)).collect::<Result<_>>()?,
        DType::I64 => call.get::<i64>(i)?.iter().map(|&i| check_index(i, rows)).collect::<Result<_>>()?,
        other => return Err(Error::dtype(format!("no kernel for indices of type {other}"))),
    };
    let n: usize = ne[1..].iter().product();
    let mut out = Vec::with_capacity(n);
    for r in 0..n {
        let (mut at, mut step, mut left) = (r % ne[1], c.ne[0], r / ne[1]);
        for d in 1..MAX_DIMS - 1 {
            at += left % ne[d + 1] % c.ne[d] * step;
            step *= c.ne[d];
            left /= ne[d + 1];
        }
        out.push(list[at] + r / ne[1] * rows);
    }
    Ok(out)
}

/// For each of `n` rows of `a`, the row of `b` that it gets last, or [`NONE`].
fn owners(targets: &[usize], n: usize) -> Vec<usize> {
    let mut out = vec![NONE; n];
    targets.iter().enumerate().for_each(|(r, &t)| out[t] = r);
    out
}

fn row_bytes(d: &Desc) -> usize {
    d.ne[0] * d.dtype.bytes()
}

pub fn forward(call: &mut CpuCall<'_>) -> Result<()> {
    let (b, yd) = (call.x(1), *call.y(0));
    let a = call.get_unless_in_place::<u8>(0)?;
    let targets = if b.is_empty() { Vec::new() } else { targets(call, 2, &b.ne, yd.ne[1])? };
    let (starts, from, row) = (RowStarts::new(b), row_bytes(b), row_bytes(&yd));
    let bytes = call.get::<u8>(1)?;
    let write = |r: usize, out: &mut [u8]| {
        let at = starts.at(r);
        let b_row = &bytes[at..at + from];
        if b.dtype == yd.dtype {
            out.copy_from_slice(b_row);
            return Ok(());
        }
        let misplaced = |e| Error::internal(format!("result 0: {e}"));
        match yd.dtype {
            DType::F16 => copy::f32_to_f16(cast(b_row)?, bytemuck::try_cast_slice_mut(out).map_err(misplaced)?),
            DType::BF16 => copy::f32_to_bf16(cast(b_row)?, bytemuck::try_cast_slice_mut(out).map_err(misplaced)?),
            other => return Err(Error::dtype(format!("no kernel from {} to {other}", b.dtype))),
        }
        Ok(())
    };
    let y = call.out::<u8>(0)?;
    let Some(a) = a else {
        // Few rows of a large cache: only these are touched.
        for (r, t) in targets.iter().enumerate() {
            write(r, &mut y[t * row..(t + 1) * row])?;
        }
        return Ok(());
    };
    let owners = owners(&targets, y.len() / row);
    let failed = std::sync::Mutex::new(None);
    rows(call.pool, y, row, row as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(row).enumerate() {
            match owners[first + i] {
                NONE => out.copy_from_slice(&a[(first + i) * row..(first + i + 1) * row]),
                r => {
                    if let (Err(e), Ok(mut f)) = (write(r, out), failed.lock()) {
                        *f = Some(e);
                    }
                }
            }
        }
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}

pub fn backward(call: &mut CpuCall<'_>) -> Result<()> {
    let (dy, yd) = (call.x(0), *call.y(0));
    let targets = targets(call, 1, &yd.ne, dy.ne[1])?;
    let owners = owners(&targets, dy.rows());
    let (starts, row) = (RowStarts::new(dy), row_bytes(&yd));
    let x = call.get::<u8>(0)?;
    let y = call.out::<u8>(0)?;
    rows(call.pool, y, row, row as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(row).enumerate() {
            let t = targets[first + i];
            if owners[t] == first + i {
                let at = starts.at(t);
                out.copy_from_slice(&x[at..at + row]);
            } else {
                out.fill(0);
            }
        }
    });
    Ok(())
}
