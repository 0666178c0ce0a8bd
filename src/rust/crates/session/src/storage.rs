//! Where values lie: finds, gives and fills the memory of tensors.

use crate::Session;
use crate::convert::encode;
use crate::table::Key;
use crate::tensor::{Made, Storage};
use ggmlr_core::{BufferRef, Class, Error, Kind, Result};

pub(crate) fn no_storage(label: &str) -> Error {
    Error::new(Kind::Memory, "tensor has no storage yet")
        .got(format!("'{label}', of a context made with no_alloc = TRUE"))
        .hint("Give it some with ggml_backend_alloc_ctx_tensors(), or make the context with no_alloc = FALSE.")
}

impl Session {
    /// Buffer and byte offset of a tensor's first element. A tensor that was promised memory gets it now, zeroed.
    pub fn locate(&mut self, key: Key) -> Result<(BufferRef, usize)> {
        let t = self.tensor(key)?;
        let (root, shift) = (t.root, t.offset);
        let Some(owner) = self.tensors.get(root) else {
            return Err(Error::new(
                Kind::Freed,
                "the tensor is a view: the context of its data has been freed or reset",
            ));
        };
        match &owner.storage {
            Storage::At { buffer, offset, owner: None } => Ok((buffer.clone(), offset + shift)),
            Storage::At { buffer, offset, owner: Some(handle) } if self.buffers.contains(*handle) => {
                Ok((buffer.clone(), offset + shift))
            }
            Storage::At { .. } => Err(Error::new(Kind::Freed, "the tensor has no storage: its buffer has been freed")
                .got(format!("'{}'", owner.label()))),
            Storage::None => Err(no_storage(&owner.label())),
            Storage::Promised => {
                let (desc, made) = (owner.desc, owner.made.clone());
                let buffer = self.host.alloc(desc.span(), Class::Weights)?;
                if let Made::Constant(value) = made {
                    let one = encode(desc.dtype, value)?;
                    buffer.write(0, &one.repeat(desc.len()))?;
                }
                let storage = Storage::At { buffer: buffer.clone(), offset: 0, owner: None };
                self.tensor_mut(root)?.storage = storage;
                Ok((buffer, shift))
            }
        }
    }

    /// Whether a tensor has memory, or gets it when it is needed.
    pub fn has_storage(&self, key: Key) -> bool {
        let root = self.tensors.get(key).and_then(|t| self.tensors.get(t.root));
        match root.map(|t| &t.storage) {
            Some(Storage::Promised | Storage::At { owner: None, .. }) => true,
            Some(Storage::At { owner: Some(handle), .. }) => self.buffers.contains(*handle),
            Some(Storage::None) | None => false,
        }
    }

    /// Whether a tensor lies in a buffer that a backend made.
    pub fn in_backend_buffer(&self, key: Key) -> bool {
        let root = self.tensors.get(key).and_then(|t| self.tensors.get(t.root));
        matches!(root.map(|t| &t.storage), Some(Storage::At { owner: Some(handle), .. }) if self.buffers.contains(*handle))
    }
}
