//! R's view of gated linear units.

use super::{Glu, GluSplit, cases};
use crate::entry::{Call, Entry};
use ggmlr_core::{Error, OpRef, Result};
use ggmlr_formula::GluId;
use std::sync::Arc;

/// The formula that a call means: by R's function name, or by the number in `op`.
fn formula(c: &Call<'_>) -> Result<GluId> {
    let name = c.function.trim_start_matches("ggml_").trim_end_matches("_split");
    if let Some(id) = GluId::from_name(name) {
        return Ok(id);
    }
    let op: usize = c.params.get("op")?;
    // The ids stand in the order of ggml's numbers.
    GluId::ALL.get(op).copied().ok_or_else(|| {
        let last = GluId::ALL.len() - 1;
        Error::argument("op", format!("op must be one of the GGML_GLU_OP_* constants, 0 to {last}, got {op}"))
    })
}

const FORMULA: &str = "`y = act(x) g`, with `act` relu (`reglu`, 0), tanh gelu (`geglu`, 1), silu (`swiglu`, 2), exact gelu \
                       (`GGML_GLU_OP_GEGLU_ERF`, 4) or sigmoid gelu (`geglu_quick`, 5). `GGML_GLU_OP_SWIGLU_OAI` (3) is \
                       `min(x, 7) sigmoid(1.702 min(x, 7)) (min(max(g, -7), 7) + 1)`. Source: Shazeer (2020).";

const EXAMPLE: &str = "ctx <- ggml_init()\n\
                       a <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4)\n\
                       ggml_set_f32(a, c(1, 2, 3, 4))\n\
                       y <- ggml_swiglu(ctx, a)\n\
                       ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                       ggml_get_f32(y)\n\
                       ggml_free(ctx)";

fn packed() -> Entry {
    Entry {
        name: "glu".into(),
        r: [
            "ggml_glu(ctx, a, op, swapped = FALSE)",
            "ggml_reglu(ctx, a)",
            "ggml_geglu(ctx, a)",
            "ggml_swiglu(ctx, a)",
            "ggml_geglu_quick(ctx, a)",
        ]
        .map(Into::into)
        .to_vec(),
        inputs: &["a"],
        title: "Gated linear units of the halves of a tensor".into(),
        details: format!(
            "{FORMULA} `a`: `[2n, ...]`, f32; `x` is its first half along dimension 0 and `g` the second, `swapped` \
             exchanges them; the result is `[n, ...]`. An odd `ne0` is an error."
        )
        .into(),
        topic: "glu",
        example: EXAMPLE.into(),
        make: |c: &Call<'_>| {
            let swapped = c.params.find("swapped").is_some() && c.params.get("swapped")?;
            Ok(Arc::new(Glu { id: formula(c)?, swapped }) as OpRef)
        },
        cases: cases::packed,
    }
}

fn split() -> Entry {
    Entry {
        name: "glu_split".into(),
        r: [
            "ggml_glu_split(ctx, a, b, op)",
            "ggml_reglu_split(ctx, a, b)",
            "ggml_geglu_split(ctx, a, b)",
            "ggml_swiglu_split(ctx, a, b)",
        ]
        .map(Into::into)
        .to_vec(),
        inputs: &["a", "b"],
        title: "Gated linear units of two tensors".into(),
        details: format!("{FORMULA} `a` is `x`, `b` is `g`: same shape, f32; the result has that shape.").into(),
        topic: "glu",
        example: "".into(),
        make: |c: &Call<'_>| Ok(Arc::new(GluSplit { id: formula(c)? }) as OpRef),
        cases: cases::split,
    }
}

fn inner(
    name: &'static str,
    title: &'static str,
    inputs: &'static [&'static str],
    cases: fn() -> Vec<crate::Case>,
) -> Entry {
    Entry {
        name: name.into(),
        r: Vec::new(),
        inputs,
        title: title.into(),
        details: "Used by gradients: the gradient that reaches the result, then the forward sources.".into(),
        topic: "glu",
        example: "".into(),
        make: match inputs.len() {
            2 => |c: &Call<'_>| {
                Ok(Arc::new(super::GluBack { id: formula(c)?, swapped: c.params.get("swapped")? }) as OpRef)
            },
            _ => |c: &Call<'_>| Ok(Arc::new(super::GluSplitBack { id: formula(c)? }) as OpRef),
        },
        cases,
    }
}

/// Entries of gated linear units.
pub fn entries() -> Vec<Entry> {
    vec![
        packed(),
        split(),
        inner("glu_back", "Gradient of gated linear units of halves", &["a", "b"], cases::packed_back),
        inner("glu_split_back", "Gradient of gated linear units of two tensors", &["a", "b", "c"], cases::split_back),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ggmlr_core::Params;

    #[test]
    fn numbers_are_those_of_ggml() {
        let names = ["reglu", "geglu", "swiglu", "swiglu_oai", "geglu_erf", "geglu_quick"];
        for (op, name) in names.iter().enumerate() {
            let p = Params::new().with("op", op as f64);
            assert_eq!(formula(&Call { function: "ggml_glu", params: &p, x: &[] }).unwrap().name(), *name);
        }
        let p = Params::new().with("op", 6.0);
        let e = formula(&Call { function: "ggml_glu_split", params: &p, x: &[] }).unwrap_err();
        assert_eq!(e.arg_name(), Some("op"));
        let p = Params::new();
        assert_eq!(formula(&Call { function: "ggml_geglu_split", params: &p, x: &[] }).unwrap(), GluId::Geglu);
    }
}
