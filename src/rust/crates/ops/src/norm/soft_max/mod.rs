//! Softmax over dimension 0 of `x scale + slope mask`, where the slope of each head follows ALiBi.
//!
//! Source of the slopes: Press, Smith and Lewis, "Train short, test long: attention with linear biases enables input
//! length extrapolation", ICLR 2022.

mod cpu;

use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Kind, MAX_DIMS, Op, OpRef, Params, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x: [n, rows, heads, batch], mask (optional): [n, rows or more, divides heads, divides batch]
    /// -> y: [n, rows, heads, batch]
    pub struct SoftMax { scale: f32, max_bias: f32 }
}

op_struct! {
    /// dy: [n, ...], y: [n, ...] -> dx: [n, ...]
    pub struct SoftMaxBack { scale: f32 }
}

impl Default for SoftMax {
    fn default() -> SoftMax {
        SoftMax { scale: 1.0, max_bias: 0.0 }
    }
}

/// What the mask of head `h` of `heads` is multiplied by.
fn slope(max_bias: f32, h: usize, heads: usize) -> f64 {
    if max_bias <= 0.0 {
        return 1.0;
    }
    // The largest power of two that is no larger than the number of heads.
    let whole = (1_usize << heads.ilog2()) as f64;
    let max_bias = f64::from(max_bias);
    if (h as f64) < whole {
        (-max_bias / whole * (h as f64 + 1.0)).exp2()
    } else {
        (-max_bias / (2.0 * whole) * (2.0 * (h as f64 - whole) + 1.0)).exp2()
    }
}

fn check_mask(a: &Desc, mask: &Desc) -> Result<()> {
    if mask.dtype != DType::F16 {
        check::same_dtype("a", a, "mask", mask)?;
    }
    let fits = mask.ne[0] == a.ne[0]
        && mask.ne[1] >= a.ne[1]
        && (2..MAX_DIMS).all(|d| a.ne[d].checked_rem(mask.ne[d]).map_or(a.ne[d] == 0, |rest| rest == 0));
    if fits {
        return Ok(());
    }
    Err(Error::shape(format!(
        "mask {} does not fit a {}: it needs the same ne0, at least as many rows, and ne2, ne3 that divide those of a",
        mask.show(),
        a.show()
    ))
    .arg("mask")
    .expected(format!("ne0 = {}, ne1 >= {}", a.ne[0], a.ne[1]))
    .got(mask.show()))
}

