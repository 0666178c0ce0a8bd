//! Layers: one file per kind, each with its shapes, weights and the nodes it becomes.

mod dense;
mod dropout;
mod flatten;
mod input;
mod norm;

use crate::activation::Activation;
use crate::shape::Shape;
use ggmlr_core::{Error, Op, Params, Result};
use ggmlr_graph::{Graph, ValueId};
use std::fmt::Debug;

/// First values of a weight; R draws them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Uniform between plus and minus this.
    Uniform(f64),
    /// Every element is this.
    Constant(f64),
}

/// A weight that a layer needs: f32, `ne` in ggml order.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSpec {
    pub name: &'static str,
    pub ne: Vec<usize>,
    pub init: Init,
}

/// A graph under construction, as a layer sees it.
#[derive(Debug)]
pub struct Lower<'a> {
    pub graph: &'a mut Graph,
    pub training: bool,
    /// Samples in the batch.
    pub n: usize,
    /// Position of the layer in the model: tells its random numbers from those of others.
    pub position: usize,
}

impl Lower<'_> {
    /// Adds a node with one result.
    pub fn op(&mut self, op: impl Op, src: &[ValueId]) -> Result<ValueId> {
        self.graph.op(op, src)
    }
}

/// A kind of layer with its configuration.
pub trait Layer: Debug + Send + Sync {
    /// How many values it reads.
    fn n_inputs(&self) -> usize {
        1
    }

    /// Shape of its result.
    fn infer(&self, x: &[Shape]) -> Result<Shape>;

    /// Weights that it needs for inputs of these shapes.
    fn weights(&self, _x: &[Shape]) -> Result<Vec<WeightSpec>> {
        Ok(Vec::new())
    }

    /// Applied to what [`Layer::lower`] gives. Kept apart from it, because a loss may take the values before it.
    fn activation(&self) -> Activation {
        Activation::Linear
    }

    /// Adds its nodes; `x` and `w` are the inputs and the weights in the order of [`Layer::weights`].
    fn lower(&self, b: &mut Lower<'_>, shapes: &[Shape], x: &[ValueId], w: &[ValueId]) -> Result<ValueId>;
}

type Make = fn(&Params) -> Result<Box<dyn Layer>>;

/// The kinds of layers.
const KINDS: &[(&str, Make)] = &[
    ("input", |c| Ok(Box::new(input::Input::new(c)?))),
    ("dense", |c| Ok(Box::new(dense::Dense::new(c)?))),
    ("dropout", |c| Ok(Box::new(dropout::Drop::new(c)?))),
    ("flatten", |_| Ok(Box::new(flatten::Flatten))),
    ("batch_norm", |c| Ok(Box::new(norm::Normalise::rms(c)?))),
    ("rms_norm", |c| Ok(Box::new(norm::Normalise::rms(c)?))),
    ("layer_norm", |c| Ok(Box::new(norm::Normalise::centred(c)?))),
];

/// The layer of a kind with a configuration.
pub fn make(kind: &str, config: &Params) -> Result<Box<dyn Layer>> {
    match KINDS.iter().find(|(name, _)| *name == kind) {
        Some((_, make)) => make(config),
        None => {
            let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            Err(Error::argument("type", format!("unknown layer type '{kind}'"))
                .expected(format!("one of {}", known.join(", ")))
                .got(kind))
        }
    }
}
