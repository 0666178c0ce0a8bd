//! Activations by their R names.

use ggmlr_core::{Error, Result};
use ggmlr_formula::UnaryId;
use ggmlr_graph::{Graph, ValueId};
use ggmlr_ops::elementwise::unary::Unary;
use ggmlr_ops::norm::soft_max::SoftMax;

/// What is applied to a layer's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Linear,
    Unary(UnaryId),
    /// Over the feature axis, ne0.
    Softmax,
}

/// R name and meaning.
const NAMES: &[(&str, Activation)] = &[
    ("linear", Activation::Linear),
    ("relu", Activation::Unary(UnaryId::Relu)),
    ("sigmoid", Activation::Unary(UnaryId::Sigmoid)),
    ("tanh", Activation::Unary(UnaryId::Tanh)),
    ("silu", Activation::Unary(UnaryId::Silu)),
    ("gelu", Activation::Unary(UnaryId::Gelu)),
    ("hardsigmoid", Activation::Unary(UnaryId::Hardsigmoid)),
    ("hardswish", Activation::Unary(UnaryId::Hardswish)),
    ("softmax", Activation::Softmax),
];

impl Activation {
    /// The activation with an R name; none means linear.
    pub fn parse(name: Option<&str>) -> Result<Activation> {
        let Some(name) = name else { return Ok(Activation::Linear) };
        NAMES.iter().find(|(n, _)| *n == name).map(|(_, a)| *a).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(n, _)| *n).collect();
            Error::argument("activation", format!("Unknown activation: {name}"))
                .expected(format!("one of {}", known.join(", ")))
                .got(name)
        })
    }

    /// Adds it to a graph.
    pub(crate) fn lower(self, graph: &mut Graph, x: ValueId) -> Result<ValueId> {
        match self {
            Activation::Linear => Ok(x),
            Activation::Unary(id) => graph.op(Unary::new(id), &[x]),
            Activation::Softmax => graph.op(SoftMax::default(), &[x]),
        }
    }
}
