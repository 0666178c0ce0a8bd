//! What an operator is: a small object that knows its shapes, definition, kernels and gradient.

use crate::build::{Build, Grad, Val};
use crate::call::CpuCall;
use crate::desc::Desc;
use crate::dtype::DType;
use crate::error::{Error, Kind, Result};
use crate::key::Key;
use crate::oracle::Array;
use smallvec::SmallVec;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Shared, immutable operator.
pub type OpRef = Arc<dyn Op>;

/// Descriptions of the results of an operator, in order.
pub type Descs = SmallVec<[Desc; 1]>;

/// How a CPU kernel wants a source to lie in memory; the engine packs what does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Fully contiguous.
    Contiguous,
    /// Contiguous rows, any strides between them.
    Rows,
    /// Any strides.
    Any,
}

/// What an operator does besides computing fresh results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Result 0 is a view of this source: no work, only another description of the same memory.
    pub view_of: Option<usize>,
    /// `(result, source)`: the result is written into the source's memory.
    pub writes: SmallVec<[(usize, usize); 3]>,
    /// Sources whose memory result 0 may take over when nobody else needs them.
    pub may_reuse: SmallVec<[usize; 2]>,
}

impl Effects {
    /// Computes fresh results only.
    pub fn pure() -> Effects {
        Effects::default()
    }

    /// Result 0 is a view of source `i`.
    pub fn view_of(i: usize) -> Effects {
        Effects { view_of: Some(i), ..Effects::default() }
    }

    /// Also lets result 0 take over the memory of source `i`; the kernel must accept [`crate::Src::InPlace`] there.
    pub fn may_reuse(mut self, i: usize) -> Effects {
        self.may_reuse.push(i);
        self
    }

    /// Also writes result `out` into source `src`; the kernel must accept [`crate::Src::InPlace`] there.
    pub fn writes(mut self, out: usize, src: usize) -> Effects {
        self.writes.push((out, src));
        self
    }
}

/// An operator with its attributes. Results and sources are numbered from 0.
pub trait Op: Debug + Send + Sync + Any {
    /// Table name: ggml's own, lower case (`"rms_norm"`).
    fn name(&self) -> &'static str;

    /// Shapes and types of the results; the last word on whether the sources fit. Must fill contiguous descriptions
    /// except for views.
    fn infer(&self, x: &[Desc]) -> Result<Descs>;

    /// The definition: plain loops in `f64`, written from the formula and never from a kernel. `y` comes zeroed
    /// with the inferred extents. Sources and results are contiguous in ggml order.
    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()>;

    /// Structural attributes, for the program key.
    fn key(&self, k: &mut Key);

    /// Attributes of the scalar block, in the order in which the kernel reads them.
    fn scalars(&self, _out: &mut Vec<u64>) {}

    /// View, in-place and reuse behaviour.
    fn effects(&self) -> Effects {
        Effects::pure()
    }

    /// Byte offset of a view into its source.
    fn view_offset(&self) -> usize {
        0
    }

    /// Element types that the CPU kernel computes (of source 0).
    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32]
    }

    /// Layout that the CPU kernel accepts for source `i`.
    fn layout(&self, _i: usize) -> Layout {
        Layout::Contiguous
    }

    /// Whether the CPU kernel writes a strided destination itself; otherwise the engine copies from scratch.
    fn strided_out(&self) -> bool {
        false
    }

    /// Whether denormal f32 numbers may count as zero inside the CPU kernel. Products and training kernels say yes: a
    /// network whose activations die out was measured five times slower otherwise. Copies and conversions say no.
    fn flush_denormals(&self) -> bool {
        false
    }

    /// The CPU kernel. Never called on empty results, views or types outside [`Op::cpu_types`].
    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()>;

    /// Estimated time on one CPU thread in nanoseconds; the default assumes a memory-bound loop.
    fn cost(&self, x: &[Desc], y: &[Desc]) -> f64 {
        let bytes: usize = x.iter().chain(y).map(Desc::bytes).sum();
        bytes as f64 * 0.15
    }

    /// Adds the gradient's nodes to the graph. The default says that the operator has none.
    fn grad(&self, _g: &mut Grad<'_>) -> Result<()> {
        Err(Error::new(Kind::NoGradient, format!("operator '{}' has no gradient", self.name())))
    }

    /// Whether a gradient flows to source `i` at all; index and shape sources answer no.
    fn differentiable(&self, _i: usize) -> bool {
        true
    }

    /// Sources that only contribute their shape: their values are neither read nor needed.
    fn shape_only(&self, _i: usize) -> bool {
        false
    }

    /// The operator composed of others, if it can be.
    fn lower(&self, _b: &mut dyn Build, _x: &[Val]) -> Option<Result<SmallVec<[Val; 1]>>> {
        None
    }
}

impl dyn Op {
    /// The operator as its concrete type.
    pub fn downcast<T: Op>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Marks a value that somebody outside the graph provides: data, a weight, a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaf;

impl Op for Leaf {
    fn name(&self) -> &'static str {
        "none"
    }
    fn infer(&self, _x: &[Desc]) -> Result<Descs> {
        Err(Error::internal("a leaf has no inference rule"))
    }
    fn oracle(&self, _x: &[&Array], _y: &mut [Array]) -> Result<()> {
        Err(Error::internal("a leaf computes nothing"))
    }
    fn key(&self, _k: &mut Key) {}
    fn cpu(&self, _call: &mut CpuCall<'_>) -> Result<()> {
        Err(Error::internal("a leaf computes nothing"))
    }
}
