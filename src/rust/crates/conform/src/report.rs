//! Runs the table and tells what happened, one row per check.

use crate::layouts::{Arrangement, sets};
use crate::run::{Home, Outcome, Subject, execute, refused};
use crate::tol::{Verdict, compare};
use crate::{gradient, values};
use ggmlr_core::{Cancel, DType, Desc, Device, DeviceKind, Error, Kind, Result};
use ggmlr_ops::entry::function_of;
use ggmlr_ops::{Case, Entry, registry};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ok,
    /// The device does not run this; the CPU does it instead.
    Fallback,
    /// It ran and the result is wrong.
    Failed,
    /// It did not run.
    Error,
}

impl Status {
    /// Word for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Fallback => "fallback",
            Status::Failed => "failed",
            Status::Error => "error",
        }
    }
}

/// One check.
#[derive(Clone, Debug)]
pub struct Row {
    pub op: String,
    /// Number of the case in the operator's list.
    pub case: usize,
    /// The case's note and the shapes of its inputs.
    pub note: String,
    pub dtype: DType,
    /// Arrangement of the inputs, or what else was checked: `"gradient"`, `"threads"`, `"refusal"`.
    pub what: String,
    pub device: String,
    pub status: Status,
    /// Largest difference relative to its scale.
    pub err: f64,
    /// What was allowed.
    pub tol: f64,
    /// What went wrong; empty when nothing did.
    pub message: String,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { op, case, note, dtype, what, device, err, tol, message, .. } = self;
        write!(f, "{:<8} {op} case {case} ({note}) {dtype} {what} on {device}", self.status.name())?;
        if err > tol {
            write!(f, ": error {err:.2e}, allowed {tol:.2e}")?;
        }
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        Ok(())
    }
}

/// What failed, one line for each case: the worst check, and how many others of the case failed too.
pub fn summary(rows: &[Row]) -> Vec<String> {
    let bad = |r: &&Row| r.status != Status::Ok;
    let mut out = Vec::new();
    for case in rows.chunk_by(|a, b| a.op == b.op && a.case == b.case) {
        let failed: Vec<&Row> = case.iter().filter(bad).collect();
        let Some(worst) = failed.iter().copied().reduce(|a, b| if b.err > a.err { b } else { a }) else { continue };
        let more = match failed.len() - 1 {
            0 => String::new(),
            n => {
                let mut whats: Vec<&str> =
                    failed.iter().map(|r| r.what.as_str()).filter(|w| *w != worst.what).collect();
                whats.dedup();
                format!(" (and {n} of {} checks: {})", case.len(), whats.join("; "))
            }
        };
        out.push(format!("{worst}{more}"));
    }
    out
}

/// What to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Values on the device, in every arrangement.
    pub values: bool,
    /// Gradient rules, which no device takes part in.
    pub gradients: bool,
    /// Stops between cases when set.
    pub cancel: Cancel,
}

impl Default for Options {
    fn default() -> Options {
        Options { values: true, gradients: true, cancel: Cancel::new() }
    }
}

/// Checks operators of the table on a device: those named, by table name or R function, or all.
pub fn check(device: &Arc<dyn Device>, ops: &[&str], options: &Options) -> Result<Vec<Row>> {
    let entries = registry().entries();
    let calls = |e: &Entry, name: &str| e.name == name || e.r.iter().any(|r| function_of(r) == name);
    if let Some(name) = ops.iter().find(|name| !entries.iter().any(|e| calls(e, name))) {
        return Err(Error::argument("op", format!("there is no operator '{name}'"))
            .hint("Give the name of an operator such as \"rms_norm\", or of its R function."));
    }
    let mut rows = Vec::new();
    for e in entries.iter().filter(|e| ops.is_empty() || ops.iter().any(|name| calls(e, name))) {
        rows.extend(check_entry(device, e, options)?);
    }
    Ok(rows)
}

