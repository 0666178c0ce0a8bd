//! Gated linear units: `y = act(x) g`, where `x` and `g` are the halves of one tensor or two tensors.
//!
//! Source: Shazeer, "GLU variants improve transformer", 2020.

mod cases;
mod cpu;
mod split;
mod table;

pub use split::{GluSplit, GluSplitBack};
pub use table::entries;

use crate::check;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Key, Layout, Op, Result};
use ggmlr_formula::GluId;
use smallvec::smallvec;

/// a: [2n, ...] -> y: [n, ...]
#[derive(Clone, Debug, PartialEq)]
pub struct Glu {
    pub id: GluId,
    /// Whether the gate is the first half.
    pub swapped: bool,
}

/// dy: [n, ...], a: [2n, ...] -> da: [2n, ...]
#[derive(Clone, Debug, PartialEq)]
pub struct GluBack {
    pub id: GluId,
    pub swapped: bool,
}

/// Extents of the result for the packed source.
fn halved(a: &Desc) -> Result<Desc> {
    if !a.ne[0].is_multiple_of(2) {
        return Err(Error::shape(format!("a {} must have an even ne0, it holds two halves", a.show()))
            .arg("a")
            .expected("an even ne0")
            .got(a.show()));
    }
    let mut ne = a.ne;
    ne[0] /= 2;
    Desc::new(a.dtype, &ne[..a.rank as usize])
}

/// Positions in a packed row of `2n` of the activated half and the gate.
fn halves(n: usize, swapped: bool) -> (usize, usize) {
    if swapped { (n, 0) } else { (0, n) }
}

impl Op for Glu {
    fn name(&self) -> &'static str {
        "glu"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        Ok(smallvec![halved(a)?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = y[0].ne[0];
        let (xs, gs) = halves(n, self.swapped);
        for (i, w) in y[0].data.iter_mut().enumerate() {
            let row = i / n * 2 * n;
            *w = self.id.f64(x[0].data[row + xs + i % n], x[0].data[row + gs + i % n]);
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
        k.word(u64::from(self.swapped));
    }

    fn layout(&self, _i: usize) -> Layout {
        Layout::Rows
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::packed(self.id, self.swapped, call)
    }

    fn cost(&self, _x: &[Desc], y: &[Desc]) -> f64 {
        y[0].len() as f64 * cpu::NS
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let da = g.op(GluBack { id: self.id, swapped: self.swapped }, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }
}

impl Op for GluBack {
    fn name(&self) -> &'static str {
        "glu_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [dy, a] = check::sources(x)?;
        check::float("a", dy)?;
        check::same_dtype("a", dy, "b", a)?;
        check::same_shape("a", dy, "half of b", &halved(a)?)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let n = x[0].ne[0];
        let (xs, gs) = halves(n, self.swapped);
        for (i, dy) in x[0].data.iter().enumerate() {
            let row = i / n * 2 * n + i % n;
            let (by_x, by_g) = self.id.df64(x[1].data[row + xs], x[1].data[row + gs]);
            y[0].data[row + xs] = dy * by_x;
            y[0].data[row + gs] = dy * by_g;
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
        k.word(u64::from(self.swapped));
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::packed_back(self.id, self.swapped, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x[0].len() as f64 * 2.0 * cpu::NS
    }
}
