//! The checks must find what is wrong: operators that are broken on purpose, one defect each.
// Clippy sees tests only in functions marked as such; these helpers serve them.
#![allow(clippy::unwrap_used)]

use ggmlr_conform::{Options, Row, Status, check_entry};
use ggmlr_core::{
    Array, CpuCall, DType, Desc, Descs, Effects, Error, Grad, Key, Kind, Layout, Op, OpRef, Pool, Result,
};
use ggmlr_cpu::CpuDevice;
use ggmlr_ops::{Case, Entry, Tol};
use smallvec::smallvec;

/// What is wrong with an operator that doubles its input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Defect {
    None,
    Kernel,
    OneElement,
    Gradient,
    GradientOfAnUnlistedOperator,
    LastElementNotWritten,
    Strides,
    Threads,
    Panics,
    AcceptsEverything,
    WrongKind,
}

#[derive(Clone, Debug)]
struct Double(Defect);

impl Op for Double {
    fn name(&self) -> &'static str {
        "double"
    }
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        match (x[0].dtype, self.0) {
            (DType::F32, _) | (_, Defect::AcceptsEverything) => {}
            (_, Defect::WrongKind) => return Err(Error::shape("not the type, the shape")),
            _ => return Err(Error::dtype("a must be f32")),
        }
        Ok(smallvec![x[0].contiguous()])
    }
    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        y[0].data.iter_mut().zip(&x[0].data).for_each(|(y, x)| *y = 2.0 * x);
        Ok(())
    }
    fn key(&self, _k: &mut Key) {}
    fn effects(&self) -> Effects {
        Effects::pure().may_reuse(0)
    }
    fn layout(&self, _i: usize) -> Layout {
        if self.0 == Defect::Strides { Layout::Any } else { Layout::Contiguous }
    }
    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        let factor = match self.0 {
            Defect::Kernel => 2.000_002,
            Defect::Threads if threads(call.pool) > 1 => 2.000_000_2,
            _ => 2.0,
        };
        if call.x(0).dtype != DType::F32 {
            return Ok(());
        }
        let x = call.get_unless_in_place::<f32>(0)?;
        let y = call.out::<f32>(0)?;
        match x {
            Some(x) => y.iter_mut().zip(x).for_each(|(y, x)| *y = factor * x),
            None => y.iter_mut().for_each(|y| *y *= factor),
        }
        let last = y.len() - 1;
        match self.0 {
            Defect::OneElement => y[last] += 1e-5,
            Defect::LastElementNotWritten => y[last] = f32::from_le_bytes([0xcd; 4]),
            Defect::Panics => y[last + 1] = 0.0,
            _ => {}
        }
        Ok(())
    }
    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let dy = g.dy()?;
        let dx = match self.0 {
            Defect::GradientOfAnUnlistedOperator => g.op(self.clone(), &[dy])?,
            _ => {
                let x = [g.desc(dy)?, g.desc(dy)?];
                let op = ggmlr_ops::make("add", &ggmlr_core::Params::new(), &x)?;
                g.op(Wrapped(op), &[dy, if self.0 == Defect::Gradient { g.x(0) } else { dy }])?
            }
        };
        g.push(0, dx);
        Ok(())
    }
}

fn threads(pool: &dyn Pool) -> usize {
    pool.threads()
}

/// `Grad::op` takes operators by type; this one is known by name only.
#[derive(Clone, Debug)]
struct Wrapped(OpRef);

impl Op for Wrapped {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        self.0.infer(x)
    }
    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        self.0.oracle(x, y)
    }
    fn key(&self, k: &mut Key) {
        self.0.key(k);
    }
    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        self.0.cpu(call)
    }
}

fn cases_of(d: Defect) -> Vec<Case> {
    vec![
        Case::new(Double(d)).f32(&[4, 3]).tol(Tol::Ulp(1)).grad(),
        Case::new(Double(d)).f32(&[4, 3]).tol(Tol::Ulp(1)).in_place(),
        Case::new(Double(d)).i32(&[4], 0, 3).fails(Kind::DType),
    ]
}

/// Rows of the operator with one defect.
fn rows(cases: fn() -> Vec<Case>) -> Vec<Row> {
    ggmlr_cpu::pool::set_threads(2);
    let entry = Entry {
        name: "double".into(),
        r: Vec::new(),
        inputs: &["a"],
        title: "Twice the input".into(),
        details: "`y = 2 a`".into(),
        topic: "test",
        example: "".into(),
        make: |_| Err(Error::internal("made by the test only")),
        cases,
    };
    check_entry(&CpuDevice::shared(), &entry, &Options::default()).unwrap()
}

/// Checks that failed, as `case what`.
fn bad(cases: fn() -> Vec<Case>) -> Vec<String> {
    rows(cases).iter().filter(|r| r.status != Status::Ok).map(|r| format!("{} {}", r.case, r.what)).collect()
}

macro_rules! found {
    ($defect:ident, $($what:literal),*) => {
        let found = bad(|| cases_of(Defect::$defect));
        $( assert!(found.iter().any(|f| f == $what), "'{}' not in {found:?}", $what); )*
    };
}

#[test]
fn a_sound_operator_passes() {
    assert_eq!(bad(|| cases_of(Defect::None)), Vec::<String>::new());
    let what: Vec<String> = rows(|| cases_of(Defect::None)).into_iter().map(|r| r.what).collect();
    for w in ["contiguous", "contiguous, planned", "permuted", "piece", "threads", "gradient", "refusal"] {
        assert!(what.iter().any(|x| x.starts_with(w)), "no check '{w}' in {what:?}");
    }
}

#[test]
fn wrong_kernels_are_found() {
    found!(Kernel, "0 contiguous", "0 contiguous, planned", "0 permuted", "1 contiguous");
    found!(OneElement, "0 contiguous");
    found!(LastElementNotWritten, "0 contiguous");
}

#[test]
fn ignored_strides_are_found() {
    let found = bad(|| cases_of(Defect::Strides));
    assert!(found.contains(&"0 permuted".to_owned()), "{found:?}");
    assert!(!found.contains(&"0 contiguous".to_owned()), "{found:?}");
}

#[test]
fn results_that_depend_on_threads_are_found() {
    assert_eq!(bad(|| cases_of(Defect::Threads)), ["0 threads", "1 threads"]);
}

#[test]
fn a_panic_is_an_error_not_an_end() {
    let all = rows(|| cases_of(Defect::Panics));
    assert!(all.iter().any(|r| r.status == Status::Error && r.message.contains("index out of bounds")), "{all:?}");
    assert!(all.iter().any(|r| r.what == "refusal" && r.status == Status::Ok));
}

#[test]
fn wrong_gradients_are_found() {
    assert_eq!(bad(|| cases_of(Defect::Gradient)), ["0 gradient"]);
    assert_eq!(bad(|| cases_of(Defect::GradientOfAnUnlistedOperator)), ["0 gradient"]);
}

#[test]
fn missing_and_wrong_refusals_are_found() {
    assert_eq!(bad(|| cases_of(Defect::AcceptsEverything)), ["2 refusal"]);
    assert_eq!(bad(|| cases_of(Defect::WrongKind)), ["2 refusal"]);
}
