use ggmlr_simd::copy::*;
use half::{bf16, f16};
use std::time::Instant;
fn best(mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let t0 = Instant::now();
    while t0.elapsed().as_secs_f64() < 0.3 {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    best
}
fn main() {
    for n in [1usize << 12, 1 << 24] {
        let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 0.37 - 99.0).collect();
        let mut y = vec![0f32; n];
        let mut d = vec![0f64; n];
        let mut i = vec![0i32; n];
        let mut h = vec![f16::ZERO; n];
        let mut b = vec![bf16::ZERO; n];
        let g = |t: f64| n as f64 / t / 1e9;
        println!("n {n} Gelem/s: copy {:.2} f32_f64 {:.2} f64_f32 {:.2} f32_i32 {:.2} i32_f32 {:.2} f32_f16 {:.2} f16_f32 {:.2} f32_bf16 {:.2} bf16_f32 {:.2}",
            g(best(|| y.copy_from_slice(&x))), g(best(|| f32_to_f64(&x, &mut d))), g(best(|| f64_to_f32(&d, &mut y))),
            g(best(|| f32_to_i32(&x, &mut i))), g(best(|| i32_to_f32(&i, &mut y))), g(best(|| f32_to_f16(&x, &mut h))), g(best(|| f16_to_f32(&h, &mut y))),
            g(best(|| f32_to_bf16(&x, &mut b))), g(best(|| bf16_to_f32(&b, &mut y))));
    }
    for (elem, rows, cols) in [(4usize, 64usize, 64usize), (4, 1000, 1000), (4, 1024, 1024), (4, 4096, 4096), (8, 1024, 1024), (2, 1024, 1024), (1, 1024, 1024)] {
        let bytes = elem * rows * cols;
        let src: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
        let mut dst = vec![0u8; bytes];
        let g = |t: f64| 2.0 * bytes as f64 / t / 1e9;
        let mut c = |ne: &[usize], s: &[usize], t: &[usize]| g(best(|| copy_strided(elem, ne, &src, s, &mut dst, t).unwrap()));
        let plain = c(&[cols, rows], &[elem, elem * cols], &[elem, elem * cols]);
        let trans = c(&[rows, cols], &[elem * cols, elem], &[elem, elem * rows]);
        let back = c(&[cols, rows], &[elem, elem * cols], &[elem * rows, elem]);
        let half = c(&[cols / 2, rows], &[elem, elem * cols], &[elem, elem * (cols / 2)]);
        let every2 = c(&[cols / 2, rows], &[2 * elem, elem * cols], &[elem, elem * (cols / 2)]);
        println!("{elem} bytes {rows}x{cols} GB/s read+write: copy {plain:.1} transpose {trans:.1} {back:.1}  half rows {:.1} every second {:.1}", half / 2.0, every2 / 2.0);
    }
}
