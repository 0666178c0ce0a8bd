//! Formulas of one tensor: activations, rounding, powers, scaling. One operator serves the whole table of
//! `ggmlr_formula`.

mod back;
mod cases;
mod cpu;
mod table;

pub use back::{Given, UnaryBack};
pub use table::entries;

use crate::check;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Field, Grad, Key, Op, Result, Scalar};
use ggmlr_formula::UnaryId;
use smallvec::smallvec;

/// x: [...] -> y: [...], each element by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Unary {
    pub id: UnaryId,
    /// Parameters of the formula; those it does not read are 0.
    pub p: [Scalar<f64>; 2],
}

impl Unary {
    /// A formula without parameters.
    pub fn new(id: UnaryId) -> Unary {
        Unary::with(id, 0.0, 0.0)
    }

    /// A formula with parameters.
    pub fn with(id: UnaryId, p0: f64, p1: f64) -> Unary {
        Unary { id, p: [Scalar(p0), Scalar(p1)] }
    }

    /// `s * x + b`.
    pub fn scale(s: f64, b: f64) -> Unary {
        Unary::with(UnaryId::Scale, s, b)
    }
}

/// The parameters that the formula reads, as words of the scalar block.
fn push_scalars(id: UnaryId, p: &[Scalar<f64>; 2], out: &mut Vec<u64>) {
    p.iter().take(id.n_params()).for_each(|p| p.scalars(out));
}

impl Op for Unary {
    fn name(&self) -> &'static str {
        self.id.name()
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a] = check::sources(x)?;
        check::float("a", a)?;
        let [Scalar(lo), Scalar(hi)] = self.p;
        if self.id == UnaryId::Clamp && lo > hi {
            return Err(Error::argument("min_val", format!("min_val must not be above max_val, got {lo} and {hi}")));
        }
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        let p = [self.p[0].0, self.p[1].0];
        for (v, w) in x[0].data.iter().zip(&mut y[0].data) {
            *w = self.id.f64(*v, p);
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
    }

    fn scalars(&self, out: &mut Vec<u64>) {
        push_scalars(self.id, &self.p, out);
    }

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.id, call)
    }

    fn cost(&self, x: &[Desc], _y: &[Desc]) -> f64 {
        x.iter().map(Desc::len).sum::<usize>() as f64 * cpu::ns(self.id)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dx = match self.id {
            // Steps are flat wherever they have a derivative.
            UnaryId::Sgn | UnaryId::Step | UnaryId::Floor | UnaryId::Ceil | UnaryId::Round | UnaryId::Trunc => {
                return Ok(());
            }
            UnaryId::Neg => {
                let dy = g.dy()?;
                g.op(Unary::new(UnaryId::Neg), &[dy])?
            }
            UnaryId::Scale => {
                let dy = g.dy()?;
                g.op(Unary::scale(self.p[0].0, 0.0), &[dy])?
            }
            id => {
                let (dy, x, y) = (g.dy()?, g.x(0), g.y(0));
                let given = Given::cheapest(id);
                let back = UnaryBack { id, given, p: self.p };
                match given {
                    Given::X => g.op(back, &[dy, x])?,
                    Given::Y => g.op(back, &[dy, y])?,
                    Given::Both => g.op(back, &[dy, x, y])?,
                }
            }
        };
        g.push(0, dx);
        Ok(())
    }
}
