//! A program with memory: bindings, scalars, streams; ready to run any number of times.

use crate::ir::{Place, ValueId};
use crate::program::{ARENA, CONSTANTS, FIRST_EXTERNAL, Fill, Program, Spot, Stage, offset_in_root};
use ggmlr_core::{Binding, BufferRef, Cancel, Class, DType, Desc, Error, Event, Kind, Result, Stream, Submit};
use std::sync::Arc;
use std::time::Duration;

/// Options of one run.
#[derive(Debug)]
pub struct Run<'a> {
    pub cancel: &'a Cancel,
    /// At most so many threads; 0 leaves it to the device.
    pub threads: usize,
}

/// A program ready to run.
#[derive(Debug)]
pub struct Instance {
    program: Arc<Program>,
    streams: Vec<Box<dyn Stream>>,
    /// Bindings of each device: arena, constants, then what comes from outside.
    bindings: Vec<Vec<Binding>>,
    /// External slots that nobody has bound yet.
    missing: usize,
    bound: Vec<Vec<bool>>,
    scalars: Vec<u64>,
    whole_updates: bool,
}

impl Instance {
    /// Takes memory on every device of the program.
    pub fn new(program: Arc<Program>) -> Result<Instance> {
        Instance::build(program, None)
    }

    /// As [`Instance::new`], sharing the workspace of another instance of the same owner where it is large enough.
    /// Values that either of them keeps are lost when the other runs.
    pub fn sharing(program: Arc<Program>, other: &Instance) -> Result<Instance> {
        Instance::build(program, Some(other))
    }

