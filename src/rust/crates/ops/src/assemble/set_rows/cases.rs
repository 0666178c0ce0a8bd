//! Entries and cases of rows written by index.

use super::{SetRows, SetRowsBack};
use crate::{Call, Case, Entry, Tol, Values};
use ggmlr_core::{DType, Kind, OpRef, Result};
use std::sync::Arc;

/// `c` without doubles as long as it has no more elements than there are rows.
fn distinct(c: Case, ne: &[usize]) -> Case {
    const ORDER: Values = Values::Given(&[3.0, 0.0, 2.0, 1.0]);
    c.input(DType::I32, ne, ORDER, false)
}

fn cases() -> Vec<Case> {
    let two = |a: &[usize], b: &[usize]| Case::new(SetRows {}).f32(a).f32(b).tol(Tol::Exact);
    let typed = |a: DType, b: DType, c: DType| {
        let whole = |ne: &[usize], t, case: Case| case.input(t, ne, Values::Ints(0, 100), false);
        let case = whole(&[5, 3], b, whole(&[5, 7], a, Case::new(SetRows {})));
        case.input(c, &[3], Values::Given(&[6.0, 0.0, 2.0]), false).tol(Tol::Exact).note(a.name())
    };
    vec![
        distinct(two(&[5, 7], &[5, 4]), &[4]).grad(),
        two(&[5, 3], &[5, 8]).i32(&[8], 0, 2).grad().note("index twice"),
        distinct(two(&[3, 4, 2, 3], &[3, 2, 2, 3]), &[2, 2, 3]).grad().note("batch"),
        distinct(two(&[3, 4, 2, 3], &[3, 2, 2, 3]), &[2]).grad().note("indices repeat"),
        distinct(two(&[3, 4, 2, 3], &[3, 4, 2, 3]), &[4, 1, 3]).grad().note("indices repeat along dimension 2"),
        two(&[3, 4, 6], &[3, 5, 6]).i32(&[5, 2], 0, 3).grad().note("indices in a pattern"),
        distinct(two(&[3, 4, 1, 1, 2], &[3, 2, 1, 1, 2]), &[2, 1, 1, 2]).grad().note("five dimensions"),
        two(&[130, 900], &[130, 500]).i32(&[500], 0, 899).note("several blocks"),
        two(&[5, 3], &[5, 8]).i32(&[8], 0, 2).in_place().note("in place, index twice"),
        two(&[4, 3], &[4, 0]).i32(&[0], 0, 2).grad().note("no index"),
        two(&[0, 3], &[0, 2]).i32(&[2], 0, 2).note("empty rows"),
        typed(DType::I32, DType::I32, DType::I32),
        typed(DType::F16, DType::F16, DType::I64),
        typed(DType::F16, DType::F32, DType::I64),
        typed(DType::BF16, DType::F32, DType::I32),
        typed(DType::F16, DType::F32, DType::I64).in_place(),
        typed(DType::I64, DType::I64, DType::I64),
        two(&[2, 3], &[2, 1]).i32(&[1], 3, 3).fails(Kind::Argument).note("index too large"),
        two(&[2, 3], &[2, 1]).i32(&[1], -1, -1).fails(Kind::Argument).note("index negative"),
        two(&[2, 3], &[2, 2]).i32(&[1], 0, 2).fails(Kind::Shape),
        two(&[2, 3], &[3, 1]).i32(&[1], 0, 2).fails(Kind::Shape),
        two(&[2, 3, 4], &[2, 2, 4]).i32(&[2, 3], 0, 2).fails(Kind::Shape),
        two(&[2, 3], &[2, 1]).f32(&[1]).fails(Kind::DType),
        Case::new(SetRows {}).i32(&[2, 3], 0, 9).f32(&[2, 1]).i32(&[1], 0, 2).fails(Kind::DType),
    ]
}

fn back_cases() -> Vec<Case> {
    let op = |ne: &[usize]| Case::new(SetRowsBack {}).f32(ne).tol(Tol::Exact);
    vec![
        distinct(op(&[5, 7]), &[4]).grad(),
        op(&[5, 3]).i32(&[8], 0, 2).grad().note("index twice"),
        op(&[3, 4, 2, 3]).i32(&[5, 2, 3], 0, 3).grad().note("batch"),
        op(&[3, 4, 6]).i32(&[5, 2], 0, 3).grad().note("indices in a pattern"),
        op(&[230, 900]).i32(&[100], 0, 899).note("several blocks"),
        op(&[4, 3]).i32(&[0], 0, 2).note("no index"),
        Case::new(SetRowsBack {})
            .input(DType::F16, &[5, 3], Values::Ints(0, 100), false)
            .input(DType::I64, &[4], Values::Ints(0, 2), false)
            .tol(Tol::Exact)
            .note("f16"),
        op(&[2, 3]).i32(&[1], 3, 3).fails(Kind::Argument).note("index too large"),
        op(&[2, 3, 4]).i32(&[2, 3], 0, 2).fails(Kind::Shape),
        op(&[2, 3]).f32(&[1]).fails(Kind::DType),
    ]
}

fn entry(
    name: &'static str,
    inputs: &'static [&'static str],
    title: &'static str,
    details: &'static str,
    make: fn(&Call<'_>) -> Result<OpRef>,
    cases: fn() -> Vec<Case>,
) -> Entry {
    Entry {
        name: name.into(),
        r: Vec::new(),
        inputs,
        title: title.into(),
        details: details.into(),
        topic: "rows",
        example: "".into(),
        make,
        cases,
    }
}

/// The operator and its gradient.
pub fn entries() -> Vec<Entry> {
    vec![
        entry(
            "set_rows",
            &["a", "b", "c"],
            "Write rows by index",
            "Used by caches of keys and values: a copy of `a`, or in place `a` itself, with row `c[i]` replaced by row `i` of \
             `b`. `a`: `[n, rows, B2, B3]`, `b`: `[n, r, B2, B3]` of the same type, or f32 where `a` is f16 or bf16; `c`: `[r]`, \
             i32 or i64, counted from 0, with further extents that divide `B2` and `B3`. Where an index comes twice, the \
             later row stays. An index outside is an error when the graph is computed.",
            |_| Ok(Arc::new(SetRows {})),
            cases,
        ),
        entry(
            "set_rows_back",
            &["a", "c"],
            "Gradient of rows written by index",
            "Used by gradients: row `c[i]` of `a` for each index, and zeros where a later index is the same.",
            |_| Ok(Arc::new(SetRowsBack {})),
            back_cases,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::check_index;

    #[test]
    fn an_index_outside_is_named() {
        let e = check_index(100_000, 3).unwrap_err();
        assert_eq!((e.message(), e.arg_name()), ("index 100000 outside 0..2", Some("c")));
        assert!(check_index(-1, 3).is_err());
        assert!(check_index(0, 0).is_err());
        assert_eq!(check_index(2, 3).unwrap(), 2);
    }
}
