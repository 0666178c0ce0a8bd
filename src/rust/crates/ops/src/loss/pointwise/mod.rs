//! Losses that are a weighted mean over elements of a function of prediction `p` and target `t`.
//!
//! All but the categorical cross entropy divide by the number of elements; that one divides by the number of rows.
//! Weights do not change the divisor. The gradient flows to the prediction only.

mod cases;
mod cpu;

use super::{check_upstream, check_weight, sources};
use crate::{Call, Entry, check};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Grad, Key, Op, OpRef, Result};
use smallvec::smallvec;
use std::sync::Arc;

/// Probabilities are kept this far from 0 and 1, where the logarithm ends.
const CLIP: f64 = 1e-7;

/// What is averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// `(p - t)^2`
    Mse,
    /// `|p - t|`, with slope 0 at 0
    Mae,
    /// `d^2 / 2` where `|d| <= 1`, `|d| - 1/2` beyond, with `d = p - t`
    Huber,
    /// `-t log p - (1 - t) log(1 - p)`, with `p` clipped
    BinaryCrossEntropy,
    /// `-t log p`, with `p` clipped; rows sum to one
    CategoricalCrossEntropy,
}

impl Loss {
    /// All of them.
    pub const ALL: [Loss; 5] =
        [Loss::Mse, Loss::Mae, Loss::Huber, Loss::BinaryCrossEntropy, Loss::CategoricalCrossEntropy];

    /// What the sum over the elements of `p` is divided by.
    fn divisor(self, len: usize, row: usize) -> f64 {
        if self == Loss::CategoricalCrossEntropy { len as f64 / row as f64 } else { len as f64 }
    }

    fn name(self) -> &'static str {
        match self {
            Loss::Mse => "mse_loss",
            Loss::Mae => "mae_loss",
            Loss::Huber => "huber_loss",
            Loss::BinaryCrossEntropy => "binary_cross_entropy_loss",
            Loss::CategoricalCrossEntropy => "categorical_cross_entropy_loss",
        }
    }

    fn back_name(self) -> &'static str {
        match self {
            Loss::Mse => "mse_loss_back",
            Loss::Mae => "mae_loss_back",
            Loss::Huber => "huber_loss_back",
            Loss::BinaryCrossEntropy => "binary_cross_entropy_loss_back",
            Loss::CategoricalCrossEntropy => "categorical_cross_entropy_loss_back",
        }
    }

    fn value(self, p: f64, t: f64) -> f64 {
        let d = p - t;
        let clipped = p.clamp(CLIP, 1.0 - CLIP);
        match self {
            Loss::Mse => d * d,
            Loss::Mae => d.abs(),
            Loss::Huber if d.abs() <= 1.0 => d * d / 2.0,
            Loss::Huber => d.abs() - 0.5,
            Loss::BinaryCrossEntropy => -t * clipped.ln() - (1.0 - t) * (1.0 - clipped).ln(),
            Loss::CategoricalCrossEntropy => -t * clipped.ln(),
        }
    }

    fn slope(self, p: f64, t: f64) -> f64 {
        let d = p - t;
        match self {
            Loss::Mse => 2.0 * d,
            Loss::Mae if d == 0.0 => 0.0,
            Loss::Mae => d / d.abs(),
            Loss::Huber => d.clamp(-1.0, 1.0),
            _ if !(CLIP..=1.0 - CLIP).contains(&p) && !p.is_nan() => 0.0,
            Loss::BinaryCrossEntropy => (1.0 - t) / (1.0 - p) - t / p,
            Loss::CategoricalCrossEntropy => -t / p,
        }
    }
}

/// p, t: [K, ...], w (optional): [1, ...] or [K, ...] -> y: [1]
#[derive(Clone, Debug, PartialEq)]
pub struct PointwiseLoss {
    pub loss: Loss,
}

/// dy: [1], p, t: [K, ...], w (optional): [1, ...] or [K, ...] -> dp: [K, ...]
#[derive(Clone, Debug, PartialEq)]
pub struct PointwiseLossBack {
    pub loss: Loss,
}

fn check_sources(x: &[Desc], skip: usize) -> Result<&Desc> {
    let (p, t, w) = sources(x, skip)?;
    check::float("p", p)?;
    check::same_dtype("p", p, "t", t)?;
    check::same_shape("p", p, "t", t)?;
    check_weight("p", p, w, true)?;
    Ok(p)
}

/// Weight of element `i` of a prediction with rows of `row`.
fn weight(w: Option<&Array>, p: &Array, i: usize) -> f64 {
    match w {
        None => 1.0,
        Some(w) if w.len() == p.len() => w.data[i],
        Some(w) => w.data[i / p.ne[0]],
    }
}

impl Op for PointwiseLoss {
    fn name(&self) -> &'static str {
        self.loss.name()
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let p = check_sources(x, 0)?;
        Ok(smallvec![Desc::new(p.dtype, &[1])?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (p, t) = (x[0], x[1]);
        if p.is_empty() {
            // The mean of nothing counts as zero.
            return Ok(());
        }
        let w = x.get(2).copied();
        let mut sum = 0.0;
        for i in 0..p.len() {
            sum += weight(w, p, i) * self.loss.value(p.data[i], t.data[i]);
        }
        y[0].data[0] = sum / self.loss.divisor(p.len(), p.ne[0]);
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.loss as u64);
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.loss, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * cpu::ns(self.loss)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let mut src = vec![g.dy()?];
        src.extend((0..g.n_x()).map(|i| g.x(i)));
        let dp = g.op(PointwiseLossBack { loss: self.loss }, &src)?;
        g.push(0, dp);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }
}

