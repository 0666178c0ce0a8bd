//! Rows continued by their mirror image, without the edge element again: `1 2 3 4` with (2, 1) is `3 2 1 2 3 4 3`.

use super::rows::RowStarts;
use super::{NS, PLAIN, plain};
use crate::elementwise::real::{Real, by_real};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use bytemuck::Pod;
use ggmlr_core::pool::rows;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, Layout, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [n, ...] -> y: [p0 + n + p1, ...]
    pub struct PadReflect1d { p0: usize, p1: usize }
}

op_struct! {
    /// dy: [p0 + n + p1, ...] -> da: [n, ...]
    pub struct PadReflect1dBack { p0: usize, p1: usize }
}

/// Rows of `a`, `n` long, must have something to mirror for each element of the padding.
fn check_padding(a: &Desc, n: usize, p0: usize, p1: usize) -> Result<()> {
    for (name, p) in [("p0", p0), ("p1", p1)] {
        if p >= n {
            return Err(Error::argument(
                name,
                format!("{name} must be below the length of the rows, {n}, of a {}, got {p}", a.show()),
            )
            .expected(format!("below {n}"))
            .got(p.to_string()));
        }
    }
    Ok(())
}

fn with_rows(a: &Desc, n: usize) -> Result<Descs> {
    let mut ne = a.ne;
    ne[0] = n;
    Ok(smallvec![Desc::new(a.dtype, &ne[..a.rank as usize])?])
}

/// Element of the row that stands at place `i` of the padded row.
fn mirrored(i: usize, n: usize, p0: usize) -> usize {
    if i < p0 {
        p0 - i
    } else if i < p0 + n {
        i - p0
    } else {
        2 * (n - 1) - (i - p0)
    }
}

impl Op for PadReflect1d {
    fn name(&self) -> &'static str {
        "pad_reflect_1d"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        plain("a", a)?;
        check_padding(a, a.ne[0], self.p0, self.p1)?;
        with_rows(a, self.p0 + a.ne[0] + self.p1)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        let indices = y[0].indices();
        for (w, mut at) in y[0].data.iter_mut().zip(indices) {
            at[0] = mirrored(at[0], n, self.p0);
            *w = x[0].data[x[0].at(&at)];
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
        // Only the width of an element matters.
        match call.dtype().bytes() {
            1 => forward::<u8>(self, call),
            2 => forward::<u16>(self, call),
            4 => forward::<u32>(self, call),
            _ => forward::<u64>(self, call),
        }
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let da = g.op(PadReflect1dBack { p0: self.p0, p1: self.p1 }, &[dy])?;
        g.push(0, da);
        Ok(())
    }
}

fn forward<T: Pod + Send + Sync>(op: &PadReflect1d, call: &mut CpuCall<'_>) -> Result<()> {
    let (p0, n, wide) = (op.p0, call.x(0).ne[0], call.y(0).ne[0]);
    let starts = RowStarts::new(call.x(0));
    let x = call.get::<T>(0)?;
    let y = call.out::<T>(0)?;
    let size = size_of::<T>();
    rows(call.pool, y, wide, (wide * size) as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(wide).enumerate() {
            let at = starts.at(first + i) / size;
            let x = &x[at..at + n];
            out[..p0].iter_mut().rev().zip(&x[1..]).for_each(|(y, x)| *y = *x);
            out[p0..p0 + n].copy_from_slice(x);
            out[p0 + n..].iter_mut().zip(x[..n - 1].iter().rev()).for_each(|(y, x)| *y = *x);
        }
    });
    Ok(())
}

impl Op for PadReflect1dBack {
    fn name(&self) -> &'static str {
        "pad_reflect_1d_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy] = check::sources(x)?;
        check::float("a", dy)?;
        let n = dy.ne[0].saturating_sub(self.p0.saturating_add(self.p1));
        check_padding(dy, n, self.p0, self.p1)?;
        with_rows(dy, n)
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = y[0].ne[0];
        for (v, mut at) in x[0].data.iter().zip(x[0].indices()) {
            at[0] = mirrored(at[0], n, self.p0);
            let j = y[0].at(&at);
            y[0].data[j] += v;
        }
        Ok(())
    }

    op_fields!();

    fn layout(&self, _i: usize) -> Layout {
        Layout::Rows
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => backward::<T>(self, call))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let ddy = g.dy()?;
        let d = g.op(PadReflect1d { p0: self.p0, p1: self.p1 }, &[ddy])?;
        g.push(0, d);
        Ok(())
    }
}

