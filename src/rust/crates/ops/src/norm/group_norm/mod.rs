//! Normalisation of groups of channels to mean 0 and variance 1: the elements of a group, all its channels and
//! positions, share a mean and a variance.
//!
//! Source: Wu and He, "Group normalization", 2018 (without gain and bias; population variance).

mod cpu;

use super::check_eps;
use crate::{Call, Case, Entry, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Kind, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::ops::Range;
use std::sync::Arc;

op_struct! {
    /// x: [W, H, C, N] -> y: [W, H, C, N], groups of ceil(C / n_groups) channels
    pub struct GroupNorm { n_groups: usize, eps: f32 }
}

op_struct! {
    /// dy: [W, H, C, N], x: [W, H, C, N] -> dx: [W, H, C, N]
    pub struct GroupNormBack { n_groups: usize, eps: f32 }
}

fn check_groups(n_groups: usize, eps: f32) -> Result<()> {
    check_eps(eps)?;
    if n_groups > 0 {
        return Ok(());
    }
    Err(Error::argument("n_groups", "n_groups must be at least 1, got 0").expected("at least 1").got("0"))
}

/// The elements of each group, which follow each other.
fn groups(ne: &[usize; MAX_DIMS], n_groups: usize) -> Vec<Range<usize>> {
    let (plane, channels) = (ne[0] * ne[1], ne[2]);
    let width = channels.div_ceil(n_groups);
    let mut out = Vec::new();
    for item in 0..ne[3..].iter().product() {
        let mut c = 0;
        while c < channels {
            let end = (c + width).min(channels);
            out.push((item * channels + c) * plane..(item * channels + end) * plane);
            c = end;
        }
    }
    out
}

/// Mean and `1 / sqrt(var + eps)` of a group.
fn moments(x: &[f64], eps: f32) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let var = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, 1.0 / (var + f64::from(eps)).sqrt())
}

impl Op for GroupNorm {
    fn name(&self) -> &'static str {
        "group_norm"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        check_groups(self.n_groups, self.eps)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for g in groups(&x[0].ne, self.n_groups) {
            let (mean, r) = moments(&x[0].data[g.clone()], self.eps);
            for i in g {
                y[0].data[i] = (x[0].data[i] - mean) * r;
            }
        }
        Ok(())
    }

    op_fields!();

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.n_groups, self.eps, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(GroupNormBack { n_groups: self.n_groups, eps: self.eps }, &[dy, g.x(0)])?;
        g.push(0, dx);
        Ok(())
    }
}

