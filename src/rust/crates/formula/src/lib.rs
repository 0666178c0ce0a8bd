//! The element-wise formulas of ggmlR, each written once.
//!
//! The tables `unary.in.rs`, `binary.in.rs` and `glu.in.rs` hold one row per formula: its value and its derivatives
//! as a single expression in call style. [`rust`] reads a row as Rust, in three arithmetics ([`Plain`], [`Fused`],
//! [`Double`]), and [`glsl`] reads the same text as shader source, so that a backend cannot disagree about a formula.
//!
//! To add a formula, add a row. A function it calls must exist in `math/f32.in.rs`, `math/f64.rs` and
//! `prelude.glsl`; a test compares the three lists.
#![forbid(unsafe_code)]

#[path = "binary.in.rs"]
mod binary_table;
#[path = "glu.in.rs"]
mod glu_table;
#[path = "unary.in.rs"]
mod unary_table;

pub mod glsl;
mod ids;
pub mod math;
pub mod rust;

pub use ids::{BinaryId, GluId, UnaryId};
pub use rust::{Arith, BinaryRow, Double, Fused, GluRow, Plain, UnaryRow};
