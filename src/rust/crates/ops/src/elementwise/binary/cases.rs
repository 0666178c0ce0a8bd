//! Test cases of the arithmetic of two tensors.

use super::{Add1, Binary};
use crate::{Case, Values};
use ggmlr_core::{DType, Kind};
use ggmlr_formula::BinaryId;

/// Shapes of both operands and what they show.
const SHAPES: &[(&[usize], &[usize], &str)] = &[
    (&[64, 5, 4, 3], &[64, 5, 4, 3], "same shape"),
    (&[1025, 3], &[1025], "row over rows"),
    (&[3, 700], &[3], "short row over rows"),
    (&[33, 7], &[1, 7], "number per row"),
    (&[70, 3], &[1, 3], "number per long row"),
    (&[70, 2, 3], &[70, 1, 3], "long rows in a pattern"),
    (&[5, 4, 3], &[1], "one number"),
    (&[6, 5, 4, 3], &[1, 1, 4], "number per plane"),
    (&[6, 4, 2, 2], &[3, 2], "tiles"),
    (&[6, 5, 4, 3], &[6, 1, 2, 3], "rows in a pattern"),
    (&[2, 3, 2, 2, 2], &[2, 1, 2, 1, 2], "five dimensions"),
    (&[1], &[1], "single"),
];

/// Divisors stay away from 0.
fn second() -> Values {
    Values::Away { lo: -2.0, hi: 2.0, points: &[0.0], gap: 0.25 }
}

pub fn of(id: BinaryId) -> Vec<Case> {
    let op = || Binary { id };
    let two = |a: &[usize], b: &[usize]| Case::new(op()).f32(a).f32(b).values(second());
    let mut v: Vec<Case> = SHAPES.iter().map(|(a, b, note)| two(a, b).grad().note(note)).collect();
    v.push(two(&[33, 4], &[33, 4]).in_place().note("in place"));
    v.push(two(&[33, 4], &[33]).in_place().note("in place, row over rows"));
    v.push(two(&[33, 4], &[1, 4]).in_place().note("in place, number per row"));
    v.push(two(&[0, 3], &[0, 1]).note("empty"));
    v.push(two(&[0, 3], &[1, 3]).note("empty a"));
    for t in [DType::F16, DType::BF16] {
        v.push(Case::new(op()).f32(&[20, 3]).input(t, &[20], second(), false).note(t.name()));
        v.push(Case::new(op()).f32(&[20, 3]).input(t, &[20, 3], second(), false).note(t.name()));
    }
    v.push(two(&[3], &[2]).fails(Kind::Shape));
    v.push(two(&[3], &[6]).fails(Kind::Shape).note("a smaller than b"));
    v.push(two(&[3], &[0]).fails(Kind::Shape).note("empty b"));
    v.push(Case::new(op()).f32(&[4]).i32(&[4], 0, 3).fails(Kind::DType));
    v.push(Case::new(op()).i32(&[4], 0, 3).i32(&[4], 0, 3).fails(Kind::DType));
    v
}

pub fn add1() -> Vec<Case> {
    let mut v: Vec<Case> =
        [&[64, 5, 4][..], &[1], &[1025, 3]].iter().map(|ne| Case::new(Add1 {}).f32(ne).f32(&[1]).grad()).collect();
    v.push(Case::new(Add1 {}).f32(&[0, 3]).f32(&[1]).note("empty"));
    v.push(Case::new(Add1 {}).f32(&[33]).f32(&[1]).in_place().note("in place"));
    v.push(Case::new(Add1 {}).f32(&[4]).f32(&[2]).fails(Kind::Shape));
    v.push(Case::new(Add1 {}).f32(&[4]).i32(&[1], 0, 3).fails(Kind::DType));
    v
}
