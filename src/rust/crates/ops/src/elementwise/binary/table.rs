//! R's view of the arithmetic of two tensors.

use super::{Add1, Binary, cases};
use crate::entry::{Call, Entry};
use ggmlr_core::{Error, OpRef};
use ggmlr_formula::BinaryId;
use std::sync::Arc;

fn entry(id: BinaryId, title: &'static str, formula: &'static str, cases: fn() -> Vec<crate::Case>) -> Entry {
    let name = id.name();
    Entry {
        name: name.into(),
        r: vec![format!("ggml_{name}(ctx, a, b)").into(), format!("ggml_{name}_inplace(ctx, a, b)").into()],
        inputs: &["a", "b"],
        title: title.into(),
        details: format!(
            "{formula} `b` repeats into `a`: each extent of `a` must be a multiple of that of `b`. `a`: `[n0, n1, ...]`, \
             f32; `b`: f32, f16 or bf16; the result has the shape of `a`."
        )
        .into(),
        topic: "binary",
        example: if id == BinaryId::Add { EXAMPLE.into() } else { "".into() },
        make: |c: &Call<'_>| {
            let name = c.function.strip_prefix("ggml_").unwrap_or(c.function);
            let id = BinaryId::from_name(name)
                .ok_or_else(|| Error::internal(format!("no formula of two tensors named '{name}'")))?;
            Ok(Arc::new(Binary { id }) as OpRef)
        },
        cases,
    }
}

const EXAMPLE: &str = "ctx <- ggml_init()\n\
                       a <- ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 2, 3)\n\
                       ggml_set_f32(a, 1:6)\n\
                       b <- ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 2)\n\
                       ggml_set_f32(b, c(10, 20))\n\
                       y <- ggml_add(ctx, a, b)\n\
                       ggml_graph_compute(ctx, ggml_build_forward_expand(ctx, y))\n\
                       ggml_get_f32(y)\n\
                       ggml_free(ctx)";

fn add1() -> Entry {
    Entry {
        name: "add1".into(),
        r: vec!["ggml_add1(ctx, a, b)".into()],
        inputs: &["a", "b"],
        title: "Add one number".into(),
        details:
            "`y = a + b` with `b` a tensor of one element. The gradient of `b` is the sum over all elements. `a`: any \
                  shape, f32; the result has its shape."
                .into(),
        topic: "binary",
        example: "".into(),
        make: |_| Ok(Arc::new(Add1 {}) as OpRef),
        cases: cases::add1,
    }
}

/// Entries of the arithmetic of two tensors.
pub fn entries() -> Vec<Entry> {
    vec![
        entry(BinaryId::Add, "Sum of two tensors", "`y = a + b`.", || cases::of(BinaryId::Add)),
        entry(BinaryId::Sub, "Difference of two tensors", "`y = a - b`.", || cases::of(BinaryId::Sub)),
        entry(BinaryId::Mul, "Product of two tensors", "`y = a b`, element by element.", || cases::of(BinaryId::Mul)),
        entry(BinaryId::Div, "Quotient of two tensors", "`y = a / b`, element by element.", || {
            cases::of(BinaryId::Div)
        }),
        add1(),
    ]
}
