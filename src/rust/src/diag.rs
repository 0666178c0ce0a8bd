//! Threads, time, names, build facts: what R/ggml-diag.R calls.

use crate::bindings::bindings;
use crate::decode;
use crate::outcome::named;
use extendr_api::Robj;
use ggmlr_cpu::pool;
use ggmlr_session::{OP_NAMES, UNARY_NAMES, can_inplace, op_symbol};
use std::sync::OnceLock;
use std::time::Instant;

/// More threads than this are a mistake.
pub const MAX_THREADS: usize = 1024;

fn start() -> Instant {
    static START: OnceLock<Instant> = OnceLock::new();
    *START.get_or_init(Instant::now)
}

/// A fact that configure told the compiler.
fn fact(value: Option<&'static str>) -> Robj {
    value.unwrap_or("unknown").into()
}

bindings! {
mod diag;

/// Threads that kernels use.
fn rs_diag_threads() {
    Ok((pool::threads() as i32).into())
}

/// Changes the number of threads.
fn rs_diag_set_threads(n) {
    pool::set_threads(decode::within(n, "n_threads", 1, MAX_THREADS)?);
    Ok((pool::threads() as i32).into())
}

/// Nanoseconds since the first call.
fn rs_diag_time() {
    Ok((start().elapsed().as_nanos() as f64).into())
}

/// Bytes of tensor data that R's collector does not see.
fn rs_diag_live_bytes() {
    Ok((ggmlr_cpu::live_bytes() as f64).into())
}

/// Names, symbols and in-place permission of ggml's operators by code.
fn rs_diag_ops() {
    let all = 0..OP_NAMES.len();
    Ok(named(vec![
        ("name", OP_NAMES.to_vec().into()),
        ("symbol", all.clone().filter_map(op_symbol).collect::<Vec<String>>().into()),
        ("in_place", all.map(can_inplace).collect::<Vec<bool>>().into()),
        ("unary", UNARY_NAMES.to_vec().into()),
    ]))
}

/// What the running CPU offers.
fn rs_diag_cpu_features() {
    Ok(named(ggmlr_simd::cpu_features().into_iter().map(|(n, v)| (n, v.into())).collect()))
}

/// How the package was built.
fn rs_diag_build() {
    Ok(named(vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("cargo", fact(option_env!("GGMLR_BUILD_CARGO"))),
        ("rustc", fact(option_env!("GGMLR_BUILD_RUSTC"))),
        ("target", fact(option_env!("GGMLR_BUILD_TARGET"))),
        ("profile", fact(option_env!("GGMLR_BUILD_PROFILE"))),
        ("simd", fact(option_env!("GGMLR_BUILD_SIMD"))),
        ("tier", ggmlr_simd::tier().name().into()),
        ("vulkan", fact(option_env!("GGMLR_BUILD_VULKAN"))),
        ("hard_exit", (option_env!("GGMLR_BUILD_HARD_EXIT") == Some("1")).into()),
        ("configure_args", option_env!("GGMLR_BUILD_CONFIGURE_ARGS").unwrap_or("").into()),
    ]))
}

/// Fails on purpose, so that a test can see what R makes of it.
fn rs_diag_fail(kind, message) {
    let (kind, message) = (decode::text(kind, "kind")?, decode::text(message, "message")?);
    match kind.as_str() {
        // Reads behind the end of an empty list.
        "panic" => Ok(Vec::<f64>::new()[message.len()].into()),
        "log" => {
            ggmlr_core::log::push(ggmlr_core::log::Level::Warn, message);
            Ok(true.into())
        }
        "nul" => Err(ggmlr_core::Error::argument("message", format!("{message}\0end"))),
        "wait" => {
            let seconds: f64 = message.parse().unwrap_or(0.0);
            crate::run::supervise(1e9, move |cancel| {
                let begin = Instant::now();
                while !cancel.is_set() && begin.elapsed().as_secs_f64() < seconds {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                if cancel.is_set() {
                    return Err(ggmlr_core::Error::new(ggmlr_core::Kind::Interrupted, "the wait was interrupted"));
                }
                Ok(true)
            })?
            .map(Robj::from)
        }
        _ => Err(ggmlr_core::Error::argument("message", message)),
    }
}
}
