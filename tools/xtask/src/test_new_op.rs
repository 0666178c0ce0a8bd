//! `test-new-op`: the promise that an operator is one place, kept under test.
//!
//! Copies the workspace, adds an element-wise operator by its table lines and one with a kernel from the skeleton,
//! builds, runs their cases and generates the R functions.

use crate::Fallible;
use crate::files::{Root, read};
use crate::new_op;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that the build and the generators read.
const NEEDED: &[&str] = &["DESCRIPTION", "src/rust/", "tools/xtask/"];

pub fn run(root: &Root) -> Fallible<()> {
    let copy = target(root).join("new-op");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    for file in root.tracked()?.iter().filter(|f| NEEDED.iter().any(|n| f.starts_with(n))) {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().ok_or("a file without a folder")?)?;
        fs::copy(root.path(file), to)?;
    }
    let inside = Root::at(&copy)?;
    let formula = [
        "unary/zz_probe",
        "--value",
        "x * sigmoid(1.5 * x)",
        "--slope",
        "sigmoid(1.5 * x) + 1.5 * (y * sigmoid(-1.5 * x))",
        "--title",
        "Throw-away formula",
    ];
    new_op::run(&inside, &formula)?;
    new_op::run(&inside, &["norm/zz_kernel", "--title", "Throw-away operator"])?;
    xtask(root, &copy, &["conform", "zz_probe", "zz_kernel"])?;
    xtask(root, &copy, &["gen-r"])?;
    let generated = read(&copy.join("R/generated-ops.R"))?;
    for name in ["ggml_zz_probe", "ggml_zz_kernel"] {
        if !generated.contains(&format!("{name} <- function(ctx, a)")) {
            return Err(format!("{name} is not in R/generated-ops.R").into());
        }
    }
    fs::remove_dir_all(&copy)?;
    println!("2 passed, 0 failed");
    Ok(())
}

/// Where everything is compiled, so that crates from elsewhere are compiled once.
fn target(root: &Root) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.xtask("target"), PathBuf::from)
}

/// Builds and runs the copy's own xtask.
fn xtask(root: &Root, copy: &Path, args: &[&str]) -> Fallible<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .args(["run", "--quiet", "--locked", "--manifest-path"])
        .arg(copy.join("tools/xtask/Cargo.toml"))
        .arg("--")
        .args(args)
        .env("CARGO_TARGET_DIR", target(root))
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("the copy's xtask {} failed", args.join(" ")).into()) }
}
