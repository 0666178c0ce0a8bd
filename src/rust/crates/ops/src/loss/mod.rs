//! Losses of models and the count of right predictions.

pub mod correct;
pub mod cross_entropy;
pub mod pointwise;

use crate::{Entry, check};
use ggmlr_core::{Desc, Error, Result};

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    let mut v = vec![cross_entropy::entry(), cross_entropy::back_entry()];
    v.extend(pointwise::entries());
    v.push(correct::entry());
    v
}

/// The sources of a loss after `skip` others: prediction, target and, if given, weight.
fn sources(x: &[Desc], skip: usize) -> Result<(&Desc, &Desc, Option<&Desc>)> {
    match x.get(skip..) {
        Some([p, t]) => Ok((p, t, None)),
        Some([p, t, w]) => Ok((p, t, Some(w))),
        _ => Err(Error::internal(format!("{} sources given, {} or {} expected", x.len(), skip + 2, skip + 3))),
    }
}

/// Weights `w` must hold one number for each row of prediction `p`, or also one for each element.
fn check_weight(name: &str, p: &Desc, w: Option<&Desc>, each: bool) -> Result<()> {
    let Some(w) = w else { return Ok(()) };
    check::same_dtype(name, p, "w", w)?;
    let mut row = *p;
    row.ne[0] = 1;
    if w.same_shape(&row) || each && w.same_shape(p) {
        return Ok(());
    }
    let expected = if each { format!("{} or {}", row.show(), p.show()) } else { row.show() };
    Err(Error::shape(format!("w {} must be {expected} for {name} {}", w.show(), p.show()))
        .arg("w")
        .expected(expected)
        .got(w.show()))
}

/// The gradient that reaches a loss is one number.
fn check_upstream(name: &str, d: &Desc) -> Result<()> {
    if d.len() == 1 {
        return Ok(());
    }
    Err(Error::shape(format!("{name} {} must be one number", d.show())).arg(name).expected("1 element").got(d.show()))
}
