//! Tensors: a description, where the values come from, where they lie.

use crate::Session;
use crate::table::Key;
use ggmlr_core::{BufferRef, DType, Desc, Error, Kind, OpRef, Result};
use smallvec::SmallVec;
use std::sync::Arc;

/// Dimensions that a tensor of R may have.
pub const MAX_RANK: usize = 5;

/// Bytes of a name that are kept.
pub const MAX_NAME: usize = 127;

/// Bytes of a tensor's free parameter block.
pub const OP_PARAMS: usize = 64;

/// Marks on a tensor, with ggml's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// Its storage must outlast the first nodes.
    Input = 1,
    /// Its value must be readable after the run.
    Output = 2,
    /// Trained.
    Param = 4,
    /// What training makes small.
    Loss = 8,
}

/// Where a tensor's values come from.
#[derive(Clone, Debug)]
pub enum Made {
    /// Somebody writes them.
    Leaf,
    /// All are this number.
    Constant(f64),
    /// An operator computes them.
    Node {
        op: OpRef,
        src: SmallVec<[Key; 4]>,
        /// Source whose memory result 0 takes, if the operator was called in place.
        into: Option<usize>,
        /// Results after the first one.
        more: SmallVec<[Key; 2]>,
    },
    /// A further result of that node.
    Result { node: Key },
}

/// Memory of a tensor that owns some.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    /// Given on first use.
    Promised,
    /// None until a backend or an allocator gives it some.
    None,
    /// Here; `owner` is the buffer handle that R may free.
    At { buffer: BufferRef, offset: usize, owner: Option<Key> },
}

/// One tensor.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub ctx: Key,
    pub desc: Desc,
    pub made: Made,
    pub flags: u32,
    pub(crate) name: Option<Arc<str>>,
    pub(crate) params: Option<Box<[u8; OP_PARAMS]>>,
    /// Tensor that owns the memory, and the byte at which this one starts in it.
    pub(crate) root: Key,
    pub(crate) offset: usize,
    pub(crate) storage: Storage,
    /// Position in the order of creation.
    pub(crate) age: u64,
}

impl Tensor {
    /// Whether an operator makes it.
    pub fn is_node(&self) -> bool {
        matches!(self.made, Made::Node { .. } | Made::Result { .. })
    }

    /// Whether a mark is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag as u32 != 0
    }

    /// The name that R gave, if any.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether the tensor, which has this key, owns its memory; views and in-place results do not.
    pub fn is_own(&self, key: Key) -> bool {
        self.root == key
    }

    /// The operator's name in the table, `"none"` for what no operator makes.
    pub fn op_name(&self) -> &'static str {
        match &self.made {
            Made::Node { op, .. } => op.name(),
            _ => "none",
        }
    }

    /// How messages call it.
    pub fn label(&self) -> String {
        match self.name() {
            Some(name) => name.to_owned(),
            None => self.op_name().to_owned(),
        }
    }
}

/// A tensor's place among others, while it is being made.
pub(crate) struct Placed {
    /// `None` for a tensor with memory of its own.
    pub root: Option<(Key, usize)>,
    pub storage: Storage,
}

pub(crate) fn tensor_freed() -> Error {
    Error::new(Kind::Freed, "the tensor is gone: the context has been freed or reset")
        .hint("A tensor lives as long as its context.")
}

impl Session {
    /// Looks a tensor up.
    pub fn tensor(&self, key: Key) -> Result<&Tensor> {
        self.tensors.get(key).ok_or_else(tensor_freed)
    }

    pub(crate) fn tensor_mut(&mut self, key: Key) -> Result<&mut Tensor> {
        self.tensors.get_mut(key).ok_or_else(tensor_freed)
    }

    /// Makes a tensor that somebody will fill.
    pub fn new_tensor(&mut self, ctx: Key, dtype: DType, ne: &[usize]) -> Result<Key> {
        if ne.is_empty() || ne.len() > MAX_RANK {
            return Err(Error::argument(
                "n_dims",
                format!("a tensor has 1 to {MAX_RANK} dimensions, not {}", ne.len()),
            ));
        }
        if let Some(i) = ne.iter().position(|n| *n == 0) {
            return Err(Error::argument(&format!("ne{i}"), format!("dimensions must be positive, got ne{i} = 0")));
        }
        let desc = Desc::new(dtype, ne)?;
        self.new_leaf(ctx, desc)
    }

