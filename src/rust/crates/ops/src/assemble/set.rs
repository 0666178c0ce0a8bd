//! A copy of a tensor with another one written into a region of it.

use super::region::{check_region, end, from_call, place, strides};
use super::rows::RowStarts;
use super::{NS, PLAIN};
use crate::shape::{View, contiguous};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::pool::rows;
use ggmlr_core::{
    Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Kind, Layout, MAX_DIMS, Op, OpRef, Result, Scalar, Val,
};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// a: [...], b: no more elements than a -> y: a with element (i0, i1, ...) of b at offset + i0 + i1 nb1 + i2 nb2 ...
    /// Strides `nb` start at `nb1`; they and the offset count elements of a contiguous a.
    pub struct Set { nb: Vec<usize>, offset: Scalar<usize> }
}

/// Copies source 0 into result 0, unless it lies there.
pub(super) fn copy_a<'a>(call: &mut CpuCall<'a>) -> Result<&'a mut [u8]> {
    let a = call.get_unless_in_place::<u8>(0)?;
    let y = call.out::<u8>(0)?;
    if let Some(a) = a {
        rows(call.pool, y, 1, NS, |first, y| y.copy_from_slice(&a[first..first + y.len()]));
    }
    Ok(y)
}

/// Calls `f` with each row of source 1 and the index of its first element.
pub(super) fn rows_of_b(call: &CpuCall<'_>, mut f: impl FnMut(&[u8], &[usize; MAX_DIMS]) -> Result<()>) -> Result<()> {
    let b = call.x(1);
    if b.is_empty() {
        return Ok(());
    }
    let bytes = call.get::<u8>(1)?;
    let (starts, row) = (RowStarts::new(b), b.ne[0] * b.dtype.bytes());
    for r in 0..b.rows() {
        let (mut at, mut left) = ([0; MAX_DIMS], r);
        for d in 1..MAX_DIMS {
            at[d] = left % b.ne[d];
            left /= b.ne[d];
        }
        let start = starts.at(r);
        f(&bytes[start..start + row], &at)?;
    }
    Ok(())
}

/// Strides of source 1 in result 0 and its offset there. An offset that the run changed can point anywhere.
pub(super) fn placed(nb: &[usize], call: &CpuCall<'_>) -> Result<([usize; MAX_DIMS], usize)> {
    let (b, offset) = (call.x(1), call.word(0) as usize);
    let s = strides(nb, &b.ne);
    if end(&s, &b.ne, offset).is_none_or(|e| e > call.y(0).len()) {
        return Err(Error::shape("b does not fit into a at the offset of this run").arg("offset"));
    }
    Ok((s, offset))
}

/// The gradient of `b`: the region of `dy`.
pub(super) fn region_of(g: &mut Grad<'_>, dy: Val, b: &Desc, nb: &[usize], offset: usize) -> Result<Val> {
    let dy = contiguous(g, dy)?;
    // Strides and offset of an empty region were not checked, and lead nowhere.
    let (nb, offset) = if b.is_empty() { (&[][..], 0) } else { (nb, offset) };
    let (t, s) = (g.desc(dy)?.dtype, strides(nb, &b.ne));
    let size = t.bytes();
    let outer: Vec<usize> = s[1..b.extents().len()].iter().map(|s| s * size).collect();
    let part = g.op(View::new(t, b.extents().to_vec(), &outer, offset * size), &[dy])?;
    contiguous(g, part)
}