impl Op for PointwiseLossBack {
    fn name(&self) -> &'static str {
        self.loss.back_name()
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let p = check_sources(x, 1)?;
        check::same_dtype("p", p, "dy", &x[0])?;
        check_upstream("dy", &x[0])?;
        Ok(smallvec![p.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let (dy, p, t) = (x[0].data[0], x[1], x[2]);
        let w = x.get(3).copied();
        for i in 0..p.len() {
            let slope = self.loss.slope(p.data[i], t.data[i]);
            y[0].data[i] = dy * weight(w, p, i) * slope / self.loss.divisor(p.len(), p.ne[0]);
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.loss as u64);
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(self.loss, call)
    }

    fn differentiable(&self, _i: usize) -> bool {
        false
    }
}

macro_rules! entries_of {
    ($($loss:ident: $title:literal, $formula:literal;)*) => {
        vec![$(
            Entry {
                name: Loss::$loss.name().into(),
                r: Vec::new(),
                inputs: &["p", "t", "w?"],
                title: $title.into(),
                details: concat!(
                    $formula,
                    " `p`, `t`: `[K, ...]`; the optional weights `w`: `[1, ...]`, one for each row, or `[K, ...]`; the \
                     result: one number."
                )
                .into(),
                topic: "losses",
                example: "".into(),
                make: |_: &Call<'_>| Ok(Arc::new(PointwiseLoss { loss: Loss::$loss }) as OpRef),
                cases: || cases::forward(Loss::$loss),
            },
            Entry {
                name: Loss::$loss.back_name().into(),
                r: Vec::new(),
                inputs: &["dy", "p", "t", "w?"],
                title: concat!("Gradient of the ", $title).into(),
                details: concat!("With respect to `p` of: ", $formula).into(),
                topic: "losses",
                example: "".into(),
                make: |_: &Call<'_>| Ok(Arc::new(PointwiseLossBack { loss: Loss::$loss }) as OpRef),
                cases: || cases::backward(Loss::$loss),
            },
        )*]
    };
}

/// Two entries for each loss.
pub fn entries() -> Vec<Entry> {
    entries_of! {
        Mse: "mean squared error", "`sum(w (p - t)^2) / n`, `n` elements.";
        Mae: "mean absolute error", "`sum(w |p - t|) / n`, `n` elements.";
        Huber: "Huber loss", "`sum(w h(p - t)) / n`, `n` elements; `h(d) = d^2 / 2` for `|d| <= 1`, else `|d| - 1/2`.";
        BinaryCrossEntropy: "binary cross entropy",
            "`-sum(w (t log p + (1 - t) log(1 - p))) / n`, `n` elements, `p` clipped to `[1e-7, 1 - 1e-7]`.";
        CategoricalCrossEntropy: "categorical cross entropy",
            "`-sum(w t log p) / rows`, `p` clipped to `[1e-7, 1 - 1e-7]`.";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(loss: Loss, p: &[f64], t: &[f64], w: Option<&[f64]>) -> f64 {
        let a = |v: &[f64]| Array::from(&[2, v.len() / 2], v.to_vec());
        let (p, t) = (a(p), a(t));
        let w = w.map(|w| Array::from(&[2 * w.len() / p.len(), p.len() / 2], w.to_vec()));
        let mut x = vec![&p, &t];
        x.extend(w.as_ref());
        let mut y = [Array::from(&[1], vec![0.0])];
        PointwiseLoss { loss }.oracle(&x, &mut y).unwrap();
        y[0].data[0]
    }

    #[test]
    fn values_by_hand() {
        let (p, t) = (&[0.5, 2.0, -1.0, 4.0], &[0.0, 2.0, 1.0, 1.0]);
        assert_eq!(value(Loss::Mse, p, t, None), (0.25 + 4.0 + 9.0) / 4.0);
        assert_eq!(value(Loss::Mae, p, t, None), (0.5 + 2.0 + 3.0) / 4.0);
        assert_eq!(value(Loss::Huber, p, t, None), (0.125 + 1.5 + 2.5) / 4.0);
        // Weights leave the divisor alone.
        assert_eq!(value(Loss::Mse, p, t, Some(&[2.0, 0.0])), 0.5 / 4.0);
        assert_eq!(value(Loss::Mse, p, t, Some(&[0.0, 1.0, 0.0, 1.0])), 9.0 / 4.0);
    }

    #[test]
    fn entropies_by_hand() {
        // Python: -(math.log(.9) + math.log(.8)) / 2 and -(math.log(.25) + math.log(.8)) / 2
        let bce = value(Loss::BinaryCrossEntropy, &[0.9, 0.2], &[1.0, 0.0], None);
        assert!((bce - 0.164_252_033_486_018).abs() < 1e-12, "{bce}");
        let cce = value(Loss::CategoricalCrossEntropy, &[0.25, 0.75, 0.2, 0.8], &[1.0, 0.0, 0.0, 1.0], None);
        assert!((cce - 0.804_718_956_217_050_1).abs() < 1e-12, "{cce}");
        // A certain error costs -log(1e-7), not infinity.
        let worst = value(Loss::BinaryCrossEntropy, &[0.0, 0.0], &[1.0, 1.0], None);
        assert!((worst - 16.118_095_650_958_32).abs() < 1e-12, "{worst}");
    }
}
