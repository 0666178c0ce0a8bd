//! A program: the immutable plan of one fully shaped graph for given devices.

use crate::ir::{Graph, Place, ValueId};
use crate::plan::{Lifetime, place};
use crate::schedule::{Assignment, Ledger, assign, live_nodes};
use ggmlr_core::{Desc, Device, Error, Operand, Part, Plan, Result, Step};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Slot of the arena in every device's bindings.
pub(crate) const ARENA: u32 = 0;
/// Slot of the filled constants.
pub(crate) const CONSTANTS: u32 = 1;
/// First slot of memory that somebody outside provides.
pub(crate) const FIRST_EXTERNAL: u32 = 2;

/// A place on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub device: u8,
    pub slot: u32,
    pub offset: usize,
}

/// One thing to do, in order.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Run { device: u8, plan: Arc<dyn Plan> },
    Copy { from: Spot, to: Spot, bytes: usize },
}

/// A constant to fill when an instance is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub spot: Spot,
    pub desc: Desc,
    pub value: f64,
}

/// Compiled graph.
#[derive(Debug)]
pub struct Program {
    pub(crate) graph: Graph,
    pub(crate) devices: Vec<Arc<dyn Device>>,
    pub(crate) stages: Vec<Stage>,
    /// Bytes of each device's arena and constants.
    pub(crate) arena: Vec<usize>,
    pub(crate) constants: Vec<usize>,
    pub(crate) fills: Vec<Fill>,
    /// Values behind the external slots of each device.
    pub(crate) external: Vec<Vec<ValueId>>,
    /// Device and position in `external` of each value from outside; its own memory is on one device only.
    pub(crate) slot_of: HashMap<ValueId, (usize, usize)>,
    /// Where the memory of each kept value is.
    pub(crate) home: HashMap<ValueId, Spot>,
    cost: f64,
    unplanned: usize,
    ledger: Ledger,
}

/// Memory of a root value on a device.
struct Cell {
    device: u8,
    kind: CellKind,
    life: Lifetime,
}

enum CellKind {
    Planned,
    Constant(f64, Desc),
    External(ValueId),
}

/// What happens, before places are known.
enum Event {
    Node {
        node: usize,
        device: u8,
        src: SmallVec<[usize; 4]>,
        dst: SmallVec<[usize; 1]>,
        into: SmallVec<[Option<u8>; 1]>,
    },
    Copy {
        from: usize,
        to: usize,
        bytes: usize,
    },
}

struct Builder<'a> {
    graph: &'a Graph,
    host: u8,
    cells: Vec<Cell>,
    at: HashMap<(ValueId, u8), usize>,
    /// Devices that hold the current bytes of a root.
    valid: HashMap<ValueId, SmallVec<[u8; 2]>>,
    /// Roots that live to the end.
    kept: HashMap<ValueId, bool>,
    /// Last node that reads or writes a root, through any of its views.
    last_use: HashMap<ValueId, usize>,
    events: Vec<Event>,
}