impl Op for GroupNormBack {
    fn name(&self) -> &'static str {
        "group_norm_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, x] = check::sources(x)?;
        check::float("a", dy)?;
        check::same_dtype("a", dy, "b", x)?;
        check::same_shape("a", dy, "b", x)?;
        check_groups(self.n_groups, self.eps)?;
        Ok(smallvec![x.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        // With h = (x - mean) r: dx = r (dy - mean(dy) - h mean(dy h)), all over a group.
        for range in groups(&x[1].ne, self.n_groups) {
            let (g, v) = (&x[0].data[range.clone()], &x[1].data[range.clone()]);
            let n = v.len() as f64;
            let (mean, r) = moments(v, self.eps);
            let g_mean = g.iter().sum::<f64>() / n;
            let gh_mean = g.iter().zip(v).map(|(g, v)| g * (v - mean) * r).sum::<f64>() / n;
            for ((w, g), v) in y[0].data[range].iter_mut().zip(g).zip(v) {
                *w = r * (g - g_mean - (v - mean) * r * gh_mean);
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(self.n_groups, self.eps, call)
    }
}

/// The forward operator.
pub fn entry() -> Entry {
    Entry {
        name: "group_norm".into(),
        r: vec![
            "ggml_group_norm(ctx, a, n_groups, eps = 1e-05)".into(),
            "ggml_group_norm_inplace(ctx, a, n_groups, eps = 1e-05)".into(),
        ],
        inputs: &["a"],
        title: "Normalisation of groups of channels to mean 0 and variance 1".into(),
        details: "`y = (x - mean) / sqrt(var + eps)` over all elements of a group of channels, with the population \
                  variance. `a`: `[W, H, C, N]`, f32; groups have `ceil(C / n_groups)` channels, the last one may \
                  have fewer; the result has the shape of `a`. Source: Wu and He (2018), without gain and bias."
            .into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(GroupNorm::from_params(c.params)?) as OpRef),
        cases: || {
            let of = |n_groups, ne: &[usize]| {
                let width = ne.get(2).map_or(1, |c| c.div_ceil(n_groups));
                let n = ne[0] * ne.get(1).unwrap_or(&1) * width;
                Case::new(GroupNorm { n_groups, eps: 1e-5 }).f32(ne).tol(Tol::Reduce(n))
            };
            vec![
                of(2, &[5, 4, 6, 2]).grad(),
                of(4, &[3, 2, 6]).grad().note("three groups of two"),
                of(2, &[3, 2, 5, 2]).grad().note("last group smaller"),
                of(1, &[4, 3, 3, 2]).grad().note("one group"),
                of(6, &[3, 2, 6]).grad().note("one channel each"),
                of(9, &[3, 2, 4]).grad().note("more groups than channels"),
                of(1, &[7]).grad().note("vector"),
                of(2, &[2, 3, 4, 2, 2]).grad().note("five dimensions"),
                of(8, &[32, 16, 64, 3]).note("several blocks"),
                of(3, &[33, 4, 7, 2]).in_place().note("in place"),
                of(2, &[0, 4, 6]).note("empty planes"),
                of(2, &[5, 4, 0]).note("no channels"),
                of(2, &[5, 4, 6, 0]).note("no items"),
                Case::new(GroupNorm { n_groups: 0, eps: 1e-5 }).f32(&[4]).fails(Kind::Argument),
                Case::new(GroupNorm { n_groups: 1, eps: -1.0 }).f32(&[4]).fails(Kind::Argument),
                Case::new(GroupNorm { n_groups: 1, eps: 0.0 }).i32(&[4], 0, 3).fails(Kind::DType),
            ]
        },
    }
}

/// The backward operator: first the gradient that arrives, then the forward input.
pub fn back_entry() -> Entry {
    Entry {
        name: "group_norm_back".into(),
        r: Vec::new(),
        inputs: &["a", "b"],
        title: "Gradient of the normalisation of groups of channels".into(),
        details: "`a`: the gradient that reaches the result, `b`: the forward input, both `[W, H, C, N]`, f32.".into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(GroupNormBack::from_params(c.params)?) as OpRef),
        cases: || {
            let of = |n_groups, ne: &[usize], n| {
                Case::new(GroupNormBack { n_groups, eps: 1e-5 }).f32(ne).f32(ne).tol(Tol::Reduce(n))
            };
            vec![
                of(2, &[5, 4, 6, 2], 60),
                of(2, &[3, 2, 5, 2], 18).note("last group smaller"),
                of(8, &[32, 16, 64, 3], 4096).note("several blocks"),
                of(2, &[5, 4, 0], 1).note("no channels"),
                Case::new(GroupNormBack { n_groups: 1, eps: 1e-5 }).f32(&[4]).f32(&[5]).fails(Kind::Shape),
                Case::new(GroupNormBack { n_groups: 0, eps: 1e-5 }).f32(&[4]).f32(&[4]).fails(Kind::Argument),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_contract() {
        // ceil(5 / 3) = 2 channels each, so the last group has one.
        let g = groups(&[2, 1, 5, 2, 1, 1, 1, 1], 3);
        assert_eq!(g, [0..4, 4..8, 8..10, 10..14, 14..18, 18..20]);
        // ceil(5 / 4) = 2 as well: three groups, not four.
        assert_eq!(groups(&[1, 1, 5, 1, 1, 1, 1, 1], 4).len(), 3);
    }
}
