//! R's view of views, and their cases.

use super::{View, ViewBack, ViewTensor};
use crate::entry::{Call, Entry};
use crate::shape::reshape::extents;
use crate::{Case, Tol};
use ggmlr_core::{DType, Error, Kind, OpRef, Result, Scalar};
use std::sync::Arc;

fn view(c: &Call<'_>) -> Result<OpRef> {
    let ne = extents(c)?;
    let outer: Vec<usize> = (1..ne.len()).map(|i| c.params.get(&format!("nb{i}"))).collect::<Result<_>>()?;
    let a = c.x.first().ok_or_else(|| Error::internal("a view without a source"))?;
    Ok(Arc::new(View::new(a.dtype, ne, &outer, c.params.get("offset")?)))
}

fn f32_view(ne: &[usize], outer: &[usize], offset: usize) -> Case {
    Case::new(View::new(DType::F32, ne.to_vec(), outer, offset)).tol(Tol::Exact)
}

fn view_cases() -> Vec<Case> {
    let mut v = vec![
        f32_view(&[5], &[], 12).f32(&[10]).contiguous().grad().note("part"),
        f32_view(&[3, 4], &[20], 8).f32(&[5, 4]).contiguous().grad().note("part of rows"),
        f32_view(&[2, 3, 4], &[24, 72], 16).f32(&[6, 3, 4]).contiguous().grad().note("heads of a fused projection"),
        f32_view(&[2, 2, 2, 2], &[16, 48, 96], 0).f32(&[4, 3, 2, 2]).contiguous().grad().note("four dimensions"),
        f32_view(&[3, 4], &[4], 0).f32(&[8]).contiguous().grad().note("sliding window"),
        f32_view(&[3, 4], &[0], 4).f32(&[5]).contiguous().grad().note("row shown again"),
        f32_view(&[1], &[], 36).f32(&[10]).contiguous().grad().note("last element"),
        f32_view(&[0, 3], &[0], 40).f32(&[10]).contiguous().note("empty"),
        Case::new(View::new(DType::I32, vec![3], &[], 4)).i32(&[5], -9, 9).contiguous().tol(Tol::Exact),
        f32_view(&[100], &[], 4096).f32(&[4]).contiguous().fails(Kind::Shape).note("view past the end"),
        f32_view(&[3, 4], &[20], 12).f32(&[5, 4]).contiguous().fails(Kind::Shape).note("one element too far"),
        f32_view(&[2, 3], &[usize::MAX / 8 * 4], 0).f32(&[8]).contiguous().fails(Kind::Shape).note("stride overflows"),
        f32_view(&[2], &[], 2).f32(&[4]).contiguous().fails(Kind::Argument).note("offset inside an element"),
        f32_view(&[2, 2], &[6], 0).f32(&[4]).contiguous().fails(Kind::Argument).note("stride inside an element"),
    ];
    v.push(f32_view(&[0], &[], 44).f32(&[10]).contiguous().fails(Kind::Shape).note("empty past the end"));
    v
}

fn back_case(source: &[usize], ne: &[usize], outer: &[usize], offset: usize) -> Case {
    Case::new(ViewBack {
        ne: ne.to_vec(),
        nb: std::iter::once(1).chain(outer.iter().copied()).collect(),
        source_ne: source.to_vec(),
        source_nb: (0..source.len()).map(|i| source[..i].iter().product()).collect(),
        offset: Scalar(offset),
    })
    .f32(ne)
    .no_grad()
}

