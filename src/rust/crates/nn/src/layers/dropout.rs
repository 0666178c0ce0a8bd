//! Dropout: switches elements off while training.

use super::{Layer, Lower};
use crate::shape::Shape;
use crate::spec::{flag, number};
use ggmlr_core::{Error, Params, Result, Scalar};
use ggmlr_graph::ValueId;
use ggmlr_ops::elementwise::unary::Unary;
use ggmlr_ops::random::dropout::Dropout;

/// Same shape in and out; nothing happens outside training.
#[derive(Debug)]
pub struct Drop {
    rate: f64,
    /// Draw a mask for each batch; otherwise scale by what stays on average.
    stochastic: bool,
}

impl Drop {
    pub fn new(config: &Params) -> Result<Drop> {
        let rate = number(config, "rate", f64::NAN)?;
        if !(0.0..1.0).contains(&rate) {
            return Err(Error::argument("rate", format!("rate must be at least 0 and below 1, got {rate}"))
                .expected("a number in [0, 1)")
                .got(rate.to_string()));
        }
        Ok(Drop { rate, stochastic: flag(config, "stochastic", true)? })
    }
}

impl Layer for Drop {
    fn infer(&self, x: &[Shape]) -> Result<Shape> {
        Ok(x[0].clone())
    }

    fn lower(&self, b: &mut Lower<'_>, _shapes: &[Shape], x: &[ValueId], _w: &[ValueId]) -> Result<ValueId> {
        if !b.training || self.rate == 0.0 {
            return Ok(x[0]);
        }
        if !self.stochastic {
            return b.op(Unary::scale(1.0 - self.rate, 0.0), &[x[0]]);
        }
        // Key and step are written into the scalar block before each step.
        let node = Scalar(b.position as u64);
        b.op(Dropout { rate: self.rate as f32, key: Scalar(0), node, step: Scalar(0) }, &[x[0]])
    }
}
