//! Which device runs which node, and what had to fall back.

use crate::ir::{Graph, Place, ValueId};
use ggmlr_core::{Answer, Desc, Device, Error, Kind, Result};
use smallvec::SmallVec;
use std::sync::Arc;

/// An operator that the preferred device does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    pub op: &'static str,
    pub device: String,
    pub reason: String,
    pub count: usize,
}

/// Every fallback of a program; a missing kernel costs speed and is always on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    pub entries: Vec<Fallback>,
}

impl Ledger {
    fn note(&mut self, op: &'static str, device: &str, reason: String) {
        match self.entries.iter_mut().find(|e| e.op == op && e.device == device && e.reason == reason) {
            Some(e) => e.count += 1,
            None => self.entries.push(Fallback { op, device: device.to_owned(), reason, count: 1 }),
        }
    }

    /// Number of nodes that fell back.
    pub fn nodes(&self) -> usize {
        self.entries.iter().map(|e| e.count).sum()
    }
}

/// Device of each node (`None` for leaves, views and nodes that nobody needs).
pub(crate) struct Assignment {
    pub device: Vec<Option<u8>>,
    pub ledger: Ledger,
}

/// Nodes that something kept, or written outside, depends on.
pub(crate) fn live_nodes(graph: &Graph) -> Vec<bool> {
    let nodes = graph.nodes();
    let mut live = vec![false; nodes.len()];
    let mut any_kept = vec![false; nodes.len()];
    for i in 0..nodes.len() {
        any_kept[i] = nodes[i].out.iter().enumerate().any(|(o, out)| {
            out.keep || {
                // Writing into memory that outlives the run is an effect of its own.
                let root = graph.root(ValueId { node: i as u32, out: o as u8 });
                matches!(out.place, Place::Into(_)) && graph.value(root).keep
            }
        });
    }
    for i in (0..nodes.len()).rev() {
        if any_kept[i] && !nodes[i].is_leaf() {
            live[i] = true;
        }
        if live[i] {
            for s in &nodes[i].src {
                live[s.node as usize] = true;
            }
        }
        // A node that writes into a planned value lives when the value is read afterwards; a reader reaches it through
        // the written value, which is the node's own result.
    }
    live
}

/// Takes the first device in order of preference that runs a node; nodes that write into a value stay where it is.
pub(crate) fn assign(graph: &Graph, live: &[bool], devices: &[Arc<dyn Device>]) -> Result<Assignment> {
    let host = devices.len().saturating_sub(1) as u8;
    let mut device: Vec<Option<u8>> = vec![None; graph.nodes().len()];
    let mut ledger = Ledger::default();
    for (i, n) in graph.nodes().iter().enumerate() {
        if !live[i] || n.is_leaf() || matches!(n.out[0].place, Place::View(_)) {
            continue;
        }
        let x: SmallVec<[Desc; 4]> = n.src.iter().map(|s| graph.value(*s).desc).collect();
        let y: SmallVec<[Desc; 1]> = n.out.iter().map(|o| o.desc).collect();
        let preferred = match n.out[0].place {
            Place::Into(_) => {
                let root = graph.root(ValueId { node: i as u32, out: 0 });
                device[root.node as usize].unwrap_or(host)
            }
            _ => 0,
        };
        let order = std::iter::once(preferred).chain((0..devices.len() as u8).filter(|d| *d != preferred));
        let mut reasons: SmallVec<[String; 2]> = SmallVec::new();
        for d in order {
            let dev = &devices[d as usize];
            match dev.supports(n.op.as_ref(), &x, &y) {
                Answer::Yes => {
                    device[i] = Some(d);
                    break;
                }
                Answer::No(reason) => {
                    reasons.push(format!("{}: {reason}", dev.name()));
                    ledger.note(n.op.name(), dev.name(), reason);
                }
            }
        }
        if device[i].is_none() {
            return Err(Error::new(
                Kind::Unsupported,
                format!("no device runs this operator ({})", reasons.join("; ")),
            )
            .op(n.op.name()));
        }
    }
    Ok(Assignment { device, ledger })
}
