//! Operators. One file or folder per operator holds its shapes, definition, kernels, gradient, cases and R signature;
//! each family's `mod.rs` lists its entries.
#![forbid(unsafe_code)]

pub mod case;
pub mod check;
pub mod entry;
mod macros;

pub mod assemble;
pub mod elementwise;
pub mod index;
pub mod linear;
pub mod loss;
pub mod matrix;
pub mod norm;
pub mod optim;
pub mod order;
pub mod random;
pub mod reduce;
pub mod shape;

pub use case::{Case, Tol, Values};
pub use entry::{Call, Entry, Registry, make, registry};

/// The families, in the order of the help index.
fn families() -> Vec<Vec<Entry>> {
    vec![
        elementwise::entries(),
        reduce::entries(),
        shape::entries(),
        assemble::entries(),
        norm::entries(),
        linear::entries(),
        matrix::entries(),
        loss::entries(),
        index::entries(),
        order::entries(),
        random::entries(),
        optim::entries(),
    ]
}
