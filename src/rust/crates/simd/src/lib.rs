//! CPU kernels over slices: formulas, row operations, matrix products, strided copies, conversions.
//!
//! Single-threaded: callers split the work. The functions are safe; unsafe code is confined to calling what was compiled
//! for other instructions (`isa`), the kernels of matrix products (`gemm`) and a control register (`fpmode`).

mod blocks;
mod features;
mod slices;
mod sums;

pub mod copy;
pub mod fpmode;
pub mod gemm;
pub mod isa;
pub mod map;
pub mod reduce;

pub use features::cpu_features;
pub use isa::{Tier, tier, with_tier};
