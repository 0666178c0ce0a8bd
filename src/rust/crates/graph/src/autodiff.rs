//! Reverse-mode differentiation: walk back, ask each operator for its rule, add the nodes, sum what meets.

use crate::ir::{Graph, Place, ValueId};
use ggmlr_core::{Build, Desc, Error, Grad, Kind, OpRef, Result, Val};
use smallvec::{SmallVec, smallvec};
use std::collections::{HashMap, HashSet};

/// The node that made a value.
#[derive(Clone, Debug)]
pub struct Producer {
    pub op: OpRef,
    pub src: SmallVec<[Val; 4]>,
    pub out: SmallVec<[Val; 1]>,
    /// Source whose memory result 0 was written into, if any.
    pub into: Option<usize>,
    /// How messages call the node.
    pub label: String,
}

/// A graph that can be walked back.
pub trait Tape: Build {
    /// The node behind a value, `None` for leaves.
    fn producer(&self, v: Val) -> Option<Producer>;

    /// The graph as what new nodes are added to.
    fn as_build(&mut self) -> &mut dyn Build;
}

impl Tape for Graph {
    fn producer(&self, v: Val) -> Option<Producer> {
        let id = ValueId::from(v);
        let n = self.node_of(id);
        if n.is_leaf() {
            return None;
        }
        let into = match n.out[0].place {
            Place::Into(t) => n.src.iter().position(|s| *s == t),
            _ => None,
        };
        Some(Producer {
            op: n.op.clone(),
            src: n.src.iter().map(|s| Val::from(*s)).collect(),
            out: (0..n.out.len()).map(|o| ValueId { node: id.node, out: o as u8 }.into()).collect(),
            into,
            label: n.name.as_deref().map_or_else(|| n.op.name().to_owned(), str::to_owned),
        })
    }

    fn as_build(&mut self) -> &mut dyn Build {
        self
    }
}

/// Notes which values a rule reads, so that values overwritten in the meantime are found.
struct Watch<'a> {
    inner: &'a mut dyn Build,
    read: Vec<Val>,
}

impl Build for Watch<'_> {
    fn desc(&self, v: Val) -> Result<Desc> {
        self.inner.desc(v)
    }
    fn node(&mut self, op: OpRef, src: &[Val], into: Option<usize>) -> Result<SmallVec<[Val; 1]>> {
        self.read.extend(src.iter().enumerate().filter(|(i, _)| !op.shape_only(*i)).map(|(_, v)| *v));
        self.inner.node(op, src, into)
    }
    fn fill(&mut self, desc: Desc, value: f64) -> Result<Val> {
        self.inner.fill(desc, value)
    }
}

/// Who writes which memory, and when: position in the forward order.
#[derive(Default)]
struct Writes {
    /// Value that owns the memory of a value.
    root: HashMap<Val, Val>,
    made: HashMap<Val, usize>,
    /// Last in-place writer of a memory: position and label.
    last: HashMap<Val, (usize, String)>,
}

impl Writes {
    fn root(&self, v: Val) -> Val {
        *self.root.get(&v).unwrap_or(&v)
    }

    fn note(&mut self, at: usize, p: &Producer) {
        let effects = p.op.effects();
        for (o, v) in p.out.iter().enumerate() {
            self.made.insert(*v, at);
            let into = effects.writes.iter().find(|w| w.0 == o).map(|w| w.1).or(if o == 0 { p.into } else { None });
            if let Some(i) = into {
                let root = self.root(p.src[i]);
                self.root.insert(*v, root);
                self.last.insert(root, (at, p.label.clone()));
            } else if let (0, Some(i)) = (o, effects.view_of) {
                let root = self.root(p.src[i]);
                self.root.insert(*v, root);
            }
        }
    }

    /// The node that overwrote `v` after it was made.
    fn overwritten_by(&self, v: Val) -> Option<&str> {
        let (at, label) = self.last.get(&self.root(v))?;
        (*at > self.made.get(&v).copied().unwrap_or(0)).then_some(label)
    }
}

