use ggmlr_formula::{BinaryId, UnaryId};
use ggmlr_simd::{Tier, map, with_tier};
use std::time::Instant;
fn best(mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    best
}
fn main() {
    for n in [37usize, 100, 4096, 1 << 24] {
        let reps = (1 << 24) / n;
        let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 2000) as f32 * 0.01 - 10.0).collect();
        let b: Vec<f32> = x.iter().map(|v| v * 0.5).collect();
        let mut y = vec![0f32; n];
        let g = |t: f64| n as f64 * reps as f64 / t / 1e9;
        let t = best(|| (0..reps).for_each(|_| { y.copy_from_slice(std::hint::black_box(&x)); std::hint::black_box(&y); }));
        println!("n {n}: memcpy {:.2} Gelem/s", g(t));
        for tier in Tier::available() {
            with_tier(tier, || {
                for id in [UnaryId::Neg, UnaryId::Silu, UnaryId::Exp, UnaryId::Tanh, UnaryId::Gelu, UnaryId::GeluErf, UnaryId::Log, UnaryId::Sin, UnaryId::Round] {
                    let t = best(|| (0..reps).for_each(|_| map::unary(id, std::hint::black_box(&x), &mut y, [0.0; 2])));
                    let t2 = best(|| (0..reps).for_each(|_| map::unary_grad(id, std::hint::black_box(&x), &x, &b, &mut y, [0.0; 2])));
                    print!("{} {:.2}/{:.2} ", id.name(), g(t), g(t2));
                }
                let t = best(|| (0..reps).for_each(|_| map::binary(BinaryId::Add, std::hint::black_box(&x), &b, &mut y)));
                let t2 = best(|| (0..reps).for_each(|_| map::binary_inplace(BinaryId::Mul, std::hint::black_box(&mut y), &b)));
                println!("add {:.2} mul_inplace {:.2}  {}", g(t), g(t2), tier.name());
            });
        }
    }
}
