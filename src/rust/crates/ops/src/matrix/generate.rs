//! Values made from their position alone.

use ggmlr_core::pool::rows;
use ggmlr_core::{CpuCall, DType, Error, Result};

/// Types that values are made in.
pub const TYPES: &[DType] = &[DType::F32, DType::F64, DType::I32, DType::I64];

/// Results must be of a type that values are made in.
pub fn check_type(t: DType) -> Result<()> {
    if TYPES.contains(&t) {
        return Ok(());
    }
    Err(Error::dtype(format!("type must be f32, f64, i32 or i64, got {t}")).arg("type").got(t.name()))
}

/// Writes `f(position)` to each element of the result, converted to its type.
pub fn generate(call: &mut CpuCall<'_>, f: impl Fn(usize) -> f64 + Sync) -> Result<()> {
    macro_rules! write {
        ($t:ty) => {{
            let y = call.out::<$t>(0)?;
            rows(call.pool, y, 1, 0.7, |first, part| {
                part.iter_mut().enumerate().for_each(|(i, y)| *y = f(first + i) as $t);
            });
            Ok(())
        }};
    }
    match call.y(0).dtype {
        DType::F32 => write!(f32),
        DType::F64 => write!(f64),
        DType::I32 => write!(i32),
        DType::I64 => write!(i64),
        other => Err(Error::dtype(format!("no kernel for {other}"))),
    }
}
