//! `R/generated-bindings.R`: one R function for each Rust function of a `bindings!` block.
//!
//! The form of the blocks is fixed, see `src/rust/src/bindings.rs`: `fn rs_<area>_<verb>(<argument>, ...) {` stands
//! alone on a line that starts in the first column.

use crate::Fallible;
use crate::files::{Root, read};
use crate::gen_r::{HEAD, WIDTH, fill};
use std::fmt::Write;

/// A Rust function that R calls.
#[derive(Debug, PartialEq)]
struct Binding {
    name: String,
    args: Vec<String>,
}

/// The file, with the functions in the order of the source files' names.
pub fn text(root: &Root) -> Fallible<String> {
    let dir = root.path("src/rust/src");
    let mut files: Vec<_> = std::fs::read_dir(&dir)
        .map_err(|e| format!("{}: {e}", dir.display()))?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .collect();
    files.sort();
    let mut all: Vec<Binding> = Vec::new();
    for f in files {
        let found = parse(&read(&f)?).map_err(|line| format!("{}: not understood: {line}", f.display()))?;
        if let Some(double) = found.iter().find(|b| all.iter().any(|a| a.name == b.name)) {
            return Err(format!("{}: {} is bound twice", f.display(), double.name).into());
        }
        all.extend(found);
    }
    let mut out = String::from(HEAD);
    all.iter().for_each(|b| write_binding(&mut out, b));
    Ok(out)
}

/// Functions of a source file; the line that is none, on failure.
fn parse(text: &str) -> Result<Vec<Binding>, String> {
    let binding = |line: &str| -> Option<Binding> {
        let (name, rest) = line.strip_prefix("fn ")?.split_once('(')?;
        let list = rest.strip_suffix(") {")?;
        let args: Vec<String> = list.split(',').map(|a| a.trim().to_owned()).filter(|a| !a.is_empty()).collect();
        let plain = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain(name) && args.iter().all(|a| plain(a))).then(|| Binding { name: name.to_owned(), args })
    };
    text.lines()
        .filter(|line| line.starts_with("fn rs_"))
        .map(|line| binding(line).ok_or_else(|| line.to_owned()))
        .collect()
}

/// Words of R that need quotes as the name of an argument.
const RESERVED: &[&str] = &["function", "next", "repeat", "NULL", "TRUE", "FALSE", "NA", "NaN", "Inf"];

fn write_binding(out: &mut String, b: &Binding) {
    let quoted = |a: &String| if RESERVED.contains(&a.as_str()) { format!("`{a}`") } else { a.clone() };
    let args: Vec<String> = b.args.iter().map(quoted).collect();
    let list = args.join(", ");
    let call = std::iter::once(format!("wrap__{}", b.name)).chain(args.iter().cloned()).collect::<Vec<_>>().join(", ");
    let head = format!("{} <- function({list})", b.name);
    let body = format!("outcome(.Call({call}))");
    out.push('\n');
    if head.len() + 1 + body.len() <= WIDTH {
        let _ = writeln!(out, "{head} {body}");
    } else if head.len() + 2 <= WIDTH && body.len() + 2 <= WIDTH {
        let _ = write!(out, "{head} {{\n  {body}\n}}\n");
    } else {
        let _ = write!(out, "{} <- function(", b.name);
        fill(out, &args, "    ", ") {\n");
        out.push_str("  outcome(.Call(\n    ");
        fill(out, &call.split(", ").map(str::to_owned).collect::<Vec<_>>(), "    ", "\n  ))\n}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_block() {
        let found =
            parse("bindings! {\nmod a;\n\n/// Doc.\nfn rs_a_b(x, y) {\n    f(x)\n}\n\nfn rs_a_c() {\n}\n}\n").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0], Binding { name: "rs_a_b".into(), args: vec!["x".into(), "y".into()] });
        let mut out = String::new();
        write_binding(&mut out, &Binding { name: "rs_a".into(), args: vec!["function".into()] });
        assert_eq!(out, "\nrs_a <- function(`function`) outcome(.Call(wrap__rs_a, `function`))\n");
        assert!(parse("fn rs_a(x: Robj) -> Robj {\n").is_err());
        let mut out = String::new();
        write_binding(&mut out, &found[0]);
        assert_eq!(out, "\nrs_a_b <- function(x, y) outcome(.Call(wrap__rs_a_b, x, y))\n");
    }
}