impl Builder<'_> {
    fn is_kept(&self, root: ValueId) -> bool {
        self.kept.get(&root).copied().unwrap_or(false)
    }

    fn cell(&mut self, root: ValueId, device: u8) -> usize {
        if let Some(&c) = self.at.get(&(root, device)) {
            return c;
        }
        let out = self.graph.value(root);
        let home = self.home(root);
        let kind = match out.place {
            Place::External if device == home => CellKind::External(root),
            Place::Filled(v) if device == home => CellKind::Constant(v, out.desc),
            _ => CellKind::Planned,
        };
        let first = self.events.len();
        self.cells.push(Cell { device, kind, life: Lifetime { bytes: out.desc.span(), first, last: first } });
        let c = self.cells.len() - 1;
        self.at.insert((root, device), c);
        c
    }

    /// Device of a root's own memory: where it was computed, or the host for what comes from outside.
    fn home(&self, root: ValueId) -> u8 {
        match self.graph.value(root).place {
            Place::External | Place::Filled(_) => self.host,
            _ => self.valid.get(&root).and_then(|v| v.first().copied()).unwrap_or(self.host),
        }
    }

    fn touch(&mut self, cell: usize) {
        let now = self.events.len();
        self.cells[cell].life.last = self.cells[cell].life.last.max(now);
    }

    /// Makes the bytes of a root present on a device; its cell.
    fn fetch(&mut self, root: ValueId, device: u8) -> usize {
        let home = self.home(root);
        let valid = self.valid.entry(root).or_insert_with(|| SmallVec::from_slice(&[home]));
        if valid.contains(&device) {
            return self.cell(root, device);
        }
        let from = valid[0];
        valid.push(device);
        let (a, b) = (self.cell(root, from), self.cell(root, device));
        self.touch(a);
        self.touch(b);
        let bytes = self.graph.value(root).desc.span();
        self.events.push(Event::Copy { from: a, to: b, bytes });
        b
    }

    /// A source whose memory result 0 of `node` may take over.
    fn reusable(&self, node: usize, device: u8) -> Option<(usize, ValueId)> {
        let n = &self.graph.nodes()[node];
        let out = &n.out[0];
        if out.place != Place::Own {
            return None;
        }
        n.op.effects().may_reuse.into_iter().find_map(|i| {
            let root = self.graph.root(n.src[i]);
            let (r, s) = (self.graph.value(root), self.graph.value(n.src[i]));
            let fits = s.desc == out.desc && s.desc.is_contiguous() && r.desc.bytes() == s.desc.bytes();
            let free = r.place == Place::Own && !self.is_kept(root) && self.last_use.get(&root) == Some(&node);
            let alone = n.src.iter().enumerate().all(|(j, v)| j == i || self.graph.root(*v) != root);
            let here = self.valid.get(&root).is_some_and(|v| v.as_slice() == [device]);
            (fits && free && alone && here).then_some((i, root))
        })
    }

    fn node(&mut self, node: usize, device: u8) {
        let graph = self.graph;
        let n = &graph.nodes()[node];
        let mut src: SmallVec<[usize; 4]> = SmallVec::new();
        for s in &n.src {
            let c = self.fetch(graph.root(*s), device);
            src.push(c);
        }
        let reuse = self.reusable(node, device);
        let mut dst: SmallVec<[usize; 1]> = SmallVec::new();
        let mut into: SmallVec<[Option<u8>; 1]> = SmallVec::new();
        let mut written: SmallVec<[ValueId; 1]> = SmallVec::new();
        for (o, out) in n.out.iter().enumerate() {
            let v = ValueId { node: node as u32, out: o as u8 };
            let root = graph.root(v);
            let (cell, shared) = match (out.place, reuse) {
                (Place::Into(t), _) => {
                    let i = n.src.iter().position(|s| *s == t);
                    (self.fetch(root, device), i)
                }
                (_, Some((i, from))) if o == 0 => {
                    let c = self.cell(from, device);
                    self.at.insert((v, device), c);
                    (c, Some(i))
                }
                _ => {
                    // Valid before the cell exists, so that a planned value's home is the device that computes it.
                    if out.place == Place::Own {
                        self.valid.insert(v, SmallVec::from_slice(&[device]));
                    }
                    (self.cell(root, device), None)
                }
            };
            self.valid.insert(root, SmallVec::from_slice(&[device]));
            dst.push(cell);
            into.push(shared.map(|i| i as u8));
            written.push(root);
        }
        for c in src.iter().chain(&dst) {
            self.touch(*c);
        }
        self.events.push(Event::Node { node, device, src, dst, into });
        for root in written {
            // Memory that outlives the run must hold the result.
            let home = self.host;
            if matches!(graph.value(root).place, Place::External) && home != device {
                self.fetch(root, home);
            }
        }
    }
}

