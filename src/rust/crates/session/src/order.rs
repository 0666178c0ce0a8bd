//! The order in which a graph visits tensors: sources first, depth first, sources in the order of the operands.
//!
//! A node that writes into memory of another tensor also waits for everybody who was to read the old value: those
//! made before it. Neither a source nor such a reader is ever younger than the node that waits for it, so the order
//! always exists.

use crate::Session;
use crate::table::Key;
use crate::tensor::{Made, Tensor};
use ggmlr_core::Result;
use std::collections::{HashMap, HashSet};

/// Calls `leave` for every tensor that `start` depends on, after all that it depends on; `seen` holds what was
/// visited before and is not visited again.
fn post_order(
    start: Key,
    seen: &mut HashSet<Key>,
    mut needs: impl FnMut(Key) -> Result<Vec<Key>>,
    mut leave: impl FnMut(Key),
) -> Result<()> {
    if !seen.insert(start) {
        return Ok(());
    }
    // An explicit stack: graphs of thousands of layers must not exhaust the thread's own.
    let mut stack = vec![(start, needs(start)?.into_iter())];
    while let Some((key, rest)) = stack.last_mut() {
        match rest.next() {
            Some(next) => {
                if seen.insert(next) {
                    let its = needs(next)?.into_iter();
                    stack.push((next, its));
                }
            }
            None => {
                leave(*key);
                stack.pop();
            }
        }
    }
    Ok(())
}

/// Memory that a node writes although it belongs to another tensor.
fn written(t: &Tensor, key: Key) -> Option<Key> {
    match &t.made {
        Made::Node { op, into, .. } => {
            let writes = into.is_some() || !op.effects().writes.is_empty();
            (writes && t.root != key).then_some(t.root)
        }
        _ => None,
    }
}

impl Session {
    /// Nodes whose results a tensor is computed from.
    fn sources(&self, key: Key) -> Result<Vec<Key>> {
        match &self.tensor(key)?.made {
            Made::Node { src, .. } => src.iter().map(|k| self.node_of(*k)).collect(),
            _ => Ok(Vec::new()),
        }
    }

    /// Tensors that `start` needs and `listed` does not hold yet, in the order of visiting; `start` comes last.
    pub(crate) fn visit(&self, start: Key, listed: &HashSet<Key>) -> Result<Vec<Key>> {
        let start = self.node_of(start)?;
        let mut seen = listed.clone();
        let mut found = Vec::new();
        post_order(start, &mut seen, |k| self.sources(k), |k| found.push(k))?;
        let waits = self.waits(&found, listed)?;
        if waits.is_empty() {
            return Ok(found);
        }
        let mut seen = listed.clone();
        let mut order = Vec::with_capacity(found.len());
        let needs = |k: Key| {
            let mut all = self.sources(k)?;
            all.extend(waits.get(&k).into_iter().flatten());
            Ok(all)
        };
        post_order(start, &mut seen, needs, |k| order.push(k))?;
        Ok(order)
    }

    /// For each node that overwrites something: the older nodes of the graph that touch the same memory.
    fn waits(&self, found: &[Key], listed: &HashSet<Key>) -> Result<HashMap<Key, Vec<Key>>> {
        let mut writers: HashMap<Key, Vec<Key>> = HashMap::new();
        for k in found {
            if let Some(root) = written(self.tensor(*k)?, *k) {
                writers.entry(root).or_default().push(*k);
            }
        }
        let mut waits: HashMap<Key, Vec<Key>> = HashMap::new();
        if writers.is_empty() {
            return Ok(waits);
        }
        for k in found.iter().filter(|k| !listed.contains(k)) {
            let age = self.tensor(*k)?.age;
            let Made::Node { src, .. } = &self.tensor(*k)?.made else { continue };
            for s in src {
                for w in writers.get(&self.tensor(*s)?.root).into_iter().flatten() {
                    if age < self.tensor(*w)?.age {
                        waits.entry(*w).or_default().push(*k);
                    }
                }
            }
        }
        Ok(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::tests::{context, session};
    use ggmlr_core::{DType, Params};

    #[test]
    fn a_reader_of_the_old_value_comes_before_the_writer() {
        let mut s = session();
        let ctx = context(&mut s);
        let a = s.new_tensor(ctx, DType::F32, &[2]).unwrap();
        let reader = s.call(ctx, "ggml_neg", &[Some(a)], Params::new()).unwrap();
        let writer = s.call(ctx, "ggml_sqr_inplace", &[Some(a)], Params::new()).unwrap();
        // Visiting operands in order would run the writer first.
        let y = s.call(ctx, "ggml_add", &[Some(writer), Some(reader)], Params::new()).unwrap();
        assert_eq!(s.visit(y, &HashSet::new()).unwrap(), [a, reader, writer, y]);
    }

    #[test]
    fn deep_chains_do_not_recurse() {
        let mut s = session();
        let ctx = s.new_context(1 << 30, true).unwrap();
        let mut x = s.new_tensor(ctx, DType::F32, &[1]).unwrap();
        for _ in 0..100_000 {
            x = s.call(ctx, "ggml_neg", &[Some(x)], Params::new()).unwrap();
        }
        assert_eq!(s.visit(x, &HashSet::new()).unwrap().len(), 100_001);
    }
}
