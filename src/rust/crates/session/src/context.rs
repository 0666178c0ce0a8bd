//! Contexts: sets of tensors and graphs with a budget of bytes.
//!
//! A context is no arena: data lives in buffers of its own. The budget counts what an arena would have taken, so that
//! scripts written for one behave alike, and so that a runaway loop ends in an error.

use crate::Session;
use crate::table::Key;
use ggmlr_core::{Error, Kind, Result};

/// Bytes that a context counts for the description of a tensor.
pub const TENSOR_OVERHEAD: usize = 448;

/// Nodes that a graph has room for unless its builder says otherwise.
pub const GRAPH_SIZE: usize = 2048;

/// Data of a tensor is counted in multiples of this.
const DATA_ALIGN: usize = 16;

/// Bytes that a context counts for a graph with room for `size` nodes and as many leaves.
pub fn graph_overhead(size: usize, grads: bool) -> usize {
    let lists = if grads { 4 } else { 2 };
    128_usize.saturating_add(size.saturating_mul(8 * lists))
}

/// A set of tensors and graphs.
#[derive(Debug)]
pub struct Context {
    pub(crate) budget: usize,
    pub(crate) used: usize,
    /// Bytes of the largest tensor.
    pub(crate) largest: usize,
    pub(crate) no_alloc: bool,
    /// In order of creation.
    pub(crate) tensors: Vec<Key>,
    pub(crate) graphs: Vec<Key>,
    pub(crate) buffers: Vec<Key>,
    /// Contexts whose tensors are operands of this one's: they outlive R's interest in them.
    pub(crate) holds: Vec<Key>,
    /// How many contexts hold this one.
    pub(crate) held: usize,
    /// Whether R still has a handle.
    pub(crate) wanted: bool,
}

/// How full a context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUsage {
    pub total: usize,
    pub used: usize,
    /// Bytes of the largest tensor.
    pub largest: usize,
    pub tensors: usize,
    pub no_alloc: bool,
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

impl Context {
    /// Counts bytes against the budget.
    fn charge(&mut self, bytes: usize, error: impl FnOnce(usize, usize) -> Error) -> Result<()> {
        let available = self.budget - self.used;
        if bytes > available {
            return Err(error(bytes, available)
                .expected(format!("at most {available} bytes"))
                .got(format!("{bytes} bytes"))
                .hint("Give ggml_init() a larger mem_size, or free what is no longer needed."));
        }
        self.used += bytes;
        Ok(())
    }

    /// Counts a tensor with so many bytes of data.
    pub(crate) fn charge_tensor(&mut self, data: usize) -> Result<()> {
        let data = data.checked_next_multiple_of(DATA_ALIGN).unwrap_or(usize::MAX);
        self.charge(data.saturating_add(TENSOR_OVERHEAD), |need, available| {
            let text =
                format!("Not enough memory in context: need {:.2} MB, available {:.2} MB", mb(need), mb(available));
            Error::new(Kind::Memory, text)
        })
    }

    /// Counts a graph with room for so many nodes.
    pub(crate) fn charge_graph(&mut self, size: usize, grads: bool) -> Result<()> {
        self.charge(graph_overhead(size, grads), |need, available| {
            let text = format!("the context is too small for a graph: {need} bytes needed, {available} available");
            Error::new(Kind::Memory, text)
        })
    }
}

impl Session {
    /// Makes a context with a budget of bytes. With `no_alloc` its tensors have no storage until a backend or an
    /// allocator gives them some.
    pub fn new_context(&mut self, budget: usize, no_alloc: bool) -> Result<Key> {
        let context = Context {
            budget,
            used: 0,
            largest: 0,
            no_alloc,
            tensors: Vec::new(),
            graphs: Vec::new(),
            buffers: Vec::new(),
            holds: Vec::new(),
            held: 0,
            wanted: true,
        };
        self.contexts.insert(context).ok_or_else(|| Error::internal("too many contexts"))
    }

    pub(crate) fn context(&self, key: Key) -> Result<&Context> {
        self.contexts.get(key).ok_or_else(context_freed)
    }

    pub(crate) fn context_mut(&mut self, key: Key) -> Result<&mut Context> {
        self.contexts.get_mut(key).ok_or_else(context_freed)
    }

    /// How full a context is.
    pub fn usage(&self, ctx: Key) -> Result<MemoryUsage> {
        let c = self.context(ctx)?;
        Ok(MemoryUsage {
            total: c.budget,
            used: c.used,
            largest: c.largest,
            tensors: c.tensors.len(),
            no_alloc: c.no_alloc,
        })
    }

    /// Fails when the context is gone.
    pub fn check_context(&self, ctx: Key) -> Result<()> {
        self.context(ctx).map(|_| ())
    }

    /// The tensor of a context that was made after another one; the first one after `None`.
    pub fn tensor_after(&self, ctx: Key, tensor: Option<Key>) -> Result<Option<Key>> {
        let all = self.tensors_of(ctx)?;
        let Some(tensor) = tensor else { return Ok(all.first().copied()) };
        let t = self.tensor(tensor)?;
        if t.ctx != ctx {
            return Err(Error::argument("tensor", "the tensor belongs to another context"));
        }
        let older = |k: &Key| self.tensors.get(*k).is_some_and(|o| o.age <= t.age);
        Ok(all.get(all.partition_point(older)).copied())
    }

    /// Tensors of a context in order of creation.
    pub fn tensors_of(&self, ctx: Key) -> Result<&[Key]> {
        Ok(&self.context(ctx)?.tensors)
    }

    /// Whether tensors made from now on come without storage.
    pub fn set_no_alloc(&mut self, ctx: Key, no_alloc: bool) -> Result<()> {
        self.context_mut(ctx)?.no_alloc = no_alloc;
        Ok(())
    }

