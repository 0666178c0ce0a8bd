//! Gradient of the formulas of one tensor.

use super::{cpu, push_scalars};
use crate::check;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Key, Op, Result, Scalar};
use ggmlr_formula::UnaryId;
use smallvec::smallvec;

/// What of the forward pass the derivative is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    X,
    Y,
    Both,
}

impl Given {
    /// What costs least: the result alone where it suffices, so that an operator in place stays differentiable, and
    /// both only where the derivative would otherwise compute the result again.
    pub fn cheapest(id: UnaryId) -> Given {
        match id {
            // Relu: the result is positive exactly where the source is.
            UnaryId::Relu | UnaryId::Tanh | UnaryId::Exp | UnaryId::Sqrt => Given::Y,
            UnaryId::Sigmoid | UnaryId::Gelu | UnaryId::GeluQuick => Given::Both,
            _ => Given::X,
        }
    }
}

/// Whether the text of the derivative reads the result.
pub(super) fn reads_y(id: UnaryId) -> bool {
    use UnaryId::{Exp, Gelu, GeluQuick, Sigmoid, Sqrt, Tanh};
    matches!(id, Exp | Gelu | GeluQuick | Sigmoid | Sqrt | Tanh)
}

/// dy: [...], then x, y or both: [...] -> dx: [...]
#[derive(Clone, Debug, PartialEq)]
pub struct UnaryBack {
    pub id: UnaryId,
    pub given: Given,
    pub p: [Scalar<f64>; 2],
}

impl Op for UnaryBack {
    fn name(&self) -> &'static str {
        match self.id {
            UnaryId::Silu => "silu_back",
            UnaryId::Gelu => "gelu_back",
            _ => "unary_back",
        }
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let n = if self.given == Given::Both { 3 } else { 2 };
        if x.len() != n {
            return Err(Error::internal(format!("{} sources given, {n} expected", x.len())));
        }
        check::float("a", &x[0])?;
        for (name, v) in ["b", "c"].iter().zip(&x[1..]) {
            check::same_dtype("a", &x[0], name, v)?;
            check::same_shape("a", &x[0], name, v)?;
        }
        Ok(smallvec![x[0].contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let p = [self.p[0].0, self.p[1].0];
        for (i, dx) in y[0].data.iter_mut().enumerate() {
            let first = x[1].data[i];
            let slope = match self.given {
                Given::X => self.id.df64(first, self.id.f64(first, p), p),
                Given::Y => self.id.df64(first, first, p),
                Given::Both => self.id.df64(first, x[2].data[i], p),
            };
            *dx = x[0].data[i] * slope;
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
        k.word(self.given as u64);
    }

    fn scalars(&self, out: &mut Vec<u64>) {
        push_scalars(self.id, &self.p, out);
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::backward(self.id, self.given, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * 2.0 * cpu::ns(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a rule leaves out must not matter to the formula.
    #[test]
    fn derivatives_read_only_what_they_are_given() {
        for &id in UnaryId::ALL {
            for x in [-2.5, -0.3, 0.4, 2.7] {
                let p = [-1.0, 1.0];
                let y = id.f64(x, p);
                let d = id.df64(x, y, p);
                if y.is_nan() {
                    continue;
                }
                if !reads_y(id) {
                    assert_eq!(d, id.df64(x, 99.0, p), "{id:?} reads y");
                }
                if Given::cheapest(id) == Given::Y {
                    assert_eq!(d, id.df64(y, y, p), "{id:?} reads x");
                }
            }
        }
    }
}
