//! Operators and graphs: what R/ggml-graph.R and the generated operator functions call.

use crate::bindings::bindings;
use crate::decode;
use crate::handles::{self, Thing};
use crate::run;
use crate::state;
use extendr_api::Robj;
use ggmlr_core::{Error, Result};
use ggmlr_ops::registry;
use ggmlr_session::Key;

/// A tensor found through a graph: it keeps alive what the graph keeps alive.
fn found(key: Option<Key>, graph: &Robj) -> Robj {
    let ctx = handles::kept_by(graph);
    key.map_or_else(|| ().into(), |k| handles::make(Thing::Tensor, k, ctx.as_ref()))
}

fn handle(key: Key, ctx: &Robj) -> Robj {
    handles::make(Thing::Graph, key, Some(ctx))
}

/// Room of a graph with gradients.
fn graph_size(x: &Robj) -> Result<usize> {
    decode::within(x, "graph_size", 1, i32::MAX as usize)
}

bindings! {
mod graph;

/// Adds the node that an operator function stands for.
fn rs_graph_op(ctx, fun, inputs, params) {
    let key = decode::context(ctx, "ctx")?;
    let function = decode::text(fun, "fun")?;
    let (entry, _) = registry()
        .function(&function)
        .ok_or_else(|| Error::argument("function", format!("there is no operator function '{function}'")))?;
    let inputs = decode::inputs(inputs, "inputs", entry.inputs)?;
    let params = decode::params(params, "params")?;
    let key = state::with(|s| s.call(key, &function, &inputs, params))?;
    Ok(handles::make(Thing::Tensor, key, Some(ctx)))
}

/// A graph of all that a tensor needs; with a size, one that has room for gradients.
fn rs_graph_build(ctx, tensor, graph_size) {
    let (key, tensor) = (decode::context(ctx, "ctx")?, decode::tensor(tensor, "tensor")?);
    let size = decode::given(graph_size).map(self::graph_size).transpose()?;
    let key = state::with(|s| s.build_graph(key, tensor, size))?;
    Ok(handle(key, ctx))
}

/// Adds what another tensor needs.
fn rs_graph_expand(graph, tensor) {
    let (graph, tensor) = (decode::graph(graph, "graph")?, decode::tensor(tensor, "tensor")?);
    state::with(|s| s.expand_graph(graph, tensor))?;
    Ok(().into())
}

/// Adds the gradients.
fn rs_graph_backward(ctx, graph) {
    let (key, graph) = (decode::context(ctx, "ctx")?, decode::graph(graph, "graph")?);
    state::with(|s| s.build_backward(key, graph))?;
    Ok(().into())
}

/// Sets the gradient of each loss to 1.
fn rs_graph_reset(graph) {
    let graph = decode::graph(graph, "graph")?;
    state::with(|s| s.reset_graph(graph))?;
    Ok(().into())
}

/// Computes every node.
fn rs_graph_compute(ctx, graph, n_threads) {
    let (ctx, graph) = (decode::context(ctx, "ctx")?, decode::graph(graph, "graph")?);
    let threads = decode::within(n_threads, "n_threads", 0, crate::diag::MAX_THREADS)?;
    state::with(|s| s.check_context(ctx))?;
    run::compute(graph, &[], threads)
}

/// Number of nodes.
fn rs_graph_n_nodes(graph) {
    let key = decode::graph(graph, "graph")?;
    Ok((state::with(|s| Ok(s.graph(key)?.nodes().len()))? as i32).into())
}

/// Node at a position.
fn rs_graph_node(graph, i) {
    let (key, i) = (decode::graph(graph, "graph")?, decode::whole(i, "i")?);
    Ok(found(Some(state::with(|s| s.graph_node(key, i))?), graph))
}

/// Tensor with a name.
fn rs_graph_tensor(graph, name) {
    let (key, name) = (decode::graph(graph, "graph")?, decode::text(name, "name")?);
    Ok(found(state::with(|s| s.graph_tensor(key, &name))?, graph))
}

/// Gradient of a node.
fn rs_graph_grad(graph, node) {
    let (key, node) = (decode::graph(graph, "graph")?, decode::tensor(node, "node")?);
    Ok(found(state::with(|s| s.graph_grad(key, node))?, graph))
}

/// Where the gradient of a loss starts.
fn rs_graph_grad_acc(graph, node) {
    let (key, node) = (decode::graph(graph, "graph")?, decode::tensor(node, "node")?);
    Ok(found(state::with(|s| s.graph_seed(key, node))?, graph))
}

/// Some of the nodes as a graph.
fn rs_graph_view(graph, i0, i1) {
    let key = decode::graph(graph, "graph")?;
    let (i0, i1) = (decode::count(i0, "i0")?, decode::count(i1, "i1")?);
    let view = state::with(|s| s.view_graph(key, i0, i1))?;
    Ok(handles::make(Thing::Graph, view, handles::kept_by(graph).as_ref()))
}

/// A copy.
fn rs_graph_dup(ctx, graph, force_grads) {
    let (key, graph) = (decode::context(ctx, "ctx")?, decode::graph(graph, "graph")?);
    let force = decode::flag(force_grads, "force_grads")?;
    let key = state::with(|s| s.dup_graph(key, graph, force))?;
    Ok(handle(key, ctx))
}

/// Replaces the lists of a graph by those of another one.
fn rs_graph_cpy(src, dst) {
    let (src, dst) = (decode::graph(src, "src")?, decode::graph(dst, "dst")?);
    state::with(|s| s.copy_graph(src, dst))?;
    Ok(().into())
}

/// Empties a graph.
fn rs_graph_clear(graph) {
    let graph = decode::graph(graph, "graph")?;
    state::with(|s| s.clear_graph(graph))?;
    Ok(().into())
}

/// Appends one tensor.
fn rs_graph_add_node(graph, tensor) {
    let (graph, tensor) = (decode::graph(graph, "graph")?, decode::tensor(tensor, "tensor")?);
    state::with(|s| s.add_graph_node(graph, tensor))?;
    Ok(().into())
}

/// Lines of text.
fn rs_graph_print(graph) {
    let graph = decode::graph(graph, "graph")?;
    Ok(state::with(|s| s.print_graph(graph))?.into())
}

/// A drawing in the language of Graphviz.
fn rs_graph_dot(graph, leafs) {
    let graph = decode::graph(graph, "graph")?;
    let forward = decode::given(leafs).map(|g| decode::graph(g, "leafs")).transpose()?;
    Ok(state::with(|s| s.draw_graph(graph, forward))?.into())
}
}
