//! What a C interface will need: graphs over memory that a caller owns, with views into it, computed without a copy.

use ggmlr_core::{Cancel, DType, Desc, Params};
use ggmlr_cpu::{CpuDevice, HostBuffer, live_bytes};
use ggmlr_session::{Key, Session};
use std::sync::Arc;

/// Memory of a caller, aligned as an allocator would.
#[repr(align(64))]
struct Block([f32; 64]);

/// A buffer over a caller's block, which stays alive as long as the buffer.
fn over(block: &Arc<std::cell::UnsafeCell<Block>>) -> Arc<HostBuffer> {
    struct Keep(#[allow(dead_code)] Arc<std::cell::UnsafeCell<Block>>);
    // SAFETY: only moved around and dropped.
    unsafe impl Send for Keep {}
    // SAFETY: as above.
    unsafe impl Sync for Keep {}
    // SAFETY: the block lives as long as `Keep`, and this test touches it only between runs.
    unsafe { HostBuffer::external(block.get().cast(), size_of::<Block>(), Box::new(Keep(block.clone()))) }
}

fn read(block: &Arc<std::cell::UnsafeCell<Block>>, i: usize) -> f32 {
    // SAFETY: no run is under way.
    unsafe { (*block.get()).0[i] }
}

#[test]
fn a_graph_computes_in_the_memory_of_its_caller() {
    #[allow(clippy::arc_with_non_send_sync)]
    let block = Arc::new(std::cell::UnsafeCell::new(Block(std::array::from_fn(|i| i as f32))));
    let buffer = over(&block);
    let mut s = Session::new(CpuDevice::shared());
    let ctx = s.new_context(1 << 20, false).unwrap();
    let row = |n: usize| Desc::new(DType::F32, &[n]).unwrap();
    let call = |s: &mut Session, f: &str, x: &[Key], p: Params| {
        let x: Vec<Option<Key>> = x.iter().copied().map(Some).collect();
        s.call(ctx, f, &x, p).unwrap()
    };

    // Two tensors in one block, a view of the first, and a result that is written into the second.
    let x = s.new_over(ctx, row(16), buffer.clone(), 0).unwrap();
    let out = s.new_over(ctx, row(4), buffer.clone(), 128).unwrap();
    let view = call(&mut s, "ggml_view_1d", &[x], Params::new().with("ne0", 4.0).with("offset", 16.0));
    let square = call(&mut s, "ggml_sqr_inplace", &[view], Params::new());
    let done = call(&mut s, "ggml_cpy", &[square, out], Params::new());
    let graph = s.build_graph(ctx, done, None).unwrap();

    let before = live_bytes();
    s.compute(graph, &Cancel::new(), 1).unwrap();
    assert!(live_bytes() - before < 64, "a copy of the caller's data was made");
    assert_eq!((4..8).map(|i| read(&block, i)).collect::<Vec<_>>(), [16.0, 25.0, 36.0, 49.0]);
    assert_eq!((32..36).map(|i| read(&block, i)).collect::<Vec<_>>(), [16.0, 25.0, 36.0, 49.0]);
    assert_eq!((read(&block, 3), read(&block, 8), read(&block, 31), read(&block, 36)), (3.0, 8.0, 31.0, 36.0));
    let (at, offset) = s.locate(view).unwrap();
    assert_eq!((at.size(), offset), (size_of::<Block>(), 16));

    assert!(s.new_over(ctx, row(64), buffer, 4).is_err());
    s.free_context(ctx);
    // The graph's buffers were the last ones to hold the block.
    drop(at);
    drop(s);
    assert_eq!(Arc::strong_count(&block), 1);
}