impl Op for Set {
    fn name(&self) -> &'static str {
        "set"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check_region(a, b, &self.nb, self.offset.0)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.copy_from_slice(&x[0].data);
        let s = strides(&self.nb, &x[1].ne);
        for (v, at) in x[1].data.iter().zip(x[1].indices()) {
            y[0].data[place(&s, self.offset.0, &at)] = *v;
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn layout(&self, i: usize) -> Layout {
        if i == 0 { Layout::Contiguous } else { Layout::Rows }
    }

    fn cpu_types(&self) -> &'static [DType] {
        PLAIN
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let (s, offset) = placed(&self.nb, call)?;
        let size = call.y(0).dtype.bytes();
        let y = copy_a(call)?;
        rows_of_b(call, |row, at| {
            let start = place(&s, offset, at) * size;
            y[start..start + row.len()].copy_from_slice(row);
            Ok(())
        })
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let b = g.desc(g.x(1))?;
        if g.wants(0) {
            // What b covers does not depend on a.
            let zeros = Desc::new(b.dtype, b.extents())?;
            let zeros = g.fill(zeros, 0.0)?;
            let da = g.op(self.clone(), &[dy, zeros])?;
            g.push(0, da);
        }
        if g.wants(1) {
            let db = region_of(g, dy, &b, &self.nb, self.offset.0)?;
            g.push(1, db);
        }
        Ok(())
    }
}

/// Cases that the two operators on regions share: `case(nb, offset)` makes an empty one.
pub(super) fn region_cases(case: fn(&[usize], usize) -> Case) -> Vec<Case> {
    let two = |nb: &[usize], offset, a: &[usize], b: &[usize]| case(nb, offset).f32(a).f32(b);
    vec![
        two(&[5, 20, 20], 7, &[5, 4], &[3, 2]).grad(),
        two(&[], 3, &[10], &[4]).grad().note("vector"),
        two(&[6, 18, 72], 1, &[6, 3, 4, 2], &[4, 2, 3, 2]).grad().note("four dimensions"),
        two(&[18, 6, 72], 0, &[6, 3, 4], &[6, 4, 3]).grad().note("planes exchanged"),
        two(&[4, 8, 8, 8], 0, &[4, 2, 1, 1, 3], &[3, 2, 1, 1, 2]).grad().note("five dimensions"),
        two(&[1], 2, &[9], &[1, 5]).grad().note("column into a vector"),
        two(&[], 0, &[3, 4], &[3, 4]).grad().note("all of it"),
        two(&[300], 50, &[300, 400], &[200, 399]).note("several blocks"),
        two(&[usize::MAX], 99, &[5, 4], &[5, 0]).grad().note("empty region"),
        two(&[5], 0, &[0, 4], &[0, 4]).note("empty"),
        two(&[5], 7, &[5, 4], &[3, 2]).in_place().note("in place"),
        two(&[5], 10, &[5, 4], &[5, 3]).fails(Kind::Shape).note("too far"),
        two(&[], 0, &[4], &[5]).fails(Kind::Shape).note("too large"),
        two(&[usize::MAX / 2], 0, &[8], &[2, 3]).fails(Kind::Shape).note("stride overflows"),
        two(&[2], 0, &[5, 4], &[3, 2]).fails(Kind::Argument).note("rows on each other"),
        two(&[0], 0, &[5, 4], &[3, 2]).fails(Kind::Argument).note("stride 0"),
        case(&[], 0).f32(&[5]).i32(&[2], 0, 3).fails(Kind::DType),
    ]
}

