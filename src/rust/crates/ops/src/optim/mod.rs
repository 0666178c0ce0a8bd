//! Steps of optimisers, written into the weights they update, and the check that keeps a bad gradient out of them.

pub mod adamw;
pub mod all_finite;
pub mod sgd;

use crate::{Entry, check};
use bytemuck::Pod;
use ggmlr_core::{CpuCall, DType, Desc, Error, Result};

/// Entries of the family.
pub fn entries() -> Vec<Entry> {
    vec![adamw::entry(), sgd::entry(), all_finite::entry()]
}

/// `params` must hold `n` numbers of the weights' type.
fn check_params(name: &str, w: &Desc, params: &Desc, n: usize) -> Result<()> {
    check::same_dtype("a", w, name, params)?;
    if params.len() == n {
        return Ok(());
    }
    Err(Error::shape(format!("{name} {} must hold {n} numbers", params.show()))
        .arg(name)
        .expected(format!("{n} numbers"))
        .got(format!("{}", params.len())))
}

/// The optional gate must be one f32.
fn check_gate(gate: Option<&Desc>) -> Result<()> {
    let Some(gate) = gate else { return Ok(()) };
    check::dtype("gate", gate, DType::F32)?;
    if gate.len() == 1 {
        return Ok(());
    }
    Err(Error::shape(format!("gate {} must be one number", gate.show())).arg("gate").got(gate.show()))
}

/// Whether optional source `i` lets the step happen: without a gate it does.
fn gate_is_open(call: &CpuCall<'_>, i: usize) -> Result<bool> {
    if call.src.len() <= i {
        return Ok(true);
    }
    Ok(call.get::<f32>(i)?.first() == Some(&1.0))
}

/// Result `out`, holding the values of source `src` that it updates.
fn updated<'a, T: Pod>(call: &mut CpuCall<'a>, out: usize, src: usize) -> Result<&'a mut [T]> {
    let old = call.get_unless_in_place::<T>(src)?;
    let new = call.out::<T>(out)?;
    if let Some(old) = old {
        new.copy_from_slice(old);
    }
    Ok(new)
}