/// Checks one operator.
pub fn check_entry(device: &Arc<dyn Device>, entry: &Entry, options: &Options) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (number, case) in (entry.cases)().iter().enumerate() {
        if options.cancel.is_set() {
            return Err(Error::new(Kind::Interrupted, "the check was interrupted"));
        }
        let mut bench = Bench { device, name: &entry.name, case, number, rows: &mut rows };
        bench.case(options);
    }
    Ok(rows)
}

/// A case on its way through the checks.
struct Bench<'a> {
    device: &'a Arc<dyn Device>,
    name: &'a str,
    case: &'a Case,
    number: usize,
    rows: &'a mut Vec<Row>,
}

/// A finding: how it ended, the error, the limit, the message.
struct Finding(Status, f64, f64, String);

impl Bench<'_> {
    fn seed(&self) -> u64 {
        values::seed(self.name, self.number)
    }

    fn note(&self) -> String {
        let shapes: Vec<String> = self.case.inputs.iter().map(|i| format!("{} [{}]", i.dtype, join(&i.ne))).collect();
        let note = self.case.note;
        if note.is_empty() { shapes.join(", ") } else { format!("{note}: {}", shapes.join(", ")) }
    }

    fn push(&mut self, what: impl Into<String>, dtype: DType, f: Finding) {
        self.rows.push(Row {
            op: self.name.to_owned(),
            case: self.number,
            note: self.note(),
            dtype,
            what: what.into(),
            device: self.device.name().to_owned(),
            status: f.0,
            err: f.1,
            tol: f.2,
            message: f.3,
        });
    }

    fn dtype(&self) -> DType {
        self.case.inputs.first().map_or(DType::F32, |i| i.dtype)
    }

    fn case(&mut self, options: &Options) {
        if let Some(kind) = self.case.fails {
            if options.values {
                let (device, case, seed) = (self.device, self.case, self.seed());
                let finding = finding_of(guard(|| refused(device, case, seed, kind)), |()| ok(), device.kind());
                self.push("refusal", self.dtype(), finding);
            }
            return;
        }
        if options.values {
            self.values(false);
            if self.runs_in_f64() {
                self.values(true);
            }
        }
        if options.gradients && self.case.grad {
            self.gradient();
        }
    }

    /// Whether the case makes sense, and is not tested already, with f64 in place of f32.
    fn runs_in_f64(&self) -> bool {
        let inputs = &self.case.inputs;
        let double: Result<Vec<Desc>> =
            inputs.iter().map(|i| Desc::new(if i.dtype == DType::F32 { DType::F64 } else { i.dtype }, &i.ne)).collect();
        inputs.iter().any(|i| i.dtype == DType::F32)
            && self.case.op.cpu_types().contains(&DType::F64)
            && double.is_ok_and(|x| self.case.op.infer(&x).is_ok())
    }

    fn values(&mut self, double: bool) {
        let dtype = match self.dtype() {
            DType::F32 if double => DType::F64,
            other => other,
        };
        let (case, seed) = (self.case, self.seed());
        let subject = match guard(|| Subject::new(case, seed, double)) {
            Ok(s) => s,
            Err(e) => return self.push("definition", dtype, failure(&e, DeviceKind::Cpu)),
        };
        let descs: Vec<Desc> = subject.inputs.iter().map(|d| d.desc).collect();
        let sets = sets(&case.inputs, &descs);
        for (n, set) in sets.iter().enumerate() {
            // The first arrangement runs both ways; the others take turns.
            if n == 0 || n % 2 == 1 {
                self.once(&subject, dtype, set, Home::External);
            }
            if n == 0 || n % 2 == 0 {
                self.once(&subject, dtype, set, Home::Planned);
            }
        }
        self.threads(&subject, dtype, &sets[0]);
    }

    fn once(&mut self, subject: &Subject<'_>, dtype: DType, set: &[Arrangement], home: Home) {
        let device = self.device;
        let result = guard(|| execute(device, subject, set, home, 1)).and_then(|o| judge(subject, &o));
        let mut names: Vec<&str> = set.iter().map(|a| a.name()).collect();
        names.dedup();
        let home = if home == Home::Planned { ", planned" } else { "" };
        self.push(format!("{}{home}", names.join("+")), dtype, finding_of(result, |f| f, device.kind()));
    }

    /// Two threads must give the same bits as one.
    fn threads(&mut self, subject: &Subject<'_>, dtype: DType, set: &[Arrangement]) {
        let device = self.device;
        let result = guard(|| {
            let one = execute(device, subject, set, Home::Planned, 1)?;
            let two = execute(device, subject, set, Home::Planned, 2)?;
            Ok(one.results == two.results)
        });
        let finding = |same: bool| {
            if same {
                ok()
            } else {
                Finding(Status::Failed, 0.0, 0.0, "two threads give other bits than one".to_owned())
            }
        };
        self.push("threads", dtype, finding_of(result, finding, device.kind()));
    }

    fn gradient(&mut self) {
        let (case, seed) = (self.case, self.seed());
        let finding = |g: gradient::Gradient| {
            let strange = g.ops.iter().find(|op| registry().named(op).is_none());
            match strange {
                _ if g.err > gradient::LIMIT => Finding(Status::Failed, g.err, gradient::LIMIT, g.place),
                Some(op) => {
                    let text = format!("the rule uses '{op}', which is not in the table and so is tested by no case");
                    Finding(Status::Failed, g.err, gradient::LIMIT, text)
                }
                None => Finding(Status::Ok, g.err, gradient::LIMIT, String::new()),
            }
        };
        let finding = finding_of(guard(|| gradient::check(case, seed)), finding, DeviceKind::Cpu);
        self.push("gradient", self.dtype(), finding);
    }
}

