//! Ids of the rows, and one formula at a time by id.

use crate::rust::{BinaryRow, Double, GluRow, Plain, UnaryRow};
use crate::{with_binary_row, with_glu_row, with_unary_row};

macro_rules! count {
    () => { 0 };
    ($first:ident $(, $rest:ident)*) => { 1 + count!($($rest),*) };
}

/// The id type of a table, given how many arguments are no parameters and how many texts a row has.
macro_rules! id_type {
    ([$(#[$doc:meta])* $Id:ident, $of:literal arguments, $n:literal texts] $($Row:ident $ggml:literal:
        $name:ident($($arg:ident),*) = $value:expr, $($part:ident($($parg:ident),*) = $text:expr),*;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Id {
            $($Row,)*
        }

        impl $Id {
            pub const ALL: &'static [$Id] = &[$($Id::$Row,)*];

            /// Name of the formula, `gelu_quick`.
            pub fn name(self) -> &'static str {
                match self {
                    $($Id::$Row => stringify!($name),)*
                }
            }

            /// Name of the operation in ggml, `GELU_QUICK`.
            pub fn ggml_name(self) -> &'static str {
                match self {
                    $($Id::$Row => $ggml,)*
                }
            }

            /// Either kind of name, in any case.
            pub fn from_name(name: &str) -> Option<$Id> {
                $Id::ALL.iter().copied().find(|id| {
                    name.eq_ignore_ascii_case(id.name()) || name.eq_ignore_ascii_case(id.ggml_name())
                })
            }

            /// How many of the parameters the formula reads.
            pub fn n_params(self) -> usize {
                match self {
                    $($Id::$Row => count!($($arg),*) - $of,)*
                }
            }

            /// The texts of the row as Rust prints them: the value, then the derivatives.
            pub(crate) fn texts(self) -> [&'static str; $n] {
                match self {
                    $($Id::$Row => [stringify!($value), $(stringify!($text)),*],)*
                }
            }
        }
    };
}

crate::for_each_unary!([id_type] [/// A formula of one argument.
    UnaryId, 1 arguments, 2 texts]);
crate::for_each_binary!([id_type] [/// A formula of two arguments.
    BinaryId, 2 arguments, 3 texts]);
crate::for_each_glu!([id_type] [/// A gated linear unit.
    GluId, 2 arguments, 3 texts]);

impl UnaryId {
    pub fn f32(self, x: f32, p: [f32; 2]) -> f32 {
        with_unary_row!(self, R => <R as UnaryRow<Plain>>::value(x, p))
    }

    pub fn f64(self, x: f64, p: [f64; 2]) -> f64 {
        with_unary_row!(self, R => <R as UnaryRow<Double>>::value(x, p))
    }

    /// The derivative at `x`, where `y` is the value.
    pub fn df32(self, x: f32, y: f32, p: [f32; 2]) -> f32 {
        with_unary_row!(self, R => <R as UnaryRow<Plain>>::slope(x, y, p))
    }

    /// The derivative at `x`, where `y` is the value.
    pub fn df64(self, x: f64, y: f64, p: [f64; 2]) -> f64 {
        with_unary_row!(self, R => <R as UnaryRow<Double>>::slope(x, y, p))
    }
}

impl BinaryId {
    pub fn f32(self, a: f32, b: f32) -> f32 {
        with_binary_row!(self, R => <R as BinaryRow<Plain>>::value(a, b))
    }

    pub fn f64(self, a: f64, b: f64) -> f64 {
        with_binary_row!(self, R => <R as BinaryRow<Double>>::value(a, b))
    }

    /// The derivatives by `a` and by `b`, where `y` is the value.
    pub fn df32(self, a: f32, b: f32, y: f32) -> (f32, f32) {
        with_binary_row!(self, R => {
            (<R as BinaryRow<Plain>>::by_a(a, b, y), <R as BinaryRow<Plain>>::by_b(a, b, y))
        })
    }

    /// The derivatives by `a` and by `b`, where `y` is the value.
    pub fn df64(self, a: f64, b: f64, y: f64) -> (f64, f64) {
        with_binary_row!(self, R => {
            (<R as BinaryRow<Double>>::by_a(a, b, y), <R as BinaryRow<Double>>::by_b(a, b, y))
        })
    }
}

impl GluId {
    pub fn f32(self, x: f32, g: f32) -> f32 {
        with_glu_row!(self, R => <R as GluRow<Plain>>::value(x, g))
    }

    pub fn f64(self, x: f64, g: f64) -> f64 {
        with_glu_row!(self, R => <R as GluRow<Double>>::value(x, g))
    }

    /// The derivatives by `x` and by `g`.
    pub fn df32(self, x: f32, g: f32) -> (f32, f32) {
        with_glu_row!(self, R => (<R as GluRow<Plain>>::by_x(x, g), <R as GluRow<Plain>>::by_g(x, g)))
    }

    /// The derivatives by `x` and by `g`.
    pub fn df64(self, x: f64, g: f64) -> (f64, f64) {
        with_glu_row!(self, R => (<R as GluRow<Double>>::by_x(x, g), <R as GluRow<Double>>::by_g(x, g)))
    }
}
