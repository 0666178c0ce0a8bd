//! Test cases of the formulas of one tensor.

use super::{Given, Unary, UnaryBack};
use crate::{Case, Values};
use ggmlr_core::{DType, Kind, Scalar};
use ggmlr_formula::UnaryId;

const SLOPE: f64 = 0.1;
const LOW: f64 = -0.75;
const HIGH: f64 = 1.25;

/// Values on which the formula is defined, away from its kinks and jumps.
fn values(id: UnaryId) -> Values {
    use UnaryId as U;
    let away = |lo, hi, points, gap| Values::Away { lo, hi, points, gap };
    match id {
        U::Sqrt | U::Log => Values::Uniform(0.1, 5.0),
        U::Abs | U::Sgn | U::Step | U::Relu | U::LeakyRelu => away(-5.0, 5.0, &[0.0], 0.05),
        U::Elu => away(-8.0, 5.0, &[0.0], 0.05),
        U::Hardswish | U::Hardsigmoid => away(-5.0, 5.0, &[-3.0, 3.0], 0.05),
        U::Clamp => away(-3.0, 3.0, &[LOW, HIGH], 0.05),
        U::Floor | U::Ceil | U::Trunc => away(-3.4, 3.4, &[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0], 0.05),
        U::Round => away(-2.9, 2.9, &[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], 0.05),
        U::Exp | U::Expm1 => Values::Uniform(-5.0, 4.0),
        _ => Values::Uniform(-8.0, 8.0),
    }
}

fn op(id: UnaryId) -> Unary {
    match id {
        UnaryId::LeakyRelu => Unary::with(id, SLOPE, 0.0),
        UnaryId::Clamp => Unary::with(id, LOW, HIGH),
        UnaryId::Scale => Unary::scale(-1.5, 0.25),
        _ => Unary::new(id),
    }
}

/// Cases of a formula without parameters.
pub fn plain(id: UnaryId) -> Vec<Case> {
    let mut v: Vec<Case> = [&[64, 5, 4, 3][..], &[1], &[1025, 3]]
        .iter()
        .map(|ne| Case::new(op(id)).f32(ne).values(values(id)).grad())
        .collect();
    v.push(Case::new(op(id)).f32(&[33, 4]).values(values(id)).in_place().note("in place"));
    v.push(Case::new(op(id)).f32(&[0, 3]).note("empty"));
    v.push(Case::new(op(id)).i32(&[4], 0, 3).fails(Kind::DType));
    if id == UnaryId::Round {
        v.push(Case::new(op(id)).f32(&[6]).values(Values::Given(&[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])).note("halves"));
    }
    v
}

pub fn leaky_relu() -> Vec<Case> {
    plain(UnaryId::LeakyRelu)
}

pub fn clamp() -> Vec<Case> {
    let mut v = plain(UnaryId::Clamp);
    v.push(Case::new(Unary::with(UnaryId::Clamp, 1.0, -1.0)).f32(&[4]).fails(Kind::Argument));
    v
}

pub fn scale() -> Vec<Case> {
    let mut v = plain(UnaryId::Scale);
    v.push(Case::new(Unary::scale(0.5, 0.0)).f32(&[7, 2, 3]).grad().note("no bias"));
    v
}

fn back_cases(id: UnaryId, given: Given) -> Vec<Case> {
    let p = op(id).p;
    let case = |ne: &[usize]| {
        let c = Case::new(UnaryBack { id, given, p }).f32(ne).note(id.name());
        match given {
            Given::Both => c.f32(ne).values(values(id)).f32(ne),
            // Results of these formulas are positive, or only their sign counts.
            Given::Y => c.f32(ne).values(Values::Uniform(0.1, 0.9)),
            Given::X => c.f32(ne).values(values(id)),
        }
    };
    vec![case(&[1025, 3]), case(&[7, 2])]
}

pub fn silu_back() -> Vec<Case> {
    let mut v = back_cases(UnaryId::Silu, Given::X);
    let op = || UnaryBack { id: UnaryId::Silu, given: Given::X, p: [Scalar(0.0); 2] };
    v.push(Case::new(op()).f32(&[0, 2]).f32(&[0, 2]).note("empty"));
    v.push(Case::new(op()).f32(&[4]).f32(&[5]).fails(Kind::Shape));
    v.push(Case::new(op()).f32(&[4]).input(DType::F64, &[4], Values::Uniform(-2.0, 2.0), false).fails(Kind::DType));
    v
}

pub fn gelu_back() -> Vec<Case> {
    let mut v = back_cases(UnaryId::Gelu, Given::Both);
    v.extend(back_cases(UnaryId::Gelu, Given::X));
    v
}

pub fn unary_back() -> Vec<Case> {
    let own = [UnaryId::Silu, UnaryId::Gelu];
    let ids = UnaryId::ALL.iter().filter(|id| !own.contains(id));
    ids.flat_map(|&id| back_cases(id, Given::cheapest(id))).collect()
}
