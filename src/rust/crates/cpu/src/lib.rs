//! The CPU device: host memory, the thread pool and the interpreter of plans.

pub mod buffer;
pub mod device;
mod exec;
pub mod null;
pub mod pool;

pub use buffer::{HostBuffer, live_bytes};
pub use device::CpuDevice;
pub use null::NullDevice;
