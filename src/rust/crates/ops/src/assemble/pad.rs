//! Zeros before and after a tensor along each dimension.

use super::{NS, PLAIN, plain, slice};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Param, Result};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

op_struct! {
    /// a: [n0, n1, ...] -> y: [lp0 + n0 + rp0, lp1 + n1 + rp1, ...]; dimensions beyond the lists stay as they are
    pub struct Pad { lp: Vec<usize>, rp: Vec<usize> }
}

/// A list of paddings as one number for each dimension.
fn full(list: &[usize]) -> [usize; MAX_DIMS] {
    let mut out = [0; MAX_DIMS];
    out.iter_mut().zip(list).for_each(|(o, p)| *o = *p);
    out
}

impl Op for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        plain("a", a)?;
        for (name, list) in [("lp", &self.lp), ("rp", &self.rp)] {
            if list.len() > MAX_DIMS {
                let text = format!("{name} must have at most {MAX_DIMS} numbers, got {}", list.len());
                return Err(Error::argument(name, text));
            }
        }
        let (lo, hi) = (full(&self.lp), full(&self.rp));
        let mut ne = a.ne;
        (0..MAX_DIMS).for_each(|d| ne[d] = ne[d].saturating_add(lo[d]).saturating_add(hi[d]));
        let rank = (a.rank as usize..MAX_DIMS).rev().find(|&d| ne[d] != 1).map_or(a.rank as usize, |d| d + 1);
        Ok(smallvec![Desc::new(a.dtype, &ne[..rank])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (v, mut at) in x[0].data.iter().zip(x[0].indices()) {
            at.iter_mut().zip(&self.lp).for_each(|(i, p)| *i += p);
            let j = y[0].at(&at);
            y[0].data[j] = *v;
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, _i: usize) -> Layout {
        Layout::Rows
    }

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        run(full(&self.lp), call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.desc(g.x(0))?);
        let da = slice(g, dy, &full(&self.lp), &a)?;
        g.push(0, da);
        Ok(())
    }
}

/// A dimension from 1 on of the result, and what of it comes from the source.
struct Dim {
    n: usize,
    lo: usize,
    own: usize,
    /// Byte stride in the source.
    step: usize,
}

fn dims(x: &Desc, y: &Desc, lo: &[usize; MAX_DIMS]) -> SmallVec<[Dim; MAX_DIMS]> {
    let mut out: SmallVec<[Dim; MAX_DIMS]> = SmallVec::new();
    for d in (1..MAX_DIMS).filter(|&d| y.ne[d] != 1) {
        match out.last_mut() {
            Some(last) if last.own == last.n && x.ne[d] == y.ne[d] && last.n * last.step == x.nb[d] => {
                last.n *= y.ne[d];
                last.own = last.n;
            }
            _ => out.push(Dim { n: y.ne[d], lo: lo[d], own: x.ne[d], step: x.nb[d] }),
        }
    }
    out
}

/// Byte of the source at which row `r` of the result starts, `None` where it is padding.
fn source(dims: &[Dim], mut r: usize) -> Option<usize> {
    let mut at = 0;
    for d in dims {
        let i = (r % d.n).checked_sub(d.lo).filter(|i| *i < d.own)?;
        at += i * d.step;
        r /= d.n;
    }
    Some(at)
}

fn run(lo: [usize; MAX_DIMS], call: &mut CpuCall<'_>) -> Result<()> {
    let (xd, yd) = (call.x(0), *call.y(0));
    let size = yd.dtype.bytes();
    let x = call.get::<u8>(0)?;
    let y = call.out::<u8>(0)?;
    if xd.is_empty() {
        y.fill(0);
        return Ok(());
    }
    let dims = dims(xd, &yd, &lo);
    let (row, left, n) = (yd.ne[0] * size, lo[0] * size, xd.ne[0] * size);
    rows(call.pool, y, row, row as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(row).enumerate() {
            match source(&dims, first + i) {
                None => out.fill(0),
                Some(at) => {
                    out[..left].fill(0);
                    out[left..left + n].copy_from_slice(&x[at..at + n]);
                    out[left + n..].fill(0);
                }
            }
        }
    });
    Ok(())
}