    fn build(program: Arc<Program>, other: Option<&Instance>) -> Result<Instance> {
        let mut bindings = Vec::new();
        let mut streams = Vec::new();
        for (d, device) in program.devices.iter().enumerate() {
            let shared = other
                .filter(|o| o.program.devices.get(d).is_some_and(|x| x.name() == device.name()))
                .map(|o| &o.bindings[d][ARENA as usize].buffer)
                .filter(|b| b.size() >= program.arena[d]);
            let arena = match shared {
                Some(b) => b.clone(),
                None => device.alloc(program.arena[d], Class::Workspace)?,
            };
            let constants = device.alloc(program.constants[d], Class::Workspace)?;
            let mut slots =
                vec![Binding { buffer: arena.clone(), offset: 0 }, Binding { buffer: constants, offset: 0 }];
            // Placeholders until bound; `missing` keeps them from being used.
            slots.resize(FIRST_EXTERNAL as usize + program.external[d].len(), Binding { buffer: arena, offset: 0 });
            bindings.push(slots);
            streams.push(device.clone().open()?);
        }
        for f in &program.fills {
            fill(&bindings[f.spot.device as usize][CONSTANTS as usize].buffer, f)?;
        }
        Ok(Instance {
            missing: program.external.iter().map(Vec::len).sum(),
            bound: program.external.iter().map(|e| vec![false; e.len()]).collect(),
            scalars: program.graph().scalars().to_vec(),
            whole_updates: false,
            program,
            streams,
            bindings,
        })
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Gives an external value its memory. A value that the program does not use is accepted and ignored.
    pub fn bind(&mut self, v: ValueId, binding: Binding) -> Result<()> {
        let need = self.program.graph.value(v).desc.span();
        if binding.offset.checked_add(need).is_none_or(|end| end > binding.buffer.size()) {
            return Err(Error::internal(format!(
                "a value of {need} bytes does not fit into a buffer of {} at {}",
                binding.buffer.size(),
                binding.offset
            )));
        }
        if let Some(&(d, i)) = self.program.slot_of.get(&v) {
            self.bindings[d][FIRST_EXTERNAL as usize + i] = binding;
            if !std::mem::replace(&mut self.bound[d][i], true) {
                self.missing -= 1;
            }
        }
        Ok(())
    }

    /// Replaces the scalar block, in the layout of the graph.
    pub fn set_scalars(&mut self, words: &[u64]) -> Result<()> {
        if words.len() != self.scalars.len() {
            return Err(Error::internal("the scalar block belongs to another graph"));
        }
        self.scalars.copy_from_slice(words);
        Ok(())
    }

    /// The scalar block, to change single words.
    pub fn scalars_mut(&mut self) -> &mut [u64] {
        &mut self.scalars
    }

    /// Makes a cancel act only before the first update of memory that outlives the run, so that a training step happens
    /// as a whole or not at all. The graph must have its updates at the end.
    pub fn keep_updates_whole(&mut self) {
        self.whole_updates = true;
    }

    /// Runs the program and waits for it.
    pub fn run(&mut self, run: &Run<'_>) -> Result<()> {
        if self.missing > 0 {
            return Err(Error::new(Kind::Memory, format!("{} tensors of the graph are not allocated", self.missing))
                .hint("Allocate them with ggml_backend_alloc_ctx_tensors() or use a context without no_alloc."));
        }
        let mut last: Vec<Option<Event>> = vec![None; self.streams.len()];
        for stage in &self.program.stages {
            match stage {
                Stage::Run { device, plan } => {
                    let d = *device as usize;
                    let submit = Submit {
                        bindings: &self.bindings[d],
                        scalars: &self.scalars,
                        cancel: run.cancel,
                        whole_updates: self.whole_updates,
                        threads: run.threads,
                    };
                    last[d] = Some(self.streams[d].submit(plan.as_ref(), &submit)?);
                }
                Stage::Copy { from, to, bytes } => {
                    for d in [from.device as usize, to.device as usize] {
                        wait(&mut self.streams[d], last[d].take(), run.cancel)?;
                    }
                    self.copy(*from, *to, *bytes)?;
                }
            }
        }
        for (stream, event) in self.streams.iter_mut().zip(last) {
            wait(stream, event, run.cancel)?;
        }
        Ok(())
    }

    fn binding(&self, s: Spot) -> (&BufferRef, usize) {
        let b = &self.bindings[s.device as usize][s.slot as usize];
        (&b.buffer, b.offset + s.offset)
    }

    fn copy(&self, from: Spot, to: Spot, bytes: usize) -> Result<()> {
        let mut staging = vec![0; bytes];
        let (a, at) = self.binding(from);
        a.read(at, &mut staging)?;
        let (b, at) = self.binding(to);
        b.write(at, &staging)
    }

    /// Buffer and byte offset of a value that is kept.
    pub fn locate(&self, v: ValueId) -> Result<(BufferRef, usize)> {
        let graph = &self.program.graph;
        let root = graph.root(v);
        let spot = *self.program.home.get(&root).ok_or_else(|| {
            Error::new(Kind::Argument, "this value was not kept: its memory may have been given to another")
                .hint("Mark it with ggml_set_output() before allocating the graph.")
        })?;
        let (fixed, shifts) = offset_in_root(graph, v);
        let shift: usize = shifts.iter().map(|w| self.scalars[*w as usize] as usize).sum();
        let (buffer, at) = self.binding(spot);
        Ok((buffer.clone(), at + fixed + shift))
    }

    /// Copies out the bytes of a kept value, as its description lays them out.
    pub fn read(&self, v: ValueId, out: &mut [u8]) -> Result<()> {
        let (buffer, at) = self.locate(v)?;
        buffer.read(at, out)
    }

    /// Description of a value.
    pub fn desc(&self, v: ValueId) -> Desc {
        self.program.graph.value(v).desc
    }

    /// Whether the value's memory comes from outside.
    pub fn is_external(&self, v: ValueId) -> bool {
        matches!(self.program.graph.value(self.program.graph.root(v)).place, Place::External)
    }
}

fn wait(stream: &mut Box<dyn Stream>, event: Option<Event>, cancel: &Cancel) -> Result<()> {
    let Some(event) = event else { return Ok(()) };
    // Timed, so that the cancel flag is seen while a device works.
    while !stream.wait(event, Duration::from_millis(50))? {
        if cancel.is_set() {
            return Err(Error::new(Kind::Interrupted, "the computation was interrupted"));
        }
    }
    Ok(())
}

fn fill(buffer: &BufferRef, f: &Fill) -> Result<()> {
    let n = f.desc.len();
    let bytes: Vec<u8> = match f.desc.dtype {
        DType::F32 => (f.value as f32).to_le_bytes().repeat(n),
        DType::F64 => f.value.to_le_bytes().repeat(n),
        DType::I32 => (f.value as i32).to_le_bytes().repeat(n),
        other => return Err(Error::internal(format!("no constant of type {other}"))),
    };
    buffer.write(f.spot.offset, &bytes)
}