fn cases() -> Vec<Case> {
    let case = |nb: &[usize], offset| Case::new(Set { nb: nb.to_vec(), offset: Scalar(offset) }).tol(Tol::Exact);
    let mut v = region_cases(case);
    for t in [DType::I32, DType::F16, DType::I64, DType::U8] {
        let c = case(&[5], 6).input(t, &[5, 4], Values::Ints(0, 100), false);
        v.push(c.input(t, &[3, 2], Values::Ints(0, 100), false).note(t.name()));
    }
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "set".into(),
        r: [
            "ggml_set(ctx, a, b, nb1, nb2, nb3, offset)",
            "ggml_set_1d(ctx, a, b, offset)",
            "ggml_set_2d(ctx, a, b, nb1, offset)",
        ]
        .map(Into::into)
        .to_vec(),
        inputs: &["a", "b"],
        title: "Write a tensor into a region of another".into(),
        details: "A copy of `a` in which element `[i0, i1, i2, i3]` of `b` stands `offset + i1 nb1 + i2 nb2 + i3 \
                  nb3` bytes plus `i0` elements after the start; `a` itself does not change. Strides that a function \
                  does not take are those of `a`. The result has the shape of `a`; both tensors have one type. A \
                  region that reaches beyond `a`, or whose elements lie on each other, is an error."
            .into(),
        topic: "assembly",
        example: "".into(),
        make: |c: &Call<'_>| {
            let (nb, offset) = from_call(c)?;
            Ok(Arc::new(Set { nb, offset: Scalar(offset) }) as OpRef)
        },
        cases,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{Dst, Params, Serial, Src};

    fn made(function: &str, params: &Params) -> Result<Descs> {
        let x = [Desc::new(DType::F32, &[5, 4]).unwrap(), Desc::new(DType::F32, &[3, 2]).unwrap()];
        (entry().make)(&Call { function, params, x: &x })?.infer(&x)
    }

    #[test]
    fn bytes_become_elements() {
        let a = Desc::new(DType::F32, &[5, 4]).unwrap();
        let params = Params::new().with("offset", 8.0);
        let op = (entry().make)(&Call { function: "ggml_set_1d", params: &params, x: &[a, a] }).unwrap();
        assert_eq!(op.downcast::<Set>(), Some(&Set { nb: vec![5, 20, 20], offset: Scalar(2) }));
        let params = Params::new().with("nb1", 20.0).with("nb2", 3.0).with("nb3", 0.0).with("offset", 28.0);
        assert!(made("ggml_set", &params).is_ok(), "strides over one element are not read");
        assert!(made("ggml_set_2d", &params).is_ok());
    }

    #[test]
    fn an_offset_changed_by_the_run_is_checked() {
        let (a, b) = (Desc::new(DType::F32, &[4]).unwrap(), Desc::new(DType::F32, &[2]).unwrap());
        let run = |offset: u64| {
            let mut y = [0.0_f32; 4];
            let mut call = CpuCall {
                src: smallvec![
                    Src::Data { desc: &a, bytes: bytemuck::cast_slice(&[1.0_f32, 2.0, 3.0, 4.0]) },
                    Src::Data { desc: &b, bytes: bytemuck::cast_slice(&[8.0_f32, 9.0]) },
                ],
                dst: smallvec![Dst { desc: &a, bytes: bytemuck::cast_slice_mut(&mut y) }],
                scalars: &[offset],
                pool: &Serial,
            };
            let result = Set { nb: vec![], offset: Scalar(0) }.cpu(&mut call);
            drop(call);
            result.map(|()| y)
        };
        assert_eq!(run(2).unwrap(), [1.0, 2.0, 8.0, 9.0]);
        for offset in [3, u64::MAX] {
            assert_eq!(run(offset).unwrap_err().arg_name(), Some("offset"));
        }
    }

    #[test]
    fn messages_name_the_argument() {
        let at = |nb1, offset| {
            let e = made("ggml_set_2d", &Params::new().with("nb1", nb1).with("offset", offset)).unwrap_err();
            (e.kind(), e.arg_name().unwrap_or("").to_owned(), e.message().to_owned())
        };
        assert_eq!(at(18.0, 0.0).1, "nb1");
        assert_eq!(at(20.0, 2.0).1, "offset");
        let (kind, name, text) = at(20.0, 52.0);
        assert_eq!((kind, &name[..]), (Kind::Shape, "offset"));
        let want = "b ne=[3,2,1,1] at byte offset 52 does not fit into a ne=[5,4,1,1]: it needs 21 elements, a has 20";
        assert_eq!(text, want);
        assert_eq!(at(800.0, 0.0).1, "b");
    }
}
