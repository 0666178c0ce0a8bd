//! The formulas of `ggmlr-formula` over slices.
//!
//! All slices of a call have the same length; a call panics otherwise, as `copy_from_slice` does. In-place forms exist
//! because a `&mut` slice can't be lent twice.

mod binary;
mod glu;
mod unary;

pub use binary::{
    binary, binary_f64, binary_inplace, binary_inplace_b, binary_inplace_b_f64, binary_inplace_f64, binary_scalar_b,
    binary_scalar_b_f64, binary_scalar_b_inplace, binary_scalar_b_inplace_f64,
};
pub use glu::{glu, glu_f64, glu_grad, glu_grad_f64};
pub use unary::{unary, unary_f64, unary_grad, unary_grad_f64, unary_inplace, unary_inplace_f64};
