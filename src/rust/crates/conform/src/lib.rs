//! Runs the case table of the operators on any device against the f64 definition, and proves gradient rules.
//!
//! [`report::check`] is the entry. A new operator needs nothing here: its cases are found through
//! the registry.
#![forbid(unsafe_code)]

pub mod complete;
pub mod gradient;
pub mod interpret;
pub mod layouts;
pub mod report;
pub mod run;
pub mod support;
pub mod tol;
pub mod values;

pub use report::{Options, Row, Status, check, check_entry};