fn backward<T: Real>(op: &PadReflect1dBack, call: &mut CpuCall<'_>) -> Result<()> {
    let (p0, n, wide) = (op.p0, call.y(0).ne[0], call.x(0).ne[0]);
    let starts = RowStarts::new(call.x(0));
    let dy = call.get::<T>(0)?;
    let da = call.out::<T>(0)?;
    let size = size_of::<T>();
    rows(call.pool, da, n, (wide * size) as f64 * NS, |first, part| {
        for (i, out) in part.chunks_mut(n).enumerate() {
            let at = starts.at(first + i) / size;
            let dy = &dy[at..at + wide];
            out.copy_from_slice(&dy[p0..p0 + n]);
            out[1..].iter_mut().zip(dy[..p0].iter().rev()).for_each(|(a, y)| *a += *y);
            out[..n - 1].iter_mut().rev().zip(&dy[p0 + n..]).for_each(|(a, y)| *a += *y);
        }
    });
    Ok(())
}

fn forward_cases() -> Vec<Case> {
    let op = |p0, p1| Case::new(PadReflect1d { p0, p1 }).tol(Tol::Exact);
    let mut v = vec![
        op(2, 1).f32(&[4]).grad(),
        op(3, 3).f32(&[4, 3, 2]).grad().note("as far as it goes"),
        op(0, 2).f32(&[5, 3]).grad().note("right only"),
        op(1, 0).f32(&[2, 2, 1, 2, 2]).grad().note("five dimensions"),
        op(0, 0).f32(&[1, 3]).grad().note("nothing"),
        op(100, 20).f32(&[300, 400]).note("several blocks"),
        op(1, 1).f32(&[3, 0]).note("no rows"),
        op(4, 0).f32(&[4]).fails(Kind::Argument),
        op(0, 4).f32(&[4]).fails(Kind::Argument),
        op(0, 0).f32(&[0, 3]).fails(Kind::Argument).note("empty rows"),
    ];
    v.extend(
        [DType::I32, DType::F16, DType::I64, DType::U8]
            .map(|t| op(2, 1).input(t, &[4, 3], Values::Ints(0, 100), false).note(t.name())),
    );
    v
}

fn back_cases() -> Vec<Case> {
    let op = |p0, p1| Case::new(PadReflect1dBack { p0, p1 }).tol(Tol::Ulp(2));
    vec![
        op(2, 1).f32(&[7]).grad(),
        op(3, 3).f32(&[10, 3, 2]).grad().note("as far as it goes"),
        op(0, 2).f32(&[7, 3]).grad().note("right only"),
        op(100, 20).f32(&[420, 400]).note("several blocks"),
        op(1, 1).f32(&[5, 0]).note("no rows"),
        op(4, 0).f32(&[8]).fails(Kind::Argument),
        op(2, 2).f32(&[3]).fails(Kind::Argument).note("shorter than the padding"),
        op(1, 1).i32(&[5], 0, 3).fails(Kind::DType),
    ]
}

/// The operator and its gradient.
pub fn entries() -> Vec<Entry> {
    let forward = Entry {
        name: "pad_reflect_1d".into(),
        r: vec!["ggml_pad_reflect_1d(ctx, a, p0, p1)".into()],
        inputs: &["a"],
        title: "Pad rows with their mirror image".into(),
        details: "Continues each row by `p0` elements before and `p1` after it, mirrored at the edge element, which \
                  is not repeated: 1 2 3 4 with `p0 = 2` and `p1 = 1` becomes 3 2 1 2 3 4 3. `a`: `[n, ...]`, any \
                  type without blocks; the result is `[p0 + n + p1, ...]`. Both paddings must be below `n`."
            .into(),
        topic: "assembly",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(PadReflect1d::from_params(c.params)?) as OpRef),
        cases: forward_cases,
    };
    let back = Entry {
        name: "pad_reflect_1d_back".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Gradient of padding with the mirror image".into(),
        details: "Adds the padding of each row of `a`, f32, to the elements that it mirrors: `[p0 + n + p1, ...]` \
                  becomes `[n, ...]`."
            .into(),
        topic: "assembly",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(PadReflect1dBack::from_params(c.params)?) as OpRef),
        cases: back_cases,
    };
    vec![forward, back]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_example() {
        let x = Array::from(&[4], vec![1.0, 2.0, 3.0, 4.0]);
        let mut y = [Array::zeros([7, 1, 1, 1, 1, 1, 1, 1])];
        PadReflect1d { p0: 2, p1: 1 }.oracle(&[&x], &mut y).unwrap();
        assert_eq!(y[0].data, [3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0]);
    }
}
