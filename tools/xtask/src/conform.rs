//! `conform`: the case table on the CPU, for the operator at hand.

use crate::Fallible;
use ggmlr_conform::{Options, Status, check, report};
use ggmlr_cpu::CpuDevice;

pub fn run(names: &[&str]) -> Fallible<()> {
    // Kernels split their work even on a machine with one core.
    ggmlr_cpu::pool::set_threads(2);
    let rows = check(&CpuDevice::shared(), names, &Options::default())?;
    report::summary(&rows).iter().for_each(|line| println!("{line}"));
    let bad = rows.iter().filter(|r| r.status != Status::Ok).count();
    println!("{} passed, {bad} failed", rows.len() - bad);
    if bad == 0 && !rows.is_empty() { Ok(()) } else { Err("not everything passed".into()) }
}
