//! Sums the copies that repeating makes: the gradient of every broadcast.

use super::cpu;
use crate::elementwise::broadcast::{Run, runs};
use crate::elementwise::real::{Real, by_real};
use crate::entry::Entry;
use crate::shape::Repeat;
use crate::{Case, Tol, check, op_fields, op_struct};
use ggmlr_core::{Array, CpuCall, DType, Desc, Descs, Error, Grad, Kind, MAX_DIMS, Op, OpRef, Result};
use smallvec::smallvec;
use std::borrow::Cow;
use std::sync::Arc;

op_struct! {
    /// a: extents that are multiples of b's, b: [n0, ...] -> y: [n0, ...]
    pub struct RepeatBack {}
}

impl Op for RepeatBack {
    fn name(&self) -> &'static str {
        "repeat_back"
    }

    fn infer(&self, x: &[Desc]) -> Result<Descs> {
        let [a, b] = check::sources(x)?;
        check::float("a", a)?;
        if !b.can_repeat_to(a) {
            return Err(Error::shape(format!("copies of b {} do not fill a {}", b.show(), a.show()))
                .arg("b")
                .expected(format!("extents that divide {}", a.show()))
                .got(b.show()));
        }
        Ok(smallvec![Desc::new(a.dtype, b.extents())?])
    }

    fn oracle(&self, x: &[&Array], y: &mut [Array]) -> Result<()> {
        for (i, mut at) in x[0].indices().enumerate() {
            (0..MAX_DIMS).for_each(|d| at[d] %= y[0].ne[d]);
            let j = y[0].at(&at);
            y[0].data[j] += x[0].data[i];
        }
        Ok(())
    }

    op_fields!();

    fn cpu_types(&self) -> &'static [DType] {
        &[DType::F32, DType::F64]
    }

    fn flush_denormals(&self) -> bool {
        true
    }

    fn cpu(&self, call: &mut CpuCall<'_>) -> Result<()> {
        by_real!(call.dtype(), T => run::<T>(call))
    }

    fn grad(&self, g: &mut Grad<'_>) -> Result<()> {
        let (dy, a) = (g.dy()?, g.x(0));
        let da = g.op(Repeat {}, &[dy, a])?;
        g.push(0, da);
        Ok(())
    }

    fn differentiable(&self, i: usize) -> bool {
        i == 0
    }

    fn shape_only(&self, i: usize) -> bool {
        i == 1
    }
}

/// Removes one run of copies after the other, innermost first.
fn run<T: Real>(call: &mut CpuCall<'_>) -> Result<()> {
    let mut runs = runs(call.y(0), call.x(0));
    let mut x = Cow::Borrowed(call.get::<T>(0)?);
    let y = call.out::<T>(0)?;
    if x.is_empty() {
        y.fill(T::of(0.0));
        return Ok(());
    }
    while let Some(i) = runs.iter().position(|r| !r.own) {
        // Runs alternate, so the first repeated one is the innermost or right outside it.
        let n = if i == 0 { 1 } else { runs[0].len };
        let Run { len: m, .. } = runs.remove(i);
        if i > 0 && runs.len() > 1 {
            // Two runs of the small operand have become neighbours.
            runs[0].len *= runs.remove(1).len;
        }
        let mut next = vec![T::of(0.0); x.len() / m];
        if n == 1 {
            cpu::inner(call.pool, &x, m, &mut next, |s| s)
        } else {
            cpu::middle(call.pool, &x, n, m, &mut next)
        }
        x = Cow::Owned(next);
    }
    y.copy_from_slice(&x);
    Ok(())
}

fn cases() -> Vec<Case> {
    let op = || RepeatBack {};
    let two = |a: &[usize], b: &[usize]| {
        let n = a.iter().product::<usize>() / b.iter().product::<usize>().max(1);
        Case::new(op()).f32(a).f32(b).no_grad().tol(Tol::Reduce(n))
    };
    let shapes: &[(&[usize], &[usize], &str)] = &[
        (&[64, 5, 4, 3], &[64], "rows"),
        (&[3, 4000], &[3], "short rows"),
        (&[2100, 20], &[2100], "wide rows"),
        (&[5, 4, 3], &[1], "everything"),
        (&[33, 7], &[1, 7], "within rows"),
        (&[6, 5, 4, 3], &[1, 1, 4], "per plane"),
        (&[6, 4, 2, 2], &[3, 2], "tiles"),
        (&[6, 5, 4, 3], &[6, 1, 2, 3], "rows in a pattern"),
        (&[2, 3, 2, 2, 2], &[2, 1, 2, 1, 2], "five dimensions"),
        (&[7, 3], &[7, 3], "nothing repeated"),
        (&[1], &[1], "single"),
    ];
    let mut v: Vec<Case> = shapes
        .iter()
        .map(|(a, b, note)| {
            let c = two(a, b).note(note);
            // Central differences over thousands of inputs are slow and show nothing new.
            if a.iter().product::<usize>() < 5000 { c.grad() } else { c }
        })
        .collect();
    v.push(two(&[3, 0], &[3, 1]).note("empty"));
    v.push(two(&[3], &[2]).fails(Kind::Shape));
    v.push(two(&[3], &[6]).fails(Kind::Shape));
    v.push(Case::new(op()).i32(&[4], 0, 3).i32(&[2], 0, 3).fails(Kind::DType));
    v
}

/// The operator.
pub fn entry() -> Entry {
    Entry {
        name: "repeat_back".into(),
        r: vec!["ggml_repeat_back(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Sum the copies of a repeated tensor".into(),
        details: "The gradient of `ggml_repeat()`: element `i` of the result is the sum of all elements of `a` whose index \
                  is `i` modulo the extents of `b`. `b` only gives the shape; each extent of `a`, f32, must be a multiple \
                  of that of `b`."
            .into(),
        topic: "reduction",
        example: "".into(),
        make: |_| Ok(Arc::new(RepeatBack {}) as OpRef),
        cases,
    }
}
