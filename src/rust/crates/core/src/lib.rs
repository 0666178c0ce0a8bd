//! The contract of ggmlR: data types, shapes, operators, devices, buffers, errors and random numbers.
//!
//! Everything else points down to this crate. It contains no `unsafe`, no kernel and no knowledge of R, Vulkan or
//! a particular operator.
#![forbid(unsafe_code)]

pub mod buffer;
pub mod build;
pub mod call;
pub mod cancel;
pub mod desc;
pub mod device;
pub mod dtype;
pub mod error;
pub mod key;
pub mod log;
pub mod op;
pub mod oracle;
pub mod params;
pub mod pool;
pub mod rng;

pub use buffer::{Buffer, BufferRef, Class};
pub use build::{Build, Grad, Val};
pub use call::{CpuCall, Dst, Src};
pub use cancel::Cancel;
pub use desc::{Desc, MAX_DIMS};
pub use device::{Answer, Binding, Device, DeviceKind, Event, Operand, Part, Plan, Step, Stream, Submit};
pub use dtype::DType;
pub use error::{Error, Kind, Result};
pub use key::{Field, Key, Scalar};
pub use op::{Descs, Effects, Layout, Op, OpRef};
pub use oracle::Array;
pub use params::{Param, Params};
pub use pool::{Pool, Serial};
