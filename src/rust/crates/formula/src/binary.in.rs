//! Formulas of two arguments.
//!
//! A row reads `Variant "GGML_NAME": name(a, b) = value, by_a(a, b, y) = derivative, by_b(a, b, y) = derivative;`,
//! where `y` is the value.

/// Calls the macro named in the first bracket with the tokens of the second bracket followed by all binary rows.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_binary {
    ([$($callback:tt)+] [$($extra:tt)*]) => {
        $($callback)+! { [$($extra)*]
            Add "ADD": add(a, b) = a + b, by_a(a, b, y) = 1.0, by_b(a, b, y) = 1.0;
            Sub "SUB": sub(a, b) = a - b, by_a(a, b, y) = 1.0, by_b(a, b, y) = -1.0;
            Mul "MUL": mul(a, b) = a * b, by_a(a, b, y) = b, by_b(a, b, y) = a;
            Div "DIV": div(a, b) = a / b, by_a(a, b, y) = 1.0 / b, by_b(a, b, y) = -y / b;
        }
    };
}
