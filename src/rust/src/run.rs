//! Long work: on a thread of its own, while R's thread looks for interrupts.

use crate::handles::interrupted;
use crate::outcome::panicked;
use crate::state;
use extendr_api::Robj;
use ggmlr_core::{Cancel, Device, Error, Kind, Result};
use ggmlr_session::Key;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Work estimated to take less, in nanoseconds, runs on R's own thread: a hand-over would cost more than it gives.
const SHORT: f64 = 20e6;

/// How often R's thread looks for interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// Runs work that is estimated to take `cost` nanoseconds. It must not touch R.
pub fn supervise<T, F>(cost: f64, work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce(&Cancel) -> T + Send + 'static,
{
    let cancel = Cancel::new();
    if cost < SHORT {
        return Ok(work(&cancel));
    }
    let (send, receive) = channel();
    let flag = cancel.clone();
    let worker = std::thread::Builder::new()
        .name("ggmlr-run".to_owned())
        .spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&flag)));
            // R's thread waits until it has the answer, so somebody always listens.
            let _ = send.send(done);
        })
        .map_err(|e| Error::new(Kind::Backend, format!("the system refused a thread: {e}")))?;
    let done = loop {
        match receive.recv_timeout(LOOK) {
            Ok(done) => break done,
            Err(RecvTimeoutError::Timeout) => {
                if !cancel.is_set() && interrupted() {
                    cancel.set();
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::internal("a worker thread ended without an answer"));
            }
        }
    };
    let _ = worker.join();
    done.map_err(|panic| panicked(panic.as_ref()))
}

/// Computes a graph of the session on devices in order of preference (none: the CPU), with at most `threads` threads
/// (0: the user's general setting).
pub fn compute(graph: Key, devices: &[Arc<dyn Device>], threads: usize) -> Result<Robj> {
    let mut job = state::with(|s| s.prepare(graph, devices))?;
    let (job, done) = supervise(job.cost(), move |cancel| {
        let done = job.run(cancel, threads);
        (job, done)
    })?;
    state::with(|s| {
        s.finish(job);
        Ok(())
    })?;
    done?;
    Ok(().into())
}
