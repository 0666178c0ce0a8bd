//! CPU kernel of the arithmetic of two tensors.

use crate::elementwise::broadcast::{Run, offset, runs};
use crate::elementwise::real::{Real, by_real};
use crate::shape::to_real;
use ggmlr_core::pool::{Pool, rows};
use ggmlr_core::{CpuCall, Error, Result, Src};
use ggmlr_formula::BinaryId;

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.4;

/// Nanoseconds for the call on one row.
const ROW_NS: f64 = 8.0;

/// Rows shorter than this cost less when their operands are gathered than when each is a call.
const SHORT: usize = 64;

/// A row shorter than this is laid side by side until it fills a piece of this length.
const PIECE: usize = 512;

pub fn forward(id: BinaryId, call: &mut CpuCall<'_>) -> Result<()> {
    by_real!(call.dtype(), T => forward_as::<T>(id, call))
}

fn forward_as<T: Real>(id: BinaryId, call: &mut CpuCall<'_>) -> Result<()> {
    let runs = runs(call.x(1), call.y(0));
    let a = call.get_unless_in_place::<T>(0)?;
    let converted;
    let b = match call.src[1] {
        Src::Data { desc, bytes } if desc.dtype != T::TYPE => {
            converted = to_real::<T>(call.pool, desc.dtype, bytes)?;
            Some(&converted[..])
        }
        _ => call.get_unless_in_place::<T>(1)?,
    };
    let y = call.out::<T>(0)?;
    match (&runs[..], b) {
        ([] | [Run { own: true, .. }], Some(b)) => rows(call.pool, y, 1, NS, |first, y| {
            let at = first..first + y.len();
            row(id, a.map(|a| &a[at.clone()]), &b[at], y);
        }),
        ([] | [Run { own: true, .. }], None) => {
            let a = a.ok_or_else(|| Error::internal("both sources are in place"))?;
            rows(call.pool, y, 1, NS, |first, y| T::binary_inplace_b(id, &a[first..first + y.len()], y));
        }
        (_, None) => return Err(Error::internal("source 1 is in place, but repeats")),
        ([Run { own: false, .. }], Some(b)) => {
            rows(call.pool, y, 1, NS, |first, y| number(id, a.map(|a| &a[first..first + y.len()]), b[0], y));
        }
        (&[Run { own: true, len }, Run { own: false, .. }], Some(b)) if len < PIECE => {
            let copies = PIECE / len;
            let wide = b.repeat(copies);
            let n = wide.len();
            rows(call.pool, y, len, len as f64 * NS, |first, y| {
                for (i, y) in y.chunks_mut(n).enumerate() {
                    let at = first * len + i * n;
                    row(id, a.map(|a| &a[at..at + y.len()]), &wide[..y.len()], y);
                }
            });
        }
        (&[inner, ..], Some(b)) if inner.len < SHORT => short_rows(id, call.pool, a, b, &runs, y),
        (&[inner, ..], Some(b)) => {
            let n = inner.len;
            rows(call.pool, y, n, n as f64 * NS + ROW_NS, |first, part| {
                for (i, y) in part.chunks_mut(n).enumerate() {
                    let r = first + i;
                    let (a, at) = (a.map(|a| &a[r * n..(r + 1) * n]), offset(&runs, r));
                    if inner.own { row(id, a, &b[at..at + n], y) } else { number(id, a, b[at], y) }
                }
            });
        }
    }
    Ok(())
}

/// Rows too short for calls of their own: what each needs of `b` is laid out for many rows at once.
fn short_rows<T: Real>(id: BinaryId, pool: &dyn Pool, a: Option<&[T]>, b: &[T], runs: &[Run], y: &mut [T]) {
    let Run { len: n, own } = runs[0];
    rows(pool, y, n, n as f64 * NS + ROW_NS, |first, part| {
        let mut wide = [T::of(0.0); PIECE];
        let many = PIECE / n;
        for (i, y) in part.chunks_mut(many * n).enumerate() {
            let r = first + i * many;
            let wide = &mut wide[..y.len()];
            for (k, w) in wide.chunks_mut(n).enumerate() {
                let at = offset(runs, r + k);
                if own { w.copy_from_slice(&b[at..at + n]) } else { w.fill(b[at]) }
            }
            row(id, a.map(|a| &a[r * n..r * n + y.len()]), wide, y);
        }
    });
}

/// `y = a op b`, where `a` lies in `y` when it is not given.
fn row<T: Real>(id: BinaryId, a: Option<&[T]>, b: &[T], y: &mut [T]) {
    match a {
        Some(a) => T::binary(id, a, b, y),
        None => T::binary_inplace(id, y, b),
    }
}

fn number<T: Real>(id: BinaryId, a: Option<&[T]>, b: T, y: &mut [T]) {
    match a {
        Some(a) => T::binary_scalar_b(id, a, b, y),
        None => T::binary_scalar_b_inplace(id, y, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{DType, Desc, Dst, Serial};
    use smallvec::smallvec;

    /// Only a memory plan puts the result into the memory of the second source.
    #[test]
    fn result_in_the_memory_of_b() {
        let d = Desc::new(DType::F32, &[3]).unwrap();
        let (a, mut y) = ([10.0_f32, 20.0, 30.0], [1.0_f32, 2.0, 3.0]);
        let a = Src::Data { desc: &d, bytes: bytemuck::cast_slice(&a) };
        let src = smallvec![a, Src::InPlace { desc: &d, result: 0 }];
        let dst = smallvec![Dst { desc: &d, bytes: bytemuck::cast_slice_mut(&mut y) }];
        forward(BinaryId::Sub, &mut CpuCall { src, dst, scalars: &[], pool: &Serial }).unwrap();
        assert_eq!(y, [9.0, 18.0, 27.0]);
    }
}
