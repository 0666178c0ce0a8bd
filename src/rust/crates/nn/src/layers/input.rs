//! The place where data enters.

use super::{Layer, Lower};
use crate::shape::Shape;
use crate::spec::text;
use ggmlr_core::{Error, Kind, Params, Result};
use ggmlr_graph::ValueId;

/// Data of a shape per sample.
#[derive(Debug)]
pub struct Input {
    shape: Shape,
}

impl Input {
    pub fn new(config: &Params) -> Result<Input> {
        match text(config, "dtype")?.unwrap_or("float32") {
            "float32" => {}
            "int32" => {
                return Err(Error::new(
                    Kind::Unsupported,
                    "dtype \"int32\" needs an embedding layer, which this version lacks",
                )
                .arg("dtype"));
            }
            other => {
                return Err(Error::argument(
                    "dtype",
                    format!("dtype must be \"float32\" or \"int32\", got \"{other}\""),
                ));
            }
        }
        Ok(Input { shape: Shape::new(config.get("shape")?)? })
    }
}

impl Layer for Input {
    fn n_inputs(&self) -> usize {
        0
    }

    fn infer(&self, _x: &[Shape]) -> Result<Shape> {
        Ok(self.shape.clone())
    }

    fn lower(&self, _b: &mut Lower<'_>, _shapes: &[Shape], _x: &[ValueId], _w: &[ValueId]) -> Result<ValueId> {
        Err(Error::internal("an input computes nothing"))
    }
}
