//! Adding nodes to a graph, whoever holds it: the dense graph of a model or the tensors of an R session.

use crate::desc::Desc;
use crate::error::{Error, Result};
use crate::op::{Op, OpRef};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// A value of a graph under construction. The number means something to the graph's holder only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(pub u64);

/// A graph under construction.
pub trait Build {
    /// Shape and type of a value.
    fn desc(&self, v: Val) -> Result<Desc>;

    /// Adds a node; its results in order. `into` places result 0 in the memory of that source (the in-place form of
    /// an operator).
    fn node(&mut self, op: OpRef, src: &[Val], into: Option<usize>) -> Result<SmallVec<[Val; 1]>>;

    /// Adds a constant filled with one number.
    fn fill(&mut self, desc: Desc, value: f64) -> Result<Val>;
}

impl dyn Build + '_ {
    /// Adds a node with one result.
    pub fn op<O: Op>(&mut self, op: O, src: &[Val]) -> Result<Val> {
        let out = self.node(Arc::new(op), src, None)?;
        out.first().copied().ok_or_else(|| Error::internal("an operator gave no result"))
    }

    /// Adds a node with several results.
    pub fn op_many<O: Op>(&mut self, op: O, src: &[Val]) -> Result<SmallVec<[Val; 1]>> {
        self.node(Arc::new(op), src, None)
    }
}

/// A gradient rule at work: reads the forward node, adds backward nodes, hands in the sources' gradients.
pub struct Grad<'a> {
    build: &'a mut dyn Build,
    x: &'a [Val],
    y: &'a [Val],
    dy: &'a [Option<Val>],
    wants: &'a [bool],
    dx: SmallVec<[Option<Val>; 4]>,
}

impl fmt::Debug for Grad<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grad").field("x", &self.x).field("y", &self.y).field("dy", &self.dy).finish_non_exhaustive()
    }
}

impl<'a> Grad<'a> {
    /// For autodiff: `dy` holds at least one gradient.
    pub fn new(
        build: &'a mut dyn Build,
        x: &'a [Val],
        y: &'a [Val],
        dy: &'a [Option<Val>],
        wants: &'a [bool],
    ) -> Grad<'a> {
        let dx = x.iter().map(|_| None).collect();
        Grad { build, x, y, dy, wants, dx }
    }

    /// Source `i`.
    pub fn x(&self, i: usize) -> Val {
        self.x[i]
    }

    /// Number of sources.
    pub fn n_x(&self) -> usize {
        self.x.len()
    }

    /// Result `i`.
    pub fn y(&self, i: usize) -> Val {
        self.y[i]
    }

    /// Gradient that reaches result 0.
    pub fn dy(&self) -> Result<Val> {
        self.dy[0].ok_or_else(|| Error::internal("no gradient reaches the first result"))
    }

    /// Gradient that reaches result `i`, if any does.
    pub fn dy_of(&self, i: usize) -> Option<Val> {
        self.dy[i]
    }

    /// Whether source `i` wants a gradient; work for others is wasted.
    pub fn wants(&self, i: usize) -> bool {
        self.wants[i]
    }

    /// Shape and type of a value.
    pub fn desc(&self, v: Val) -> Result<Desc> {
        self.build.desc(v)
    }

    /// Adds a node with one result.
    pub fn op<O: Op>(&mut self, op: O, src: &[Val]) -> Result<Val> {
        self.build.op(op, src)
    }

    /// Adds a node with several results.
    pub fn op_many<O: Op>(&mut self, op: O, src: &[Val]) -> Result<SmallVec<[Val; 1]>> {
        self.build.op_many(op, src)
    }

    /// Adds a constant.
    pub fn fill(&mut self, desc: Desc, value: f64) -> Result<Val> {
        self.build.fill(desc, value)
    }

    /// Hands in the gradient of source `i`.
    pub fn push(&mut self, i: usize, dx: Val) {
        self.dx[i] = Some(dx);
    }

    /// What was handed in.
    pub fn finish(self) -> SmallVec<[Option<Val>; 4]> {
        self.dx
    }
}
