//! Cross entropy of a target distribution and the softmax of logits: the mean over rows of
//! `w sum_k t_k (log(sum_j exp(x_j)) - x_k)`.

mod cpu;

use super::{check_upstream, check_weight, sources};
use crate::{Call, Case, Entry, Tol, Values, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Grad, Kind, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

op_struct! {
    /// x, t: [K, ...], w (optional): [1, ...] -> y: [1]
    pub struct CrossEntropyLoss {}
}

op_struct! {
    /// dy: [1], x, t: [K, ...], w (optional): [1, ...] -> dx: [K, ...]
    pub struct CrossEntropyLossBack {}
}

/// The logits, after a check of all sources but the upstream gradient.
fn check_sources<'a>(x: &'a [Desc], skip: usize, names: [&str; 2]) -> Result<&'a Desc> {
    let (a, t, w) = sources(x, skip)?;
    check::float(names[0], a)?;
    check::same_dtype(names[0], a, names[1], t)?;
    check::same_shape(names[0], a, names[1], t)?;
    check_weight(names[0], a, w, false)?;
    Ok(a)
}

/// Logarithm of the sum of exponentials.
fn log_sum_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
}

impl Op for CrossEntropyLoss {
    fn name(&self) -> &'static str {
        "cross_entropy_loss"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let a = check_sources(x, 0, ["a", "b"])?;
        Ok(smallvec![Desc::new(a.dtype, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (a, t, w) = (x[0], x[1], x.get(2));
        if a.is_empty() {
            // The mean of nothing counts as zero.
            return Ok(());
        }
        let k = a.ne[0];
        let mut sum = 0.0;
        for (r, (a, t)) in a.data.chunks(k).zip(t.data.chunks(k)).enumerate() {
            let total = log_sum_exp(a);
            let mut loss = 0.0;
            for i in 0..k {
                // A class that is ruled out may have the logit -Inf: 0 log 0 is 0.
                if t[i] != 0.0 {
                    loss += t[i] * (total - a[i]);
                }
            }
            sum += w.map_or(1.0, |w| w.data[r]) * loss;
        }
        y[0].data[0] = sum / (a.len() / k) as f64;
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * cpu::NS
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut src = vec![g.dy()?];
        src.extend((0..g.n_x()).map(|i| g.x(i)));
        let dx = g.op(CrossEntropyLossBack {}, &src)?;
        g.push(0, dx);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }
}

impl Op for CrossEntropyLossBack {
    fn name(&self) -> &'static str {
        "cross_entropy_loss_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let b = check_sources(x, 1, ["b", "c"])?;
        check::same_dtype("b", b, "a", &x[0])?;
        check_upstream("a", &x[0])?;
        Ok(smallvec![b.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        // d/dx_j of sum_k t_k (log(sum_i exp(x_i)) - x_k) is softmax(x)_j sum_k t_k - t_j.
        let (dy, a, t, w) = (x[0].data[0], x[1], x[2], x.get(3));
        let k = a.ne[0].max(1);
        let rows = a.len() / k;
        for (r, (a, t)) in a.data.chunks(k).zip(t.data.chunks(k)).enumerate() {
            let total = log_sum_exp(a);
            let mass: f64 = t.iter().sum();
            let scale = dy * w.map_or(1.0, |w| w.data[r]) / rows as f64;
            for i in 0..k {
                y[0].data[r * k + i] = scale * ((a[i] - total).exp() * mass - t[i]);
            }
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[1].len() as f64 * cpu::NS
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

/// The loss.
pub fn entry() -> Entry {
    Entry {
        name: "cross_entropy_loss".into(),
        r: vec!["ggml_cross_entropy_loss(ctx, a, b)".into()],
        inputs: &["a", "b", "w?"],
        title: "Cross entropy of logits".into(),
        details: "`-sum(b log_softmax(a)) / rows`, one number. `a`: the logits, `b`: the target probabilities, both \
                  `[K, ...]`, f32; the softmax runs over dimension 0. A class with target 0 adds nothing, even with \
                  the logit `-Inf`. The gradient flows to `a`."
            .into(),
        topic: "losses",
        example: "ctx <- ggml_init()\n\
                  a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 2)\n\
                  b <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 2)\n\
                  ggml_set_f32(a, c(0, 0, 2, 0))\n\
                  ggml_set_f32(b, c(1, 0, 1, 0))\n\
                  y <- ggml_cross_entropy_loss(ctx, a, b)\n\
                  ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                  ggml_get_f32(y)\n\
                  ggml_free(ctx)"
            .into(),
        make: |c: &Call<'_>| Ok(Arc::new(CrossEntropyLoss::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || Case::new(CrossEntropyLoss {});
            let case = |ne: &[usize]| target(op().f32(ne), ne).tol(Tol::Reduce(ne.iter().product()));
            let weighted = |ne: &[usize], w: &[usize]| case(ne).input(DType::F32, w, Values::Uniform(0.0, 2.0), false);
            vec![
                case(&[5, 7]).grad(),
                case(&[10, 3, 2]).grad().note("three dimensions"),
                case(&[1, 4]).grad().note("one class"),
                op().f32(&[5, 3]).f32(&[5, 3]).no_grad().tol(Tol::Reduce(15)).grad().note("target does not sum to one"),
                weighted(&[5, 7], &[1, 7]).grad().note("weights of rows"),
                weighted(&[5, 3, 2], &[1, 3, 2]).grad().note("weights of rows, three dimensions"),
                case(&[10, 3000]).note("several blocks"),
                case(&[5003, 9]).note("many classes"),
                op().f32(&[3, 2])
                    .values(Values::Given(&[f64::NEG_INFINITY, 1.0, 500.0]))
                    .f32(&[3, 2])
                    .values(Values::Given(&[0.0, 0.5, 0.5]))
                    .tol(Tol::Reduce(6))
                    .note("a class ruled out"),
                case(&[0, 4]).note("empty"),
                op().input(DType::F64, &[5, 4], Values::Uniform(-2.0, 2.0), true)
                    .input(DType::F64, &[5, 4], Values::Probabilities, false)
                    .tol(Tol::Reduce(20))
                    .note("f64"),
                op().f32(&[5, 7]).f32(&[5, 6]).fails(Kind::Shape),
                weighted(&[5, 7], &[5, 7]).fails(Kind::Shape).note("weights of elements"),
                op().i32(&[5], 0, 1).i32(&[5], 0, 1).fails(Kind::DType),
            ]
        },
    }
}

fn target(c: Case, ne: &[usize]) -> Case {
    c.input(DType::F32, ne, Values::Probabilities, false)
}

/// The gradient: what arrives, then the logits and the target.
pub fn back_entry() -> Entry {
    Entry {
        name: "cross_entropy_loss_back".into(),
        r: vec!["ggml_cross_entropy_loss_back(ctx, a, b, c)".into()],
        inputs: &["a", "b", "c", "w?"],
        title: "Gradient of the cross entropy of logits".into(),
        details: "`a (softmax(b) sum(c) - c) / rows`, the sum over dimension 0. `a`: the gradient that reaches the \
                  loss, one number; `b`: the logits, `c`: the target probabilities, both `[K, ...]`, f32; the result \
                  has their shape."
            .into(),
        topic: "losses",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(CrossEntropyLossBack::from_params(c.params)?) as OpRef),
        cases: || {
            let op = || Case::new(CrossEntropyLossBack {}).f32(&[1]);
            let case = |ne: &[usize]| target(op().f32(ne), ne).tol(Tol::Reduce(ne[0]));
            vec![
                case(&[5, 7]),
                case(&[1, 4]).note("one class"),
                op().f32(&[5, 3]).f32(&[5, 3]).tol(Tol::Reduce(5)).note("target does not sum to one"),
                case(&[5, 7]).input(DType::F32, &[1, 7], Values::Uniform(0.0, 2.0), false).note("weights of rows"),
                case(&[10, 3000]).note("several blocks"),
                case(&[0, 4]).note("empty"),
                Case::new(CrossEntropyLossBack {}).f32(&[2]).f32(&[5]).f32(&[5]).fails(Kind::Shape),
                op().f32(&[5, 7]).f32(&[5, 6]).fails(Kind::Shape),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        // Rows (0, 0) and (2, 0) with the first class right: log(2) and log(1 + exp(-2)).
        let a = Array::from(&[2, 2], vec![0.0, 0.0, 2.0, 0.0]);
        let t = Array::from(&[2, 2], vec![1.0, 0.0, 1.0, 0.0]);
        let mut y = [Array::from(&[1], vec![0.0])];
        CrossEntropyLoss {}.oracle(&[&a, &t], &mut y).unwrap();
        let want = (2.0_f64.ln() + (-2.0_f64).exp().ln_1p()) / 2.0;
        assert!((y[0].data[0] - want).abs() < 1e-15);
        let w = Array::from(&[1, 2], vec![0.0, 3.0]);
        CrossEntropyLoss {}.oracle(&[&a, &t, &w], &mut y).unwrap();
        assert!((y[0].data[0] - 3.0 * (-2.0_f64).exp().ln_1p() / 2.0).abs() < 1e-15);
    }
}
