//! Gated linear units of two tensors.

use super::cpu;
use crate::check;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Grad, Key, Op, Result};
use ggmlr_formula::GluId;
use smallvec::smallvec;

/// a: [...] activated, b: [...] gate -> y: [...]
#[derive(Clone, Debug, PartialEq)]
pub struct GluSplit {
    pub id: GluId,
}

/// dy: [...], a: [...], b: [...] -> da: [...], db: [...]
#[derive(Clone, Debug, PartialEq)]
pub struct GluSplitBack {
    pub id: GluId,
}

impl Op for GluSplit {
    fn name(&self) -> &'static str {
        "glu_split"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::float("a", a)?;
        check::same_dtype("a", a, "b", b)?;
        check::same_shape("a", a, "b", b)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, w) in y[0].data.iter_mut().enumerate() {
            *w = self.id.f64(x[0].data[i], x[1].data[i]);
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::split(self.id, call)
    }

    fn cost(&self, _x: &[Desc], y: &[Desc]) -> f64 {
        y[0].len() as f64 * cpu::NS
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a, b) = (g.dy()?, g.x(0), g.x(1));
        let both = g.op_many(GluSplitBack { id: self.id }, &[dy, a, b])?;
        for (i, &dx) in both.iter().enumerate() {
            if g.wants(i) {
                g.push(i, dx);
            }
        }
        Ok(())
    }
}

impl Op for GluSplitBack {
    fn name(&self) -> &'static str {
        "glu_split_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, a, b] = check::sources(x)?;
        check::float("a", dy)?;
        for (name, v) in [("b", a), ("c", b)] {
            check::same_dtype("a", dy, name, v)?;
            check::same_shape("a", dy, name, v)?;
        }
        Ok(smallvec![a.contiguous(), b.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, dy) in x[0].data.iter().enumerate() {
            let (by_x, by_g) = self.id.df64(x[1].data[i], x[2].data[i]);
            y[0].data[i] = dy * by_x;
            y[1].data[i] = dy * by_g;
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::split_back(self.id, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * 2.0 * cpu::NS
    }
}
