//! R's view of the formulas: one line each.

use super::{Given, Unary, UnaryBack, cases};
use crate::Case;
use crate::entry::{Call, Entry, Text};
use ggmlr_core::{Error, OpRef, Params, Result, Scalar};
use ggmlr_formula::UnaryId;
use std::sync::Arc;

/// Where a formula is exported.
#[derive(Clone, Copy)]
enum R {
    /// Used inside only: ONNX and layers.
    No,
    Fresh,
    /// Also with `_inplace`.
    InPlace,
}

macro_rules! entries {
    ($( $Id:ident $r:ident $title:literal $formula:literal ),* $(,)?) => {
        /// Formulas without parameters.
        fn plain() -> Vec<Entry> {
            vec![$( entry(UnaryId::$Id, R::$r, $title, $formula, || cases::plain(UnaryId::$Id)) ),*]
        }
    };
}

entries! {
    Sqr InPlace "Square" "`y = x^2`.",
    Sqrt InPlace "Square root" "`y = sqrt(x)`; NaN for negative `x`.",
    Exp InPlace "Exponential" "`y = exp(x)`.",
    Expm1 No "Exponential minus one" "`y = exp(x) - 1`, accurate near 0.",
    Log InPlace "Natural logarithm" "`y = log(x)`; `-Inf` at 0, NaN for negative `x`.",
    Abs InPlace "Absolute value" "`y = |x|`; the derivative at 0 is 0.",
    Neg InPlace "Negation" "`y = -x`.",
    Sin Fresh "Sine" "`y = sin(x)`, `x` in radians.",
    Cos Fresh "Cosine" "`y = cos(x)`, `x` in radians.",
    Sgn Fresh "Sign" "`y` is -1, 0 or 1 as `x` is negative, zero or positive. No gradient flows.",
    Step Fresh "Step" "`y = 1` for `x > 0`, else 0. No gradient flows.",
    Floor InPlace "Round down" "`y` is the largest whole number not above `x`. No gradient flows.",
    Ceil InPlace "Round up" "`y` is the smallest whole number not below `x`. No gradient flows.",
    Round InPlace "Round to nearest" "Halves go away from zero: -2.5 becomes -3, 0.5 becomes 1. No gradient flows.",
    Trunc No "Round towards zero" "Drops the fraction. No gradient flows.",
    Relu InPlace "Rectified linear unit" "`y = max(0, x)`; the derivative at 0 is 0.",
    Elu InPlace "Exponential linear unit" "`y = x` for `x > 0`, else `exp(x) - 1`.",
    Gelu InPlace "Gaussian error linear unit, tanh form"
        "`y = 0.5 x (1 + tanh(0.7978845608 x (1 + 0.044715 x^2)))`. Source: Hendrycks and Gimpel (2016).",
    GeluErf Fresh "Gaussian error linear unit, exact form" "`y = 0.5 x (1 + erf(x / sqrt(2)))`.",
    GeluQuick Fresh "Gaussian error linear unit, sigmoid form" "`y = x / (1 + exp(-1.702 x))`.",
    Silu InPlace "Sigmoid linear unit" "`y = x / (1 + exp(-x))`.",
    Sigmoid InPlace "Sigmoid" "`y = 1 / (1 + exp(-x))`.",
    Tanh InPlace "Hyperbolic tangent" "`y = tanh(x)`.",
    Softplus InPlace "Softplus" "`y = log(1 + exp(x))`; `x` itself above 20.",
    Hardswish Fresh "Hard swish" "`y = x min(max(x + 3, 0), 6) / 6`.",
    Hardsigmoid Fresh "Hard sigmoid" "`y = min(max(x + 3, 0), 6) / 6`.",
}

const SHAPES: &str = "`a`: any shape, f32; the result has its shape.";

fn entry(id: UnaryId, r: R, title: &'static str, formula: &str, cases: fn() -> Vec<Case>) -> Entry {
    let name = id.name();
    let mut signatures = Vec::new();
    if !matches!(r, R::No) {
        signatures.push(format!("ggml_{name}(ctx, a)").into());
    }
    if matches!(r, R::InPlace) {
        signatures.push(format!("ggml_{name}_inplace(ctx, a)").into());
    }
    Entry {
        name: name.into(),
        r: signatures,
        inputs: &["a"],
        title: title.into(),
        details: format!("{formula} {SHAPES}").into(),
        topic: "unary",
        example: if id == UnaryId::Relu { EXAMPLE.into() } else { "".into() },
        make: |c: &Call<'_>| Ok(Arc::new(Unary::new(named(c)?)) as OpRef),
        cases,
    }
}

const EXAMPLE: &str = "ctx <- ggml_init()\n\
                       x <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)\n\
                       ggml_set_f32(x, c(-2, -1, 1, 2))\n\
                       y <- ggml_relu(ctx, x)\n\
                       ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                       ggml_get_f32(y)\n\
                       ggml_free(ctx)";

