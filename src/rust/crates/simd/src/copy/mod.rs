//! Strided copies and conversions between element types.

mod convert;
mod strided;

pub use convert::{
    bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, f32_to_f64, f32_to_i32, f64_to_f32, f64_to_i32, i32_to_f32,
    i32_to_f64,
};
pub use strided::{CopyError, copy_strided};
