//! Test cases of gated linear units.

use super::{Glu, GluBack, GluSplit, GluSplitBack};
use crate::{Case, Tol, Values};
use ggmlr_core::Kind;
use ggmlr_formula::GluId;

/// Reaches the limits of `swiglu_oai` but stays away from them and from the kink of `reglu`.
const VALUES: Values = Values::Away { lo: -9.0, hi: 9.0, points: &[-7.0, 0.0, 7.0], gap: 0.05 };

/// The gate, and in gradients what arrives, multiply the rounding error of the activation.
const TOL: Tol = Tol::Ulp(8);

pub fn packed() -> Vec<Case> {
    let mut v = Vec::new();
    for &id in GluId::ALL {
        for swapped in [false, true] {
            let op = || Glu { id, swapped };
            v.push(Case::new(op()).f32(&[64, 5, 4]).values(VALUES).grad().tol(TOL).note(id.name()));
            v.push(Case::new(op()).f32(&[2, 3, 1, 2]).values(VALUES).grad().tol(TOL).note(id.name()));
        }
    }
    let op = || Glu { id: GluId::Swiglu, swapped: false };
    v.push(Case::new(op()).f32(&[2050, 2]).note("long rows"));
    v.push(Case::new(op()).f32(&[0, 3]).note("empty rows"));
    v.push(Case::new(op()).f32(&[4, 0]).note("no rows"));
    v.push(Case::new(op()).f32(&[5, 2]).fails(Kind::Shape).note("odd"));
    v.push(Case::new(op()).i32(&[4], 0, 3).fails(Kind::DType));
    v
}

pub fn packed_back() -> Vec<Case> {
    let mut v = Vec::new();
    for &id in GluId::ALL {
        for swapped in [false, true] {
            v.push(
                Case::new(GluBack { id, swapped }).f32(&[33, 4]).f32(&[66, 4]).values(VALUES).tol(TOL).note(id.name()),
            );
        }
    }
    v.push(Case::new(GluBack { id: GluId::Reglu, swapped: false }).f32(&[3]).f32(&[8]).fails(Kind::Shape));
    v
}

pub fn split() -> Vec<Case> {
    let mut v = Vec::new();
    for &id in GluId::ALL {
        let case = |ne: &[usize]| {
            Case::new(GluSplit { id }).f32(ne).values(VALUES).f32(ne).values(VALUES).grad().tol(TOL).note(id.name())
        };
        v.extend([case(&[33, 5, 2]), case(&[1])]);
    }
    let op = || GluSplit { id: GluId::Reglu };
    v.push(Case::new(op()).f32(&[0, 3]).f32(&[0, 3]).note("empty"));
    v.push(Case::new(op()).f32(&[4]).f32(&[5]).fails(Kind::Shape));
    v.push(Case::new(op()).f32(&[4]).i32(&[4], 0, 3).fails(Kind::DType));
    v
}

pub fn split_back() -> Vec<Case> {
    let mut v = Vec::new();
    for &id in GluId::ALL {
        let ne = &[1025, 2];
        let c = Case::new(GluSplitBack { id }).f32(ne).f32(ne).values(VALUES).f32(ne).values(VALUES);
        v.push(c.tol(TOL).note(id.name()));
    }
    v.push(Case::new(GluSplitBack { id: GluId::Reglu }).f32(&[4]).f32(&[4]).f32(&[5]).fails(Kind::Shape));
    v
}