    /// Makes a tensor of the type and shape of another one, without its data.
    pub fn new_like(&mut self, ctx: Key, tensor: Key) -> Result<Key> {
        let desc = self.tensor(tensor)?.desc.contiguous();
        self.new_leaf(ctx, desc)
    }

    pub(crate) fn new_leaf(&mut self, ctx: Key, desc: Desc) -> Result<Key> {
        let storage = self.promise(ctx)?;
        self.insert_tensor(ctx, desc, Made::Leaf, Placed { root: None, storage })
    }

    /// Makes a tensor over memory that exists already: a caller's, a mapped file's.
    pub fn new_over(&mut self, ctx: Key, desc: Desc, buffer: BufferRef, offset: usize) -> Result<Key> {
        if offset.checked_add(desc.span()).is_none_or(|end| end > buffer.size()) {
            return Err(Error::shape(format!(
                "{} bytes at {offset} do not fit into a buffer of {}",
                desc.span(),
                buffer.size()
            )));
        }
        let storage = Storage::At { buffer, offset, owner: None };
        self.insert_tensor(ctx, desc, Made::Leaf, Placed { root: None, storage })
    }

    /// What a new tensor of the context gets for memory.
    pub(crate) fn promise(&self, ctx: Key) -> Result<Storage> {
        Ok(if self.context(ctx)?.no_alloc { Storage::None } else { Storage::Promised })
    }

    /// Puts a tensor into a context and counts it against the budget.
    pub(crate) fn insert_tensor(&mut self, ctx: Key, desc: Desc, made: Made, placed: Placed) -> Result<Key> {
        let data = match (&made, &placed.storage) {
            (Made::Leaf | Made::Node { .. } | Made::Result { .. }, Storage::Promised) => desc.bytes(),
            _ => 0,
        };
        self.context_mut(ctx)?.charge_tensor(data)?;
        self.made += 1;
        let (root, offset) = placed.root.map_or((None, 0), |(k, o)| (Some(k), o));
        // A tensor with memory of its own is its own root; its key is known only once it is in the table.
        let unknown = Key::from_bits(1).ok_or_else(|| Error::internal("no key"))?;
        let tensor = Tensor {
            ctx,
            desc,
            made,
            flags: 0,
            name: None,
            params: None,
            root: root.unwrap_or(unknown),
            offset,
            storage: placed.storage,
            age: self.made,
        };
        let key = self.tensors.insert(tensor).ok_or_else(|| Error::internal("too many tensors"))?;
        if root.is_none() {
            self.tensor_mut(key)?.root = key;
        }
        let c = self.context_mut(ctx)?;
        c.tensors.push(key);
        c.largest = c.largest.max(desc.span());
        Ok(key)
    }

    /// Takes back the tensors that a context got after it had `n` of them and used `used` bytes: a step in the middle
    /// of a longer work failed.
    pub(crate) fn take_back(&mut self, ctx: Key, n: usize, used: usize) {
        if let Some(c) = self.contexts.get_mut(ctx) {
            c.used = used;
            for key in c.tensors.split_off(n.min(c.tensors.len())) {
                self.tensors.remove(key);
            }
            let bytes = |k: &Key| self.tensors.get(*k).map_or(0, |t| t.desc.span());
            c.largest = c.tensors.iter().map(bytes).max().unwrap_or(0);
        }
    }

    /// Names a tensor; an empty name takes the name away. Bytes beyond [`MAX_NAME`] are dropped, whole characters at
    /// a time.
    pub fn set_name(&mut self, key: Key, name: &str) -> Result<()> {
        let mut end = name.len().min(MAX_NAME);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        self.tensor_mut(key)?.name = (end > 0).then(|| Arc::from(&name[..end]));
        Ok(())
    }

