//! The whole table on the CPU.

use ggmlr_conform::{Options, Row, Status, check, complete, report};
use ggmlr_cpu::CpuDevice;
use ggmlr_ops::registry;

fn run(options: &Options) -> ggmlr_core::Result<Vec<Row>> {
    // Two threads take part wherever a kernel splits its work, on a machine with one core too.
    ggmlr_cpu::pool::set_threads(2);
    check(&CpuDevice::shared(), &[], options)
}

/// Fails with every bad row, so that one run shows all there is to repair.
fn expect_all_ok(rows: &[Row]) {
    report::summary(rows).iter().for_each(|line| println!("{line}"));
    let bad = rows.iter().filter(|r| r.status != Status::Ok).count();
    assert!(!rows.is_empty(), "nothing was checked");
    assert!(bad == 0, "{bad} of {} checks failed, see above", rows.len());
}

#[test]
fn values_on_the_cpu() {
    let rows = run(&Options { gradients: false, ..Options::default() }).unwrap();
    expect_all_ok(&rows);
    let missing = complete::untested_f64(registry().entries(), &rows);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn gradients_of_the_definitions() {
    expect_all_ok(&run(&Options { values: false, ..Options::default() }).unwrap());
}

#[test]
fn entries_are_complete() {
    let problems = complete::problems(registry().entries());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn an_unknown_operator_is_an_error() {
    let e = check(&CpuDevice::shared(), &["no_such_operator"], &Options::default()).unwrap_err();
    assert_eq!(e.arg_name(), Some("op"));
    let rows = check(&CpuDevice::shared(), &["ggml_rms_norm"], &Options::default()).unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|r| r.op == "rms_norm"));
}

#[test]
fn a_cancelled_check_stops() {
    let options = Options::default();
    options.cancel.set();
    let e = check(&CpuDevice::shared(), &[], &options).unwrap_err();
    assert_eq!(e.kind(), ggmlr_core::Kind::Interrupted);
}
