//! What the R package exports.

use super::Findings;
use crate::Fallible;
use crate::exports;
use crate::files::{Root, read};
use std::collections::HashSet;

/// Names in the `directive(...)` lines of NAMESPACE.
fn names(root: &Root, directive: &str) -> Fallible<Vec<Vec<String>>> {
    let text = read(&root.path("NAMESPACE"))?;
    let list = |line: &str| -> Option<Vec<String>> {
        let list = line.trim().strip_prefix(directive)?.strip_prefix('(')?.strip_suffix(')')?;
        Some(list.split(',').map(|n| n.trim().trim_matches(['"', '`']).to_owned()).collect())
    };
    Ok(text.lines().filter_map(list).collect())
}

fn exported(root: &Root) -> Fallible<Vec<String>> {
    let out = names(root, "export")?.concat();
    if out.is_empty() { Err("NAMESPACE exports nothing".into()) } else { Ok(out) }
}

pub fn documented(root: &Root) -> Findings {
    let mut aliases = HashSet::new();
    for entry in std::fs::read_dir(root.path("man")).map_err(|e| format!("man: {e}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "Rd") {
            for line in read(&path)?.lines() {
                if let Some(a) = line.strip_prefix("\\alias{").and_then(|l| l.strip_suffix('}')) {
                    aliases.insert(a.replace("\\%", "%"));
                }
            }
        }
    }
    Ok(exported(root)?
        .into_iter()
        .filter(|name| !aliases.contains(name))
        .map(|name| format!("{name} is exported, but no help page has it: run roxygen2::roxygenise()"))
        .collect())
}

pub fn required(root: &Root) -> Findings {
    let all = exports::load(root)?;
    let wanted = exports::required(root, &all)?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut have: HashSet<String> = exported(root)?.into_iter().collect();
    have.extend(names(root, "S3method")?.iter().map(|m| m[..m.len().min(2)].join(".")));
    for directive in ["exportMethods", "exportClasses"] {
        have.extend(names(root, directive)?.concat());
    }
    Ok(wanted
        .into_iter()
        .filter(|name| !have.contains(name))
        .map(|name| format!("{name} must exist (exports-required.txt), but is not exported"))
        .collect())
}
