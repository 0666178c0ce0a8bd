//! Checks that many operators share; every message names the argument and shows both shapes.

use ggmlr_core::{DType, Desc, Error, Result};

/// The number of sources; operators index theirs after this.
pub fn sources<const N: usize>(x: &[Desc]) -> Result<&[Desc; N]> {
    x.try_into().map_err(|_| Error::internal(format!("{} sources given, {N} expected", x.len())))
}

/// Source `name` must hold 32- or 64-bit floating point numbers.
pub fn float(name: &str, x: &Desc) -> Result<()> {
    match x.dtype {
        DType::F32 | DType::F64 => Ok(()),
        other => {
            Err(Error::dtype(format!("{name} must be f32, got {other}")).arg(name).expected("f32").got(other.name()))
        }
    }
}

/// Source `name` must have type `t`.
pub fn dtype(name: &str, x: &Desc, t: DType) -> Result<()> {
    if x.dtype == t {
        return Ok(());
    }
    Err(Error::dtype(format!("{name} must be {t}, got {}", x.dtype)).arg(name).expected(t.name()).got(x.dtype.name()))
}

/// Two sources must have the same type.
pub fn same_dtype(an: &str, a: &Desc, bn: &str, b: &Desc) -> Result<()> {
    if a.dtype == b.dtype {
        return Ok(());
    }
    Err(Error::dtype(format!("{bn} is {}, {an} is {}: both must have one type", b.dtype, a.dtype))
        .arg(bn)
        .expected(a.dtype.name())
        .got(b.dtype.name()))
}

/// Two sources must have the same shape.
pub fn same_shape(an: &str, a: &Desc, bn: &str, b: &Desc) -> Result<()> {
    if a.same_shape(b) {
        return Ok(());
    }
    Err(Error::shape(format!("{bn} {} must have the shape of {an} {}", b.show(), a.show()))
        .arg(bn)
        .expected(a.show())
        .got(b.show()))
}

/// Source `b` must repeat into `a`, as ggml broadcasts.
pub fn broadcasts(an: &str, a: &Desc, bn: &str, b: &Desc) -> Result<()> {
    if b.can_repeat_to(a) {
        return Ok(());
    }
    Err(Error::shape(format!("{bn} {} cannot be broadcast to {an} {}", b.show(), a.show()))
        .arg(bn)
        .expected(format!("extents that divide {}", a.show()))
        .got(b.show()))
}
