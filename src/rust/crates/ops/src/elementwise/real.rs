//! The floating point types that kernels compute in, and the kernels of `ggmlr_simd` by type.

use bytemuck::Pod;
use ggmlr_core::DType;
use ggmlr_formula::{BinaryId, GluId, UnaryId};
use ggmlr_simd::{map, reduce};
use std::ops::AddAssign;

/// `f32` or `f64`.
pub(crate) trait Real: Pod + Send + Sync + PartialOrd + AddAssign {
    const TYPE: DType;

    fn of(x: f64) -> Self;
    fn f64(self) -> f64;
    fn is_nan(self) -> bool;

    /// `y = f(x)`
    fn unary(id: UnaryId, x: &[Self], y: &mut [Self], p: [Self; 2]);
    /// `y = f(y)`
    fn unary_inplace(id: UnaryId, y: &mut [Self], p: [Self; 2]);
    /// `dx = dy f'(x)`
    fn unary_grad(id: UnaryId, x: &[Self], y: &[Self], dy: &[Self], dx: &mut [Self], p: [Self; 2]);

    /// `y = f(a, b)`
    fn binary(id: BinaryId, a: &[Self], b: &[Self], y: &mut [Self]);
    /// `y = f(y, b)`
    fn binary_inplace(id: BinaryId, y: &mut [Self], b: &[Self]);
    /// `y = f(a, y)`
    fn binary_inplace_b(id: BinaryId, a: &[Self], y: &mut [Self]);
    /// `y = f(a, b)` with one `b` for all
    fn binary_scalar_b(id: BinaryId, a: &[Self], b: Self, y: &mut [Self]);
    /// `y = f(y, b)` with one `b` for all
    fn binary_scalar_b_inplace(id: BinaryId, y: &mut [Self], b: Self);

    /// `y = f(x, g)`
    fn glu(id: GluId, x: &[Self], g: &[Self], y: &mut [Self]);
    /// `dx = dy df/dx`, `dg = dy df/dg`
    fn glu_grad(id: GluId, x: &[Self], g: &[Self], dy: &[Self], dx: &mut [Self], dg: &mut [Self]);

    /// Sum in f64
    fn sum(x: &[Self]) -> f64;
}

macro_rules! real {
    ($t:ident, $type:ident, $unary:ident $unary_inplace:ident $unary_grad:ident
     $binary:ident $binary_inplace:ident $binary_inplace_b:ident $binary_scalar_b:ident $binary_scalar_b_inplace:ident
     $glu:ident $glu_grad:ident $sum:ident) => {
        impl Real for $t {
            const TYPE: DType = DType::$type;

            fn of(x: f64) -> $t {
                x as $t
            }
            fn f64(self) -> f64 {
                self.into()
            }
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }

            fn unary(id: UnaryId, x: &[$t], y: &mut [$t], p: [$t; 2]) {
                map::$unary(id, x, y, p)
            }
            fn unary_inplace(id: UnaryId, y: &mut [$t], p: [$t; 2]) {
                map::$unary_inplace(id, y, p)
            }
            fn unary_grad(id: UnaryId, x: &[$t], y: &[$t], dy: &[$t], dx: &mut [$t], p: [$t; 2]) {
                map::$unary_grad(id, x, y, dy, dx, p)
            }

            fn binary(id: BinaryId, a: &[$t], b: &[$t], y: &mut [$t]) {
                map::$binary(id, a, b, y)
            }
            fn binary_inplace(id: BinaryId, y: &mut [$t], b: &[$t]) {
                map::$binary_inplace(id, y, b)
            }
            fn binary_inplace_b(id: BinaryId, a: &[$t], y: &mut [$t]) {
                map::$binary_inplace_b(id, a, y)
            }
            fn binary_scalar_b(id: BinaryId, a: &[$t], b: $t, y: &mut [$t]) {
                map::$binary_scalar_b(id, a, b, y)
            }
            fn binary_scalar_b_inplace(id: BinaryId, y: &mut [$t], b: $t) {
                map::$binary_scalar_b_inplace(id, y, b)
            }

            fn glu(id: GluId, x: &[$t], g: &[$t], y: &mut [$t]) {
                map::$glu(id, x, g, y)
            }
            fn glu_grad(id: GluId, x: &[$t], g: &[$t], dy: &[$t], dx: &mut [$t], dg: &mut [$t]) {
                map::$glu_grad(id, x, g, dy, dx, dg)
            }

            fn sum(x: &[$t]) -> f64 {
                reduce::$sum(x).into()
            }
        }
    };
}

real!(f32, F32, unary unary_inplace unary_grad
    binary binary_inplace binary_inplace_b binary_scalar_b binary_scalar_b_inplace glu glu_grad sum_wide);
real!(f64, F64, unary_f64 unary_inplace_f64 unary_grad_f64
    binary_f64 binary_inplace_f64 binary_inplace_b_f64 binary_scalar_b_f64 binary_scalar_b_inplace_f64
    glu_f64 glu_grad_f64 sum_f64);

/// `by_real!(dtype, T => expression)`: the expression with `T` standing for the type's Rust type.
macro_rules! by_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ggmlr_core::DType::F32 => {
                type $T = f32;
                $body
            }
            ggmlr_core::DType::F64 => {
                type $T = f64;
                $body
            }
            other => Err(ggmlr_core::Error::dtype(format!("no kernel for {other}"))),
        }
    };
}
pub(crate) use by_real;
