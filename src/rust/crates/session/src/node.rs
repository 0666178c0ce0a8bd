//! Operators at work on a context: shape rules run at once, values come later.

use crate::Session;
use crate::table::Key;
use crate::tensor::{Made, Placed, Storage};
use ggmlr_core::{Build, Desc, Error, OpRef, Params, Result, Val};
use ggmlr_graph::{Producer, Tape};
use ggmlr_ops::{Call, registry};
use smallvec::{SmallVec, smallvec};

/// What a result looks like and, unless it gets memory of its own, whose it shares and from which byte on.
type Place = (Desc, Option<(Key, usize)>);

/// Byte at which a view starts in its source.
fn view_offset(op: &OpRef) -> usize {
    let mut words = Vec::new();
    op.scalars(&mut words);
    // The first scalar of a view is its offset; views that never move have none.
    words.first().map_or_else(|| op.view_offset(), |w| *w as usize)
}

impl Session {
    /// Adds the node that an R function stands for. `inputs` are its tensor arguments in order, `None` for optional
    /// ones that were left out.
    pub fn call(&mut self, ctx: Key, function: &str, inputs: &[Option<Key>], params: Params) -> Result<Key> {
        self.build_call(ctx, function, inputs, &params).map_err(|e| e.op(function))
    }

    fn build_call(&mut self, ctx: Key, function: &str, inputs: &[Option<Key>], params: &Params) -> Result<Key> {
        let (entry, in_place) = registry()
            .function(function)
            .ok_or_else(|| Error::internal(format!("'{function}' is not in the table of operators")))?;
        let mut src: SmallVec<[Key; 4]> = SmallVec::new();
        let mut x: SmallVec<[Desc; 4]> = SmallVec::new();
        for (i, name) in entry.inputs.iter().enumerate() {
            match (inputs.get(i).copied().flatten(), name.strip_suffix('?')) {
                (Some(key), _) => {
                    src.push(key);
                    x.push(self.tensor(key).map_err(|e| e.arg(name.trim_end_matches('?')))?.desc);
                }
                (None, Some(_)) => {}
                (None, None) => return Err(Error::argument(name, format!("a tensor is needed for '{name}'"))),
            }
        }
        let plain = function.strip_suffix("_inplace").unwrap_or(function);
        let op = (entry.make)(&Call { function: plain, params, x: &x })?;
        let asked = match params.find("inplace") {
            Some(_) => params.get::<bool>("inplace")?,
            None => false,
        };
        let into = in_place || asked;
        let out = self.add_node(ctx, op, &src, into.then_some(0))?;
        Ok(out[0])
    }

    /// Adds a node; its results in order. `into` places result 0 in the memory of that source.
    pub fn add_node(&mut self, ctx: Key, op: OpRef, src: &[Key], into: Option<usize>) -> Result<SmallVec<[Key; 1]>> {
        let x: SmallVec<[Desc; 4]> = src.iter().map(|k| Ok(self.tensor(*k)?.desc)).collect::<Result<_>>()?;
        let descs = op.infer(&x)?;
        let effects = op.effects();
        let mut places: SmallVec<[Place; 1]> = descs.iter().map(|d| (*d, None)).collect();
        let place = |i: usize, shift: usize| -> Result<Option<(Key, usize)>> {
            let t = self.tensor(src[i])?;
            Ok(Some((t.root, t.offset + shift)))
        };
        if let Some(i) = effects.view_of {
            places[0].1 = place(i, view_offset(&op))?;
        }
        for (o, i) in &effects.writes {
            places[*o] = (x[*i], place(*i, 0)?);
        }
        if let Some(i) = into {
            let (y, target) = (descs[0], *x.get(i).ok_or_else(|| Error::internal("no tensor to compute into"))?);
            if !target.same_shape(&y) || target.dtype != y.dtype {
                return Err(Error::shape(format!(
                    "cannot compute in place: the result is {y:?}, the tensor {target:?}"
                )));
            }
            places[0] = (target, place(i, 0)?);
        }
        for k in src {
            self.hold(ctx, self.tensor(*k)?.ctx)?;
        }
        let before = (self.context(ctx)?.tensors.len(), self.context(ctx)?.used);
        self.insert_results(ctx, op, src, into, &places).inspect_err(|_| self.take_back(ctx, before.0, before.1))
    }

