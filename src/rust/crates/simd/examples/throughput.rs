//! Prints the speed of the kernels next to that of a memory copy: `cargo run --release --example throughput`.

use ggmlr_formula::{BinaryId, UnaryId};
use ggmlr_simd::copy::{self, copy_strided};
use ggmlr_simd::gemm::{gemm_f32, gemm_f64};
use ggmlr_simd::{Tier, map, reduce, with_tier};
use half::{bf16, f16};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Amount per nanosecond of the best of many runs.
fn rate(amount: f64, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::MAX;
    while start.elapsed() < Duration::from_millis(150) {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    amount / best / 1e9
}

fn samples(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 2003) as f32 * 0.01 - 10.0).collect()
}

fn maps(n: usize) {
    // Short rows are timed by the thousand, or the clock would be.
    let times = (100_000 / n).max(1);
    let amount = (n * times) as f64;
    let x = samples(n);
    let dy = vec![0.5; n];
    let mut y = vec![0.0f32; n];
    let copy = rate(amount, || (0..times).for_each(|_| black_box(&mut y).copy_from_slice(black_box(&x))));
    println!("\nrows of {n}, billion elements a second; copy {copy:.2}");
    for tier in Tier::available() {
        with_tier(tier, || {
            print!("{:7}", tier.name());
            use UnaryId::{Exp, Gelu, GeluErf, Log, Relu, Sigmoid, Silu, Sin, Tanh};
            for id in [Relu, Exp, Log, Sigmoid, Tanh, Silu, Gelu, GeluErf, Sin] {
                let forward = rate(amount, || (0..times).for_each(|_| map::unary(id, black_box(&x), &mut y, [0.0; 2])));
                print!(" {} {forward:.2}", id.name());
            }
            let silu = rate(amount, || {
                (0..times).for_each(|_| map::unary_grad(UnaryId::Silu, black_box(&x), &x, &dy, &mut y, [0.0; 2]));
            });
            let add = rate(amount, || {
                (0..times).for_each(|_| map::binary(BinaryId::Add, black_box(&x), &dy, &mut y));
            });
            let softmax = rate(amount, || {
                (0..times).for_each(|_| {
                    reduce::softmax_row(black_box(&x), &mut y, 1.0);
                });
            });
            let sum = rate(amount, || {
                (0..times).for_each(|_| {
                    black_box(reduce::sum(black_box(&x)));
                });
            });
            let dot = rate(amount, || {
                (0..times).for_each(|_| {
                    black_box(reduce::dot(black_box(&x), &dy));
                });
            });
            let max = rate(amount, || {
                (0..times).for_each(|_| {
                    black_box(reduce::max(black_box(&x)));
                });
            });
            println!(" silu' {silu:.2} add {add:.2} softmax {softmax:.2} sum {sum:.2} dot {dot:.2} max {max:.2}");
        });
    }
}

fn products() {
    println!("\nproducts, GFLOP/s");
    for n in [64usize, 128, 256, 512, 1024] {
        let flop = 2.0 * (n as f64).powi(3);
        let (a, b, mut c) = (vec![0.5f32; n * n], vec![0.25f32; n * n], vec![0f32; n * n]);
        let columns = rate(flop, || gemm_f32(n, n, n, 1.0, &a, 1, n, &b, 1, n, 0.0, &mut c, 1, n));
        let rows = rate(flop, || gemm_f32(n, n, n, 1.0, &a, n, 1, &b, n, 1, 0.0, &mut c, n, 1));
        let mixed = rate(flop, || gemm_f32(n, n, n, 1.0, &a, n, 1, &b, 1, n, 0.0, &mut c, 1, n));
        let (a, b, mut c) = (vec![0.5f64; n * n], vec![0.25f64; n * n], vec![0f64; n * n]);
        let double = rate(flop, || gemm_f64(n, n, n, 1.0, &a, 1, n, &b, 1, n, 0.0, &mut c, 1, n));
        println!("{n}: columns {columns:.0} rows {rows:.0} a transposed {mixed:.0} f64 {double:.0}");
    }
    for (m, n, k) in [
        (1024usize, 1usize, 1024usize),
        (1024, 2, 1024),
        (1024, 8, 1024),
        (1024, 32, 1024),
        (256, 1, 256),
        (256, 8, 256),
    ] {
        let flop = 2.0 * (m * n * k) as f64;
        let (a, b, mut c) = (vec![0.5f32; m * k], vec![0.25f32; k * n], vec![0f32; m * n]);
        let mixed = rate(flop, || gemm_f32(m, n, k, 1.0, &a, k, 1, &b, 1, k, 0.0, &mut c, 1, m));
        let columns = rate(flop, || gemm_f32(m, n, k, 1.0, &a, 1, m, &b, 1, k, 0.0, &mut c, 1, m));
        println!("{m} x {n} x {k}: a transposed {mixed:.1} columns {columns:.1}");
    }
}

fn copies() {
    println!("\nmatrices of f32, GB/s read and written");
    for n in [64usize, 1000, 1024, 4096] {
        let bytes = 4 * n * n;
        let (src, mut dst) = (vec![1u8; bytes], vec![0u8; bytes]);
        let mut speed = |ne: usize, from: [usize; 2], to: [usize; 2]| {
            rate((8 * ne * n) as f64, || {
                if copy_strided(4, &[ne, n], &src, &from, &mut dst, &to).is_err() {
                    println!("the layout does not fit");
                }
            })
        };
        let plain = speed(n, [4, 4 * n], [4, 4 * n]);
        let transposed = speed(n, [4 * n, 4], [4, 4 * n]);
        let halves = speed(n / 2, [4, 4 * n], [4, 2 * n]);
        let second = speed(n / 2, [8, 4 * n], [4, 2 * n]);
        println!("{n}: copy {plain:.1} transpose {transposed:.1} half rows {halves:.1} every second {second:.1}");
    }
    let n = 4096;
    let x = samples(n);
    let amount = n as f64;
    let (mut double, mut half, mut brain) = (vec![0.0; n], vec![f16::ZERO; n], vec![bf16::ZERO; n]);
    let to_double = rate(amount, || copy::f32_to_f64(black_box(&x), &mut double));
    let to_half = rate(amount, || copy::f32_to_f16(black_box(&x), &mut half));
    let to_brain = rate(amount, || copy::f32_to_bf16(black_box(&x), &mut brain));
    println!("conversion of {n}, billion elements a second: f64 {to_double:.1} f16 {to_half:.1} bf16 {to_brain:.1}");
}

fn main() {
    [37, 100, 4096, 1 << 24].into_iter().for_each(maps);
    products();
    copies();
}
