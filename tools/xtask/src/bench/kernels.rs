//! Kernels next to what the machine can do.

use super::engine::Model;
use super::{Job, Unit};
use crate::Fallible;
use ggmlr_core::{DType, Params};

/// Elements of a large operand: 16 MiB of f32, more than most caches hold.
const N: usize = 1 << 22;

/// Elements of an operand that stays in the second-level cache.
const SMALL: usize = 1 << 14;

const ROW: usize = 1024;

pub fn jobs(all: usize) -> Fallible<Vec<Job>> {
    let mut out = vec![memcpy(N, "large"), memcpy(SMALL, "small")];
    let mut counts = vec![1, all];
    counts.dedup();
    for &threads in &counts {
        for name in ["relu", "sqr", "exp", "gelu", "silu", "tanh"] {
            out.push(rows(name, 1, N, "large", threads)?);
        }
        for name in ["add", "mul"] {
            out.push(rows(name, 2, N, "large", threads)?);
        }
        for name in ["soft_max", "rms_norm", "norm", "sum_rows"] {
            out.push(rows(name, 1, N, "large", threads)?);
        }
    }
    for (name, operands) in [("relu", 1), ("exp", 1), ("gelu", 1), ("add", 2), ("soft_max", 1), ("rms_norm", 1)] {
        out.push(rows(name, operands, SMALL, "small", 1)?);
    }
    for n in [64, 128, 256, 512, 1024] {
        for &threads in &counts {
            out.push(product(n, n, threads)?);
        }
    }
    for &threads in &counts {
        out.push(product(1024, 1, threads)?);
    }
    Ok(out)
}

/// The limit of memory-bound kernels on one thread.
fn memcpy(n: usize, size: &str) -> Job {
    let (src, mut dst) = (vec![1.0_f32; n], vec![0.0_f32; n]);
    Job::new(format!("memcpy, {size}"), 1, Unit::GbPerSecond(8.0 * n as f64), move || {
        std::hint::black_box(&mut dst).copy_from_slice(std::hint::black_box(&src));
        Ok(())
    })
}

/// An operator on rows; it moves its operands and its result.
fn rows(name: &str, operands: usize, n: usize, size: &str, threads: usize) -> Fallible<Job> {
    let mut m = Model::new();
    let mut src = Vec::new();
    for i in 0..operands {
        src.push(m.leaf(DType::F32, &[ROW, n / ROW], &[0.5, -1.25, 2.0, 0.125 + i as f32, -0.75])?);
    }
    let params = Params::new().with("eps", 1e-5).with("scale", 1.0).with("max_bias", 0.0);
    let y = m.op(name, &params, &src)?;
    m.graph.keep(y);
    let bytes = 4.0 * (operands * n + m.graph.value(y).desc.len()) as f64;
    m.job(format!("{name}, {size}"), threads, Unit::GbPerSecond(bytes))
}

/// `[k, n] x [k, m]` with all extents `n`, or `m` columns on the right.
fn product(n: usize, columns: usize, threads: usize) -> Fallible<Job> {
    let mut m = Model::new();
    let a = m.leaf(DType::F32, &[n, n], &[0.5, -0.25, 0.125])?;
    let b = m.leaf(DType::F32, &[n, columns], &[0.25, 0.5, -0.125, 1.0])?;
    let y = m.op("mul_mat", &Params::new(), &[a, b])?;
    m.graph.keep(y);
    m.job(format!("mul_mat {n} x {n} x {columns}"), threads, Unit::GflopPerSecond(2.0 * (n * n * columns) as f64))
}
