//! The contract of exported names: `exports.csv` and `exports-required.txt`.

use crate::Fallible;
use crate::files::{Root, read};
use crate::signature::Signature;

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Export {
    pub name: String,
    /// `function`, `constant`, ...
    pub kind: String,
    pub signature: String,
    pub area: String,
    pub priority: u32,
}

impl Export {
    /// The signature of a function, where the contract states one.
    pub fn parsed(&self) -> Option<Signature> {
        if self.kind == "function" { Signature::parse(&self.signature) } else { None }
    }
}

/// Reads the list.
pub fn load(root: &Root) -> Fallible<Vec<Export>> {
    let text = read(&root.xtask("exports.csv"))?;
    let rows = records(&text);
    let head = rows.first().ok_or("exports.csv is empty")?;
    let column = |name: &str| head.iter().position(|h| h == name).ok_or(format!("exports.csv has no column {name}"));
    let (name, kind, signature) = (column("name")?, column("kind")?, column("signature")?);
    let (area, priority) = (column("area")?, column("priority")?);
    rows[1..]
        .iter()
        .map(|r| {
            let cell = |i: usize| r.get(i).cloned().ok_or(format!("exports.csv: a short row: {r:?}"));
            Ok(Export {
                name: cell(name)?,
                kind: cell(kind)?,
                signature: cell(signature)?,
                area: cell(area)?,
                priority: cell(priority)?.parse().map_err(|_| format!("exports.csv: no priority in {r:?}"))?,
            })
        })
        .collect()
}

/// Records of a file of comma-separated values with quotes.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                cell.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            '\r' if !quoted => {}
            c => cell.push(c),
        }
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

/// Functions that `exports-required.txt` asks for.
pub fn required(root: &Root, exports: &[Export]) -> Fallible<Vec<String>> {
    let text = read(&root.xtask("exports-required.txt"))?;
    let mut out = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let mut words = line.split_whitespace();
        let area = words.next().unwrap_or_default();
        let priority: u32 = words
            .next()
            .and_then(|w| w.parse().ok())
            .ok_or(format!("exports-required.txt: no priority in '{line}'"))?;
        let except: Vec<&str> = match words.next() {
            None => Vec::new(),
            Some("except") => words.collect(),
            Some(w) => return Err(format!("exports-required.txt: '{w}' is not understood in '{line}'").into()),
        };
        let known = |name: &str| exports.iter().any(|e| e.area == area && e.name == name);
        if let Some(name) = except.iter().find(|name| !known(name)) {
            return Err(format!("exports-required.txt: {name} is no function of the area {area}").into());
        }
        let mine = exports.iter().filter(|e| e.area == area && e.priority <= priority);
        let count = out.len();
        out.extend(mine.filter(|e| !except.contains(&e.name.as_str())).map(|e| e.name.clone()));
        if out.len() == count {
            return Err(format!("exports-required.txt: '{line}' asks for nothing").into());
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_commas() {
        let rows = records("\"a\",\"f(x = \"\"y\"\", z)\"\n\"b\",c\n");
        assert_eq!(rows, [["a", "f(x = \"y\", z)"], ["b", "c"]]);
    }

    #[test]
    fn the_list_can_be_read() {
        let root = Root::find().unwrap();
        let all = load(&root).unwrap();
        assert!(all.len() > 800);
        // A few have no signature or a remark in its place: generics of other packages, names promised for later.
        for e in all.iter().filter(|e| e.kind == "function" && e.signature.ends_with(')')) {
            assert!(e.parsed().is_some() || e.signature.starts_with('('), "{e:?}");
        }
        required(&root, &all).unwrap();
    }
}
