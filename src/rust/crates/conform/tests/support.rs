//! The committed table of what runs where.

use ggmlr_conform::support::markdown;
use ggmlr_cpu::CpuDevice;
use ggmlr_ops::registry;

#[test]
fn the_committed_table_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../docs/op-support.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let fresh = markdown(registry().entries(), &[CpuDevice::shared()]);
    if committed.replace("\r\n", "\n") != fresh {
        let line = committed.lines().zip(fresh.lines()).position(|(a, b)| a != b);
        panic!("docs/op-support.md is stale (first at line {line:?}); run: cargo xtask gen-docs");
    }
}
