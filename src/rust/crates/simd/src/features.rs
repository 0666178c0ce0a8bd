//! What the running CPU offers, under the names of the R function `ggml_cpu_features()`.

/// Name and presence of each feature, in the order R lists them. Features no kernel could use are absent whatever the CPU.
/// The two numbers of that list, `sve_cnt` and `rvv_vlen`, are not here: no kernel uses those vectors, so they are 0.
pub fn cpu_features() -> Vec<(&'static str, bool)> {
    let mut features: Vec<(&'static str, bool)> = NAMES.iter().map(|name| (*name, false)).collect();
    for (name, present) in detected() {
        for feature in features.iter_mut().filter(|feature| feature.0 == name) {
            feature.1 = present;
        }
    }
    features
}

const NAMES: [&str; 25] = [
    "sse3",
    "ssse3",
    "avx",
    "avx_vnni",
    "avx2",
    "bmi2",
    "f16c",
    "fma",
    "avx512",
    "avx512_vbmi",
    "avx512_vnni",
    "avx512_bf16",
    "amx_int8",
    "neon",
    "arm_fma",
    "fp16_va",
    "dotprod",
    "matmul_int8",
    "sve",
    "sme",
    "riscv_v",
    "vsx",
    "vxe",
    "wasm_simd",
    "llamafile",
];

#[cfg(target_arch = "x86_64")]
fn detected() -> Vec<(&'static str, bool)> {
    vec![
        ("sse3", is_x86_feature_detected!("sse3")),
        ("ssse3", is_x86_feature_detected!("ssse3")),
        ("avx", is_x86_feature_detected!("avx")),
        ("avx_vnni", is_x86_feature_detected!("avxvnni")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512", crate::isa::Tier::Avx512.is_available()),
        ("avx512_vbmi", is_x86_feature_detected!("avx512vbmi")),
        ("avx512_vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
    ]
}

#[cfg(target_arch = "aarch64")]
fn detected() -> Vec<(&'static str, bool)> {
    use std::arch::is_aarch64_feature_detected;
    vec![
        ("neon", is_aarch64_feature_detected!("neon")),
        ("arm_fma", is_aarch64_feature_detected!("neon")),
        ("fp16_va", is_aarch64_feature_detected!("fp16")),
        ("dotprod", is_aarch64_feature_detected!("dotprod")),
        ("matmul_int8", is_aarch64_feature_detected!("i8mm")),
        ("sve", is_aarch64_feature_detected!("sve")),
    ]
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detected() -> Vec<(&'static str, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detected_name_is_listed_once() {
        let names: Vec<_> = cpu_features().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, NAMES);
        for (name, present) in detected() {
            assert!(cpu_features().contains(&(name, present)), "{name}");
        }
    }
}
