//! Contexts and graphs as text.

use crate::Session;
use crate::context::{TENSOR_OVERHEAD, graph_overhead};
use crate::names::{op_symbol, operator_code, operator_label, unary_code};
use crate::table::Key;
use crate::tensor::{Flag, Made, Tensor};
use ggmlr_core::Result;
use std::collections::HashSet;
use std::fmt::Write;

/// The name given by R, or the one that the position gives.
fn shown(t: &Tensor, prefix: &str, i: usize) -> String {
    t.name().map_or_else(|| format!("{prefix}_{i}"), str::to_owned)
}

/// Text inside a quoted label of a drawing.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

impl Tensor {
    /// Name of the operator as graphs print it; unary functions and gated units by their own name.
    pub fn op_desc(&self) -> String {
        let name = self.op_name();
        if unary_code(name).is_some() {
            return name.to_uppercase();
        }
        if let Made::Node { op, .. } = &self.made {
            use ggmlr_ops::elementwise::glu::{Glu, GluSplit};
            let id = op.downcast::<Glu>().map(|g| g.id).or_else(|| op.downcast::<GluSplit>().map(|g| g.id));
            if let Some(id) = id {
                return id.name().to_uppercase();
            }
        }
        operator_label(name)
    }
}

impl Session {
    /// One line for each object of a context.
    pub fn list_objects(&self, ctx: Key) -> Result<Vec<String>> {
        let c = self.context(ctx)?;
        let mut lines = Vec::new();
        for (i, k) in c.tensors.iter().enumerate() {
            let t = self.tensor(*k)?;
            let data = if t.root == *k { t.desc.span() } else { 0 };
            lines.push(format!(
                " - tensor {i:>4}: {} {}, {} bytes + {TENSOR_OVERHEAD}, {}",
                t.desc.dtype,
                t.desc.show(),
                data,
                shown(t, "tensor", i)
            ));
        }
        for (i, k) in c.graphs.iter().enumerate() {
            let g = self.graph(*k)?;
            lines.push(format!(
                " - graph  {i:>4}: {} nodes, {} leafs, {} bytes",
                g.nodes.len(),
                g.leafs.len(),
                graph_overhead(g.size, g.grads.is_some())
            ));
        }
        Ok(lines)
    }

    /// A graph as lines of text.
    pub fn print_graph(&self, graph: Key) -> Result<Vec<String>> {
        let g = self.graph(graph)?;
        let mut lines = vec!["=== GRAPH ===".to_owned(), format!("n_nodes = {}", g.nodes.len())];
        for (i, k) in g.nodes.iter().enumerate() {
            let t = self.tensor(*k)?;
            let flag = if t.has(Flag::Param) {
                "x"
            } else if g.grads.as_ref().is_some_and(|grads| grads.of.contains_key(k)) {
                "g"
            } else {
                " "
            };
            let ne = t.desc.ne;
            lines.push(format!(
                " - {i:>3}: [ {:>5}, {:>5}, {:>5}] {:>16} {flag}",
                ne[0],
                ne[1],
                ne[2],
                operator_label(t.op_name())
            ));
        }
        lines.push(format!("n_leafs = {}", g.leafs.len()));
        for (i, k) in g.leafs.iter().enumerate() {
            let t = self.tensor(*k)?;
            let ne = t.desc.ne;
            lines.push(format!(
                " - {i:>3}: [ {:>5}, {:>5}] {:>8} {:>16}",
                ne[0],
                ne[1],
                operator_label(t.op_name()),
                shown(t, "leaf", i)
            ));
        }
        lines.push("=".repeat(40));
        Ok(lines)
    }

    /// A graph in the language of Graphviz. With a second graph, gradients of its tensors are green and others light
    /// blue.
    pub fn draw_graph(&self, graph: Key, forward: Option<Key>) -> Result<String> {
        let g = self.graph(graph)?;
        let forward: Option<&HashSet<Key>> = forward.map(|f| Ok(&self.graph(f)?.listed)).transpose()?;
        let mut out = String::from("digraph G {\n  newrank = true;\n  rankdir = TB;\n");
        for (i, k) in g.nodes.iter().enumerate() {
            let t = self.tensor(*k)?;
            let has_grad = g.grads.as_ref().is_some_and(|grads| grads.of.contains_key(k));
            let colour = match (t.has(Flag::Param), has_grad) {
                (true, _) => "yellow",
                (false, true) if forward.is_none_or(|f| f.contains(k)) => "green",
                (false, true) => "lightblue",
                _ => "white",
            };
            let symbol = operator_code(t.op_name()).and_then(op_symbol).unwrap_or_else(|| t.op_name().to_owned());
            let symbol = if unary_code(t.op_name()).is_some() { format!("{}(x)", t.op_name()) } else { symbol };
            self.draw_node(&mut out, *k, colour, &shown(t, "node", i), &symbol)?;
        }
        for (i, k) in g.leafs.iter().enumerate() {
            let t = self.tensor(*k)?;
            self.draw_node(&mut out, *k, "pink", &shown(t, "leaf", i), "")?;
        }
        for k in &g.nodes {
            let Made::Node { src, .. } = &self.tensor(*k)?.made else { continue };
            for (i, s) in src.iter().enumerate() {
                let from = self.node_of(*s)?;
                let _ = writeln!(out, "  \"{}\" -> \"{}\" [ label = \"src {i}\"; ]", from.bits(), k.bits());
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    fn draw_node(&self, out: &mut String, key: Key, colour: &str, name: &str, symbol: &str) -> Result<()> {
        let d = self.tensor(key)?.desc;
        let ne: Vec<String> = d.ne[..d.n_dims()].iter().map(usize::to_string).collect();
        let label = format!("{} ({})\\n[{}]\\n{symbol}", quoted(name), d.dtype, ne.join(", "));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  \"{}\" [ style = filled; fillcolor = {colour}; shape = box; label = \"{label}\"; ]",
            key.bits()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{DType, Params};

    #[test]
    fn graphs_print_as_documented() {
        let mut s = session();
        let ctx = context(&mut s);
        let w = s.new_tensor(ctx, DType::F32, &[4, 3]).unwrap();
        let x = s.new_tensor(ctx, DType::F32, &[4]).unwrap();
        s.set_flag(w, Flag::Param).unwrap();
        s.set_name(x, "say \"x\"").unwrap();
        let y = s.call(ctx, "ggml_mul_mat", &[Some(w), Some(x)], Params::new()).unwrap();
        let z = s.call(ctx, "ggml_relu", &[Some(y)], Params::new()).unwrap();
        let g = s.build_graph(ctx, z, None).unwrap();
        let lines = s.print_graph(g).unwrap();
        assert_eq!(lines[0], "=== GRAPH ===");
        assert_eq!(lines[1], "n_nodes = 3");
        assert_eq!(lines[2], " -   0: [     4,     3,     1]             NONE x");
        assert_eq!(lines[4], " -   2: [     3,     1,     1]            UNARY  ");
        assert_eq!(lines[5], "n_leafs = 1");
        assert!(lines[6].ends_with("say \"x\""));
        assert_eq!(s.tensor(z).unwrap().op_desc(), "RELU");
        let dot = s.draw_graph(g, None).unwrap();
        assert!(dot.starts_with("digraph G {") && dot.contains("say \\\"x\\\" (f32)") && dot.contains("src 1"));
        assert_eq!(s.list_objects(ctx).unwrap().len(), 5);
    }
}
