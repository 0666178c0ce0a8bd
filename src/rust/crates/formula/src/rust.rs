//! The tables read as Rust.
//!
//! Each row becomes a type in [`rows`] with one trait implementation per arithmetic. Generic loops take the row as a
//! type parameter, so the formula is inlined into them; `with_unary_row!` and its sisters go from an id to the type.

/// A way to calculate: number type and instructions.
pub trait Arith {
    type Real: Copy;
}

/// f32 without fused multiply-add: the same result on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

/// f32 with fused multiply-add. Slow unless the surrounding code is compiled for a machine that has it.
#[derive(Clone, Copy, Debug)]
pub struct Fused;

/// f64.
#[derive(Clone, Copy, Debug)]
pub struct Double;

impl Arith for Plain {
    type Real = f32;
}

impl Arith for Fused {
    type Real = f32;
}

impl Arith for Double {
    type Real = f64;
}

/// A formula of one argument and up to two parameters.
pub trait UnaryRow<A: Arith> {
    fn value(x: A::Real, p: [A::Real; 2]) -> A::Real;
    /// The derivative at `x`, where `y` is the value.
    fn slope(x: A::Real, y: A::Real, p: [A::Real; 2]) -> A::Real;
}

/// A formula of two arguments.
pub trait BinaryRow<A: Arith> {
    fn value(a: A::Real, b: A::Real) -> A::Real;
    fn by_a(a: A::Real, b: A::Real, y: A::Real) -> A::Real;
    fn by_b(a: A::Real, b: A::Real, y: A::Real) -> A::Real;
}

/// A gated linear unit of the activated half `x` and the gate `g`.
pub trait GluRow<A: Arith> {
    fn value(x: A::Real, g: A::Real) -> A::Real;
    fn by_x(x: A::Real, g: A::Real) -> A::Real;
    fn by_g(x: A::Real, g: A::Real) -> A::Real;
}

macro_rules! row_types {
    ([] $($Row:ident $ggml:literal: $($name:ident($($arg:ident),*) = $text:expr),*;)*) => {
        $(
            #[derive(Clone, Copy, Debug)]
            pub struct $Row;
        )*
    };
}

/// One type per row, named like the id's variant.
pub mod rows {
    crate::for_each_unary!([row_types] []);
    crate::for_each_binary!([row_types] []);
    crate::for_each_glu!([row_types] []);
}

/// The element of the parameter array that a row's parameter name stands for.
macro_rules! parameter {
    ($p:ident p0) => {
        $p[0]
    };
    ($p:ident p1) => {
        $p[1]
    };
}

// In the functions below, `use` inside a body hides the function of the same name outside it, so that the row
// `exp(x) = exp(x)` calls `math`.

macro_rules! unary_rows {
    ([$Arith:ident $Real:ident] $($Row:ident $ggml:literal:
        $name:ident($x:ident $(, $p:ident)*) = $value:expr,
        $slope:ident($sx:ident, $sy:ident $(, $sp:ident)*) = $derivative:expr;)*
    ) => {
        /// The rows as functions, for the GLU table to call.
        mod activation {
            $(
                #[inline(always)]
                pub(super) fn $name($x: $Real $(, $p: $Real)*) -> $Real {
                    use super::math::*;
                    $value
                }

                #[inline(always)]
                pub(super) fn $slope($sx: $Real, $sy: $Real $(, $sp: $Real)*) -> $Real {
                    use super::math::*;
                    $derivative
                }
            )*
        }
        $(
            impl UnaryRow<$Arith> for rows::$Row {
                #[inline(always)]
                fn value(x: $Real, p: [$Real; 2]) -> $Real {
                    activation::$name(x $(, parameter!(p $p))*)
                }

                #[inline(always)]
                fn slope(x: $Real, y: $Real, p: [$Real; 2]) -> $Real {
                    activation::$slope(x, y $(, parameter!(p $sp))*)
                }
            }
        )*
    };
}