fn join(ne: &[usize]) -> String {
    ne.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn ok() -> Finding {
    Finding(Status::Ok, 0.0, 0.0, String::new())
}

/// A panic of a kernel or definition is one more error to report, not the end of the check.
fn guard<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(r) => r,
        Err(payload) => Err(Error::internal(format!("panicked: {}", panic_text(payload.as_ref())))),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
        (Some(s), _) => s,
        (None, Some(s)) => s,
        _ => "no text",
    }
}

fn finding_of<T>(result: Result<T>, f: impl FnOnce(T) -> Finding, kind: DeviceKind) -> Finding {
    match result {
        Ok(x) => f(x),
        Err(e) => failure(&e, kind),
    }
}

/// A device may leave an operator to the CPU; the CPU itself has nobody behind it.
fn failure(e: &Error, kind: DeviceKind) -> Finding {
    let status =
        if e.kind() == Kind::Unsupported && kind != DeviceKind::Cpu { Status::Fallback } else { Status::Error };
    Finding(status, 0.0, 0.0, e.to_string())
}

/// Compares all results of a run.
fn judge(subject: &Subject<'_>, outcome: &Outcome) -> Result<Finding> {
    let mut worst = Verdict { ok: true, ..Verdict::default() };
    let mut message = String::new();
    for (i, (desc, expected)) in subject.results.iter().zip(&subject.expected).enumerate() {
        let got = outcome.numbers(i, desc.dtype)?;
        let v = compare(subject.case.tol, desc.dtype, &subject.types(), &got, &expected.data)?;
        if !v.ok && worst.ok {
            message = format!("result {i}, element {}: {} instead of {}", v.worst, v.got, v.expected);
        }
        if (v.ok, -v.err) < (worst.ok, -worst.err) || i == 0 {
            worst = v;
        }
    }
    if let Some(damage) = &outcome.damage {
        return Ok(Finding(Status::Failed, worst.err, worst.limit, damage.clone()));
    }
    let status = if worst.ok { Status::Ok } else { Status::Failed };
    Ok(Finding(status, worst.err, worst.limit, message))
}
