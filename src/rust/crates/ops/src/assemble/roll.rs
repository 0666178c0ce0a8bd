//! Elements moved around in a circle along each dimension.

use super::{NS, PLAIN, plain};
use crate::{Call, Case, Entry, Tol, Values, check};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Field, Grad, Key, Layout, MAX_DIMS, Op, OpRef, Result};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// a: [n0, n1, ...] -> y: [n0, n1, ...], element i of a at (i + shift) modulo n in each dimension
#[derive(Clone, Debug, PartialEq)]
pub struct Roll {
    pub shift: [i64; MAX_DIMS],
}

impl Roll {
    /// Moves the first dimensions and leaves the others where they are.
    pub fn new(list: &[i64]) -> Roll {
        let mut shift = [0; MAX_DIMS];
        shift.iter_mut().zip(list).for_each(|(s, l)| *s = *l);
        Roll { shift }
    }

    /// Shift of dimension `d`, as a number of steps up; `n` is its extent, at least 1.
    fn steps(&self, d: usize, n: usize) -> usize {
        self.shift[d].rem_euclid(n as i64) as usize
    }
}

impl Op for Roll {
    fn name(&self) -> &'static str {
        "roll"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        plain("a", a)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (v, mut at) in x[0].data.iter().zip(x[0].indices()) {
            for d in 0..MAX_DIMS {
                let n = x[0].ne[d] as i64;
                at[d] = (at[d] as i64 + self.shift[d]).rem_euclid(n) as usize;
            }
            let j = y[0].at(&at);
            y[0].data[j] = *v;
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        self.shift.key(k);
    }

    fn layout(&self, _i: usize) -> Layout {
        Layout::Rows
    }

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        run(self, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(Roll { shift: self.shift.map(|s| -s) }, &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

/// A dimension from 1 on: extent, steps up, byte stride in the source.
struct Dim {
    n: usize,
    steps: usize,
    nb: usize,
}

fn run(op: &Roll, call: &mut CpuCall<'_>) -> Result<()> {
    let d = call.x(0);
    let mut dims: SmallVec<[Dim; MAX_DIMS]> = SmallVec::new();
    for i in (1..MAX_DIMS).filter(|&i| d.ne[i] != 1) {
        let (n, steps, nb) = (d.ne[i], op.steps(i, d.ne[i]), d.nb[i]);
        match dims.last_mut() {
            Some(last) if last.steps == 0 && steps == 0 && last.n * last.nb == nb => last.n *= n,
            _ => dims.push(Dim { n, steps, nb }),
        }
    }
    let size = d.dtype.bytes();
    let (row, turn) = (d.ne[0] * size, op.steps(0, d.ne[0]) * size);
    let x = call.get::<u8>(0)?;
    let y = call.out::<u8>(0)?;
    rows(call.pool, y, row, row as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(row).enumerate() {
            let (mut at, mut left) = (0, first + i);
            for d in &dims {
                at += (left % d.n + d.n - d.steps) % d.n * d.nb;
                left /= d.n;
            }
            let x = &x[at..at + row];
            out[turn..].copy_from_slice(&x[..row - turn]);
            out[..turn].copy_from_slice(&x[row - turn..]);
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    let by = |shift: &[i64]| Case::new(Roll::new(shift)).tol(Tol::Exact);
    let mut v = vec![
        by(&[2]).f32(&[5]).grad(),
        by(&[-1, 1]).f32(&[5, 3]).grad(),
        by(&[1, -2, 3, -1]).f32(&[4, 5, 4, 3]).grad(),
        by(&[0, 0, 1]).f32(&[3, 2, 4, 2]).grad().note("planes only"),
        by(&[0, 0, 0, 0, 1]).f32(&[2, 2, 1, 2, 3]).grad().note("five dimensions"),
        by(&[12, -7]).f32(&[5, 3]).grad().note("several turns"),
        by(&[1 << 53, -(1 << 53)]).f32(&[5, 3]).grad().note("many turns"),
        by(&[]).f32(&[5, 3]).grad().note("nothing"),
        by(&[33, 77]).f32(&[300, 400]).note("several blocks"),
        by(&[1]).f32(&[0, 3]).grad().note("empty"),
    ];
    v.extend(
        [DType::I32, DType::F16, DType::I64, DType::U8]
            .map(|t| by(&[1, -1]).input(t, &[5, 3], Values::Ints(0, 100), false).note(t.name())),
    );
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "roll".into(),
        r: vec!["ggml_roll(ctx, a, shift0 = 0L, shift1 = 0L, shift2 = 0L, shift3 = 0L)".into()],
        inputs: &["a"],
        title: "Move elements in a circle".into(),
        details: "Element `i` of dimension `d` moves to `(i + shift_d)` modulo `ne[d]`: 1 2 3 4 5 rolled by 2 is 4 5 \
                  1 2 3. Negative shifts move down; shifts may be larger than the extent. Any type without blocks; \
                  the result has the shape of `a`."
            .into(),
        topic: "assembly",
        example: "".into(),
        make: |c: &Call<'_>| {
            let list: Vec<i64> = (0..4).map(|i| c.params.get(&format!("shift{i}"))).collect::<Result<_>>()?;
            Ok(Arc::new(Roll::new(&list)) as OpRef)
        },
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contract_example() {
        let x = Array::from(&[5], vec![1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut y = [Array::zeros(x.ne)];
        Roll::new(&[2]).oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [4.0, 5.0, 1.0, 2.0, 3.0]);
    }
}