/// Adds the nodes that compute the gradient of `loss` with respect to every value between `params` and `loss`.
///
/// `order` holds one value of each forward node in execution order (leaves may be left out); `seed` is the gradient
/// of the loss itself. Returns the gradient of each value that has one.
pub fn backward(tape: &mut dyn Tape, order: &[Val], loss: Val, seed: Val, params: &[Val]) -> Result<HashMap<Val, Val>> {
    let producers: Vec<Option<Producer>> = order.iter().map(|v| tape.producer(*v)).collect();
    let mut wanted: HashSet<Val> = params.iter().copied().collect();
    let mut writes = Writes::default();
    for (at, p) in producers.iter().enumerate() {
        let Some(p) = p else { continue };
        // Positions start at 1, so that leaves, which are made before everything, count as position 0.
        writes.note(at + 1, p);
        let flows = p.src.iter().enumerate().any(|(i, s)| wanted.contains(s) && p.op.differentiable(i));
        if flows {
            wanted.extend(p.out.iter().copied());
        }
    }
    if !wanted.contains(&loss) {
        return Err(Error::new(Kind::NoGradient, "the loss does not depend on any parameter")
            .hint("Mark the tensors to train with ggml_set_param() before building the graph."));
    }
    let mut grads: HashMap<Val, Val> = HashMap::from([(loss, seed)]);
    // For each value, the value through which the gradient came: the way back to the loss.
    let mut from: HashMap<Val, Val> = HashMap::new();
    for p in producers.iter().rev().flatten() {
        let dy: SmallVec<[Option<Val>; 1]> = p.out.iter().map(|o| grads.get(o).copied()).collect();
        if dy.iter().all(Option::is_none) || !p.out.iter().any(|o| wanted.contains(o)) {
            continue;
        }
        let wants: SmallVec<[bool; 4]> =
            p.src.iter().enumerate().map(|(i, s)| p.op.differentiable(i) && wanted.contains(s)).collect();
        if !wants.contains(&true) {
            continue;
        }
        let mut watch = Watch { inner: tape.as_build(), read: Vec::new() };
        let mut g = Grad::new(&mut watch, &p.src, &p.out, &dy, &wants);
        p.op.grad(&mut g).map_err(|e| with_path(e, p, &from, &producers))?;
        let dx = g.finish();
        for v in watch.read {
            if let Some(by) = writes.overwritten_by(v) {
                return Err(Error::new(
                    Kind::NoGradient,
                    format!("the gradient of '{}' needs a value that '{by}' has overwritten in place", p.label),
                )
                .hint("Use the form without _inplace for one of the two."));
            }
        }
        for (i, d) in dx.into_iter().enumerate() {
            let (Some(d), true) = (d, wants[i]) else { continue };
            let s = p.src[i];
            from.entry(s).or_insert(p.out[0]);
            let sum = match grads.get(&s) {
                Some(old) => add(tape.as_build(), *old, d)?,
                None => d,
            };
            grads.insert(s, sum);
        }
    }
    Ok(grads)
}

fn add(b: &mut dyn Build, a: Val, c: Val) -> Result<Val> {
    let x = [b.desc(a)?, b.desc(c)?];
    let op = ggmlr_ops::make("add", &ggmlr_core::Params::new(), &x)?;
    let out: SmallVec<[Val; 1]> = b.node(op, &[a, c], None)?;
    Ok(out[0])
}

/// Adds the way from the loss to the operator without a rule.
fn with_path(e: Error, culprit: &Producer, from: &HashMap<Val, Val>, producers: &[Option<Producer>]) -> Error {
    if e.kind() != Kind::NoGradient {
        return e;
    }
    let mut names: SmallVec<[&str; 8]> = smallvec![culprit.label.as_str()];
    let mut v = culprit.out[0];
    while let Some(next) = from.get(&v) {
        v = *next;
        if let Some(p) = producers.iter().flatten().find(|p| p.out.contains(&v)) {
            names.push(&p.label);
        }
    }
    names.reverse();
    e.got(format!("path from the loss: {}", names.join(" <- ")))
}
