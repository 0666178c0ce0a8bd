//! `new-op`: the first lines of a new operator.

use crate::Fallible;
use crate::files::{Root, read};
use std::fs;
use std::path::Path;

const MOD: &str = include_str!("../templates/op_mod.rs.txt");
const CPU: &str = include_str!("../templates/op_cpu.rs.txt");

pub fn run(root: &Root, args: &[&str]) -> Fallible<()> {
    let (place, options) = args.split_first().ok_or("new-op needs FAMILY/NAME")?;
    let (family, name) = place.split_once('/').ok_or(format!("'{place}' is not FAMILY/NAME"))?;
    let plain = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !plain(name) || name.starts_with(|c: char| !c.is_ascii_lowercase()) {
        return Err(format!("'{name}' is no operator name: lower case, digits and _").into());
    }
    let mut option = Options::parse(options)?;
    if family == "unary" {
        formula(root, name, &mut option)?
    } else {
        kernels(root, family, name, &mut option)?
    }
    option.nothing_left()?;
    println!("next: cargo xtask conform {name} && cargo xtask gen-r && cargo xtask gen-docs");
    Ok(())
}

/// `--key text` pairs.
struct Options<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Options<'a> {
    fn parse(args: &[&'a str]) -> Fallible<Options<'a>> {
        let mut list = Vec::new();
        for pair in args.chunks(2) {
            match pair {
                [key, value] if key.starts_with("--") => list.push((&key[2..], *value)),
                other => return Err(format!("new-op does not understand {other:?}").into()),
            }
        }
        Ok(Options(list))
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let i = self.0.iter().position(|(k, _)| *k == key)?;
        Some(self.0.remove(i).1)
    }

    fn need(&mut self, key: &str) -> Fallible<&'a str> {
        self.take(key).ok_or_else(|| format!("new-op needs --{key} for a formula").into())
    }

    fn nothing_left(self) -> Fallible<()> {
        match self.0.first() {
            None => Ok(()),
            Some((key, _)) => Err(format!("new-op does not know --{key} here").into()),
        }
    }
}

/// `soft_cap` as `SoftCap`.
fn camel(name: &str) -> String {
    name.split('_')
        .map(|w| {
            let mut c = w.chars();
            c.next().map(|f| f.to_ascii_uppercase().to_string() + c.as_str()).unwrap_or_default()
        })
        .collect()
}

/// Puts `line` in front of the first `mark` behind `start`.
fn insert(path: &Path, start: &str, mark: &str, line: &str) -> Fallible<()> {
    let text = read(path)?;
    let from = text.find(start).ok_or(format!("{}: no '{start}'", path.display()))?;
    let at = text[from..].find(mark).ok_or(format!("{}: no '{mark}' behind '{start}'", path.display()))? + from;
    fs::write(path, format!("{}{line}{}", &text[..at], &text[at..]))?;
    println!("changed {}", path.display());
    Ok(())
}

/// A line in the formula table, and one that names it for R.
fn formula(root: &Root, name: &str, option: &mut Options<'_>) -> Fallible<()> {
    let (value, slope, title) = (option.need("value")?, option.need("slope")?, option.need("title")?);
    let shown = option.take("formula").unwrap_or(value);
    let table = root.path("src/rust/crates/formula/src/unary.in.rs");
    if read(&table)?.contains(&format!(" {name}(x")) {
        return Err(format!("there is a formula '{name}' already").into());
    }
    let (id, upper) = (camel(name), name.to_uppercase());
    let row = format!("            {id} \"{upper}\": {name}(x) = {value}, d_{name}(x, y) = {slope};\n");
    insert(&table, "macro_rules! for_each_unary", "        }\n    };\n}", &row)?;
    let r = root.path("src/rust/crates/ops/src/elementwise/unary/table.rs");
    let line = format!("\n    {id} Fresh \"{title}\" \"`y = {shown}`.\",");
    insert(&r, "\nentries! {", "\n}", &line)
}

/// A folder with an operator that copies its input, ready to be changed, and the family's two lines.
fn kernels(root: &Root, family: &str, name: &str, option: &mut Options<'_>) -> Fallible<()> {
    let dir = root.path("src/rust/crates/ops/src").join(family);
    let list = dir.join("mod.rs");
    let text = read(&list).map_err(|_| format!("there is no family '{family}'"))?;
    let folder = dir.join(name);
    if folder.exists() || dir.join(format!("{name}.rs")).exists() {
        return Err(format!("there is a {family}/{name} already").into());
    }
    let default_title = name.replace('_', " ");
    let title = option.take("title").unwrap_or(&default_title);
    let topic = option.take("topic").unwrap_or(match family {
        "linear" => "products",
        "norm" => "normalisation",
        "reduce" => "reduction",
        "index" => "rows",
        "loss" => "losses",
        "optim" => "optimiser steps",
        other => other,
    });
    let fill = |template: &str| {
        template
            .replace("__NAME__", name)
            .replace("__TYPE__", &camel(name))
            .replace("__TITLE__", title)
            .replace("__TOPIC__", topic)
    };
    fs::write(&list, with_entry(&text, name).ok_or(format!("{}: the list of entries was not found", list.display()))?)?;
    println!("changed {}", list.display());
    fs::create_dir(&folder)?;
    for (file, template) in [("mod.rs", MOD), ("cpu.rs", CPU)] {
        fs::write(folder.join(file), fill(template))?;
        println!("wrote {}", folder.join(file).display());
    }
    Ok(())
}

/// The family's `mod.rs` with the module and its entry.
fn with_entry(text: &str, name: &str) -> Option<String> {
    let body = text.find("pub fn entries()")?;
    let open = text[body..].find('[')? + body + 1;
    // A list of entries, or a list of lists that are joined.
    let joined = text[body..].contains(".concat()") && !text[..open].ends_with("vec![");
    let entry = if joined { format!("vec![{name}::entry()], ") } else { format!("{name}::entry(), ") };
    let with = format!("{}{entry}{}", &text[..open], &text[open..]);
    // In front of the first module that comes later in the alphabet, else behind the last.
    let is_module = |l: &&str| (l.starts_with("pub mod ") || l.starts_with("mod ")) && l.ends_with(';');
    let module = |l: &str| l.trim_start_matches("pub ").trim_start_matches("mod ").trim_end_matches(';').to_owned();
    let modules: Vec<&str> = with.lines().filter(is_module).collect();
    let line = format!("pub mod {name};\n");
    let at = match modules.iter().find(|l| module(l).as_str() > name) {
        Some(l) => with.find(&format!("{l}\n"))?,
        None => {
            let last = modules.last()?;
            with.find(&format!("{last}\n"))? + last.len() + 1
        }
    };
    Some(format!("{}{line}{}", &with[..at], &with[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_into_both_kinds_of_lists() {
        let one = with_entry("pub mod b;\n\npub fn entries() -> Vec<Entry> {\n    vec![b::entry()]\n}\n", "c").unwrap();
        assert_eq!(
            one,
            "pub mod b;\npub mod c;\n\npub fn entries() -> Vec<Entry> {\n    vec![c::entry(), b::entry()]\n}\n"
        );
        let two =
            with_entry("mod b;\npub fn entries() -> Vec<Entry> {\n    [b::entries()].concat()\n}\n", "a").unwrap();
        assert!(two.starts_with("pub mod a;\nmod b;\n") && two.contains("[vec![a::entry()], b::entries()]"), "{two}");
        assert_eq!(with_entry("nothing", "a"), None);
    }

    #[test]
    fn names() {
        assert_eq!(camel("gelu_quick_2"), "GeluQuick2");
    }
}
