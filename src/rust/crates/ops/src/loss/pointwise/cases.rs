//! Cases of the pointwise losses.

use super::{Loss, PointwiseLoss, PointwiseLossBack};
use crate::case::{Case, Tol, Values};
use ggmlr_core::{DType, Kind};

/// Predictions and targets at which the loss is smooth.
fn values(loss: Loss) -> (Values, Values) {
    match loss {
        Loss::Mse => (Values::Uniform(-2.0, 2.0), Values::Uniform(-2.0, 2.0)),
        // Differences stay away from whole numbers: 0 and 1 are the kinks.
        Loss::Mae | Loss::Huber => (
            Values::Away { lo: -3.0, hi: 3.0, points: &[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0], gap: 0.05 },
            Values::Ints(-1, 1),
        ),
        Loss::BinaryCrossEntropy => (Values::Uniform(0.02, 0.98), Values::Uniform(0.0, 1.0)),
        Loss::CategoricalCrossEntropy => (Values::Uniform(0.02, 0.98), Values::Probabilities),
    }
}

fn add(case: Case, dtype: DType, loss: Loss, ne: &[usize]) -> Case {
    let (p, t) = values(loss);
    let n: usize = ne.iter().product();
    case.input(dtype, ne, p, true).input(dtype, ne, t, false).tol(Tol::Reduce(n))
}

fn weighted(case: Case, ne: &[usize]) -> Case {
    case.input(DType::F32, ne, Values::Uniform(0.0, 2.0), false)
}

fn is_entropy(loss: Loss) -> bool {
    matches!(loss, Loss::BinaryCrossEntropy | Loss::CategoricalCrossEntropy)
}

/// Certain, impossible and clipped predictions.
const EDGES: &[f64] = &[0.0, 1.0, 1e-9, 0.3, 1.5, -0.5];

pub fn forward(loss: Loss) -> Vec<Case> {
    let case = |ne: &[usize]| add(Case::new(PointwiseLoss { loss }), DType::F32, loss, ne);
    let mut v = vec![
        case(&[5, 7]).grad(),
        case(&[1, 9]).grad().note("one column"),
        case(&[4, 3, 2]).grad().note("three dimensions"),
        weighted(case(&[5, 7]), &[1, 7]).grad().note("weights of rows"),
        weighted(case(&[5, 4, 2]), &[1, 4, 2]).grad().note("weights of rows, three dimensions"),
        weighted(case(&[5, 7]), &[5, 7]).grad().note("weights of elements"),
        case(&[10, 3001]).note("several blocks"),
        weighted(case(&[3, 5001]), &[1, 5001]).note("weights of rows, several blocks"),
        case(&[0, 4]).note("empty"),
        add(Case::new(PointwiseLoss { loss }), DType::F64, loss, &[5, 4]).note("f64"),
        weighted(case(&[5, 7]), &[1, 5]).fails(Kind::Shape),
        Case::new(PointwiseLoss { loss }).f32(&[5, 7]).f32(&[5, 6]).fails(Kind::Shape),
        Case::new(PointwiseLoss { loss }).i32(&[5], 0, 1).i32(&[5], 0, 1).fails(Kind::DType),
    ];
    if is_entropy(loss) {
        let edges = Case::new(PointwiseLoss { loss }).f32(&[6, 2]).values(Values::Given(EDGES));
        v.push(edges.f32(&[6, 2]).values(Values::Given(&[0.0, 1.0, 1.0])).tol(Tol::Reduce(12)).note("clipped"));
        // Beyond the clip the loss is flat.
        let outside = Values::Away { lo: -0.5, hi: 1.5, points: &[0.0, 1.0], gap: 0.05 };
        let flat = Case::new(PointwiseLoss { loss }).f32(&[6, 5]).values(outside);
        v.push(flat.f32(&[6, 5]).values(Values::Uniform(0.0, 1.0)).no_grad().tol(Tol::Reduce(30)).grad().note("flat"));
    }
    v
}

pub fn backward(loss: Loss) -> Vec<Case> {
    let case =
        |ne: &[usize]| add(Case::new(PointwiseLossBack { loss }).f32(&[1]), DType::F32, loss, ne).tol(Tol::Ulp(4));
    let mut v = vec![
        case(&[5, 7]),
        case(&[1, 9]).note("one column"),
        weighted(case(&[5, 7]), &[1, 7]).note("weights of rows"),
        weighted(case(&[5, 7]), &[5, 7]).note("weights of elements"),
        case(&[10, 5001]).note("several blocks"),
        case(&[0, 4]).note("empty"),
        add(Case::new(PointwiseLossBack { loss }).f32(&[2]), DType::F32, loss, &[3, 2]).fails(Kind::Shape),
        Case::new(PointwiseLossBack { loss }).f32(&[1]).f32(&[5]).f32(&[6]).fails(Kind::Shape),
    ];
    if is_entropy(loss) {
        let edges = Case::new(PointwiseLossBack { loss }).f32(&[1]).f32(&[6, 2]).values(Values::Given(EDGES));
        v.push(edges.f32(&[6, 2]).values(Values::Given(&[0.0, 1.0, 1.0])).note("clipped"));
    }
    v
}
