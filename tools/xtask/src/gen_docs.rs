//! `gen-docs`: the table of what runs where.

use crate::Fallible;
use crate::files::{Generated, Root, settle};
use ggmlr_conform::support::markdown;
use ggmlr_cpu::CpuDevice;
use ggmlr_ops::registry;

pub fn run(root: &Root, check: bool) -> Fallible<()> {
    settle(root, &files(), check, "gen-docs")
}

/// What the file should hold.
pub fn files() -> Vec<Generated> {
    let text = markdown(registry().entries(), &[CpuDevice::shared()]);
    vec![Generated { path: "docs/op-support.md", text }]
}
