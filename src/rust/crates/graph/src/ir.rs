//! The graph: nodes in execution order, values with a place in memory.

use ggmlr_core::{Build, Desc, Error, Key, Op, OpRef, Result, Val};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::Arc;

/// One result of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId {
    pub node: u32,
    pub out: u8,
}

impl From<ValueId> for Val {
    fn from(v: ValueId) -> Val {
        Val(u64::from(v.node) << 8 | u64::from(v.out))
    }
}

impl From<Val> for ValueId {
    fn from(v: Val) -> ValueId {
        ValueId { node: (v.0 >> 8) as u32, out: v.0 as u8 }
    }
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Memory of its own, given by the plan.
    Own,
    /// Memory of its own that somebody outside provides.
    External,
    /// A filled constant.
    Filled(f64),
    /// Another description of a value's memory.
    View(ValueId),
    /// Written into a value's memory.
    Into(ValueId),
}

/// A result: what it looks like and where it lives.
#[derive(Clone, Debug)]
pub struct Out {
    pub desc: Desc,
    pub place: Place,
    /// Somebody reads it after the run, so its memory is not given away.
    pub keep: bool,
}

/// An operator applied to values; a leaf has no sources.
#[derive(Clone, Debug)]
pub struct Node {
    pub op: OpRef,
    pub src: SmallVec<[ValueId; 4]>,
    pub out: SmallVec<[Out; 1]>,
    /// Words of the graph's scalar block.
    pub scalars: Range<usize>,
    pub name: Option<Arc<str>>,
}

impl Node {
    /// Whether somebody outside provides the value.
    pub fn is_leaf(&self) -> bool {
        self.op.downcast::<ggmlr_core::op::Leaf>().is_some()
    }
}

