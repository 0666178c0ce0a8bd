//! Normalisation over the features of each position, then a learned scale and shift.
//!
//! `batch_norm` and `rms_norm` divide by the root mean square, `layer_norm` also centres. There are no running
//! statistics: training and prediction compute the same.

use super::{Init, Layer, Lower, WeightSpec};
use crate::shape::Shape;
use crate::spec::number;
use ggmlr_core::{Error, Params, Result};
use ggmlr_graph::ValueId;
use ggmlr_ops::elementwise::binary::Binary;
use ggmlr_ops::norm::layer_norm::Norm;
use ggmlr_ops::norm::rms_norm::RmsNorm;
use ggmlr_ops::shape::{Cont, Permute};

/// Same shape in and out.
#[derive(Debug)]
pub struct Normalise {
    eps: f32,
    centred: bool,
}

impl Normalise {
    /// Divides by the root mean square.
    pub fn rms(config: &Params) -> Result<Normalise> {
        Normalise::new(config, false)
    }

    /// Subtracts the mean first.
    pub fn centred(config: &Params) -> Result<Normalise> {
        Normalise::new(config, true)
    }

    fn new(config: &Params, centred: bool) -> Result<Normalise> {
        let eps = number(config, "eps", 1e-5)?;
        if !(eps >= 0.0 && eps.is_finite()) {
            return Err(Error::argument("eps", format!("eps must be zero or more, got {eps}")));
        }
        Ok(Normalise { eps: eps as f32, centred })
    }
}

/// Order in which a pixel's channels lie together, `[W, H, C, N]` to `[C, W, H, N]`, and the way back.
const CHANNELS_FIRST: [usize; 4] = [1, 2, 0, 3];
const CHANNELS_BACK: [usize; 4] = [2, 0, 1, 3];

impl Layer for Normalise {
    fn infer(&self, x: &[Shape]) -> Result<Shape> {
        Ok(x[0].clone())
    }

    fn weights(&self, x: &[Shape]) -> Result<Vec<WeightSpec>> {
        let ne = vec![x[0].features()];
        Ok(vec![
            WeightSpec { name: "gamma", ne: ne.clone(), init: Init::Constant(1.0) },
            WeightSpec { name: "beta", ne, init: Init::Constant(0.0) },
        ])
    }

    fn lower(&self, b: &mut Lower<'_>, shapes: &[Shape], x: &[ValueId], w: &[ValueId]) -> Result<ValueId> {
        let image = shapes[0].dims().len() == 3;
        let turn = |b: &mut Lower<'_>, axes: [usize; 4], v| {
            let turned = b.op(Permute::new(&axes)?, &[v])?;
            b.op(Cont {}, &[turned])
        };
        let x = if image { turn(b, CHANNELS_FIRST, x[0])? } else { x[0] };
        let y = if self.centred { b.op(Norm { eps: self.eps }, &[x])? } else { b.op(RmsNorm { eps: self.eps }, &[x])? };
        let y = b.op(Binary::MUL, &[y, w[0]])?;
        let y = b.op(Binary::ADD, &[y, w[1]])?;
        if image { turn(b, CHANNELS_BACK, y) } else { Ok(y) }
    }
}
