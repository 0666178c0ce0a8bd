//! Where programs run, and the programs themselves: compiled once per process, reused by every fit and prediction.

use ggmlr_core::{Binding, Buffer, BufferRef, Cancel, Class, DType, Desc, Device, Error, Kind, Result};
use ggmlr_graph::{Graph, Instance, Program, ProgramCache, Run, ValueId};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static PROGRAMS: LazyLock<Mutex<ProgramCache>> = LazyLock::new(|| Mutex::new(ProgramCache::new()));

/// Devices in order of preference, the host last, and how many threads may work.
#[derive(Clone, Debug)]
pub struct Runtime {
    devices: Vec<Arc<dyn Device>>,
    threads: usize,
}

impl Runtime {
    /// All threads that the user allows.
    pub fn new(devices: Vec<Arc<dyn Device>>) -> Runtime {
        Runtime { devices, threads: 0 }
    }

    /// At most so many threads; 0 is no bound.
    pub fn with_threads(mut self, threads: usize) -> Runtime {
        self.threads = threads;
        self
    }

    /// The device that holds data and weights: the engine keeps what comes from outside on the host.
    fn home(&self) -> Result<&Arc<dyn Device>> {
        self.devices.last().ok_or_else(|| Error::internal("no device to run on"))
    }

    /// Bytes of memory of the machine, if it tells.
    pub fn memory(&self) -> Option<u64> {
        self.devices.last().map(|d| d.memory().1).filter(|b| *b > 0)
    }

    /// Zeroed memory.
    pub(crate) fn alloc(&self, bytes: usize, class: Class) -> Result<BufferRef> {
        // A buffer of no bytes would have no address.
        self.home()?.alloc(bytes.max(1), class)
    }

    fn program(&self, graph: &Graph) -> Result<Arc<Program>> {
        PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).get(graph, &self.devices)
    }
}

/// How many programs this process compiled for models.
pub fn compiled_programs() -> u64 {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).compiled()
}

/// Distance of the results in their common buffer: suits the alignment of every device.
const RESULT_SLOT: usize = 256;

/// A compiled graph with its memory, whose results are single numbers that come back together.
#[derive(Debug)]
pub(crate) struct Runner {
    instance: Instance,
    results: BufferRef,
    bytes: Vec<u8>,
    threads: usize,
}

impl Runner {
    /// Compiles a graph, unless the process has it. `results` are f32 numbers; `other` lends its workspace, so that
    /// only one of the two may run at a time.
    pub fn new(rt: &Runtime, mut graph: Graph, results: &[ValueId], other: Option<&Runner>) -> Result<Runner> {
        for v in results {
            if graph.value(*v).desc != Desc::new(DType::F32, &[1])? {
                return Err(Error::internal("a result of a step is one f32"));
            }
            graph.make_external(*v);
        }
        let program = rt.program(&graph)?;
        let mut instance = match other {
            Some(o) => Instance::sharing(program, &o.instance)?,
            None => Instance::new(program)?,
        };
        // The cached program may stem from a graph with other numbers.
        instance.set_scalars(graph.scalars())?;
        let bytes = vec![0; results.len() * RESULT_SLOT];
        let buffer = rt.alloc(bytes.len(), Class::Results)?;
        for (i, v) in results.iter().enumerate() {
            instance.bind(*v, Binding { buffer: buffer.clone(), offset: i * RESULT_SLOT })?;
        }
        Ok(Runner { instance, results: buffer, bytes, threads: rt.threads })
    }

    /// Gives a leaf its memory.
    pub fn bind(&mut self, v: ValueId, buffer: &BufferRef, offset: usize) -> Result<()> {
        self.instance.bind(v, Binding { buffer: buffer.clone(), offset })
    }

    /// Words of the scalar block.
    pub fn scalars(&mut self) -> &mut [u64] {
        self.instance.scalars_mut()
    }

    /// Estimated nanoseconds of a run on one thread.
    pub fn cost(&self) -> f64 {
        self.instance.program().cost()
    }

    /// Lets a cancel act only before the optimiser has begun.
    pub fn keep_updates_whole(&mut self) {
        self.instance.keep_updates_whole();
    }

    /// Runs.
    pub fn run(&mut self, cancel: &Cancel) -> Result<()> {
        self.instance.run(&Run { cancel, threads: self.threads })
    }

    /// Result `i` of the last run, after [`Runner::fetch`].
    pub fn result(&self, i: usize) -> f64 {
        match self.bytes.get(i * RESULT_SLOT..i * RESULT_SLOT + 4) {
            Some(&[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            _ => f64::NAN,
        }
    }

    /// Brings all results to the host at once.
    pub fn fetch(&mut self) -> Result<()> {
        self.results.read(0, &mut self.bytes)
    }

    /// Copies out a value that the graph keeps.
    pub fn read(&self, v: ValueId, out: &mut [u8]) -> Result<()> {
        self.instance.read(v, out)
    }
}

/// Writes numbers to the start of a buffer.
pub(crate) fn write<T: bytemuck::Pod>(buffer: &dyn Buffer, values: &[T]) -> Result<()> {
    buffer.write(0, bytemuck::cast_slice(values))
}

/// Ends work that was cancelled after its last run: whoever set the flag has used up the user's request.
pub(crate) fn stop_if(cancel: &Cancel) -> Result<()> {
    if cancel.is_set() { Err(Error::new(Kind::Interrupted, "the computation was interrupted")) } else { Ok(()) }
}
