//! Graphs of R: lists of tensors in the order of their computation.

use crate::Session;
use crate::compute::Ready;
use crate::context::GRAPH_SIZE;
use crate::table::Key;
use crate::tensor::{Flag, Made};
use ggmlr_core::{Error, Kind, Result};
use std::collections::{HashMap, HashSet};

/// Gradients that belong to a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grads {
    /// Gradient of a tensor of the graph.
    pub of: HashMap<Key, Key>,
    /// Where a gradient starts: of each loss, the tensor that `ggml_graph_reset()` sets to 1.
    pub seeds: HashMap<Key, Key>,
}

/// A list of tensors to compute.
#[derive(Debug)]
pub struct TensorGraph {
    pub(crate) ctx: Key,
    /// Room for nodes, and for as many leaves; more would not fit with gradients.
    pub(crate) size: usize,
    pub(crate) nodes: Vec<Key>,
    pub(crate) leafs: Vec<Key>,
    pub(crate) listed: HashSet<Key>,
    pub(crate) grads: Option<Grads>,
    /// The compiled graph with its memory, as long as nothing changes.
    pub(crate) ready: Option<Ready>,
}

impl TensorGraph {
    /// Tensors in the order of computation; trained leaves are among them.
    pub fn nodes(&self) -> &[Key] {
        &self.nodes
    }

    /// Tensors that nothing computes.
    pub fn leafs(&self) -> &[Key] {
        &self.leafs
    }
}

fn graph_freed() -> Error {
    Error::new(Kind::Freed, "the graph is gone: the context has been freed or reset")
}

impl Session {
    /// Looks a graph up.
    pub fn graph(&self, key: Key) -> Result<&TensorGraph> {
        self.graphs.get(key).ok_or_else(graph_freed)
    }

    pub(crate) fn graph_mut(&mut self, key: Key) -> Result<&mut TensorGraph> {
        self.graphs.get_mut(key).ok_or_else(graph_freed)
    }

    /// R has no handle to the graph any more.
    pub fn release_graph(&mut self, key: Key) {
        if let Some(g) = self.graphs.remove(key)
            && let Some(c) = self.contexts.get_mut(g.ctx)
        {
            c.graphs.retain(|k| *k != key);
        }
    }

    fn new_graph(&mut self, ctx: Key, size: usize, grads: bool) -> Result<Key> {
        self.context_mut(ctx)?.charge_graph(size, grads)?;
        let graph = TensorGraph {
            ctx,
            size,
            nodes: Vec::new(),
            leafs: Vec::new(),
            listed: HashSet::new(),
            grads: grads.then(Grads::default),
            ready: None,
        };
        let key = self.graphs.insert(graph).ok_or_else(|| Error::internal("too many graphs"))?;
        self.context_mut(ctx)?.graphs.push(key);
        Ok(key)
    }

    /// A graph of everything that a tensor needs. One for gradients has room for `size` nodes, another for as many as
    /// come.
    pub fn build_graph(&mut self, ctx: Key, tensor: Key, size: Option<usize>) -> Result<Key> {
        self.context(ctx)?;
        let order = self.visit(tensor, &HashSet::new())?;
        let room = size.unwrap_or(GRAPH_SIZE.max(order.len()));
        if order.len() > room {
            return Err(too_small(room, order.len()));
        }
        let key = self.new_graph(ctx, room, size.is_some())?;
        self.list(key, &order)?;
        Ok(key)
    }

    /// Adds what another tensor needs.
    pub fn expand_graph(&mut self, graph: Key, tensor: Key) -> Result<()> {
        let g = self.graph(graph)?;
        let order = self.visit(tensor, &g.listed)?;
        let (ctx, size, grads) = (g.ctx, g.size, g.grads.is_some());
        let total = g.nodes.len().max(g.leafs.len()) + order.len();
        if total > size {
            if grads {
                return Err(too_small(size, total));
            }
            // Without gradients a graph grows; what it grows by is counted.
            self.context_mut(ctx)?.charge_graph(total - size, false)?;
            self.graph_mut(graph)?.size = total;
        }
        self.list(graph, &order)
    }

    /// Appends tensors in the order of visiting.
    fn list(&mut self, graph: Key, order: &[Key]) -> Result<()> {
        let ctx = self.graph(graph)?.ctx;
        let mut leafs = Vec::new();
        let mut nodes = Vec::new();
        for k in order {
            let t = self.tensor(*k)?;
            let owner = t.ctx;
            // As in ggml, a trained leaf counts as a node.
            if t.is_node() || t.has(Flag::Param) {
                nodes.push(*k)
            } else {
                leafs.push(*k)
            }
            self.hold(ctx, owner)?;
        }
        let g = self.graph_mut(graph)?;
        g.listed.extend(order);
        g.nodes.extend(nodes);
        g.leafs.extend(leafs);
        g.ready = None;
        Ok(())
    }

