use ggmlr_simd::{gemm::*, reduce};
use std::time::Instant;
fn best(flop: f64, mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let t0 = Instant::now();
    while t0.elapsed().as_secs_f64() < 0.4 {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
    }
    flop / best / 1e9
}
fn main() {
    for n in [64usize, 128, 256, 512, 1024] {
        let a = vec![0.5f32; n * n];
        let b = vec![0.25f32; n * n];
        let mut c = vec![0f32; n * n];
        let f = 2.0 * (n as f64).powi(3);
        let cc = best(f, || gemm_f32(n, n, n, 1.0, &a, 1, n, &b, 1, n, 0.0, &mut c, 1, n));
        let rr = best(f, || gemm_f32(n, n, n, 1.0, &a, n, 1, &b, n, 1, 0.0, &mut c, n, 1));
        let tn = best(f, || gemm_f32(n, n, n, 1.0, &a, n, 1, &b, 1, n, 0.0, &mut c, 1, n));
        let a = vec![0.5f64; n * n];
        let b = vec![0.25f64; n * n];
        let mut c = vec![0f64; n * n];
        let d = best(f, || gemm_f64(n, n, n, 1.0, &a, 1, n, &b, 1, n, 0.0, &mut c, 1, n));
        println!("{n}: f32 cc {cc:.1} rr {rr:.1} tn {tn:.1} f64 {d:.1} GFLOP/s");
    }
    for (m, n, k) in [(1024usize, 2usize, 1024usize), (1024, 4, 1024), (1024, 8, 1024), (1024,12,1024), (1024,16,1024), (1024, 17, 1024), (1024, 32, 1024),(256,4,256),(256,8,256),(256,12,256),(256,16,256),(256,17,256),(64,8,64),(64,16,64),(64,17,64),(4096,8,4096),(4096,12,4096),(4096,16,4096),(4096,17,4096), (128, 32, 784), (10, 32, 128), (32, 1024, 9), (4, 1024, 1024)] {
        let a = vec![0.5f32; m * k];
        let b = vec![0.25f32; n * k];
        let mut c = vec![0f32; m * n];
        let f = 2.0 * (m * n * k) as f64;
        let tn = best(f, || gemm_f32(m, n, k, 1.0, &a, k, 1, &b, 1, k, 0.0, &mut c, 1, m));
        let nn = best(f, || gemm_f32(m, n, k, 1.0, &a, 1, m, &b, 1, k, 0.0, &mut c, 1, m));
        let rr = best(f, || gemm_f32(m, n, k, 1.0, &a, k, 1, &b, n, 1, 0.0, &mut c, n, 1));
        println!("{m}x{n}x{k}: tn {tn:.1} nn {nn:.1} rr {rr:.1}");
    }
    for (m, k) in [(64usize, 64usize), (256, 256), (1024, 1024), (4096, 4096), (10, 4096), (4096, 10), (3, 100000)] {
        let a = vec![0.5f32; m * k];
        let x = vec![0.25f32; k];
        let mut y = vec![0f32; m];
        let f = 2.0 * (m * k) as f64;
        let row = best(f, || gemm_f32(m, 1, k, 1.0, &a, k, 1, &x, 1, k, 0.0, &mut y, 1, m));
        let col = best(f, || gemm_f32(m, 1, k, 1.0, &a, 1, m, &x, 1, k, 0.0, &mut y, 1, m));
        let vrow = best(f, || gemm_f32(1, m, k, 1.0, &x, k, 1, &a, 1, k, 0.0, &mut y, m, 1));
        let vcol = best(f, || gemm_f32(1, m, k, 1.0, &x, k, 1, &a, m, 1, 0.0, &mut y, m, 1));
        let dot = best(f, || (0..m).for_each(|i| y[i] = reduce::dot(&a[i * k..][..k], &x)));
        let axpy = best(f, || { y.fill(0.0); (0..k).for_each(|i| reduce::axpy(x[i], &a[i * m..][..m], &mut y)) });
        println!("{m}x{k}: matvec rows {row:.2} cols {col:.2}; vecmat: rows {vrow:.2} cols {vcol:.2}; dot {dot:.2} axpy {axpy:.2}");
    }
}