/// The formula that a call means: R's function name, or the table name for callers inside.
fn named(c: &Call<'_>) -> Result<UnaryId> {
    let name = c.function.strip_prefix("ggml_").unwrap_or(c.function);
    UnaryId::from_name(name).ok_or_else(|| Error::internal(format!("no formula named '{name}'")))
}

fn number(p: &Params, name: &str) -> Result<Scalar<f64>> {
    p.get(name)
}

fn leaky_relu() -> Entry {
    Entry {
        name: "leaky_relu".into(),
        r: vec!["ggml_leaky_relu(ctx, a, negative_slope = 0.01, inplace = FALSE)".into()],
        inputs: &["a"],
        title: "Leaky rectified linear unit".into(),
        details: format!(
            "`y = x` for `x > 0`, else `negative_slope * x`. With `inplace = TRUE` the result overwrites `a`. {SHAPES}"
        )
        .into(),
        topic: "unary",
        example: "".into(),
        make: |c: &Call<'_>| {
            let p = [number(c.params, "negative_slope")?, Scalar(0.0)];
            Ok(Arc::new(Unary { id: UnaryId::LeakyRelu, p }) as OpRef)
        },
        cases: cases::leaky_relu,
    }
}

fn clamp() -> Entry {
    Entry {
        name: "clamp".into(),
        r: vec!["ggml_clamp(ctx, a, min_val, max_val)".into()],
        inputs: &["a"],
        title: "Limit to a range".into(),
        details: format!(
            "`y = min(max(x, min_val), max_val)`; the derivative is 1 inside the range and on its bounds, else 0. `a` \
             stays as it is. `min_val` above `max_val` is an error. {SHAPES}"
        )
        .into(),
        topic: "unary",
        example: "".into(),
        make: |c: &Call<'_>| {
            let p = [number(c.params, "min_val")?, number(c.params, "max_val")?];
            Ok(Arc::new(Unary { id: UnaryId::Clamp, p }) as OpRef)
        },
        cases: cases::clamp,
    }
}

fn scale() -> Entry {
    Entry {
        name: "scale".into(),
        r: vec![
            "ggml_scale(ctx, a, s)".into(),
            "ggml_scale_inplace(ctx, a, s)".into(),
            "ggml_scale_bias(ctx, a, s, b)".into(),
        ],
        inputs: &["a"],
        title: "Multiply by a number".into(),
        details: format!("`y = s x`, with `ggml_scale_bias()` `y = s x + b`; `s` and `b` are numbers. {SHAPES}").into(),
        topic: "unary",
        example: "".into(),
        make: |c: &Call<'_>| {
            let bias = if c.function == "ggml_scale_bias" { number(c.params, "b")? } else { Scalar(0.0) };
            Ok(Arc::new(Unary { id: UnaryId::Scale, p: [number(c.params, "s")?, bias] }) as OpRef)
        },
        cases: cases::scale,
    }
}

/// Entry of a gradient; `r` is empty for those that only rules use.
fn back(
    name: &'static str,
    r: Vec<Text>,
    title: &'static str,
    make: fn(&Call<'_>) -> Result<OpRef>,
    cases: fn() -> Vec<Case>,
) -> Entry {
    Entry {
        name: name.into(),
        r,
        inputs: &["a", "b"],
        title: title.into(),
        details: "`a`: the gradient that reaches the result, `b`: the forward input, both of one shape, f32; the \
                  result has that shape."
            .into(),
        topic: "unary",
        example: "".into(),
        make,
        cases,
    }
}

fn back_of(id: UnaryId) -> Result<OpRef> {
    Ok(Arc::new(UnaryBack { id, given: Given::X, p: [Scalar(0.0); 2] }))
}

fn silu_back() -> Entry {
    let r = vec!["ggml_silu_back(ctx, a, b)".into()];
    back("silu_back", r, "Gradient of `ggml_silu()`", |_| back_of(UnaryId::Silu), cases::silu_back)
}

fn gelu_back() -> Entry {
    let r = vec!["ggml_gelu_back(ctx, a, b)".into()];
    back("gelu_back", r, "Gradient of `ggml_gelu()`", |_| back_of(UnaryId::Gelu), cases::gelu_back)
}

fn unary_back() -> Entry {
    let make = |_: &Call<'_>| Err(Error::internal("only the gradient rule of a formula knows which one it is"));
    back("unary_back", Vec::new(), "Gradient of a formula of one tensor", make, cases::unary_back)
}

/// Entries of the formulas of one tensor.
pub fn entries() -> Vec<Entry> {
    let mut v = plain();
    v.extend([leaky_relu(), clamp(), scale(), silu_back(), gelu_back(), unary_back()]);
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_has_an_entry() {
        let all = entries();
        for id in UnaryId::ALL {
            assert!(all.iter().any(|e| e.name == id.name()), "no entry for {id:?}");
        }
    }

    #[test]
    fn functions_make_their_formula() {
        for e in plain() {
            let p = Params::new();
            let op = (e.make)(&Call { function: &format!("ggml_{}", e.name), params: &p, x: &[] }).unwrap();
            assert_eq!(op.name(), e.name);
        }
    }
}