/// Nodes in execution order. Sources always come before their users, and the order is never changed, so that a node
/// that writes into another's memory stays behind everybody who reads the old value.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    scalars: Vec<u64>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node that makes a value.
    pub fn node_of(&self, v: ValueId) -> &Node {
        &self.nodes[v.node as usize]
    }

    /// Description and place of a value.
    pub fn value(&self, v: ValueId) -> &Out {
        &self.nodes[v.node as usize].out[v.out as usize]
    }

    /// The scalar block, in node order.
    pub fn scalars(&self) -> &[u64] {
        &self.scalars
    }

    fn push(&mut self, op: OpRef, src: SmallVec<[ValueId; 4]>, out: SmallVec<[Out; 1]>) -> u32 {
        let start = self.scalars.len();
        op.scalars(&mut self.scalars);
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { op, src, out, scalars: start..self.scalars.len(), name: None });
        id
    }

    /// Adds a value that somebody outside provides.
    pub fn leaf(&mut self, desc: Desc) -> ValueId {
        let out = smallvec![Out { desc, place: Place::External, keep: true }];
        ValueId { node: self.push(Arc::new(ggmlr_core::op::Leaf), SmallVec::new(), out), out: 0 }
    }

    /// Adds a constant filled with one number.
    pub fn filled(&mut self, desc: Desc, value: f64) -> ValueId {
        let out = smallvec![Out { desc, place: Place::Filled(value), keep: false }];
        ValueId { node: self.push(Arc::new(ggmlr_core::op::Leaf), SmallVec::new(), out), out: 0 }
    }

    /// Adds a node; `into` places result 0 in the memory of that source.
    pub fn add(&mut self, op: OpRef, src: &[ValueId], into: Option<usize>) -> Result<SmallVec<[ValueId; 1]>> {
        let x: SmallVec<[Desc; 4]> = src.iter().map(|v| self.value(*v).desc).collect();
        let descs = op.infer(&x).map_err(|e| e.op(op.name()))?;
        self.add_inferred(op, src, &descs, into)
    }

    /// As [`Graph::add`], with results that were inferred before.
    pub fn add_inferred(
        &mut self,
        op: OpRef,
        src: &[ValueId],
        descs: &[Desc],
        into: Option<usize>,
    ) -> Result<SmallVec<[ValueId; 1]>> {
        let effects = op.effects();
        let mut out: SmallVec<[Out; 1]> =
            descs.iter().map(|d| Out { desc: *d, place: Place::Own, keep: false }).collect();
        if let Some(i) = effects.view_of {
            out[0].place = Place::View(src[i]);
        }
        for (o, i) in effects.writes {
            out[o].place = Place::Into(src[i]);
            out[o].desc = self.value(src[i]).desc;
        }
        if let Some(i) = into {
            let target = self.value(src[i]).desc;
            if !target.same_shape(&out[0].desc) || target.dtype != out[0].desc.dtype {
                return Err(Error::shape(format!(
                    "cannot compute in place: the result is {:?}, the tensor {:?}",
                    out[0].desc, target
                ))
                .op(op.name()));
            }
            out[0].place = Place::Into(src[i]);
            out[0].desc = target;
        }
        let n = out.len();
        let node = self.push(op, src.iter().copied().collect(), out);
        Ok((0..n).map(|o| ValueId { node, out: o as u8 }).collect())
    }

    /// Adds a node with one result.
    pub fn op(&mut self, op: impl Op, src: &[ValueId]) -> Result<ValueId> {
        let out = self.add(Arc::new(op), src, None)?;
        out.first().copied().ok_or_else(|| Error::internal("an operator gave no result"))
    }

    /// Keeps a value readable after the run.
    pub fn keep(&mut self, v: ValueId) {
        self.nodes[v.node as usize].out[v.out as usize].keep = true;
    }

    /// Lets somebody outside provide the memory of a computed value.
    pub fn make_external(&mut self, v: ValueId) {
        let out = &mut self.nodes[v.node as usize].out[v.out as usize];
        if out.place == Place::Own {
            out.place = Place::External;
            out.keep = true;
        }
    }

    /// Names a node, for messages and reports.
    pub fn set_name(&mut self, v: ValueId, name: &str) {
        self.nodes[v.node as usize].name = Some(name.into());
    }

    /// The value whose memory holds `v`.
    pub fn root(&self, mut v: ValueId) -> ValueId {
        while let Place::View(base) | Place::Into(base) = self.value(v).place {
            v = base;
        }
        v
    }

    /// Everything that decides about the compiled program.
    pub fn key(&self, k: &mut Key) {
        k.word(self.nodes.len() as u64);
        for n in &self.nodes {
            k.name(n.op.name());
            n.op.key(k);
            k.word((n.src.len() as u64) << 8 | n.out.len() as u64);
            for s in &n.src {
                k.word(Val::from(*s).0);
            }
            for o in &n.out {
                match o.place {
                    Place::Own => k.word(0),
                    Place::External => k.word(1),
                    Place::Filled(x) => {
                        k.word(2);
                        k.word(x.to_bits());
                    }
                    Place::View(v) => k.word(Val::from(v).0 << 3 | 3),
                    Place::Into(v) => k.word(Val::from(v).0 << 3 | 4),
                }
                k.word((o.desc.dtype as u64) << 16 | u64::from(o.desc.rank) << 8 | u64::from(o.keep));
                let dims = o.desc.n_dims();
                k.word(dims as u64);
                for d in 0..dims {
                    k.word(o.desc.ne[d] as u64);
                    k.word(o.desc.nb[d] as u64);
                }
            }
        }
    }
}

impl Build for Graph {
    fn desc(&self, v: Val) -> Result<Desc> {
        let v = ValueId::from(v);
        self.nodes
            .get(v.node as usize)
            .and_then(|n| n.out.get(v.out as usize))
            .map(|o| o.desc)
            .ok_or_else(|| Error::internal("a value of another graph"))
    }

    fn node(&mut self, op: OpRef, src: &[Val], into: Option<usize>) -> Result<SmallVec<[Val; 1]>> {
        let src: SmallVec<[ValueId; 4]> = src.iter().map(|v| ValueId::from(*v)).collect();
        Ok(self.add(op, &src, into)?.into_iter().map(Val::from).collect())
    }

    fn fill(&mut self, desc: Desc, value: f64) -> Result<Val> {
        Ok(self.filled(desc, value).into())
    }
}