macro_rules! binary_rows {
    ([$Arith:ident $Real:ident] $($Row:ident $ggml:literal:
        $name:ident($a:ident, $b:ident) = $value:expr,
        by_a($aa:ident, $ab:ident, $ay:ident) = $by_a:expr,
        by_b($ba:ident, $bb:ident, $by:ident) = $by_b:expr;)*
    ) => {
        $(
            impl BinaryRow<$Arith> for rows::$Row {
                #[inline(always)]
                fn value($a: $Real, $b: $Real) -> $Real {
                    use math::*;
                    $value
                }

                #[inline(always)]
                fn by_a($aa: $Real, $ab: $Real, $ay: $Real) -> $Real {
                    use math::*;
                    $by_a
                }

                #[inline(always)]
                fn by_b($ba: $Real, $bb: $Real, $by: $Real) -> $Real {
                    use math::*;
                    $by_b
                }
            }
        )*
    };
}

macro_rules! glu_rows {
    ([$Arith:ident $Real:ident] $($Row:ident $ggml:literal:
        $name:ident($x:ident, $g:ident) = $value:expr,
        by_x($xx:ident, $xg:ident) = $by_x:expr,
        by_g($gx:ident, $gg:ident) = $by_g:expr;)*
    ) => {
        $(
            impl GluRow<$Arith> for rows::$Row {
                #[inline(always)]
                fn value($x: $Real, $g: $Real) -> $Real {
                    use activation::*;
                    {
                        use math::*;
                        $value
                    }
                }

                #[inline(always)]
                fn by_x($xx: $Real, $xg: $Real) -> $Real {
                    use activation::*;
                    {
                        use math::*;
                        $by_x
                    }
                }

                #[inline(always)]
                fn by_g($gx: $Real, $gg: $Real) -> $Real {
                    use activation::*;
                    {
                        use math::*;
                        $by_g
                    }
                }
            }
        )*
    };
}

macro_rules! expand {
    ($module:ident $Arith:ident $Real:ident $math:ident) => {
        // A row need not use every argument or any function; its literals have the digits of f64.
        #[allow(unused_imports, unused_variables, dead_code)]
        #[allow(clippy::excessive_precision, clippy::approx_constant, clippy::neg_multiply)]
        mod $module {
            use super::{$Arith, BinaryRow, GluRow, UnaryRow, rows};
            use crate::math::$math as math;

            crate::for_each_unary!([unary_rows] [$Arith $Real]);
            crate::for_each_binary!([binary_rows] [$Arith $Real]);
            crate::for_each_glu!([glu_rows] [$Arith $Real]);
        }
    };
}

expand!(plain Plain f32 plain);
expand!(fused Fused f32 fused);
expand!(double Double f64 f64);

#[doc(hidden)]
#[macro_export]
macro_rules! match_row {
    ([$id:expr, $Id:ident, $R:ident => $body:expr] $($Row:ident $ggml:literal:
        $($name:ident($($arg:ident),*) = $text:expr),*;)*
    ) => {
        match $id {
            $($crate::$Id::$Row => {
                type $R = $crate::rust::rows::$Row;
                $body
            })*
        }
    };
}

/// `with_unary_row!(id, R => expression)`: the expression with `R` standing for the row type of `id`.
#[macro_export]
macro_rules! with_unary_row {
    ($id:expr, $R:ident => $body:expr) => {
        $crate::for_each_unary!([$crate::match_row] [$id, UnaryId, $R => $body])
    };
}

/// `with_binary_row!(id, R => expression)`: the expression with `R` standing for the row type of `id`.
#[macro_export]
macro_rules! with_binary_row {
    ($id:expr, $R:ident => $body:expr) => {
        $crate::for_each_binary!([$crate::match_row] [$id, BinaryId, $R => $body])
    };
}

/// `with_glu_row!(id, R => expression)`: the expression with `R` standing for the row type of `id`.
#[macro_export]
macro_rules! with_glu_row {
    ($id:expr, $R:ident => $body:expr) => {
        $crate::for_each_glu!([$crate::match_row] [$id, GluId, $R => $body])
    };
}
