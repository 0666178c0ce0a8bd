//! Fully connected layer: `y = W x + b`.

use super::flatten::flat;
use super::{Init, Layer, Lower, WeightSpec};
use crate::activation::Activation;
use crate::shape::Shape;
use crate::spec::{flag, positive, text};
use ggmlr_core::{Error, Params, Result};
use ggmlr_graph::ValueId;
use ggmlr_ops::elementwise::binary::Binary;
use ggmlr_ops::linear::mul_mat::MulMat;

/// c(in) -> c(units); with `time_distributed` c(seq, in) -> c(seq, units), one kernel for all positions.
#[derive(Debug)]
pub struct Dense {
    units: usize,
    activation: Activation,
    time_distributed: bool,
}

impl Dense {
    pub fn new(config: &Params) -> Result<Dense> {
        Ok(Dense {
            units: positive(config, "units")?,
            activation: Activation::parse(text(config, "activation")?)?,
            time_distributed: flag(config, "time_distributed", false)?,
        })
    }

    fn fan_in(&self, x: &Shape) -> Result<usize> {
        if !self.time_distributed {
            return Ok(x.size());
        }
        match x.dims() {
            [_, features] => Ok(*features),
            _ => Err(Error::shape(format!("time_distributed needs an input of shape c(seq, features), got {x}"))
                .arg("time_distributed")
                .expected("c(seq, features)")
                .got(x.to_string())),
        }
    }
}

impl Layer for Dense {
    fn infer(&self, x: &[Shape]) -> Result<Shape> {
        self.fan_in(&x[0])?;
        match (self.time_distributed, x[0].dims()) {
            (true, [seq, _]) => Shape::new(vec![*seq, self.units]),
            _ => Shape::flat(self.units),
        }
    }

    fn weights(&self, x: &[Shape]) -> Result<Vec<WeightSpec>> {
        let fan_in = self.fan_in(&x[0])?;
        Ok(vec![
            WeightSpec { name: "weight", ne: vec![fan_in, self.units], init: Init::glorot(fan_in, self.units) },
            WeightSpec { name: "bias", ne: vec![self.units], init: Init::Constant(0.0) },
        ])
    }

    fn activation(&self) -> Activation {
        self.activation
    }

    fn lower(&self, b: &mut Lower<'_>, shapes: &[Shape], x: &[ValueId], w: &[ValueId]) -> Result<ValueId> {
        let x = if self.time_distributed { x[0] } else { flat(b, &shapes[0], x[0])? };
        let y = b.op(MulMat {}, &[w[0], x])?;
        b.op(Binary::ADD, &[y, w[1]])
    }
}
