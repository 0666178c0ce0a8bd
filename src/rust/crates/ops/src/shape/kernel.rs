//! The kernel of all copies: any strides on both sides, any pair of convertible types.

use crate::elementwise::real::Real;
use bytemuck::Pod;
use ggmlr_core::call::cast;
use ggmlr_core::pool::{Pool, rows};
use ggmlr_core::{CpuCall, DType, Desc, Error, MAX_DIMS, Result, Src};
use ggmlr_simd::copy::{self, copy_strided};
use std::sync::Mutex;

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.4;

/// Parts that a copy is split into along its outer dimensions, if there are as many.
const PARTS: usize = 64;

/// Copies source 0 to result 0 in logical order.
pub fn copy(call: &mut CpuCall<'_>) -> Result<()> {
    let (x, bytes) = match call.src[0] {
        Src::Data { desc, bytes } => (desc, bytes),
        // The values lie where they should already.
        Src::InPlace { .. } => return Ok(()),
    };
    let y = *call.y(0);
    let out = call.out::<u8>(0)?;
    if x.dtype == y.dtype {
        return same_type(call.pool, x, bytes, &y, out);
    }
    let packed;
    let bytes = if x.is_contiguous() {
        bytes
    } else {
        packed = pack(call.pool, x, bytes)?;
        &packed
    };
    if y.is_contiguous() {
        return convert(call.pool, x.dtype, bytes, y.dtype, out);
    }
    let mut converted = vec![0; y.bytes()];
    convert(call.pool, x.dtype, bytes, y.dtype, &mut converted)?;
    same_type(call.pool, &y.contiguous(), &converted, &y, out)
}

fn pack(pool: &dyn Pool, x: &Desc, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = vec![0; x.bytes()];
    same_type(pool, x, bytes, &x.contiguous(), &mut out)?;
    Ok(out)
}

/// Copies between layouts that may have different shapes, but as many elements.
fn same_type(pool: &dyn Pool, x: &Desc, from: &[u8], y: &Desc, to: &mut [u8]) -> Result<()> {
    match (x.is_contiguous(), y.is_contiguous()) {
        (true, true) => {
            rows(pool, to, 1, NS / 4.0, |first, to| to.copy_from_slice(&from[first..first + to.len()]));
            Ok(())
        }
        // A contiguous side can be read in the shape of the other.
        (_, true) => gather(pool, x, from, to),
        (true, false) => strided(Units::of(y), &y.contiguous(), from, y, to),
        _ if x.same_shape(y) => strided(Units::of(x), x, from, y, to),
        _ => {
            let packed = pack(pool, x, from)?;
            same_type(pool, &y.contiguous(), &packed, y, to)
        }
    }
}

/// What is copied as one: elements, or for types with blocks, whose rows are never torn apart, bytes.
#[derive(Clone, Copy)]
struct Units {
    ne: [usize; MAX_DIMS],
    bytes: usize,
}

impl Units {
    fn of(d: &Desc) -> Units {
        let mut ne = d.ne;
        if d.dtype.block() == 1 {
            return Units { ne, bytes: d.dtype.bytes() };
        }
        ne[0] = d.dtype.row_bytes(d.ne[0]).unwrap_or(0);
        Units { ne, bytes: 1 }
    }

    fn strides(&self, d: &Desc) -> [usize; MAX_DIMS] {
        let mut nb = d.nb;
        if d.dtype.block() > 1 {
            nb[0] = 1;
        }
        nb
    }
}

fn strided(u: Units, x: &Desc, from: &[u8], y: &Desc, to: &mut [u8]) -> Result<()> {
    copy_strided(u.bytes, &u.ne, from, &u.strides(x), to, &u.strides(y))
        .map_err(|e| Error::internal(format!("copy from {x:?} to {y:?}: {e}")))
}

/// Copies to a contiguous result, split along the outermost dimensions that give enough parts.
fn gather(pool: &dyn Pool, x: &Desc, from: &[u8], to: &mut [u8]) -> Result<()> {
    let u = Units::of(x);
    let mut split = MAX_DIMS - 1;
    while split > 1 && u.ne[split..].iter().product::<usize>() < PARTS {
        split -= 1;
    }
    let row = u.ne[..split].iter().product::<usize>() * u.bytes;
    let y = x.contiguous();
    let failed = Mutex::new(None);
    rows(pool, to, row, row as f64 / u.bytes as f64 * NS, |first, mut part| {
        let mut at = first;
        while !part.is_empty() {
            let (mut left, mut start) = (at, 0);
            for d in split..MAX_DIMS {
                start += left % u.ne[d] * x.nb[d];
                left /= u.ne[d];
            }
            // Neighbours in the split dimension are copied together, so that a transposition can use tiles.
            let together = (u.ne[split] - at % u.ne[split]).min(part.len() / row);
            let (head, tail) = part.split_at_mut(together * row);
            let mut piece = u;
            piece.ne[split] = together;
            piece.ne[split + 1..].fill(1);
            if let Err(e) = strided(piece, x, &from[start..], &y, head) {
                if let Ok(mut f) = failed.lock() {
                    *f = Some(e);
                }
                return;
            }
            at += together;
            part = tail;
        }
    });
    match failed.into_inner() {
        Ok(Some(e)) => Err(e),
        _ => Ok(()),
    }
}

/// Types that convert into each other.
pub fn converts(t: DType) -> bool {
    matches!(t, DType::F32 | DType::F16 | DType::BF16 | DType::F64 | DType::I32)
}

