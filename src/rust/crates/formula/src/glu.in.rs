//! Gated linear units: `x` is the activated half, `g` the gate.
//!
//! A row reads `Variant "GGML_NAME": name(x, g) = value, by_x(x, g) = derivative, by_g(x, g) = derivative;`. Rows may
//! call an activation of the unary table by its name, `gelu(x)`, and its derivative as `d_gelu(x, gelu(x))`.

/// Calls the macro named in the first bracket with the tokens of the second bracket followed by all GLU rows.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_glu {
    ([$($callback:tt)+] [$($extra:tt)*]) => {
        $($callback)+! { [$($extra)*]
            Reglu "REGLU":
                reglu(x, g) = relu(x) * g,
                by_x(x, g) = d_relu(x, relu(x)) * g,
                by_g(x, g) = relu(x);
            Geglu "GEGLU":
                geglu(x, g) = gelu(x) * g,
                by_x(x, g) = d_gelu(x, gelu(x)) * g,
                by_g(x, g) = gelu(x);
            Swiglu "SWIGLU":
                swiglu(x, g) = silu(x) * g,
                by_x(x, g) = d_silu(x, silu(x)) * g,
                by_g(x, g) = silu(x);
            // m = min(x, 7), m * sigmoid(1.702 * m) * (clamp(g, -7, 7) + 1): the first two factors are gelu_quick(m).
            SwigluOai "SWIGLU_OAI":
                swiglu_oai(x, g) = gelu_quick(min(x, 7.0)) * (clamp(g, -7.0, 7.0) + 1.0),
                by_x(x, g) = select(x > 7.0, 0.0, d_gelu_quick(x, gelu_quick(x)) * (clamp(g, -7.0, 7.0) + 1.0)),
                by_g(x, g) = select(g < -7.0, 0.0, select(g > 7.0, 0.0, gelu_quick(min(x, 7.0))));
            GegluErf "GEGLU_ERF":
                geglu_erf(x, g) = gelu_erf(x) * g,
                by_x(x, g) = d_gelu_erf(x, gelu_erf(x)) * g,
                by_g(x, g) = gelu_erf(x);
            GegluQuick "GEGLU_QUICK":
                geglu_quick(x, g) = gelu_quick(x) * g,
                by_x(x, g) = d_gelu_quick(x, gelu_quick(x)) * g,
                by_g(x, g) = gelu_quick(x);
        }
    };
}