fn back_cases() -> Vec<Case> {
    let permuted =
        || ViewBack { ne: vec![3, 2], nb: vec![1, 6], source_ne: vec![4, 3], source_nb: vec![3, 1], offset: Scalar(0) };
    let gaps =
        || ViewBack { ne: vec![4], nb: vec![1], source_ne: vec![2, 2], source_nb: vec![1, 3], offset: Scalar(0) };
    let mut other = back_case(&[8], &[3], &[], 0).fails(Kind::Shape).note("another shape");
    other.inputs.clear();
    vec![
        other.f32(&[4]),
        back_case(&[64, 9, 5], &[20, 9, 5], &[64, 576], 7),
        back_case(&[300, 400], &[100, 400], &[300], 100).note("on several threads"),
        back_case(&[8], &[3, 4], &[1], 0).note("sliding window"),
        back_case(&[5], &[3, 4], &[0], 1).note("row shown again"),
        back_case(&[10], &[1], &[], 9).note("last element"),
        back_case(&[10], &[0, 3], &[0], 10).note("empty"),
        Case::new(permuted()).f32(&[3, 2]).no_grad().note("source with strides"),
        Case::new(gaps()).f32(&[4]).no_grad().fails(Kind::NoGradient).note("between the elements of its source"),
    ]
}

fn whole() -> Entry {
    Entry {
        name: "view_tensor".into(),
        r: vec!["ggml_view_tensor(ctx, src)".into()],
        inputs: &["src"],
        title: "View of a whole tensor".into(),
        details: "Shares the data, shape and strides of `src`.".into(),
        topic: "shape",
        example: "".into(),
        make: |_| Ok(Arc::new(ViewTensor {}) as OpRef),
        cases: || {
            let op = || Case::new(ViewTensor {}).tol(Tol::Exact);
            vec![op().f32(&[5, 3]).grad(), op().f32(&[0, 3]).note("empty"), op().i32(&[4], -9, 9)]
        },
    }
}

fn back() -> Entry {
    Entry {
        name: "view_back".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Gradient of a view".into(),
        details: "Used by gradients: adds each element of `a` to the element of the source that the view shows.".into(),
        topic: "shape",
        example: "".into(),
        make: |_| Err(Error::internal("only the gradient rule of a view knows its strides and those of its source")),
        cases: back_cases,
    }
}

/// Entries of views.
pub fn entries() -> Vec<Entry> {
    let view = Entry {
        name: "view".into(),
        r: [
            "ggml_view_1d(ctx, a, ne0, offset = 0)",
            "ggml_view_2d(ctx, a, ne0, ne1, nb1, offset = 0)",
            "ggml_view_3d(ctx, a, ne0, ne1, ne2, nb1, nb2, offset = 0)",
            "ggml_view_4d(ctx, a, ne0, ne1, ne2, ne3, nb1, nb2, nb3, offset = 0)",
        ]
        .map(Into::into)
        .to_vec(),
        inputs: &["a"],
        title: "View of a part".into(),
        details: "Shows the elements of `a` at `offset + i1 nb1 + i2 nb2 + i3 nb3` bytes, rows of `ne0` of them; shape \
                  `[ne0, ne1, ...]`. Strides and offset must be multiples of the element size. A view that reaches beyond \
                  `a` is an error. Elements shown several times get the sum of their gradients."
            .into(),
        topic: "shape",
        example: "".into(),
        make: view,
        cases: view_cases,
    };
    vec![view, whole(), back()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{Desc, Op, Params};

    #[test]
    fn the_message_shows_both_sizes() {
        let a = Desc::new(DType::F32, &[4]).unwrap();
        let p = Params::new().with("ne0", 100.0).with("offset", 4096.0);
        let op = view(&Call { function: "ggml_view_1d", params: &p, x: &[a] }).unwrap();
        let e = op.infer(&[a]).unwrap_err();
        assert_eq!(e.message(), "view of 400 bytes at 4096, source has 16");
    }

    #[test]
    fn missing_strides_follow_without_a_gap() {
        let a = Desc::new(DType::F32, &[100]).unwrap();
        let y = View::new(DType::F32, vec![2, 3, 2], &[16], 0).infer(&[a]).unwrap();
        assert_eq!(&y[0].nb[..4], &[4, 16, 48, 96]);
    }
}