    /// Tensor at a position of the node list; negative positions count from the end.
    pub fn graph_node(&self, graph: Key, i: i64) -> Result<Key> {
        let g = self.graph(graph)?;
        let n = g.nodes.len() as i64;
        let at = if i < 0 { i + n } else { i };
        usize::try_from(at).ok().and_then(|at| g.nodes.get(at)).copied().ok_or_else(|| {
            Error::argument("i", format!("index {i} is out of range: the graph has {n} nodes"))
                .expected(format!("{} to {}", -n, n - 1))
                .got(i.to_string())
        })
    }

    /// Tensor with a name. Unnamed ones answer to `node_<i>` and `leaf_<i>`, as they are printed.
    pub fn graph_tensor(&self, graph: Key, name: &str) -> Result<Option<Key>> {
        let g = self.graph(graph)?;
        let named = |k: &&Key| self.tensors.get(**k).is_some_and(|t| t.name() == Some(name));
        if let Some(k) = g.leafs.iter().chain(&g.nodes).find(named) {
            return Ok(Some(*k));
        }
        let unnamed = |list: &[Key], prefix: &str| {
            let i: usize = name.strip_prefix(prefix)?.parse().ok()?;
            list.get(i).copied().filter(|k| self.tensors.get(*k).is_some_and(|t| t.name().is_none()))
        };
        Ok(unnamed(&g.leafs, "leaf_").or_else(|| unnamed(&g.nodes, "node_")))
    }

    /// Gradient of a tensor of the graph, if there is one.
    pub fn graph_grad(&self, graph: Key, tensor: Key) -> Result<Option<Key>> {
        self.tensor(tensor)?;
        Ok(self.graph(graph)?.grads.as_ref().and_then(|g| g.of.get(&tensor)).copied())
    }

    /// Where the gradient of a tensor starts, if it is a loss.
    pub fn graph_seed(&self, graph: Key, tensor: Key) -> Result<Option<Key>> {
        self.tensor(tensor)?;
        Ok(self.graph(graph)?.grads.as_ref().and_then(|g| g.seeds.get(&tensor)).copied())
    }

    /// A graph of the nodes `i0 .. i1` of another one, without leaves and gradients.
    pub fn view_graph(&mut self, graph: Key, i0: usize, i1: usize) -> Result<Key> {
        let g = self.graph(graph)?;
        if i0 > i1 || i1 > g.nodes.len() {
            let n = g.nodes.len();
            return Err(Error::argument("i1", format!("nodes {i0} to {i1} are out of range: the graph has {n} nodes")));
        }
        let (ctx, nodes) = (g.ctx, g.nodes[i0..i1].to_vec());
        let key = self.new_graph(ctx, nodes.len(), false)?;
        let view = self.graph_mut(key)?;
        view.listed = nodes.iter().copied().collect();
        view.nodes = nodes;
        Ok(key)
    }

    /// A copy of the lists of a graph.
    pub fn dup_graph(&mut self, ctx: Key, graph: Key, force_grads: bool) -> Result<Key> {
        let g = self.graph(graph)?;
        let (size, grads) = (g.size, force_grads || g.grads.is_some());
        let key = self.new_graph(ctx, size, grads)?;
        self.copy_graph(graph, key)?;
        Ok(key)
    }

    /// Replaces the lists of `dst` by those of `src`; gradients only if `dst` has room for them.
    pub fn copy_graph(&mut self, src: Key, dst: Key) -> Result<()> {
        let s = self.graph(src)?;
        let (nodes, leafs, listed, grads) = (s.nodes.clone(), s.leafs.clone(), s.listed.clone(), s.grads.clone());
        let d = self.graph(dst)?;
        let (ctx, size, need) = (d.ctx, d.size, nodes.len().max(leafs.len()));
        if need > size {
            return Err(too_small(size, need).arg("dst"));
        }
        for k in nodes.iter().chain(&leafs) {
            self.hold(ctx, self.tensor(*k)?.ctx)?;
        }
        let d = self.graph_mut(dst)?;
        if d.grads.is_some() {
            d.grads = Some(grads.unwrap_or_default());
        }
        (d.nodes, d.leafs, d.listed, d.ready) = (nodes, leafs, listed, None);
        Ok(())
    }

    /// Empties a graph.
    pub fn clear_graph(&mut self, graph: Key) -> Result<()> {
        let g = self.graph_mut(graph)?;
        g.nodes.clear();
        g.leafs.clear();
        g.listed.clear();
        g.grads = g.grads.is_some().then(Grads::default);
        g.ready = None;
        Ok(())
    }

