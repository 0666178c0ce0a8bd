//! Contexts: what R/ggml-context.R calls.

use crate::bindings::bindings;
use crate::decode;
use crate::handles::{self, Thing};
use crate::outcome::named;
use crate::state;
use ggmlr_core::Desc;
use ggmlr_session::{GRAPH_SIZE, TENSOR_OVERHEAD, graph_overhead};

/// Slack that the estimate of a tensor's memory adds.
const ESTIMATE_SLACK: usize = 256;

bindings! {
mod context;

/// A new context.
fn rs_context_init(mem_size, no_alloc) {
    let (size, no_alloc) = (decode::size(mem_size, "mem_size")?, decode::flag(no_alloc, "no_alloc")?);
    let key = state::with(|s| s.new_context(size, no_alloc))?;
    Ok(handles::make(Thing::Context, key, None))
}

/// Ends a context.
fn rs_context_free(ctx) {
    let key = decode::context(ctx, "ctx")?;
    state::with(|s| {
        s.free_context(key);
        Ok(())
    })?;
    Ok(().into())
}

/// Drops all tensors of a context.
fn rs_context_reset(ctx) {
    let key = decode::context(ctx, "ctx")?;
    state::with(|s| s.reset_context(key))?;
    Ok(().into())
}

/// How full a context is.
fn rs_context_usage(ctx) {
    let key = decode::context(ctx, "ctx")?;
    let u = state::with(|s| s.usage(key))?;
    Ok(named(vec![
        ("total", (u.total as f64).into()),
        ("used", (u.used as f64).into()),
        ("largest", (u.largest as f64).into()),
        ("tensors", (u.tensors as i32).into()),
        ("no_alloc", u.no_alloc.into()),
    ]))
}

/// Whether later tensors come without storage.
fn rs_context_set_no_alloc(ctx, no_alloc) {
    let (key, no_alloc) = (decode::context(ctx, "ctx")?, decode::flag(no_alloc, "no_alloc")?);
    state::with(|s| s.set_no_alloc(key, no_alloc))?;
    Ok(().into())
}

/// The tensor made after another one; after NULL, the first one. NULL at the end.
fn rs_context_next(ctx, tensor) {
    let key = decode::context(ctx, "ctx")?;
    let after = decode::given(tensor).map(|t| decode::tensor(t, "tensor")).transpose()?;
    let next = state::with(|s| s.tensor_after(key, after))?;
    Ok(next.map_or_else(|| ().into(), |k| handles::make(Thing::Tensor, k, Some(ctx))))
}

/// One line for each object.
fn rs_context_objects(ctx) {
    let key = decode::context(ctx, "ctx")?;
    Ok(state::with(|s| s.list_objects(key))?.into())
}

/// Bytes that a context counts for a tensor's description and for a graph.
fn rs_context_overhead() {
    Ok(vec![TENSOR_OVERHEAD as f64, graph_overhead(GRAPH_SIZE, false) as f64].into())
}

/// Bytes that a tensor takes in a context, and a little more.
fn rs_context_estimate(type_id, ne) {
    let desc = Desc::new(decode::dtype(type_id, "type")?, &decode::extents(ne, "ne")?)?;
    Ok(((desc.bytes() + TENSOR_OVERHEAD + ESTIMATE_SLACK) as f64).into())
}
}
