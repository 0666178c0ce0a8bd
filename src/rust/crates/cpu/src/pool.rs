//! The package's own thread pool: fork-safe, sized by the user, idle between graphs.

use ggmlr_core::{Cancel, Pool};
use ggmlr_simd::fpmode::FlushDenormals;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

struct State {
    /// Process that made the pool: after a fork the child has the object but not the threads.
    pid: u32,
    threads: usize,
    /// `threads - 1` helpers; the calling thread always takes part. `None` until there is work for two.
    helpers: Option<Arc<ThreadPool>>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Threads the process may use: what the operating system grants, within `OMP_THREAD_LIMIT`, and two under
/// `R CMD check`.
pub fn default_threads() -> usize {
    let granted = std::thread::available_parallelism().map_or(1, usize::from);
    let limit = std::env::var("OMP_THREAD_LIMIT").ok().and_then(|s| s.trim().parse().ok()).unwrap_or(usize::MAX);
    let check = match std::env::var("_R_CHECK_LIMIT_CORES_") {
        Ok(v) if !v.is_empty() && !v.eq_ignore_ascii_case("false") => 2,
        _ => usize::MAX,
    };
    granted.min(limit).min(check).max(1)
}

fn with_state<T>(f: impl FnOnce(&mut State) -> T) -> T {
    let mut guard = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let pid = std::process::id();
    let stale = guard.as_ref().is_some_and(|s| s.pid != pid);
    if stale {
        // The helpers exist only in the parent; joining them here would wait for ever.
        let old = guard.take();
        let threads = old.as_ref().map_or(1, |s| s.threads);
        std::mem::forget(old);
        *guard = Some(State { pid, threads, helpers: None });
    }
    f(guard.get_or_insert_with(|| State { pid, threads: default_threads(), helpers: None }))
}

/// Threads that kernels use.
pub fn threads() -> usize {
    with_state(|s| s.threads)
}

/// Changes the number of threads at once, up or down; the old helpers end when their work is done.
pub fn set_threads(n: usize) {
    with_state(|s| {
        if s.threads != n.max(1) {
            s.threads = n.max(1);
            s.helpers = None;
        }
    });
}

fn helpers(limit: usize) -> (usize, Option<Arc<ThreadPool>>) {
    with_state(|s| {
        let n = if limit == 0 { s.threads } else { s.threads.min(limit) };
        if s.threads > 1 && s.helpers.is_none() {
            s.helpers = ThreadPoolBuilder::new()
                .num_threads(s.threads - 1)
                .thread_name(|i| format!("ggmlr-{i}"))
                .build()
                .ok()
                .map(Arc::new);
        }
        // Without helpers (the system refused threads) the caller does all the work.
        (if s.helpers.is_some() { n } else { 1 }, s.helpers.clone())
    })
}

/// The pool as one run sees it.
pub(crate) struct RunPool<'a> {
    threads: usize,
    helpers: Option<Arc<ThreadPool>>,
    cancel: &'a Cancel,
    /// Whether the running kernel lets denormals count as zero: helpers must treat them like the calling thread.
    flush: AtomicBool,
    /// Set when what runs must come to its end.
    deaf: AtomicBool,
}

impl<'a> RunPool<'a> {
    /// At most `limit` threads (0: as many as the user allows).
    pub fn new(limit: usize, cancel: &'a Cancel) -> RunPool<'a> {
        let (threads, helpers) = helpers(limit);
        RunPool { threads, helpers, cancel, flush: AtomicBool::new(false), deaf: AtomicBool::new(false) }
    }

    /// From now on the run goes to its end.
    pub fn ignore_cancel(&self) {
        self.deaf.store(true, Ordering::Relaxed);
    }

    /// Sets how the next kernel treats denormals.
    pub fn set_flush(&self, on: bool) {
        self.flush.store(on, Ordering::Relaxed);
    }
}

impl Pool for RunPool<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            while !self.cancelled() {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= tasks {
                    break;
                }
                f(i);
            }
        };
        match &self.helpers {
            Some(pool) if self.threads > 1 && tasks > 1 => pool.in_place_scope(|s| {
                for _ in 1..self.threads.min(tasks) {
                    s.spawn(|_| {
                        let _flush = self.flush.load(Ordering::Relaxed).then(FlushDenormals::new);
                        work();
                    });
                }
                work();
            }),
            _ => work(),
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_set() && !self.deaf.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn every_task_once_for_any_thread_count() {
        let cancel = Cancel::new();
        for n in [1, 2, 4] {
            set_threads(n);
            let pool = RunPool::new(0, &cancel);
            let hits: Vec<AtomicU32> = (0..100).map(|_| AtomicU32::new(0)).collect();
            pool.run(100, &|i| {
                hits[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn cancel_leaves_the_rest_out() {
        let cancel = Cancel::new();
        cancel.set();
        let hits = AtomicU32::new(0);
        RunPool::new(1, &cancel).run(10, &|_| {
            hits.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(hits.into_inner(), 0);
    }
}