    /// Appends one tensor without its sources.
    pub fn add_graph_node(&mut self, graph: Key, tensor: Key) -> Result<()> {
        let node = self.node_of(tensor)?;
        let g = self.graph(graph)?;
        if g.nodes.len() >= g.size {
            return Err(too_small(g.size, g.nodes.len() + 1));
        }
        if g.nodes.contains(&node) {
            return Ok(());
        }
        let (ctx, owner) = (g.ctx, self.tensor(node)?.ctx);
        self.hold(ctx, owner)?;
        let g = self.graph_mut(graph)?;
        g.nodes.push(node);
        g.listed.insert(node);
        g.ready = None;
        Ok(())
    }

    /// Makes a graph with gradients ready for a run: the gradient of each loss is 1, the moments of each optimiser
    /// step are 0.
    pub fn reset_graph(&mut self, graph: Key) -> Result<()> {
        let g = self.graph(graph)?;
        let Some(grads) = &g.grads else { return Err(no_grads()) };
        let seeds: Vec<Key> = grads.seeds.values().copied().collect();
        let nodes = g.nodes.clone();
        for k in seeds {
            self.write_all(k, 1.0)?;
        }
        for k in nodes {
            let moments = match &self.tensor(k)?.made {
                // Sources: weights, gradient, first moment, second moment, parameters.
                Made::Node { op, src, .. } if op.name() == "opt_step_adamw" => src[2..4].to_vec(),
                _ => continue,
            };
            for m in moments {
                self.write_zero(m)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn no_grads() -> Error {
    Error::argument("graph", "the graph has no gradient storage")
        .hint("Build it with ggml_build_forward_expand_grads().")
}

pub(crate) fn too_small(size: usize, need: usize) -> Error {
    Error::argument("graph_size", format!("a graph of size {size} is too small: {need} nodes are needed"))
        .expected(format!("at least {need}"))
        .got(size.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{DType, Params};

    fn chain() -> (Session, Key, [Key; 3]) {
        let mut s = session();
        let ctx = context(&mut s);
        let x = s.new_tensor(ctx, DType::F32, &[2]).unwrap();
        let y = s.call(ctx, "ggml_sqr", &[Some(x)], Params::new()).unwrap();
        let z = s.call(ctx, "ggml_add", &[Some(y), Some(x)], Params::new()).unwrap();
        (s, ctx, [x, y, z])
    }

    #[test]
    fn lists_names_and_positions() {
        let (mut s, ctx, [x, y, z]) = chain();
        let g = s.build_graph(ctx, z, None).unwrap();
        assert_eq!(s.graph(g).unwrap().nodes(), [y, z]);
        assert_eq!(s.graph(g).unwrap().leafs(), [x]);
        assert_eq!(s.graph_node(g, -1).unwrap(), z);
        assert!(s.graph_node(g, 2).is_err() && s.graph_node(g, -3).is_err());
        assert_eq!(s.graph_tensor(g, "leaf_0").unwrap(), Some(x));
        s.set_name(x, "input").unwrap();
        assert_eq!(s.graph_tensor(g, "input").unwrap(), Some(x));
        assert_eq!(s.graph_tensor(g, "leaf_0").unwrap(), None);
        let v = s.view_graph(g, 1, 2).unwrap();
        assert_eq!(s.graph(v).unwrap().nodes(), [z]);
        assert!(s.view_graph(g, 1, 3).is_err());
        let d = s.dup_graph(ctx, g, false).unwrap();
        s.clear_graph(g).unwrap();
        assert_eq!(s.graph(d).unwrap().nodes(), [y, z]);
        assert!(s.graph(g).unwrap().nodes().is_empty());
    }

    #[test]
    fn a_context_too_small_for_a_graph_says_so() {
        let mut s = session();
        let ctx = s.new_context(2048, false).unwrap();
        let x = s.new_tensor(ctx, DType::F32, &[2]).unwrap();
        let y = s.call(ctx, "ggml_sqr", &[Some(x)], Params::new()).unwrap();
        let e = s.build_graph(ctx, y, None).unwrap_err();
        assert_eq!(e.kind(), Kind::Memory);
        assert!(e.message().contains("too small for a graph: 32896 bytes needed"), "{e}");
    }

    #[test]
    fn graphs_for_gradients_have_a_fixed_size() {
        let (mut s, ctx, [_, _, z]) = chain();
        let e = s.build_graph(ctx, z, Some(2)).unwrap_err();
        assert!(e.message().contains("size 2 is too small"), "{e}");
        let g = s.build_graph(ctx, z, Some(3)).unwrap();
        assert!(s.reset_graph(g).is_ok());
        let plain = s.build_graph(ctx, z, None).unwrap();
        assert!(s.reset_graph(plain).unwrap_err().message().contains("no gradient storage"));
    }
}
