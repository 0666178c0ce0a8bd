//! `bench`: how long the engine and the kernels take.
//!
//! All measurements run in turn, many rounds of them, and the median of the rounds counts: whatever else the machine
//! does then disturbs all of them alike.

mod engine;
mod kernels;
mod train;

use crate::Fallible;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;

/// Shortest time of one measurement; faster work is repeated.
const SLICE: Duration = Duration::from_millis(20);

/// What a time is shown as.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Nanoseconds of a call, divided by this many pieces of work.
    NsPer(f64),
    /// Billions of bytes a second, for calls that move this many.
    GbPerSecond(f64),
    /// Billions of operations a second, for calls that do this many.
    GflopPerSecond(f64),
    /// Milliseconds of a call.
    Ms,
}

impl Unit {
    fn value(self, ns: f64) -> f64 {
        match self {
            Unit::NsPer(n) => ns / n,
            Unit::GbPerSecond(n) | Unit::GflopPerSecond(n) => n / ns,
            Unit::Ms => ns / 1e6,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unit::NsPer(_) => "ns",
            Unit::GbPerSecond(_) => "GB/s",
            Unit::GflopPerSecond(_) => "GFLOP/s",
            Unit::Ms => "ms",
        }
    }
}

/// One thing to measure.
pub struct Job {
    pub name: String,
    pub threads: usize,
    pub unit: Unit,
    /// Largest acceptable value, where the project has promised one.
    pub budget: Option<f64>,
    pub work: Box<dyn FnMut() -> Fallible<()>>,
}

impl Job {
    /// A measurement without a promised limit.
    pub fn new(
        name: impl Into<String>,
        threads: usize,
        unit: Unit,
        work: impl FnMut() -> Fallible<()> + 'static,
    ) -> Job {
        Job { name: name.into(), threads, unit, budget: None, work: Box::new(work) }
    }

    /// Adds a limit.
    pub fn budget(mut self, value: f64) -> Job {
        self.budget = Some(value);
        self
    }
}

/// A measured job.
struct Measured {
    job: Job,
    repeat: u32,
    ns: Vec<f64>,
}

impl Measured {
    fn median(&self) -> f64 {
        let mut v = self.ns.clone();
        v.sort_by(f64::total_cmp);
        v[v.len() / 2]
    }

    fn line(&self) -> Fallible<(String, String)> {
        let Measured { job, ns, .. } = self;
        let fastest = ns.iter().copied().fold(f64::INFINITY, f64::min);
        let (value, best) = (job.unit.value(self.median()), job.unit.value(fastest));
        let verdict = match job.budget {
            Some(b) if value > b => format!("OVER the budget of {b}"),
            Some(b) => format!("budget {b}"),
            None => String::new(),
        };
        let mut csv = String::new();
        write!(csv, "\"{}\",{},{},{value:.4},{best:.4},", job.name, job.threads, job.unit.name())?;
        if let Some(b) = job.budget {
            write!(csv, "{b}")?;
        }
        let row = format!(
            "{:<44} {:>2} {value:>10.2} {:<8} best {best:>10.2}  {verdict}",
            job.name,
            job.threads,
            job.unit.name()
        );
        Ok((csv, row.trim_end().to_owned()))
    }
}

pub fn run(args: &[&str]) -> Fallible<()> {
    let (path, filter) = match args {
        [] => (default_path(), ""),
        ["--csv", path] => (PathBuf::from(path), ""),
        ["--csv", path, filter] => (PathBuf::from(path), *filter),
        [filter] if !filter.starts_with('-') => (default_path(), *filter),
        other => return Err(format!("bench does not understand {other:?}").into()),
    };
    if cfg!(debug_assertions) {
        println!("these are figures of a debug build; use: cargo run --release");
    }
    let all = ggmlr_cpu::pool::threads();
    let mut jobs = engine::jobs()?;
    jobs.extend(kernels::jobs(all)?);
    jobs.extend(train::jobs(all)?);
    jobs.retain(|j| j.name.contains(filter));
    let mut list = Vec::new();
    for mut job in jobs {
        // The first call warms up: pages, caches, the pool's threads.
        (job.work)()?;
        let once = time(&mut job, 1)?;
        let repeat = (SLICE.as_nanos() as f64 / once).clamp(1.0, 1e6) as u32;
        list.push(Measured { job, repeat, ns: Vec::new() });
    }
    for _ in 0..ROUNDS {
        for m in &mut list {
            let ns = time(&mut m.job, m.repeat)?;
            m.ns.push(ns);
        }
    }
    let mut csv = String::from("name,threads,unit,median,best,budget\n");
    for m in &list {
        let (line, row) = m.line()?;
        println!("{row}");
        writeln!(csv, "{line}")?;
    }
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    std::fs::write(&path, csv)?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Nanoseconds of one call, from `repeat` calls in a row.
fn time(job: &mut Job, repeat: u32) -> Fallible<f64> {
    let start = Instant::now();
    for _ in 0..repeat {
        black_box((job.work)())?;
    }
    Ok(start.elapsed().as_nanos() as f64 / f64::from(repeat))
}

fn default_path() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    target.join("bench.csv")
}
