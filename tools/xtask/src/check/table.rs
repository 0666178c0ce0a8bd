//! The operator table and what is generated from it.

use super::Findings;
use crate::files::{Generated, Root};
use crate::{gen_docs, gen_r};
use ggmlr_conform::complete;
use ggmlr_ops::registry;

fn stale(root: &Root, files: &[Generated], command: &str) -> Vec<String> {
    files
        .iter()
        .filter(|f| !f.is_fresh(root))
        .map(|f| format!("{} is stale, run: cargo xtask {command}", f.path))
        .collect()
}

pub fn generated_r(root: &Root) -> Findings {
    Ok(stale(root, &gen_r::files(root)?, "gen-r"))
}

pub fn generated_docs(root: &Root) -> Findings {
    Ok(stale(root, &gen_docs::files(), "gen-docs"))
}

pub fn complete() -> Findings {
    Ok(complete::problems(registry().entries()))
}