    fn insert_results(
        &mut self,
        ctx: Key,
        op: OpRef,
        src: &[Key],
        into: Option<usize>,
        places: &[Place],
    ) -> Result<SmallVec<[Key; 1]>> {
        let promise = self.promise(ctx)?;
        let placed = |root: Option<(Key, usize)>| Placed {
            root,
            storage: if root.is_some() { Storage::None } else { promise.clone() },
        };
        let (desc, root) = *places.first().ok_or_else(|| Error::internal("an operator without a result"))?;
        let made = Made::Node { op, src: src.iter().copied().collect(), into, more: SmallVec::new() };
        let node = self.insert_tensor(ctx, desc, made, placed(root))?;
        let mut out: SmallVec<[Key; 1]> = smallvec![node];
        for (desc, root) in &places[1..] {
            let key = self.insert_tensor(ctx, *desc, Made::Result { node }, placed(*root))?;
            out.push(key);
        }
        if let Made::Node { more, .. } = &mut self.tensor_mut(node)?.made {
            more.extend_from_slice(&out[1..]);
        }
        Ok(out)
    }

    /// Adds a constant.
    pub(crate) fn add_constant(&mut self, ctx: Key, desc: Desc, value: f64) -> Result<Key> {
        // The engine fills constants by itself; memory is taken only if somebody reads one, in any kind of context.
        self.insert_tensor(ctx, desc, Made::Constant(value), Placed { root: None, storage: Storage::Promised })
    }

    /// The node whose result a tensor is; leaves and constants stand for themselves.
    pub(crate) fn node_of(&self, key: Key) -> Result<Key> {
        Ok(match self.tensor(key)?.made {
            Made::Result { node } => node,
            _ => key,
        })
    }
}

/// A context as what new nodes are added to.
#[derive(Debug)]
pub struct Recorder<'a> {
    session: &'a mut Session,
    ctx: Key,
}

impl<'a> Recorder<'a> {
    /// Adds to `ctx`.
    pub fn new(session: &'a mut Session, ctx: Key) -> Recorder<'a> {
        Recorder { session, ctx }
    }
}

/// The tensor behind a value.
pub(crate) fn key_of(v: Val) -> Result<Key> {
    Key::from_bits(v.0).ok_or_else(|| Error::internal("a value of another graph"))
}

/// A tensor as the engine's autodiff sees it.
pub(crate) fn val_of(key: Key) -> Val {
    Val(key.bits())
}

impl Build for Recorder<'_> {
    fn desc(&self, v: Val) -> Result<Desc> {
        Ok(self.session.tensor(key_of(v)?)?.desc)
    }

    fn node(&mut self, op: OpRef, src: &[Val], into: Option<usize>) -> Result<SmallVec<[Val; 1]>> {
        let src: SmallVec<[Key; 4]> = src.iter().map(|v| key_of(*v)).collect::<Result<_>>()?;
        let name = op.name();
        let out = self.session.add_node(self.ctx, op, &src, into).map_err(|e| e.op(name))?;
        Ok(out.into_iter().map(val_of).collect())
    }

    fn fill(&mut self, desc: Desc, value: f64) -> Result<Val> {
        self.session.add_constant(self.ctx, desc, value).map(val_of)
    }
}

impl Tape for Recorder<'_> {
    fn producer(&self, v: Val) -> Option<Producer> {
        let node = self.session.node_of(key_of(v).ok()?).ok()?;
        let t = self.session.tensor(node).ok()?;
        let Made::Node { op, src, into, more } = &t.made else { return None };
        Some(Producer {
            op: op.clone(),
            src: src.iter().map(|k| val_of(*k)).collect(),
            out: std::iter::once(node).chain(more.iter().copied()).map(val_of).collect(),
            into: *into,
            label: t.label(),
        })
    }

    fn as_build(&mut self) -> &mut dyn Build {
        self
    }
}
