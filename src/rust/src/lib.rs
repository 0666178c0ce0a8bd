//! Bindings: the only crate that knows R. Arguments are decoded here, failures become plain R values here, and R's
//! thread waits here for long work.
//!
//! Unsafe code lives in `handles.rs` only.

mod bindings;

mod backend;
mod context;
mod decode;
mod diag;
mod graph;
mod handles;
mod nn;
mod outcome;
mod run;
mod state;
mod tensor;

bindings::bindings! {
root ggmlR;
use backend;
use context;
use diag;
use graph;
use nn;
use tensor;
}
