//! Memory of a device, as the engine sees it.

use crate::error::Result;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What a buffer is for; pools and placement differ by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    Weights,
    Inputs,
    Workspace,
    Results,
}

/// A block of a device's memory.
pub trait Buffer: Debug + Send + Sync {
    /// Usable bytes.
    fn size(&self) -> usize;

    /// Name of the device that owns it.
    fn device(&self) -> &str;

    /// Whether the CPU reads and writes it directly.
    fn is_host(&self) -> bool;

    /// Copies bytes out; waits for pending writes.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<()>;

    /// Copies bytes in.
    fn write(&self, offset: usize, data: &[u8]) -> Result<()>;

    /// Sets bytes.
    fn fill(&self, offset: usize, len: usize, value: u8) -> Result<()>;

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Shared buffer; the memory goes with the last reference.
pub type BufferRef = Arc<dyn Buffer>;