/// Converts contiguous numbers.
fn convert(pool: &dyn Pool, from: DType, x: &[u8], to: DType, y: &mut [u8]) -> Result<()> {
    use DType::{BF16, F16, F32, F64, I32};
    match (from, to) {
        (F32, F16) => each(pool, x, y, copy::f32_to_f16),
        (F32, BF16) => each(pool, x, y, copy::f32_to_bf16),
        (F32, F64) => each(pool, x, y, copy::f32_to_f64),
        (F32, I32) => each(pool, x, y, copy::f32_to_i32),
        (F16, F32) => each(pool, x, y, copy::f16_to_f32),
        (BF16, F32) => each(pool, x, y, copy::bf16_to_f32),
        (F64, F32) => each(pool, x, y, copy::f64_to_f32),
        (I32, F32) => each(pool, x, y, copy::i32_to_f32),
        // f32 would lose digits on the way.
        (F64, I32) => {
            each(pool, x, y, |x: &[f64], y: &mut [i32]| y.iter_mut().zip(x).for_each(|(y, x)| *y = *x as i32))
        }
        (I32, F64) => {
            each(pool, x, y, |x: &[i32], y: &mut [f64]| y.iter_mut().zip(x).for_each(|(y, x)| *y = (*x).into()))
        }
        (F16, _) => through_f32(pool, x, copy::f16_to_f32, to, y),
        (BF16, _) => through_f32(pool, x, copy::bf16_to_f32, to, y),
        (F64, _) => through_f32(pool, x, copy::f64_to_f32, to, y),
        (I32, _) => through_f32(pool, x, copy::i32_to_f32, to, y),
        _ => Err(no_conversion(from, to)),
    }
}

fn no_conversion(from: DType, to: DType) -> Error {
    Error::internal(format!("no conversion from {from} to {to}"))
}

fn through_f32<A: Pod + Sync>(
    pool: &dyn Pool,
    x: &[u8],
    up: impl Fn(&[A], &mut [f32]) + Sync,
    to: DType,
    y: &mut [u8],
) -> Result<()> {
    match to {
        DType::F16 => each(pool, x, y, joined(up, copy::f32_to_f16)),
        DType::BF16 => each(pool, x, y, joined(up, copy::f32_to_bf16)),
        DType::F64 => each(pool, x, y, joined(up, copy::f32_to_f64)),
        DType::I32 => each(pool, x, y, joined(up, copy::f32_to_i32)),
        _ => Err(no_conversion(DType::F32, to)),
    }
}

/// Elements converted in two steps at a time.
const PIECE: usize = 1024;

/// One conversion after the other.
fn joined<A, B>(
    up: impl Fn(&[A], &mut [f32]) + Sync,
    down: impl Fn(&[f32], &mut [B]) + Sync,
) -> impl Fn(&[A], &mut [B]) + Sync {
    move |x, y| {
        let mut between = [0.0; PIECE];
        for (x, y) in x.chunks(PIECE).zip(y.chunks_mut(PIECE)) {
            let between = &mut between[..x.len()];
            up(x, between);
            down(between, y);
        }
    }
}

fn each<A: Pod + Sync, B: Pod + Send>(
    pool: &dyn Pool,
    x: &[u8],
    y: &mut [u8],
    f: impl Fn(&[A], &mut [B]) + Sync,
) -> Result<()> {
    let x = cast::<A>(x)?;
    let y = bytemuck::try_cast_slice_mut::<u8, B>(y).map_err(|e| Error::internal(format!("result: {e}")))?;
    rows(pool, y, 1, NS, |first, y| f(&x[first..first + y.len()], y));
    Ok(())
}

/// Contiguous numbers as `T`.
pub fn to_real<T: Real>(pool: &dyn Pool, from: DType, bytes: &[u8]) -> Result<Vec<T>> {
    let mut out = vec![T::of(0.0); bytes.len() / from.bytes()];
    convert(pool, from, bytes, T::TYPE, bytemuck::cast_slice_mut(&mut out))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Serial;

    /// The shapes of the table are too small for more than one part.
    #[test]
    fn parts_cover_the_result() {
        let d = Desc::new(DType::I32, &[40, 30, 20, 10]).unwrap();
        let values: Vec<i32> = (0..d.len() as i32).collect();
        for axes in [[3, 2, 1, 0], [0, 2, 1, 3], [1, 0, 2, 3], [2, 3, 0, 1]] {
            let mut x = d;
            for (to, &from) in axes.iter().enumerate() {
                (x.ne[to], x.nb[to]) = (d.ne[from], d.nb[from]);
            }
            let mut y = vec![0_i32; d.len()];
            let from = bytemuck::cast_slice(&values);
            same_type(&Serial, &x, from, &x.contiguous(), bytemuck::cast_slice_mut(&mut y)).unwrap();
            for (i, &v) in y.iter().enumerate() {
                let (mut left, mut at) = (i, 0);
                for k in 0..4 {
                    at += left % x.ne[k] * x.nb[k];
                    left /= x.ne[k];
                }
                assert_eq!(v as usize, at / 4, "{axes:?}");
            }
        }
    }

    #[test]
    fn rows_of_blocks_are_copied_whole() {
        let d = Desc::new(DType::Q4_0, &[64, 3, 2]).unwrap();
        let bytes: Vec<u8> = (0..d.bytes()).map(|i| i as u8).collect();
        let mut x = d;
        x.ne.swap(1, 2);
        x.nb.swap(1, 2);
        let mut y = vec![0; d.bytes()];
        same_type(&Serial, &x, &bytes, &x.contiguous(), &mut y).unwrap();
        let row = 36;
        assert_eq!(y[row..2 * row], bytes[3 * row..4 * row]);
        assert_eq!(y[2 * row..3 * row], bytes[row..2 * row]);
    }
}
