//! Evaluates a graph with the definitions of its operators, in f64, one node after the other.

use ggmlr_core::{Array, Error, Result};
use ggmlr_graph::{Graph, Place, ValueId};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Values of a graph's nodes.
#[derive(Clone, Debug, Default)]
pub struct Values {
    known: HashMap<ValueId, Array>,
}

impl Values {
    /// No values.
    pub fn new() -> Values {
        Values::default()
    }

    /// Gives a leaf its value.
    pub fn set(&mut self, v: ValueId, x: Array) {
        self.known.insert(v, x);
    }

    /// A value that was given or computed.
    pub fn get(&self, v: ValueId) -> Result<&Array> {
        self.known.get(&v).ok_or_else(|| Error::internal(format!("value {v:?} is not known")))
    }

    /// A value as it is now: a view is read through its base, which may have been written since.
    fn current(&self, graph: &Graph, v: ValueId) -> Result<Array> {
        match graph.value(v).place {
            Place::View(_) => evaluate(graph, v.node as usize, self)?
                .into_iter()
                .nth(v.out as usize)
                .ok_or_else(|| Error::internal("a view gave no value")),
            _ => self.get(v).cloned(),
        }
    }

    /// Evaluates every node; leaves must have been given.
    pub fn run(&mut self, graph: &Graph) -> Result<()> {
        for (i, n) in graph.nodes().iter().enumerate() {
            let id = |o: usize| ValueId { node: i as u32, out: o as u8 };
            if n.is_leaf() {
                if let Place::Filled(x) = n.out[0].place {
                    let ne = n.out[0].desc.ne;
                    self.set(id(0), Array { ne, data: vec![x; ne.iter().product()] });
                }
                self.get(id(0))?;
                continue;
            }
            let results = evaluate(graph, i, self)?;
            for (o, (y, out)) in results.into_iter().zip(&n.out).enumerate() {
                if let Place::Into(target) = out.place {
                    self.overwrite(graph, target, &y)?;
                }
                self.set(id(o), y);
            }
        }
        Ok(())
    }

    /// The memory of `target` now holds `y`, and so does everything that shares it whole.
    fn overwrite(&mut self, graph: &Graph, mut target: ValueId, y: &Array) -> Result<()> {
        loop {
            self.set(target, y.clone());
            match graph.value(target).place {
                Place::Into(next) => target = next,
                // A part of another value: nothing in the tables writes there.
                Place::View(_) => return Err(Error::internal("the interpreter cannot write through a view")),
                _ => return Ok(()),
            }
        }
    }
}

fn evaluate(graph: &Graph, node: usize, values: &Values) -> Result<Vec<Array>> {
    let n = &graph.nodes()[node];
    let x: SmallVec<[Array; 4]> = n.src.iter().map(|s| values.current(graph, *s)).collect::<Result<_>>()?;
    let refs: SmallVec<[&Array; 4]> = x.iter().collect();
    let mut y: Vec<Array> = n.out.iter().map(|o| Array::zeros(o.desc.ne)).collect();
    if y.iter().any(|y| !y.is_empty()) {
        n.op.oracle(&refs, &mut y).map_err(|e| e.op(n.op.name()))?;
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::{DType, Desc, Params};

    #[test]
    fn nodes_constants_and_in_place_results() {
        let d = Desc::new(DType::F32, &[2, 3]).unwrap();
        let mut g = Graph::new();
        let x = g.leaf(d);
        let two = g.filled(d, 2.0);
        let op = ggmlr_ops::make("add", &Params::new(), &[d, d]).unwrap();
        let y = g.add(op.clone(), &[x, two], Some(0)).unwrap()[0];
        let z = g.add(op, &[x, y], None).unwrap()[0];
        let mut v = Values::new();
        v.set(x, Array::from(&[2, 3], vec![1.0; 6]));
        v.run(&g).unwrap();
        assert_eq!(v.get(z).unwrap().data, [6.0; 6], "x was overwritten before z read it");
        assert!(Values::new().run(&g).is_err());
    }
}