    /// Marks a tensor.
    pub fn set_flag(&mut self, key: Key, flag: Flag) -> Result<()> {
        let t = self.tensor_mut(key)?;
        let refuse = |text: &str, got: String| Err(Error::argument("tensor", text).got(got));
        match flag {
            Flag::Param if t.is_node() => {
                return refuse(
                    "only a tensor that holds data can be trained, not the result of an operator",
                    t.label(),
                );
            }
            Flag::Param | Flag::Loss if !t.desc.dtype.is_float() => {
                return refuse("only floating point tensors take part in training", t.desc.dtype.name().to_owned());
            }
            Flag::Loss if t.desc.len() != 1 => {
                return refuse("a loss must hold one number", t.desc.show());
            }
            _ => {}
        }
        t.flags |= flag as u32;
        Ok(())
    }

    /// The free parameter block of a tensor.
    pub fn op_params(&self, key: Key) -> Result<[u8; OP_PARAMS]> {
        Ok(self.tensor(key)?.params.as_deref().copied().unwrap_or([0; OP_PARAMS]))
    }

    /// Writes into the free parameter block.
    pub fn set_op_params(&mut self, key: Key, at: usize, bytes: &[u8]) -> Result<()> {
        let block = self.tensor_mut(key)?.params.get_or_insert_with(|| Box::new([0; OP_PARAMS]));
        let range = at.checked_add(bytes.len()).and_then(|end| block.get_mut(at..end));
        let range = range.ok_or_else(|| {
            Error::argument("params", format!("{} bytes at {at} do not fit into {OP_PARAMS}", bytes.len()))
        })?;
        range.copy_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ggmlr_cpu::CpuDevice;

    /// A session on this machine's processor.
    pub(crate) fn session() -> Session {
        Session::new(CpuDevice::shared())
    }

    /// A roomy context.
    pub(crate) fn context(s: &mut Session) -> Key {
        s.new_context(16 << 20, false).unwrap()
    }

    #[test]
    fn names_keep_whole_characters() {
        let mut s = session();
        let ctx = context(&mut s);
        let t = s.new_tensor(ctx, DType::F32, &[1]).unwrap();
        s.set_name(t, &"\u{e9}".repeat(100)).unwrap();
        assert_eq!(s.tensor(t).unwrap().name().unwrap().len(), 126);
        s.set_name(t, "").unwrap();
        assert_eq!(s.tensor(t).unwrap().name(), None);
    }

    #[test]
    fn dimensions_are_checked() {
        let mut s = session();
        let ctx = context(&mut s);
        let e = s.new_tensor(ctx, DType::F32, &[3, 0]).unwrap_err();
        assert!(e.message().contains("dimensions must be positive"), "{e}");
        assert!(s.new_tensor(ctx, DType::F32, &[]).is_err());
        assert!(s.new_tensor(ctx, DType::F32, &[1; 6]).is_err());
        let e = s.new_tensor(ctx, DType::Q4_0, &[31]).unwrap_err();
        assert!(e.message().contains("multiple of 32"), "{e}");
    }

    #[test]
    fn only_what_can_be_trained_is_marked() {
        let mut s = session();
        let ctx = context(&mut s);
        let w = s.new_tensor(ctx, DType::F32, &[2]).unwrap();
        let i = s.new_tensor(ctx, DType::I32, &[2]).unwrap();
        let y = s.call(ctx, "ggml_add", &[Some(w), Some(w)], ggmlr_core::Params::new()).unwrap();
        s.set_flag(w, Flag::Param).unwrap();
        assert!(s.tensor(w).unwrap().has(Flag::Param));
        assert!(s.set_flag(i, Flag::Param).is_err());
        assert!(s.set_flag(y, Flag::Param).is_err());
        assert!(s.set_flag(y, Flag::Loss).is_err());
        s.set_flag(y, Flag::Output).unwrap();
    }

    #[test]
    fn the_parameter_block_is_bounded() {
        let mut s = session();
        let ctx = context(&mut s);
        let t = s.new_tensor(ctx, DType::F32, &[1]).unwrap();
        s.set_op_params(t, 60, &7_i32.to_le_bytes()).unwrap();
        assert_eq!(s.op_params(t).unwrap()[60], 7);
        assert!(s.set_op_params(t, 61, &7_i32.to_le_bytes()).is_err());
    }
}
