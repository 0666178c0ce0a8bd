//! Adds one number that is itself a tensor.

use super::{check_types, cpu, sum_to};
use crate::{check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Op, Result};
use ggmlr_formula::BinaryId;
use smallvec::smallvec;

op_struct! {
    /// a: [...], b: one element -> y: [...]
    pub struct Add1 {}
}

impl Op for Add1 {
    fn name(&self) -> &'static str {
        "add1"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check_types(a, b)?;
        if b.len() != 1 {
            return Err(Error::shape(format!("b {} must hold one element to be added to a {}", b.show(), a.show()))
                .arg("b")
                .expected("one element")
                .got(b.show()));
        }
        Ok(smallvec![a.contiguous()])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (v, w) in x[0].data.iter().zip(&mut y[0].data) {
            *w = v + x[1].data[0];
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
        cpu::forward(BinaryId::Add, call)
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        if g.wants(0) {
            g.push(0, dy);
        }
        if g.wants(1) {
            let db = sum_to(g, dy, g.x(1))?;
            g.push(1, db);
        }
        Ok(())
    }
}
