//! Inverted dropout: zero with probability `rate`, `x / (1 - rate)` otherwise.
//!
//! Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 2014, with the
//! scaling moved to training. Nothing is stored for the gradient: it draws the same numbers again.

mod cpu;

use crate::{Call, Case, Entry, Tol, Values, check};
use ggmlr_core::{
    Array, CpuCall, DType, Desc, Descs, Effects, Error, Field, Grad, Key, Kind, Op, OpRef, Params, Result, Scalar, rng,
};
use smallvec::smallvec;
use std::sync::Arc;

/// x: [...] -> y: [...]
///
/// Element `i` is kept when word `i` of the draw of `node` at `step` under `key` is at least `rate` as a number in
/// [0, 1). The counter takes the low 32 bits of `node` and `step`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    pub rate: f32,
    pub key: Scalar<u64>,
    pub node: Scalar<u64>,
    pub step: Scalar<u64>,
}

impl Dropout {
    /// Builds the operator from parameters with the names of its fields; all but the rate default to 0.
    pub fn from_params(p: &Params) -> Result<Dropout> {
        let word = |name| match p.find(name) {
            Some(_) => p.get::<usize>(name).map(|w| Scalar(w as u64)),
            None => Ok(Scalar(0)),
        };
        Ok(Dropout { rate: p.get("rate")?, key: word("key")?, node: word("node")?, step: word("step")? })
    }
}

impl Op for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        if !(0.0..1.0).contains(&self.rate) {
            return Err(Error::argument("rate", format!("rate must be at least 0 and below 1, got {}", self.rate))
                .expected("a number in [0, 1)")
                .got(self.rate.to_string()));
        }
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, (x, y)) in x[0].data.iter().zip(&mut y[0].data).enumerate() {
            let word = rng::word(self.key.0, i as u64, self.node.0 as u32, self.step.0 as u32);
            if rng::unit_f32(word) >= self.rate {
                *y = x / (1.0 - f64::from(self.rate));
            }
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        self.rate.key(k);
    }

    fn scalars(&self, out: &mut Vec<u64>) {
        self.key.scalars(out);
        self.node.scalars(out);
        self.step.scalars(out);
    }

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.rate, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * cpu::NS
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = g.op(self.clone(), &[dy])?;
        g.push(0, dx);
        Ok(())
    }
}

/// The entry of the table.
pub fn entry() -> Entry {
    Entry {
        name: "dropout".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Inverted dropout".into(),
        details: "`y = 0` with probability `rate`, `a / (1 - rate)` otherwise; `a` and the result have one shape. \
                  The numbers come from a counter, so that the gradient redraws the same mask."
            .into(),
        topic: "random",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(Dropout::from_params(c.params)?) as OpRef),
        cases: || {
            let op = |rate| Dropout { rate, key: Scalar(0x1234_5678_9abc_def0), node: Scalar(7), step: Scalar(3) };
            vec![
                Case::new(op(0.5)).f32(&[5, 3, 2]).grad(),
                Case::new(op(0.2)).f32(&[1]).grad(),
                Case::new(op(0.9)).f32(&[1023, 33]).note("several blocks"),
                Case::new(op(0.0)).f32(&[6]).grad().tol(Tol::Exact).note("keeps everything"),
                Case::new(op(0.3)).f32(&[7, 5]).in_place().note("in place"),
                Case::new(op(0.3)).input(DType::F64, &[7, 5], Values::Uniform(-2.0, 2.0), true).note("f64"),
                Case::new(op(0.3)).f32(&[0, 5]).note("empty"),
                Case::new(op(1.0)).f32(&[4]).fails(Kind::Argument),
                Case::new(op(-0.1)).f32(&[4]).fails(Kind::Argument),
                Case::new(op(f32::NAN)).f32(&[4]).fails(Kind::Argument),
                Case::new(op(0.5)).i32(&[4], 0, 3).fails(Kind::DType),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_promised_share_and_scales_it() {
        let op = Dropout { rate: 0.25, key: Scalar(42), node: Scalar(1), step: Scalar(0) };
        let n = 20_000;
        let x = Array::from(&[n], vec![3.0; n]);
        let mut y = [Array::from(&[n], vec![0.0; n])];
        op.oracle(&[&x], &mut y).unwrap();
        let kept = y[0].data.iter().filter(|&&v| v != 0.0).count();
        assert!((kept as f64 / n as f64 - 0.75).abs() < 0.01, "{kept}");
        assert!(y[0].data.iter().all(|&v| v == 0.0 || v == 4.0));
    }

    #[test]
    fn the_layout_is_the_promised_one() {
        // The authors' vector for key 0 and counter 0: 0.399, 0.881, 0.736, 0.606 as numbers in [0, 1).
        let op = |rate| Dropout { rate, key: Scalar(0), node: Scalar(0), step: Scalar(0) };
        let x = Array::from(&[4], vec![1.0; 4]);
        let kept = |rate| {
            let mut y = [Array::from(&[4], vec![0.0; 4])];
            op(rate).oracle(&[&x], &mut y).unwrap();
            y[0].data.iter().map(|&v| v != 0.0).collect::<Vec<_>>()
        };
        assert_eq!(kept(0.5), [false, true, true, true]);
        assert_eq!(kept(0.7), [false, true, true, false]);
        assert_eq!(kept(0.8), [false, true, false, false]);
    }

    #[test]
    fn scalars_are_no_part_of_the_key() {
        let (mut a, mut b) = (Key::new(), Key::new());
        Dropout { rate: 0.5, key: Scalar(1), node: Scalar(2), step: Scalar(3) }.key(&mut a);
        Dropout { rate: 0.5, key: Scalar(4), node: Scalar(5), step: Scalar(6) }.key(&mut b);
        assert_eq!(a, b);
    }
}