    /// Ends a context with all that is in it. Ending it twice is no error.
    pub fn free_context(&mut self, ctx: Key) {
        let mut ending = vec![ctx];
        while let Some(key) = ending.pop() {
            if !self.contexts.contains(key) {
                continue;
            }
            self.empty(key);
            let Some(gone) = self.contexts.remove(key) else { continue };
            for held in gone.holds {
                if let Some(c) = self.contexts.get_mut(held) {
                    c.held -= 1;
                    if c.held == 0 && !c.wanted {
                        ending.push(held);
                    }
                }
            }
        }
    }

    /// Drops every tensor and graph of a context and gives back its budget.
    pub fn reset_context(&mut self, ctx: Key) -> Result<()> {
        self.context(ctx)?;
        self.empty(ctx);
        Ok(())
    }

    /// R has no handle to the context any more: it ends, unless another context computes with its tensors.
    pub fn release_context(&mut self, ctx: Key) {
        if let Some(c) = self.contexts.get_mut(ctx) {
            c.wanted = false;
            if c.held == 0 {
                self.free_context(ctx);
            }
        }
    }

    /// Notes that tensors of `ctx` compute with tensors of `other`.
    pub(crate) fn hold(&mut self, ctx: Key, other: Key) -> Result<()> {
        if ctx == other || self.context(ctx)?.holds.contains(&other) {
            return Ok(());
        }
        self.context_mut(other)?.held += 1;
        self.context_mut(ctx)?.holds.push(other);
        Ok(())
    }

    fn empty(&mut self, ctx: Key) {
        let Some(c) = self.contexts.get_mut(ctx) else { return };
        (c.used, c.largest) = (0, 0);
        let (tensors, graphs) = (std::mem::take(&mut c.tensors), std::mem::take(&mut c.graphs));
        let buffers = std::mem::take(&mut c.buffers);
        for t in tensors {
            self.tensors.remove(t);
        }
        for g in graphs {
            self.graphs.remove(g);
        }
        for b in buffers {
            if self.buffers.get(b).is_some_and(|b| !b.wanted) {
                self.buffers.remove(b);
            }
        }
        self.forget_ready();
    }

    /// Throws away what graphs keep ready: it may refer to memory that is gone.
    pub(crate) fn forget_ready(&mut self) {
        self.epoch += 1;
        for g in self.graphs.values_mut() {
            g.ready = None;
        }
    }
}

fn context_freed() -> Error {
    Error::new(Kind::Freed, "the context has been freed").hint("Make a new one with ggml_init().")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tests::session;
    use ggmlr_core::DType;

    #[test]
    fn a_context_that_is_full_says_both_numbers() {
        let mut s = session();
        let ctx = s.new_context(1 << 20, false).unwrap();
        let e = s.new_tensor(ctx, DType::F32, &[1_000_000_000_000_000]).unwrap_err();
        assert_eq!(e.kind(), Kind::Memory);
        assert!(
            e.message().starts_with("Not enough memory in context: need 3814697265.63 MB, available 1.00 MB"),
            "{e}"
        );
        let e = s.new_tensor(ctx, DType::F32, &[usize::MAX / 2, 4]).unwrap_err();
        assert_eq!(e.kind(), Kind::Memory);
        s.new_tensor(ctx, DType::F32, &[10]).unwrap();
        assert_eq!(s.usage(ctx).unwrap().used, TENSOR_OVERHEAD + 48);
        s.reset_context(ctx).unwrap();
        assert_eq!(s.usage(ctx).unwrap().used, 0);
    }

    #[test]
    fn tensors_follow_each_other_in_order_of_creation() {
        let mut s = session();
        let (a, b) = (s.new_context(1 << 20, false).unwrap(), s.new_context(1 << 20, false).unwrap());
        let x = s.new_tensor(a, DType::F32, &[1]).unwrap();
        let other = s.new_tensor(b, DType::F32, &[1]).unwrap();
        let y = s.new_tensor(a, DType::F32, &[1]).unwrap();
        assert_eq!(s.tensor_after(a, None).unwrap(), Some(x));
        assert_eq!(s.tensor_after(a, Some(x)).unwrap(), Some(y));
        assert_eq!(s.tensor_after(a, Some(y)).unwrap(), None);
        assert!(s.tensor_after(a, Some(other)).is_err());
    }

    #[test]
    fn without_alloc_only_descriptions_count() {
        let mut s = session();
        let ctx = s.new_context(1000, true).unwrap();
        let t = s.new_tensor(ctx, DType::F32, &[1_000_000]).unwrap();
        assert_eq!(s.usage(ctx).unwrap().used, TENSOR_OVERHEAD);
        assert_eq!(s.usage(ctx).unwrap().largest, 4_000_000);
        assert!(s.locate(t).unwrap_err().message().contains("tensor has no storage yet"));
    }

    #[test]
    fn a_context_lives_while_another_computes_with_its_tensors() {
        let mut s = session();
        let (a, b) = (s.new_context(1 << 20, false).unwrap(), s.new_context(1 << 20, false).unwrap());
        let x = s.new_tensor(a, DType::F32, &[2]).unwrap();
        let y = s.call(b, "ggml_add", &[Some(x), Some(x)], ggmlr_core::Params::new()).unwrap();
        s.release_context(a);
        assert!(s.tensor(x).is_ok());
        s.release_context(b);
        assert!(s.tensor(x).is_err() && s.tensor(y).is_err());
        assert_eq!(s.usage(a).unwrap_err().kind(), Kind::Freed);
        s.free_context(a);
    }
}
