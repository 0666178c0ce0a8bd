//! The engine: graph representation, differentiation, memory plan, scheduling, compiled programs and their runs.
#![forbid(unsafe_code)]

pub mod autodiff;
pub mod cache;
pub mod instance;
pub mod ir;
pub mod plan;
pub mod program;
pub mod schedule;

pub use autodiff::{Producer, Tape, backward};
pub use cache::ProgramCache;
pub use instance::{Instance, Run};
pub use ir::{Graph, Node, Out, Place, ValueId};
pub use program::Program;
pub use schedule::{Fallback, Ledger};
