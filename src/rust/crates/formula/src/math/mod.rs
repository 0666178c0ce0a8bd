//! The functions that formulas may call, once per arithmetic.
//!
//! `f32.in.rs` is compiled twice. With `mul_add` it is faster and a little more accurate, but only where the compiler
//! may use the FMA instruction: elsewhere `mul_add` is a library call that is some 25 times slower.

// Constants keep the digits of their source.
#[allow(clippy::excessive_precision)]
pub mod f64;

#[allow(clippy::excessive_precision)]
pub mod plain {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
    include!("f32.in.rs");
}

#[allow(clippy::excessive_precision)]
pub mod fused {
    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
    include!("f32.in.rs");
}
