//! Formulas of one argument.
//!
//! A row reads `Variant "GGML_NAME": name(x, parameters) = value, d_name(x, y, parameters) = derivative;`, where `y` is
//! the value at `x`. Call style only: `exp(x)`, `select(condition, a, b)`, float literals; no `let`, no methods, no casts.
//! The right-hand sides call the functions of `math`, never another row: `abs(x) = abs(x)` is no recursion.
//!
//! Every value passes NaN on, hence the order of comparisons (`select(x <= 0.0, 0.0, x)` rather than
//! `select(x > 0.0, x, 0.0)`). Derivatives stay finite for finite `x` where the true derivative is.

/// Calls the macro named in the first bracket with the tokens of the second bracket followed by all unary rows.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_unary {
    ([$($callback:tt)+] [$($extra:tt)*]) => {
        $($callback)+! { [$($extra)*]
            Abs "ABS": abs(x) = abs(x), d_abs(x, y) = sign(x);
            Sgn "SGN": sgn(x) = sign(x), d_sgn(x, y) = 0.0;
            Neg "NEG": neg(x) = -x, d_neg(x, y) = -1.0;
            Step "STEP": step(x) = step(x), d_step(x, y) = 0.0;
            Tanh "TANH": tanh(x) = tanh(x), d_tanh(x, y) = 1.0 - y * y;
            Elu "ELU": elu(x) = select(x > 0.0, x, expm1(x)), d_elu(x, y) = select(x > 0.0, 1.0, exp(x));
            // At 0 the derivative is 0.
            Relu "RELU": relu(x) = select(x <= 0.0, 0.0, x), d_relu(x, y) = step(x);
            Sigmoid "SIGMOID": sigmoid(x) = sigmoid(x), d_sigmoid(x, y) = y * sigmoid(-x);
            // x * sigmoid(2u) is 0.5 * x * (1 + tanh(u)) with u = 0.7978845608 * x * (1 + 0.044715 * x^2), without the
            // cancellation of 1 + tanh(u) in the left tail. In the derivative sigmoid(-2u) is 0 long before
            // x^2 = 1000; the cap keeps 0 * Inf out.
            Gelu "GELU":
                gelu(x) = x * sigmoid(1.5957691216 * (x * (1.0 + 0.044715 * x * x))),
                d_gelu(x, y) = sigmoid(1.5957691216 * (x * (1.0 + 0.044715 * x * x)))
                    + y * sigmoid(-1.5957691216 * (x * (1.0 + 0.044715 * x * x)))
                        * (1.5957691216 * (1.0 + 0.134145 * min(x * x, 1000.0)));
            GeluQuick "GELU_QUICK":
                gelu_quick(x) = x * sigmoid(1.702 * x),
                d_gelu_quick(x, y) = sigmoid(1.702 * x) + 1.702 * (y * sigmoid(-1.702 * x));
            Silu "SILU": silu(x) = x * sigmoid(x), d_silu(x, y) = sigmoid(x) * (1.0 + x * sigmoid(-x));
            Hardswish "HARDSWISH":
                hardswish(x) = x * (clamp(x + 3.0, 0.0, 6.0) / 6.0),
                d_hardswish(x, y) = select(x <= -3.0, 0.0, select(x >= 3.0, 1.0, x / 3.0 + 0.5));
            Hardsigmoid "HARDSIGMOID":
                hardsigmoid(x) = clamp(x + 3.0, 0.0, 6.0) / 6.0,
                d_hardsigmoid(x, y) = select(x <= -3.0, 0.0, select(x >= 3.0, 0.0, 1.0 / 6.0));
            Exp "EXP": exp(x) = exp(x), d_exp(x, y) = y;
            Expm1 "EXPM1": expm1(x) = expm1(x), d_expm1(x, y) = exp(x);
            Softplus "SOFTPLUS":
                softplus(x) = select(x > 20.0, x, log1p(exp(x))),
                d_softplus(x, y) = select(x > 20.0, 1.0, sigmoid(x));
            GeluErf "GELU_ERF":
                gelu_erf(x) = 0.5 * x * (1.0 + erf(0.7071067811865476 * x)),
                d_gelu_erf(x, y) = 0.5 * (1.0 + erf(0.7071067811865476 * x))
                    + x * (0.3989422804014327 * exp(-0.5 * x * x));
            Floor "FLOOR": floor(x) = floor(x), d_floor(x, y) = 0.0;
            Ceil "CEIL": ceil(x) = ceil(x), d_ceil(x, y) = 0.0;
            // Halves go away from zero: -2.5 becomes -3, 0.5 becomes 1.
            Round "ROUND": round(x) = round(x), d_round(x, y) = 0.0;
            Trunc "TRUNC": trunc(x) = trunc(x), d_trunc(x, y) = 0.0;
            Sqr "SQR": sqr(x) = x * x, d_sqr(x, y) = 2.0 * x;
            Sqrt "SQRT": sqrt(x) = sqrt(x), d_sqrt(x, y) = 0.5 / y;
            Log "LOG": log(x) = log(x), d_log(x, y) = 1.0 / x;
            Sin "SIN": sin(x) = sin(x), d_sin(x, y) = cos(x);
            Cos "COS": cos(x) = cos(x), d_cos(x, y) = -sin(x);
            // p0 is the slope of the negative side; it is the derivative at 0 too.
            LeakyRelu "LEAKY_RELU":
                leaky_relu(x, p0) = select(x > 0.0, x, p0 * x),
                d_leaky_relu(x, y, p0) = select(x > 0.0, 1.0, p0);
            // p0 and p1 are the bounds; the derivative on a bound is 1.
            Clamp "CLAMP":
                clamp(x, p0, p1) = clamp(x, p0, p1),
                d_clamp(x, y, p0, p1) = select(x < p0, 0.0, select(x > p1, 0.0, 1.0));
            // p0 is the factor, p1 the bias.
            Scale "SCALE": scale(x, p0, p1) = p0 * x + p1, d_scale(x, y, p0, p1) = p0;
        }
    };
}
