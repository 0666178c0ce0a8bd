//! Backends and the buffers they make.

use crate::Session;
use crate::table::Key;
use crate::tensor::Storage;
use ggmlr_core::{BufferRef, Class, Device, Error, Kind, Result};
use ggmlr_graph::plan::SLOT;
use std::sync::Arc;

/// A device as R opened it.
#[derive(Debug)]
pub struct Backend {
    pub device: Arc<dyn Device>,
    /// At most so many threads; 0 leaves it to the user's general setting.
    pub threads: usize,
}

/// What a buffer is for, with ggml's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    Any = 0,
    Weights = 1,
    Compute = 2,
}

/// Memory that holds tensors of a context.
#[derive(Debug)]
pub struct Buffer {
    pub(crate) buffer: BufferRef,
    pub usage: Usage,
    ctx: Key,
    /// Whether R still has a handle.
    pub(crate) wanted: bool,
}

impl Buffer {
    /// Bytes of it.
    pub fn size(&self) -> usize {
        self.buffer.size()
    }

    /// Name of the device that holds it.
    pub fn device(&self) -> &str {
        self.buffer.device()
    }

    /// Whether the CPU reads and writes it directly.
    pub fn is_host(&self) -> bool {
        self.buffer.is_host()
    }
}

impl Session {
    /// Opens a device.
    pub fn open_backend(&mut self, device: Arc<dyn Device>) -> Result<Key> {
        self.backends.insert(Backend { device, threads: 0 }).ok_or_else(|| Error::internal("too many backends"))
    }

    /// Looks a backend up.
    pub fn backend(&self, key: Key) -> Result<&Backend> {
        self.backends.get(key).ok_or_else(backend_freed)
    }

    /// Looks a backend up to change it.
    pub fn backend_mut(&mut self, key: Key) -> Result<&mut Backend> {
        self.backends.get_mut(key).ok_or_else(backend_freed)
    }

    /// Ends a backend. Its buffers stay; ending it twice is no error.
    pub fn free_backend(&mut self, key: Key) {
        self.backends.remove(key);
    }

    /// Gives every tensor of a context that has none memory in one new buffer.
    pub fn alloc_context(&mut self, ctx: Key, backend: Key) -> Result<Key> {
        let device = self.backend(backend)?.device.clone();
        let mut places = Vec::new();
        let mut total = 0_usize;
        for k in self.tensors_of(ctx)? {
            let t = self.tensor(*k)?;
            let homeless = match &t.storage {
                Storage::None => true,
                Storage::At { owner: Some(handle), .. } => !self.buffers.contains(*handle),
                _ => false,
            };
            if t.root == *k && homeless {
                places.push((*k, total));
                total = t.desc.span().checked_next_multiple_of(SLOT).and_then(|n| n.checked_add(total)).ok_or_else(
                    || failed("their size overflows").got(format!("tensor '{}', {}", t.label(), t.desc.show())),
                )?;
            }
        }
        if places.is_empty() {
            return Err(failed("every tensor has storage already")
                .hint("Use a context made with no_alloc = TRUE, and call this after its tensors are made."));
        }
        let buffer = device.alloc(total, Class::Weights).map_err(|e| {
            failed("out of device memory?").got(format!("{total} bytes on {}: {}", device.name(), e.message()))
        })?;
        let entry = Buffer { buffer: buffer.clone(), usage: Usage::Any, ctx, wanted: true };
        let key = self.buffers.insert(entry).ok_or_else(|| Error::internal("too many buffers"))?;
        for (k, offset) in places {
            self.tensor_mut(k)?.storage = Storage::At { buffer: buffer.clone(), offset, owner: Some(key) };
        }
        self.context_mut(ctx)?.buffers.push(key);
        self.forget_ready();
        Ok(key)
    }

    /// Looks a buffer up.
    pub fn buffer(&self, key: Key) -> Result<&Buffer> {
        self.buffers.get(key).ok_or_else(buffer_freed)
    }

    /// Looks a buffer up to change it.
    pub fn buffer_mut(&mut self, key: Key) -> Result<&mut Buffer> {
        self.buffers.get_mut(key).ok_or_else(buffer_freed)
    }

    /// Sets every byte of a buffer.
    pub fn clear_buffer(&self, key: Key, value: u8) -> Result<()> {
        let b = self.buffer(key)?;
        b.buffer.fill(0, b.size(), value)
    }

    /// Ends a buffer: the tensors in it have no storage any more. Ending it twice is no error.
    pub fn free_buffer(&mut self, key: Key) {
        if let Some(b) = self.buffers.remove(key)
            && let Some(c) = self.contexts.get_mut(b.ctx)
        {
            c.buffers.retain(|k| *k != key);
        }
        self.forget_ready();
    }

    /// R has no handle to the buffer any more: it stays as long as the context whose tensors lie in it.
    pub fn release_buffer(&mut self, key: Key) {
        let Some(b) = self.buffers.get_mut(key) else { return };
        b.wanted = false;
        if !self.contexts.contains(b.ctx) {
            self.free_buffer(key);
        }
    }
}

fn failed(why: &str) -> Error {
    Error::new(Kind::Memory, format!("Failed to allocate context tensors ({why})"))
}

fn backend_freed() -> Error {
    Error::new(Kind::Freed, "the backend has been freed")
}

fn buffer_freed() -> Error {
    Error::new(Kind::Freed, "the buffer has been freed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Numbers;
    use crate::tensor::tests::session;
    use ggmlr_core::{Cancel, DType, Params};
    use ggmlr_cpu::CpuDevice;

    #[test]
    fn a_buffer_holds_all_tensors_until_it_is_freed() {
        let mut s = session();
        let ctx = s.new_context(1 << 20, true).unwrap();
        let x = s.new_tensor(ctx, DType::F32, &[3]).unwrap();
        let y = s.call(ctx, "ggml_sqr", &[Some(x)], Params::new()).unwrap();
        let backend = s.open_backend(CpuDevice::shared()).unwrap();
        let buffer = s.alloc_context(ctx, backend).unwrap();
        assert_eq!(s.buffer(buffer).unwrap().size(), 2 * SLOT);
        assert!(s.in_backend_buffer(x));
        s.write_part(x, 4, Numbers::Real(&[2.0, 3.0])).unwrap();
        let g = s.build_graph(ctx, y, None).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        assert_eq!(s.read_part(y, 0, None).unwrap(), [0.0, 4.0, 9.0]);
        assert!(s.alloc_context(ctx, backend).unwrap_err().message().contains("Failed to allocate context tensors"));

        s.release_buffer(buffer);
        assert_eq!(s.read_part(y, 0, None).unwrap(), [0.0, 4.0, 9.0]);
        s.free_buffer(buffer);
        s.free_buffer(buffer);
        assert_eq!(s.read_part(y, 0, None).unwrap_err().kind(), Kind::Freed);
        assert_eq!(s.compute(g, &Cancel::new(), 1).unwrap_err().kind(), Kind::Freed);
        s.alloc_context(ctx, backend).unwrap();
        assert_eq!(s.read_part(y, 0, None).unwrap(), [0.0; 3]);

        s.free_backend(backend);
        s.free_backend(backend);
        assert!(s.backend(backend).unwrap_err().message().contains("backend has been freed"));
    }
}
