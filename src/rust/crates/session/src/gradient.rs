//! Backward graphs in a context.

use crate::Session;
use crate::graph::no_grads;
use crate::node::{Recorder, key_of, val_of};
use crate::table::Key;
use crate::tensor::Flag;
use ggmlr_core::{Build, Error, Params, Result, Val};
use std::collections::HashMap;

/// Sums gradients that come from several losses.
fn merge(build: &mut dyn Build, all: &mut HashMap<Val, Val>, more: HashMap<Val, Val>) -> Result<()> {
    // In a fixed order, so that the same script always builds the same graph.
    let mut more: Vec<(Val, Val)> = more.into_iter().collect();
    more.sort_unstable();
    for (of, grad) in more {
        let sum = match all.get(&of) {
            None => grad,
            Some(old) => {
                let x = [build.desc(*old)?, build.desc(grad)?];
                build.node(ggmlr_ops::make("add", &Params::new(), &x)?, &[*old, grad], None)?[0]
            }
        };
        all.insert(of, sum);
    }
    Ok(())
}

impl Session {
    /// Adds the gradient of every loss with respect to every trained tensor to a graph; the new tensors go to `ctx`.
    pub fn build_backward(&mut self, ctx: Key, graph: Key) -> Result<()> {
        let c = self.context(ctx)?;
        let before = (c.tensors.len(), c.used);
        self.add_backward(ctx, graph).inspect_err(|_| self.take_back(ctx, before.0, before.1))
    }

    fn add_backward(&mut self, ctx: Key, graph: Key) -> Result<()> {
        let g = self.graph(graph)?;
        let Some(grads) = &g.grads else { return Err(no_grads()) };
        if !grads.seeds.is_empty() {
            return Err(Error::argument("graph", "the graph has its gradients already"));
        }
        let nodes = g.nodes.clone();
        let (mut losses, mut params, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for k in &nodes {
            let t = self.tensor(*k)?;
            if t.has(Flag::Loss) {
                losses.push(*k);
            }
            if t.has(Flag::Param) {
                params.push(val_of(*k));
            }
            if t.is_node() {
                order.push(val_of(*k));
            }
        }
        if losses.is_empty() {
            return Err(Error::argument("graph", "no tensor of the graph is marked as a loss")
                .hint("Mark the scalar to make small with ggml_set_loss() before building the graph."));
        }
        let mut all = HashMap::new();
        let mut seeds = HashMap::new();
        for loss in losses {
            let desc = self.tensor(loss)?.desc.contiguous();
            let seed = self.new_leaf(ctx, desc)?;
            let mut tape = Recorder::new(self, ctx);
            let found = ggmlr_graph::backward(&mut tape, &order, val_of(loss), val_of(seed), &params)?;
            merge(&mut tape, &mut all, found)?;
            seeds.insert(loss, seed);
        }
        let of: HashMap<Key, Key> =
            all.into_iter().map(|(v, g)| Ok((key_of(v)?, key_of(g)?))).collect::<Result<_>>()?;
        // From the loss back to the leaves: gradients come in the order in which they become known.
        for k in nodes.iter().rev() {
            if let Some(grad) = of.get(k) {
                self.expand_graph(graph, *grad)?;
            }
        }
        if let Some(grads) = &mut self.graph_mut(graph)?.grads {
            (grads.of, grads.seeds) = (of, seeds);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Numbers;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{Cancel, DType, Kind};

    fn call(s: &mut Session, ctx: Key, f: &str, x: &[Key]) -> Key {
        let x: Vec<Option<Key>> = x.iter().copied().map(Some).collect();
        s.call(ctx, f, &x, Params::new()).unwrap()
    }

    fn values(s: &mut Session, k: Key) -> Vec<f64> {
        let mut out = vec![0.0; s.tensor(k).unwrap().desc.len()];
        s.read_numbers(k, &mut out).unwrap();
        out
    }

    /// sum((w * x)^2) with w trained.
    fn model(s: &mut Session) -> (Key, Key, Key, Key) {
        let ctx = context(s);
        let w = s.new_tensor(ctx, DType::F32, &[3]).unwrap();
        let x = s.new_tensor(ctx, DType::F32, &[3]).unwrap();
        s.write_numbers(w, Numbers::Real(&[1.0, 2.0, 3.0])).unwrap();
        s.write_numbers(x, Numbers::Real(&[2.0, 0.5, -1.0])).unwrap();
        s.set_flag(w, Flag::Param).unwrap();
        let y = call(s, ctx, "ggml_mul", &[w, x]);
        let q = call(s, ctx, "ggml_sqr", &[y]);
        let loss = call(s, ctx, "ggml_sum", &[q]);
        s.set_flag(loss, Flag::Loss).unwrap();
        (ctx, w, x, loss)
    }

    #[test]
    fn gradients_are_the_same_at_every_run() {
        let mut s = session();
        let (ctx, w, x, loss) = model(&mut s);
        let g = s.build_graph(ctx, loss, Some(64)).unwrap();
        s.build_backward(ctx, g).unwrap();
        s.reset_graph(g).unwrap();
        let grad = s.graph_grad(g, w).unwrap().unwrap();
        for _ in 0..2 {
            s.compute(g, &Cancel::new(), 1).unwrap();
            assert_eq!(values(&mut s, loss), [14.0]);
            assert_eq!(values(&mut s, grad), [8.0, 1.0, 6.0]);
        }
        assert_eq!(s.graph_grad(g, x).unwrap(), None);
        assert!(s.graph_seed(g, loss).unwrap().is_some());
        assert!(s.graph_seed(g, w).unwrap().is_none());
        assert!(s.build_backward(ctx, g).is_err());
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_is_left_behind() {
        let mut s = session();
        let (ctx, _, x, loss) = model(&mut s);
        let plain = s.build_graph(ctx, loss, None).unwrap();
        assert!(s.build_backward(ctx, plain).unwrap_err().message().contains("no gradient storage"));
        let small = s.build_graph(ctx, loss, Some(5)).unwrap();
        let n = s.tensors_of(ctx).unwrap().len();
        assert!(s.build_backward(ctx, small).unwrap_err().message().contains("too small"));
        assert_eq!(s.tensors_of(ctx).unwrap().len(), n);

        let y = call(&mut s, ctx, "ggml_sum", &[x]);
        let g = s.build_graph(ctx, y, Some(64)).unwrap();
        assert!(s.build_backward(ctx, g).unwrap_err().message().contains("marked as a loss"));
        s.set_flag(y, Flag::Loss).unwrap();
        assert_eq!(s.build_backward(ctx, g).unwrap_err().kind(), Kind::NoGradient);
    }

    #[test]
    fn two_losses_add_up() {
        let mut s = session();
        let (ctx, w, _, loss) = model(&mut s);
        let other = call(&mut s, ctx, "ggml_sum", &[w]);
        s.set_flag(other, Flag::Loss).unwrap();
        let g = s.build_graph(ctx, loss, Some(128)).unwrap();
        s.expand_graph(g, other).unwrap();
        s.build_backward(ctx, g).unwrap();
        s.reset_graph(g).unwrap();
        s.compute(g, &Cancel::new(), 1).unwrap();
        let grad = s.graph_grad(g, w).unwrap().unwrap();
        assert_eq!(values(&mut s, grad), [9.0, 2.0, 7.0]);
    }
}
