//! Arithmetic of two tensors; the second one repeats into the first.

mod add1;
mod cases;
mod cpu;
mod table;

pub use add1::Add1;
pub use table::entries;

use super::unary::Unary;
use crate::check;
use crate::reduce::RepeatBack;
use crate::shape::Cast;
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Grad, Key, Op, Result, Val};
use ggmlr_formula::{BinaryId, UnaryId};
use smallvec::smallvec;

/// a: [n0, n1, ...], b: extents that divide a's -> y: [n0, n1, ...]
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    pub id: BinaryId,
}

impl Binary {
    pub const ADD: Binary = Binary { id: BinaryId::Add };
    pub const SUB: Binary = Binary { id: BinaryId::Sub };
    pub const MUL: Binary = Binary { id: BinaryId::Mul };
    pub const DIV: Binary = Binary { id: BinaryId::Div };
}

/// `a` f32 or f64, `b` of its type or of a shorter one that converts without loss.
fn check_types(a: &Desc, b: &Desc) -> Result<()> {
    check::float("a", a)?;
    if a.dtype == DType::F32 && matches!(b.dtype, DType::F16 | DType::BF16) {
        return Ok(());
    }
    check::same_dtype("a", a, "b", b)
}

/// Sums `dy` over the positions that share an element of `b` and gives it the type of `b`.
fn sum_to(g: &mut Grad<'_>, dy: Val, b: Val) -> Result<Val> {
    let (d, t) = (g.desc(dy)?, g.desc(b)?);
    let dx = if d.same_shape(&t) { dy } else { g.op(RepeatBack {}, &[dy, b])? };
    if d.dtype == t.dtype { Ok(dx) } else { g.op(Cast { to: t.dtype }, &[dx]) }
}

impl Op for Binary {
    fn name(&self) -> &'static str {
        self.id.name()
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check_types(a, b)?;
        check::broadcasts("a", a, "b", b)?;
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, at) in x[0].indices().enumerate() {
            y[0].data[i] = self.id.f64(x[0].data[i], x[1].wrap(&at));
        }
        Ok(())
    }

    fn key(&self, k: &mut Key) {
        k.word(self.id as u64);
    }

    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0).may_reuse(1)
    }

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        cpu::forward(self.id, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a, b) = (g.dy()?, g.x(0), g.x(1));
        if g.wants(0) {
            let da = match self.id {
                BinaryId::Add | BinaryId::Sub => dy,
                BinaryId::Mul => g.op(Binary::MUL, &[dy, b])?,
                BinaryId::Div => g.op(Binary::DIV, &[dy, b])?,
            };
            g.push(0, da);
        }
        if g.wants(1) {
            // Signs and divisors that depend on b alone wait until after the sum, where b may be much smaller.
            let full = match self.id {
                BinaryId::Add | BinaryId::Sub => dy,
                BinaryId::Mul => g.op(Binary::MUL, &[dy, a])?,
                BinaryId::Div => {
                    let y = g.y(0);
                    g.op(Binary::MUL, &[dy, y])?
                }
            };
            let sum = sum_to(g, full, b)?;
            let db = match self.id {
                BinaryId::Add | BinaryId::Mul => sum,
                BinaryId::Sub => g.op(Unary::new(UnaryId::Neg), &[sum])?,
                BinaryId::Div => {
                    let q = g.op(Binary::DIV, &[sum, b])?;
                    g.op(Unary::new(UnaryId::Neg), &[q])?
                }
            };
            g.push(1, db);
        }
        Ok(())
    }
}