impl Program {
    /// Plans a graph for devices in order of preference; the last one must be the host.
    pub fn compile(graph: &Graph, devices: &[Arc<dyn Device>]) -> Result<Program> {
        if devices.is_empty() {
            return Err(Error::internal("a program needs a device"));
        }
        let live = live_nodes(graph);
        let Assignment { device, ledger } = assign(graph, &live, devices)?;
        let mut b = Builder {
            graph,
            host: (devices.len() - 1) as u8,
            cells: Vec::new(),
            at: HashMap::new(),
            valid: HashMap::new(),
            kept: HashMap::new(),
            last_use: HashMap::new(),
            events: Vec::new(),
        };
        for (i, n) in graph.nodes().iter().enumerate() {
            for o in 0..n.out.len() {
                let v = ValueId { node: i as u32, out: o as u8 };
                if n.out[o].keep {
                    b.kept.insert(graph.root(v), true);
                }
                if live[i] {
                    b.last_use.insert(graph.root(v), i);
                }
            }
            if live[i] {
                for s in &n.src {
                    b.last_use.insert(graph.root(*s), i);
                }
            }
        }
        for (i, d) in device.iter().enumerate() {
            if let Some(d) = d {
                b.node(i, *d);
            }
        }
        // A kept view of memory from outside needs that memory although no node may touch it.
        for (i, n) in graph.nodes().iter().enumerate().filter(|(i, _)| live[*i]) {
            if n.out[0].keep && matches!(n.out[0].place, Place::View(_)) {
                let root = graph.root(ValueId { node: i as u32, out: 0 });
                let home = b.home(root);
                b.fetch(root, home);
            }
        }
        let end = b.events.len();
        for (root, _) in b.kept.iter().filter(|(_, k)| **k) {
            for d in b.valid.get(root).into_iter().flatten() {
                if let Some(&c) = b.at.get(&(*root, *d)) {
                    b.cells[c].life.last = end;
                }
            }
        }
        finish(b, devices, ledger)
    }

    /// Estimated nanoseconds of a run on one thread.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// What fell back from the preferred device.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Planned bytes over all devices.
    pub fn arena_bytes(&self) -> usize {
        self.arena.iter().sum()
    }

    /// Bytes that the planned values would take without sharing memory.
    pub fn unplanned_bytes(&self) -> usize {
        self.unplanned
    }

    /// Parts and copies.
    pub fn n_stages(&self) -> usize {
        self.stages.len()
    }

