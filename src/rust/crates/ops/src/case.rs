//! Test cases of operators: one list serves correctness on every backend, gradients, the support table and timing.

use ggmlr_core::{DType, Kind, Op, OpRef};
use std::sync::Arc;

/// How far a backend's result may be from the f64 definition. Classes instead of numbers, so that loosening one is
/// a visible change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tol {
    /// Bit for bit: copies, comparisons, integers.
    Exact,
    /// This many units in the last place of the result, or of 1 for small results.
    Ulp(u32),
    /// Sums of `n` terms: a few units in the last place times the root of `n`, relative to the sum of magnitudes.
    Reduce(usize),
    /// Arithmetic with half precision operands.
    Half,
}

/// Values of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Uniform in a range.
    Uniform(f64, f64),
    /// Uniform in a range, but at least `gap` away from each of these points, where a derivative jumps.
    Away { lo: f64, hi: f64, points: &'static [f64], gap: f64 },
    /// Whole numbers from `lo` to `hi`, both included.
    Ints(i64, i64),
    /// Positive rows that sum to one.
    Probabilities,
    /// All different, so that extrema and orders are unique; scattered over a range of about the element count.
    Distinct,
    /// Exactly these, recycled.
    Given(&'static [f64]),
}

/// One input of a case.
#[derive(Clone, Debug)]
pub struct Input {
    pub dtype: DType,
    pub ne: Vec<usize>,
    pub values: Values,
    /// Differentiate with respect to it when the case checks gradients.
    pub grad: bool,
    /// Whether the runner may also give it permuted and as an offset view.
    pub any_layout: bool,
}

/// One case: an operator on inputs, or an operator that must refuse them.
#[derive(Clone, Debug)]
pub struct Case {
    pub op: OpRef,
    pub inputs: Vec<Input>,
    pub tol: Tol,
    /// Check the gradient rule against central differences of the definition.
    pub grad: bool,
    /// Computes result 0 in the memory of input 0.
    pub in_place: bool,
    /// The error that `infer` (or, with a value at fault, the run) must give.
    pub fails: Option<Kind>,
    /// Short note that tells this case from others of the operator.
    pub note: &'static str,
}

impl Case {
    /// A case without inputs.
    pub fn new(op: impl Op) -> Case {
        Case {
            op: Arc::new(op),
            inputs: Vec::new(),
            tol: Tol::Ulp(4),
            grad: false,
            in_place: false,
            fails: None,
            note: "",
        }
    }

    /// Adds an f32 input, uniform in -2 .. 2.
    pub fn f32(self, ne: &[usize]) -> Case {
        self.input(DType::F32, ne, Values::Uniform(-2.0, 2.0), true)
    }

    /// Adds an I32 input of whole numbers from `lo` to `hi`.
    pub fn i32(self, ne: &[usize], lo: i64, hi: i64) -> Case {
        self.input(DType::I32, ne, Values::Ints(lo, hi), false)
    }

    /// Adds any input.
    pub fn input(mut self, dtype: DType, ne: &[usize], values: Values, grad: bool) -> Case {
        self.inputs.push(Input { dtype, ne: ne.to_vec(), values, grad, any_layout: true });
        self
    }

    /// Changes the values of the last input.
    pub fn values(mut self, values: Values) -> Case {
        if let Some(i) = self.inputs.last_mut() {
            i.values = values;
        }
        self
    }

    /// Takes the last input out of the gradient check.
    pub fn no_grad(mut self) -> Case {
        if let Some(i) = self.inputs.last_mut() {
            i.grad = false;
        }
        self
    }

    /// Gives the last input contiguous only: the operator's contract asks for it.
    pub fn contiguous(mut self) -> Case {
        if let Some(i) = self.inputs.last_mut() {
            i.any_layout = false;
        }
        self
    }

    /// Sets the tolerance class.
    pub fn tol(mut self, tol: Tol) -> Case {
        self.tol = tol;
        self
    }

    /// Also checks the gradient.
    pub fn grad(mut self) -> Case {
        self.grad = true;
        self
    }

    /// Computes in the memory of input 0.
    pub fn in_place(mut self) -> Case {
        self.in_place = true;
        self
    }

    /// Expects a refusal.
    pub fn fails(mut self, kind: Kind) -> Case {
        self.fails = Some(kind);
        self
    }

    /// Tells this case from others.
    pub fn note(mut self, note: &'static str) -> Case {
        self.note = note;
        self
    }
}
