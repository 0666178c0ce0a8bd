//! A sample as one vector, in tensor order: the innermost extent runs fastest.

use super::{Layer, Lower};
use crate::shape::Shape;
use ggmlr_core::Result;
use ggmlr_graph::ValueId;
use ggmlr_ops::shape::Reshape;

/// c(...) -> c(prod(...))
#[derive(Debug)]
pub struct Flatten;

/// The value as `[size, n]`.
pub(super) fn flat(b: &mut Lower<'_>, shape: &Shape, x: ValueId) -> Result<ValueId> {
    if shape.is_flat() { Ok(x) } else { b.op(Reshape { ne: vec![shape.size(), b.n] }, &[x]) }
}

impl Layer for Flatten {
    fn infer(&self, x: &[Shape]) -> Result<Shape> {
        Shape::flat(x[0].size())
    }

    fn lower(&self, b: &mut Lower<'_>, shapes: &[Shape], x: &[ValueId], _w: &[ValueId]) -> Result<ValueId> {
        flat(b, &shapes[0], x[0])
    }
}