    /// The graph it was made from.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

/// Gives every cell its place and groups the events into stages.
fn finish(b: Builder<'_>, devices: &[Arc<dyn Device>], ledger: Ledger) -> Result<Program> {
    let n = devices.len();
    let mut spots: Vec<Spot> = b.cells.iter().map(|c| Spot { device: c.device, slot: ARENA, offset: 0 }).collect();
    let (mut arena, mut constants) = (vec![0; n], vec![0; n]);
    let mut external: Vec<Vec<ValueId>> = vec![Vec::new(); n];
    let mut fills = Vec::new();
    let mut unplanned = 0;
    for d in 0..n {
        let mut mine = Vec::new();
        for (i, c) in b.cells.iter().enumerate().filter(|(_, c)| c.device as usize == d) {
            match c.kind {
                CellKind::Planned => mine.push(i),
                CellKind::Constant(value, desc) => {
                    spots[i] = Spot { device: d as u8, slot: CONSTANTS, offset: constants[d] };
                    constants[d] += desc.bytes().next_multiple_of(crate::plan::SLOT);
                    fills.push(Fill { spot: spots[i], desc, value });
                }
                CellKind::External(v) => {
                    spots[i].slot = FIRST_EXTERNAL + external[d].len() as u32;
                    external[d].push(v);
                }
            }
        }
        let lives: Vec<Lifetime> = mine.iter().map(|&i| b.cells[i].life).collect();
        unplanned += lives.iter().map(|l| l.bytes.next_multiple_of(crate::plan::SLOT)).sum::<usize>();
        let (offsets, total) = place(&lives);
        arena[d] = total;
        for (&i, offset) in mine.iter().zip(offsets) {
            spots[i].offset = offset;
        }
    }
    let mut stages: Vec<Stage> = Vec::new();
    let mut open: Option<(u8, Part)> = None;
    let mut cost = 0.0;
    let close = |open: &mut Option<(u8, Part)>, stages: &mut Vec<Stage>| -> Result<()> {
        if let Some((device, part)) = open.take() {
            stages.push(Stage::Run { device, plan: devices[device as usize].compile(part)? });
        }
        Ok(())
    };
    for e in &b.events {
        match e {
            Event::Copy { from, to, bytes } => {
                close(&mut open, &mut stages)?;
                stages.push(Stage::Copy { from: spots[*from], to: spots[*to], bytes: *bytes });
            }
            Event::Node { node, device, src, dst, into } => {
                if open.as_ref().is_some_and(|(d, _)| d != device) {
                    close(&mut open, &mut stages)?;
                }
                let step = step(b.graph, *node, src, dst, into, &spots);
                cost += step.cost;
                open.get_or_insert_with(|| (*device, Part::default())).1.steps.push(step);
            }
        }
    }
    close(&mut open, &mut stages)?;
    let mut home = HashMap::new();
    for root in b.kept.keys() {
        if let Some(c) = b.valid.get(root).and_then(|v| v.first()).and_then(|d| b.at.get(&(*root, *d))) {
            home.insert(*root, spots[*c]);
        }
    }
    let slot_of = external
        .iter()
        .enumerate()
        .flat_map(|(d, list)| list.iter().enumerate().map(move |(i, v)| (*v, (d, i))))
        .collect();
    Ok(Program {
        slot_of,
        graph: b.graph.clone(),
        devices: devices.to_vec(),
        stages,
        arena,
        constants,
        fills,
        external,
        home,
        cost,
        unplanned,
        ledger,
    })
}

fn step(graph: &Graph, node: usize, src: &[usize], dst: &[usize], into: &[Option<u8>], spots: &[Spot]) -> Step {
    let n = &graph.nodes()[node];
    let operand = |v: ValueId, cell: usize| {
        let (offset, shifts) = offset_in_root(graph, v);
        let spot = spots[cell];
        Operand { desc: graph.value(v).desc, slot: spot.slot, offset: spot.offset + offset, shifts }
    };
    let x: SmallVec<[Desc; 4]> = n.src.iter().map(|s| graph.value(*s).desc).collect();
    let y: SmallVec<[Desc; 1]> = n.out.iter().map(|o| o.desc).collect();
    Step {
        op: n.op.clone(),
        src: n.src.iter().zip(src).map(|(v, c)| operand(*v, *c)).collect(),
        dst: dst.iter().enumerate().map(|(o, c)| operand(ValueId { node: node as u32, out: o as u8 }, *c)).collect(),
        into: into.iter().copied().collect(),
        updates: (0..n.out.len()).any(|o| {
            let root = graph.root(ValueId { node: node as u32, out: o as u8 });
            matches!(n.out[o].place, Place::Into(_)) && graph.value(root).place == Place::External
        }),
        scalars: n.scalars.clone(),
        cost: n.op.cost(&x, &y),
        node: node as u32,
    }
}

/// Byte offset of a value in its root: fixed part, and words of the scalar block to add.
pub(crate) fn offset_in_root(graph: &Graph, mut v: ValueId) -> (usize, SmallVec<[u32; 1]>) {
    let (mut offset, mut shifts) = (0, SmallVec::new());
    loop {
        match graph.value(v).place {
            Place::View(base) => {
                let n = graph.node_of(v);
                // A view keeps its offset in its first scalar, so that moving it compiles nothing.
                if n.scalars.is_empty() {
                    offset += n.op.view_offset()
                } else {
                    shifts.push(n.scalars.start as u32)
                }
                v = base;
            }
            Place::Into(base) => v = base,
            _ => return (offset, shifts),
        }
    }
}
