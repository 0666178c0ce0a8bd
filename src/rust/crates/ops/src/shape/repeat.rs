//! Copies of a tensor side by side.

use crate::elementwise::broadcast::{Run, offset, runs};
use crate::entry::Entry;
use crate::reduce::RepeatBack;
use crate::{Case, Tol, check, op_fields, op_struct};
use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: extents that divide b's, b: [n0, ...] -> y: [n0, ...]
    pub struct Repeat {}
}

impl Op for Repeat {
    fn name(&self) -> &'static str {
        "repeat"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        if a.dtype.block() > 1 {
            return Err(Error::dtype(format!("a must be a type without blocks, got {}", a.dtype))
                .arg("a")
                .expected("a type without blocks")
                .got(a.dtype.name()));
        }
        if !a.can_repeat_to(b) {
            return Err(Error::shape(format!("copies of a {} do not fill b {}", a.show(), b.show()))
                .arg("a")
                .expected(format!("extents that divide {}", b.show()))
                .got(a.show()));
        }
        Ok(smallvec![Desc::new(a.dtype, b.extents())?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, at) in y[0].indices().enumerate() {
            y[0].data[i] = x[0].wrap(&at);
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        &[F32, F64, F16, BF16, I8, I16, I32, I64, Bool, U8, U16, U32, U64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        match call.dtype().bytes() {
            1 => run::<u8>(call),
            2 => run::<u16>(call),
            4 => run::<u32>(call),
            _ => run::<u64>(call),
        }
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let da = g.op(RepeatBack {}, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }

    fn shape_only(&self, i: usize) -> bool {
        i == 1
    }
}

/// Nanoseconds for one element on one thread.
const NS: f64 = 0.2;

/// Nanoseconds for the call on one row.
const ROW_NS: f64 = 5.0;

/// A row shorter than this is laid side by side until it fills a piece of this length.
const PIECE: usize = 512;

fn run<T: Pod + Send + Sync>(call: &mut CpuCall<'_>) -> Result<()> {
    let runs = runs(call.x(0), call.y(0));
    let x = call.get::<T>(0)?;
    let y = call.out::<T>(0)?;
    match runs[..] {
        [] | [Run { own: true, .. }] => {
            rows(call.pool, y, 1, NS, |first, y| y.copy_from_slice(&x[first..first + y.len()]));
        }
        [Run { own: false, .. }] => rows(call.pool, y, 1, NS, |_, y| y.fill(x[0])),
        [Run { own: true, len }, Run { own: false, .. }] if len < PIECE => {
            let wide = x.repeat(PIECE / len);
            rows(call.pool, y, len, len as f64 * NS, |_, y| {
                y.chunks_mut(wide.len()).for_each(|y| y.copy_from_slice(&wide[..y.len()]));
            });
        }
        [Run { own, len: n }, ..] => {
            rows(call.pool, y, n, n as f64 * NS + ROW_NS, |first, part| {
                for (i, y) in part.chunks_mut(n).enumerate() {
                    let at = offset(&runs, first + i);
                    if own { y.copy_from_slice(&x[at..at + n]) } else { y.fill(x[at]) }
                }
            });
        }
    }
    Ok(())
}

fn cases() -> Vec<Case> {
    let op = || Repeat {};
    let two = |a: &[usize], b: &[usize]| Case::new(op()).f32(a).f32(b).no_grad().tol(Tol::Exact);
    let shapes: &[(&[usize], &[usize], &str)] = &[
        (&[64], &[64, 5, 4], "rows"),
        (&[3], &[3, 700], "short rows"),
        (&[1], &[5, 4, 3], "one number"),
        (&[1, 7], &[33, 7], "within rows"),
        (&[1, 1, 4], &[6, 5, 4, 3], "per plane"),
        (&[3, 2], &[6, 4, 2, 2], "tiles"),
        (&[6, 1, 2, 3], &[6, 5, 4, 3], "rows in a pattern"),
        (&[2, 1, 2, 1, 2], &[2, 3, 2, 2, 2], "five dimensions"),
        (&[7, 3], &[7, 3], "nothing repeated"),
        (&[1], &[1], "single"),
    ];
    let mut v: Vec<Case> = shapes.iter().map(|(a, b, note)| two(a, b).grad().note(note)).collect();
    for t in [DType::F64, DType::F16, DType::I64, DType::U8] {
        let whole = crate::Values::Ints(0, 100);
        v.push(Case::new(op()).input(t, &[3, 1], whole, false).f32(&[6, 4]).no_grad().tol(Tol::Exact).note(t.name()));
    }
    v.push(two(&[3, 1], &[3, 0]).note("empty"));
    v.push(two(&[0, 1], &[0, 3]).note("empty a"));
    v.push(two(&[2], &[3]).fails(Kind::Shape));
    v.push(two(&[6], &[3]).fails(Kind::Shape));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "repeat".into(),
        r: vec!["ggml_repeat(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Repeat a tensor to a shape".into(),
        details: "Element `i` of the result is the one of `a` at `i` modulo the extents of `a`. `b` only gives the shape; each \
                  of its extents must be a multiple of that of `a`."
            .into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(Repeat {}) as OpRef),
        cases,
    }
}