impl Op for SoftMax {
    fn name(&self) -> &'static str {
        "soft_max"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let (a, mask) = match x {
            [a] => (a, None),
            [a, mask] => (a, Some(mask)),
            _ => return Err(Error::internal(format!("{} sources given, 1 or 2 expected", x.len()))),
        };
        check::float("a", a)?;
        if let Some(mask) = mask {
            check_mask(a, mask)?;
        }
        if !self.scale.is_finite() {
            return Err(Error::argument("scale", format!("scale must be a finite number, got {}", self.scale)));
        }
        if !(self.max_bias >= 0.0 && self.max_bias.is_finite()) {
            return Err(Error::argument("max_bias", format!("max_bias must be zero or more, got {}", self.max_bias)));
        }
        if self.max_bias > 0.0 && mask.is_none() {
            return Err(Error::argument("max_bias", "max_bias needs a mask: its slopes multiply the mask"));
        }
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (a, mask) = (x[0], x.get(1));
        let n = a.ne[0];
        for at in a.indices().step_by(n.max(1)) {
            let row = a.at(&at);
            let mut z: Vec<f64> = a.data[row..row + n].iter().map(|v| v * f64::from(self.scale)).collect();
            if let Some(mask) = mask {
                let slope = slope(self.max_bias, at[2], a.ne[2]);
                for (i, z) in z.iter_mut().enumerate() {
                    let mut im = at;
                    im[0] = i;
                    *z += slope * mask.wrap(&im);
                }
            }
            if z.iter().all(|&z| z == f64::NEG_INFINITY) {
                // Nothing may be looked at: zeros, not the 0 / 0 of the formula.
                continue;
            }
            let max = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = z.iter().map(|z| (z - max).exp()).sum();
            for (i, z) in z.iter().enumerate() {
                y[0].data[row + i] = (z - max).exp() / sum;
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
        cpu::forward(self, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * cpu::NS
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(SoftMaxBack { scale: self.scale }, &[dy, g.y(0)])?;
        g.push(0, dx);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }
}

impl Op for SoftMaxBack {
    fn name(&self) -> &'static str {
        "soft_max_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, y] = check::sources(x)?;
        check::float("a", dy)?;
        check::same_dtype("a", dy, "b", y)?;
        check::same_shape("a", dy, "b", y)?;
        Ok(smallvec![dy.contiguous()])
    }

    fn oracle(&self, x: &[&Array], dx: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0].max(1);
        for ((dy, y), dx) in x[0].data.chunks(n).zip(x[1].data.chunks(n)).zip(dx[0].data.chunks_mut(n)) {
            let dot: f64 = dy.iter().zip(y).map(|(g, y)| g * y).sum();
            for i in 0..n {
                dx[i] = f64::from(self.scale) * y[i] * (dy[i] - dot);
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
        cpu::backward(self.scale, call)
    }
}

/// Parameter `name`, or `default` for a function that does not have it.
fn or(params: &Params, name: &str, default: f32) -> Result<f32> {
    if params.find(name).is_some() { params.get(name) } else { Ok(default) }
}

/// The forward operator.
pub fn entry() -> Entry {
    Entry {
        name: "soft_max".into(),
        r: vec![
            "ggml_soft_max(ctx, a)".into(),
            "ggml_soft_max_inplace(ctx, a)".into(),
            "ggml_soft_max_ext(ctx, a, mask = NULL, scale = 1, max_bias = 0)".into(),
            "ggml_soft_max_ext_inplace(ctx, a, mask = NULL, scale = 1, max_bias = 0)".into(),
        ],
        inputs: &["a", "mask?"],
        title: "Softmax".into(),
        details: "`softmax(a scale + slope(h) mask)` over dimension 0. `a`: `[n, rows, heads, batch]`, f32. The \
                  optional `mask`: `[n, m1, m2, m3]`, f32 or f16, with `m1 >= rows`, and `m2`, `m3` that divide \
                  `heads`, `batch`; it is added and repeats as a binary operand does. `max_bias > 0` needs a mask \
                  and gives head `h` of `heads` the slope `m0^(h + 1)` for `h < n2`, else `m1^(2 (h - n2) + 1)`, \
                  with `n2 = 2^floor(log2(heads))`, `m0 = 2^(-max_bias / n2)`, `m1 = 2^(-max_bias / (2 n2))` (Press, \
                  Smith and Lewis, 2022); otherwise the slope is 1. A row that is masked completely gives zeros. The \
                  mask has no gradient."
            .into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| {
            let op = SoftMax { scale: or(c.params, "scale", 1.0)?, max_bias: or(c.params, "max_bias", 0.0)? };
            Ok(Arc::new(op) as OpRef)
        },
        cases,
    }
}

/// The backward operator: first the gradient that arrives, then the forward result.
pub fn back_entry() -> Entry {
    Entry {
        name: "soft_max_back".into(),
        r: vec![
            "ggml_soft_max_ext_back(ctx, a, b, scale = 1, max_bias = 0)".into(),
            "ggml_soft_max_ext_back_inplace(ctx, a, b, scale = 1, max_bias = 0)".into(),
        ],
        inputs: &["a", "b"],
        title: "Gradient of softmax".into(),
        details: "`scale b (a - sum(a b))` over dimension 0. `a`: the gradient that reaches the result, `b`: the \
                  result of softmax, both `[n, ...]`, f32. `max_bias` changes nothing: its slopes multiply the mask, \
                  not the input."
            .into(),
        topic: "normalisation",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(SoftMaxBack { scale: or(c.params, "scale", 1.0)? }) as OpRef),
        cases: || {
            let op = || Case::new(SoftMaxBack { scale: 0.5 });
            let y =
                |c: Case, ne: &[usize]| c.input(DType::F32, ne, Values::Probabilities, true).tol(Tol::Reduce(ne[0]));
            let f64s = |c: Case| c.input(DType::F64, &[33, 4], Values::Uniform(0.0, 1.0), true);
            vec![
                y(op().f32(&[64, 5, 2]), &[64, 5, 2]),
                y(op().f32(&[1, 3]), &[1, 3]),
                y(op().f32(&[100, 700]), &[100, 700]).note("several blocks"),
                y(op().f32(&[33, 4]), &[33, 4]).in_place().note("in place"),
                f64s(f64s(op())).tol(Tol::Reduce(33)).note("f64"),
                op().f32(&[0, 3]).f32(&[0, 3]).note("empty"),
                op().f32(&[4]).f32(&[5]).fails(Kind::Shape),
            ]
        },
    }
}

/// Every other column hidden, and one row in four altogether.
const HOLES: &[f64] =
    &[f64::NEG_INFINITY, 0.0, -0.5, f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, 0.0, 1.0, 0.0];

fn cases() -> Vec<Case> {
    let op = || SoftMax { scale: 0.7, max_bias: 0.0 };
    let alibi = || SoftMax { scale: 0.7, max_bias: 8.0 };
    let mask = |c: Case, ne: &[usize]| c.f32(ne).no_grad();
    let plain = |ne: &[usize]| Case::new(SoftMax::default()).f32(ne).tol(Tol::Reduce(ne[0]));
    let ext = |op: SoftMax, ne: &[usize], m: &[usize]| mask(Case::new(op).f32(ne), m).tol(Tol::Reduce(ne[0]));
    vec![
        plain(&[10, 5, 2, 3]).grad(),
        plain(&[1, 4]).grad().note("one column"),
        plain(&[1025, 3]).grad(),
        plain(&[100, 300, 2]).note("several blocks"),
        plain(&[4, 3]).values(Values::Given(&[-1000.0, 1000.0, 999.0])).note("far apart"),
        plain(&[4, 3]).values(Values::Given(&[f64::NEG_INFINITY, 0.0, 1.0, 2.0])).note("minus infinity"),
        plain(&[0, 3]).note("empty rows"),
        plain(&[3, 0]).note("no rows"),
        plain(&[33, 4]).in_place().note("in place"),
        Case::new(op()).f32(&[9, 4]).tol(Tol::Reduce(9)).grad().note("scale"),
        ext(op(), &[9, 4], &[9, 4]).grad().note("mask"),
        ext(op(), &[9, 4, 2, 3], &[9, 6]).grad().note("one mask, more rows than needed"),
        ext(op(), &[5, 4, 6, 4], &[5, 4, 3, 2]).grad().note("mask repeats"),
        ext(op(), &[5, 3, 2, 1, 2], &[5, 3, 1, 1, 2]).grad().note("five dimensions"),
        ext(op(), &[5, 4], &[5, 4]).values(Values::Given(HOLES)).grad().note("hidden columns and rows"),
        ext(op(), &[5, 4, 2], &[5, 4]).in_place().note("in place with mask"),
        ext(alibi(), &[5, 4, 8], &[5, 4]).grad().note("slopes of 8 heads"),
        ext(alibi(), &[5, 4, 6, 2], &[5, 4]).grad().note("slopes of 6 heads"),
        Case::new(op())
            .f32(&[33, 4, 2])
            .input(DType::F16, &[33, 4], Values::Uniform(-2.0, 2.0), false)
            .tol(Tol::Reduce(33))
            .grad()
            .note("f16 mask"),
        Case::new(op())
            .input(DType::F64, &[33, 4], Values::Uniform(-2.0, 2.0), true)
            .input(DType::F64, &[33, 4], Values::Uniform(-2.0, 2.0), false)
            .tol(Tol::Reduce(33))
            .note("f64"),
        ext(op(), &[5, 4], &[4, 4]).fails(Kind::Shape),
        ext(op(), &[5, 4], &[5, 3]).fails(Kind::Shape).note("too few rows of the mask"),
        ext(op(), &[5, 4, 3], &[5, 4, 2]).fails(Kind::Shape).note("heads do not divide"),
        Case::new(alibi()).f32(&[4]).fails(Kind::Argument).note("slopes without a mask"),
        Case::new(SoftMax { scale: 1.0, max_bias: -1.0 }).f32(&[4]).fails(Kind::Argument),
        Case::new(SoftMax { scale: f32::NAN, max_bias: 0.0 }).f32(&[4]).fails(Kind::Argument),
        Case::new(op()).i32(&[4], 0, 3).fails(Kind::DType),
        Case::new(op()).f32(&[4]).i32(&[4], 0, 3).fails(Kind::DType),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_of_the_paper() {
        // Eight heads and a largest bias of 8: 1/2, 1/4, ..., 1/256.
        for h in 0..8 {
            assert_eq!(slope(8.0, h, 8), 0.5_f64.powi(h as i32 + 1));
        }
        // Six heads: four as if there were four, then two of those of eight.
        let of_6: Vec<f64> = (0..6).map(|h| slope(8.0, h, 6)).collect();
        assert_eq!(of_6, [0.25, 0.0625, 0.015_625, 0.003_906_25, 0.5, 0.125]);
        assert_eq!(slope(0.0, 3, 6), 1.0);
    }

    #[test]
    fn values_by_hand() {
        // exp(1), exp(2), exp(3) over their sum, with Python; the shift of 1000 must not matter.
        let x = Array::from(&[3], vec![1001.0, 1002.0, 1003.0]);
        let mut y = [Array::from(&[3], vec![0.0; 3])];
        SoftMax::default().oracle(&[&x], &mut y).unwrap();
        for (got, want) in
            y[0].data.iter().zip([0.090_030_573_170_380_46, 0.244_728_471_054_797_67, 0.665_240_955_774_821_9])
        {
            assert!((got - want).abs() < 1e-15, "{got}");
        }
    }

    #[test]
    fn a_row_masked_completely_gives_zeros() {
        let x = Array::from(&[2, 2], vec![1.0, 1.0, 5.0, 6.0]);
        let mask = Array::from(&[2, 2], vec![0.0, 0.0, f64::NEG_INFINITY, f64::NEG_INFINITY]);
        let mut y = [Array::from(&[2, 2], vec![0.0; 4])];
        SoftMax::default().oracle(&[&x, &mask], &mut y).unwrap();
        assert_eq!(y[0].data, [0.5, 0.5, 0.0, 0.0]);
    }
}