fn cases() -> Vec<Case> {
    let op = |lp: &[usize], rp: &[usize]| Case::new(Pad { lp: lp.to_vec(), rp: rp.to_vec() }).tol(Tol::Exact);
    let mut v = vec![
        op(&[], &[2]).f32(&[5]).grad(),
        op(&[], &[2, 1]).f32(&[5, 3]).grad(),
        op(&[1, 2, 0, 1], &[3, 0, 2, 1]).f32(&[5, 4, 3, 2]).grad().note("both sides"),
        op(&[0, 0, 1], &[0, 0, 1]).f32(&[3, 2, 2, 3]).grad().note("planes only"),
        op(&[0, 1], &[0, 0, 0, 1]).f32(&[3, 2]).grad().note("new dimensions"),
        op(&[], &[]).f32(&[3, 2]).grad().note("nothing"),
        op(&[0, 0, 0, 0, 1], &[1]).f32(&[2, 3, 1, 2, 2]).grad().note("five dimensions"),
        op(&[9, 1], &[4, 2]).f32(&[200, 300, 2]).note("several blocks"),
        op(&[1], &[2]).f32(&[0, 3]).grad().note("empty rows"),
        op(&[0, 1], &[0, 2]).f32(&[3, 0]).grad().note("no rows"),
        op(&[], &[]).f32(&[0, 3]).note("empty"),
        op(&[0; 9], &[]).f32(&[3]).fails(Kind::Argument),
        op(&[], &[usize::MAX / 2]).f32(&[3]).fails(Kind::Memory).note("too large"),
    ];
    v.extend(
        [DType::I32, DType::F16, DType::I64, DType::Bool]
            .map(|t| op(&[1, 1], &[2]).input(t, &[5, 3], Values::Ints(0, 100), false).note(t.name())),
    );
    v
}

fn make(c: &Call<'_>) -> Result<OpRef> {
    if c.params.find("lp").is_none() && c.params.find("rp").is_none() {
        let rp: Vec<usize> = (0..4).map(|i| c.params.get(&format!("p{i}"))).collect::<Result<_>>()?;
        return Ok(Arc::new(Pad { lp: Vec::new(), rp }));
    }
    let list = |name: &str| -> Result<Vec<usize>> {
        let list: Vec<usize> = match c.params.find(name) {
            None | Some(Param::Null) => Vec::new(),
            Some(_) => c.params.get(name)?,
        };
        if list.len() > 4 {
            let text = format!("{name} must have one number for each of 4 dimensions, got {}", list.len());
            return Err(Error::argument(name, text).expected("4 numbers").got(format!("{} numbers", list.len())));
        }
        Ok(list)
    };
    Ok(Arc::new(Pad { lp: list("lp")?, rp: list("rp")? }))
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "pad".into(),
        r: vec![
            "ggml_pad(ctx, a, p0 = 0L, p1 = 0L, p2 = 0L, p3 = 0L)".into(),
            "ggml_pad_ext(ctx, a, lp = c(0L, 0L, 0L, 0L), rp = c(0L, 0L, 0L, 0L))".into(),
        ],
        inputs: &["a"],
        title: "Pad with zeros".into(),
        details: "`ggml_pad()` appends `p0` to `p3` zeros at the end of dimensions 0 to 3, `ggml_pad_ext()` puts \
                  `lp` zeros before and `rp` zeros after each dimension: `[n0, ...]` becomes `[lp0 + n0 + rp0, \
                  ...]`. Any type without blocks; paddings must not be negative."
            .into(),
        topic: "assembly",
        example: "".into(),
        make,
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Params;

    fn made(p: &Params) -> Result<OpRef> {
        make(&Call { function: "ggml_pad", params: p, x: &[] })
    }

    #[test]
    fn parameters_of_both_functions() {
        let p = Params::new().with("p0", 1.0).with("p1", 0.0).with("p2", 0.0).with("p3", 2.0);
        assert_eq!(made(&p).unwrap().downcast::<Pad>(), Some(&Pad { lp: vec![], rp: vec![1, 0, 0, 2] }));
        let mut p = Params::new();
        p.set("lp", Param::Numbers(vec![1.0, 2.0, 0.0, 0.0]));
        assert_eq!(made(&p).unwrap().downcast::<Pad>(), Some(&Pad { lp: vec![1, 2, 0, 0], rp: vec![] }));
        p.set("rp", Param::Numbers(vec![0.0; 5]));
        assert_eq!(made(&p).unwrap_err().arg_name(), Some("rp"));
        let p = Params::new().with("p0", 0.0).with("p1", -1.0).with("p2", 0.0).with("p3", 0.0);
        assert_eq!(made(&p).unwrap_err().arg_name(), Some("p1"));
    }
}
