//! One case on one device: a graph of one operator, guarded memory, every arrangement of its inputs.

use crate::layouts::{Arrangement, arrange, between, gather, spread};
use crate::values::{Data, decode, draw};
use ggmlr_core::{Array, Binding, BufferRef, Cancel, Class, DType, Desc, Device, Error, Kind, Result};
use ggmlr_graph::{Graph, Instance, Place, Program, Run, ValueId};
use ggmlr_ops::Case;
use std::sync::Arc;

/// Bytes around every operand that must stay as they are.
const GUARD: usize = 1024;
const GUARD_BYTE: u8 = 0xa5;

/// What the memory of a result holds before: a large negative number as f32 and f64, so that elements which were
/// never written stand out.
const STALE_BYTE: u8 = 0xcd;

/// Who owns the memory of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The caller, with guards around it.
    External,
    /// The memory plan.
    Planned,
}

/// A case with its inputs drawn and its results known.
#[derive(Debug)]
pub struct Subject<'a> {
    pub case: &'a Case,
    pub inputs: Vec<Data>,
    /// Contiguous descriptions of the results.
    pub results: Vec<Desc>,
    /// What the definition says.
    pub expected: Vec<Array>,
}

impl<'a> Subject<'a> {
    /// Draws inputs and evaluates the definition. `double` turns f32 inputs into f64 ones.
    pub fn new(case: &'a Case, seed: u64, double: bool) -> Result<Subject<'a>> {
        let mut inputs = Vec::new();
        for (i, input) in case.inputs.iter().enumerate() {
            let dtype = if double && input.dtype == DType::F32 { DType::F64 } else { input.dtype };
            inputs.push(draw(input, dtype, seed, i)?);
        }
        let x: Vec<Desc> = inputs.iter().map(|d| d.desc).collect();
        let results: Vec<Desc> = case.op.infer(&x)?.iter().map(Desc::contiguous).collect();
        let mut expected: Vec<Array> = results.iter().map(|d| Array::zeros(d.ne)).collect();
        if expected.iter().any(|e| !e.is_empty()) {
            let refs: Vec<&Array> = inputs.iter().map(|d| &d.array).collect();
            case.op.oracle(&refs, &mut expected)?;
        }
        Ok(Subject { case, inputs, results, expected })
    }

    /// Types of the operands, for tolerances.
    pub fn types(&self) -> Vec<DType> {
        self.inputs.iter().map(|d| d.desc.dtype).collect()
    }

    /// Whether the operator overwrites input `i`.
    fn is_target(&self, i: usize) -> bool {
        self.case.in_place && i == 0 || self.case.op.effects().writes.iter().any(|(_, s)| *s == i)
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Bytes of each result, contiguous.
    pub results: Vec<Vec<u8>>,
    /// Memory that was touched and should not have been.
    pub damage: Option<String>,
}

impl Outcome {
    /// Result `i` as numbers.
    pub fn numbers(&self, i: usize, dtype: DType) -> Result<Vec<f64>> {
        decode(dtype, &self.results[i])
    }
}

/// A value in a buffer of its own, between two guards.
struct Guarded {
    buffer: BufferRef,
    desc: Desc,
    /// Bytes from the start of the buffer to the first element.
    offset: usize,
    before: Vec<u8>,
}

impl Guarded {
    /// `content` holds the value as `desc` lays it out.
    fn new(device: &Arc<dyn Device>, desc: Desc, lead: usize, content: &[u8]) -> Result<Guarded> {
        let offset = GUARD + lead;
        let mut before = vec![GUARD_BYTE; offset + desc.span() + GUARD];
        before[offset..offset + content.len()].copy_from_slice(content);
        let buffer = device.alloc(before.len(), Class::Inputs)?;
        buffer.write(0, &before)?;
        Ok(Guarded { buffer, desc, offset, before })
    }

    fn binding(&self) -> Binding {
        Binding { buffer: self.buffer.clone(), offset: self.offset }
    }

    /// Elements as they are now, contiguous.
    fn value(&self) -> Result<Vec<u8>> {
        let mut now = vec![0; self.desc.span()];
        self.buffer.read(self.offset, &mut now)?;
        Ok(gather(&now, &self.desc))
    }

    /// The first byte that changed although it is no element, or is one of a value that may not change.
    fn damage(&self, name: &str, may_change: bool) -> Result<Option<String>> {
        let mut now = vec![0; self.before.len()];
        self.buffer.read(0, &mut now)?;
        let mut guard = vec![true; now.len()];
        if may_change {
            guard[self.offset..self.offset + self.desc.span()].copy_from_slice(&between(&self.desc));
        }
        let bad = (0..now.len()).find(|&i| guard[i] && now[i] != self.before[i]);
        Ok(bad.map(|i| {
            let at = i as isize - self.offset as isize;
            format!("{name} ({:?}): byte {at} was overwritten", self.desc)
        }))
    }
}

/// Runs a case once.
pub fn execute(
    device: &Arc<dyn Device>,
    subject: &Subject<'_>,
    set: &[Arrangement],
    home: Home,
    threads: usize,
) -> Result<Outcome> {
    let mut graph = Graph::new();
    let mut leaves = Vec::new();
    let mut inputs = Vec::new();
    for (data, a) in subject.inputs.iter().zip(set) {
        let (desc, lead) = arrange(&data.desc, *a)
            .ok_or_else(|| Error::internal(format!("{:?} cannot be arranged as {}", data.desc, a.name())))?;
        leaves.push(graph.leaf(desc));
        inputs.push(Guarded::new(device, desc, lead, &spread(&data.bytes, &desc, GUARD_BYTE))?);
    }
    let into = subject.case.in_place.then_some(0);
    let results = graph.add(subject.case.op.clone(), &leaves, into)?;
    let mut own: Vec<Option<Guarded>> = Vec::new();
    for v in &results {
        let desc = graph.value(*v).desc;
        if home == Home::External && graph.value(*v).place == Place::Own {
            graph.make_external(*v);
            own.push(Some(Guarded::new(device, desc, 0, &vec![STALE_BYTE; desc.span()])?));
        } else {
            graph.keep(*v);
            own.push(None);
        }
    }
    let program = Program::compile(&graph, std::slice::from_ref(device))?;
    let mut instance = Instance::new(Arc::new(program))?;
    let bound = own.iter().zip(&results).filter_map(|(g, v)| Some((g.as_ref()?, *v)));
    for (g, v) in inputs.iter().zip(leaves.iter().copied()).chain(bound) {
        instance.bind(v, g.binding())?;
    }
    instance.run(&Run { cancel: &Cancel::new(), threads })?;
    collect(subject, &instance, &inputs, &own, &results)
}

fn collect(
    subject: &Subject<'_>,
    instance: &Instance,
    inputs: &[Guarded],
    own: &[Option<Guarded>],
    values: &[ValueId],
) -> Result<Outcome> {
    let mut results = Vec::new();
    let mut damage = None;
    for (i, g) in inputs.iter().enumerate() {
        damage = damage.or(g.damage(&format!("input {i}"), subject.is_target(i))?);
    }
    for (o, (g, v)) in own.iter().zip(values).enumerate() {
        results.push(match g {
            Some(g) => {
                damage = damage.or(g.damage(&format!("result {o}"), true)?);
                g.value()?
            }
            None => {
                let desc = instance.desc(*v);
                let mut bytes = vec![0; desc.span()];
                instance.read(*v, &mut bytes)?;
                gather(&bytes, &desc)
            }
        });
    }
    Ok(Outcome { results, damage })
}

/// Runs a case that must be refused; `Ok` when it was, for the stated reason.
pub fn refused(device: &Arc<dyn Device>, case: &Case, seed: u64, kind: Kind) -> Result<()> {
    let attempt = || -> Result<()> {
        let mut inputs = Vec::new();
        for (i, input) in case.inputs.iter().enumerate() {
            inputs.push(draw(input, input.dtype, seed, i)?);
        }
        let x: Vec<Desc> = inputs.iter().map(|d| d.desc).collect();
        let results: Vec<Desc> = case.op.infer(&x)?.iter().map(Desc::contiguous).collect();
        // The definition may have no answer for what the run is to refuse, so it is not asked.
        let subject = Subject { case, inputs, results, expected: Vec::new() };
        execute(device, &subject, &vec![Arrangement::Contiguous; x.len()], Home::Planned, 1)?;
        Ok(())
    };
    match attempt() {
        Ok(()) => Err(Error::internal(format!("was accepted, {} error expected", kind.name()))),
        Err(e) if e.kind() == kind => Ok(()),
        // The device never got so far: not a wrong answer, but none.
        Err(e) if e.kind() == Kind::Unsupported => Err(e),
        Err(e) => Err(Error::internal(format!("{} error expected, got a {} error: {e}", kind.name(), e.kind().name()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_cpu::CpuDevice;

    #[test]
    fn guards_notice_every_foreign_byte() {
        let device = CpuDevice::shared();
        let (desc, lead) = arrange(&Desc::new(DType::F32, &[3, 2]).unwrap(), Arrangement::Piece).unwrap();
        let content = spread(&[1; 24], &desc, GUARD_BYTE);
        let touched = |at: usize, may_change: bool| {
            let g = Guarded::new(&device, desc, lead, &content).unwrap();
            g.buffer.write(at, &[7]).unwrap();
            g.damage("x", may_change).unwrap().is_some()
        };
        let start = GUARD + lead;
        // In front, right behind, and between the rows; a piece has two elements there.
        for at in [0, start - 1, start + desc.span(), start + 12] {
            assert!(touched(at, true), "byte {at}");
        }
        assert!(!touched(start, true) && touched(start, false));
    }
}
