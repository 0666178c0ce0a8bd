//! Which crate may use which.

use super::Findings;
use crate::Fallible;
use crate::files::Root;
use serde_json::Value;
use std::process::Command;

/// Crates from the bottom up: each may use all those before it. Dev-dependencies are free.
const LAYERS: &[&[&str]] = &[&["core"], &["formula"], &["simd"], &["ops"], &["graph"], &["session", "nn", "conform"]];

/// Crates beside the layers, and what they may use.
const BESIDE: &[(&str, &[&str])] = &[("cpu", &["core", "simd"])];

/// The root package: it ties everything together.
const ROOT: &str = "ggmlr";

/// What a crate may use; `None` for a crate without a place.
fn allowed(name: &str) -> Option<Vec<&'static str>> {
    if let Some((_, list)) = BESIDE.iter().find(|(n, _)| *n == name) {
        return Some(list.to_vec());
    }
    let layer = LAYERS.iter().position(|l| l.contains(&name))?;
    Some(LAYERS[..layer].concat())
}

pub fn findings(root: &Root) -> Findings {
    let metadata = metadata(root)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let mut out = Vec::new();
    for p in packages {
        let name = p["name"].as_str().unwrap_or_default();
        if name == ROOT {
            continue;
        }
        let short = name.strip_prefix("ggmlr-").unwrap_or(name);
        let Some(allowed) = allowed(short) else {
            out.push(format!("crate {name} has no place in the arrows: add it to tools/xtask/src/check/arrows.rs"));
            continue;
        };
        for d in p["dependencies"].as_array().into_iter().flatten() {
            let used = d["name"].as_str().unwrap_or_default();
            let Some(used) = used.strip_prefix(ROOT).map(|u| u.trim_start_matches('-')) else { continue };
            if d["kind"].as_str() != Some("dev") && !allowed.contains(&used) {
                out.push(format!("{short} must not use {}", if used.is_empty() { ROOT } else { used }));
            }
        }
    }
    Ok(out)
}

fn metadata(root: &Root) -> Fallible<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root.workspace())
        .output()?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}
