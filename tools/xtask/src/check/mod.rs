//! `check`: everything that can be said about the source without running it.

mod arrows;
mod hygiene;
mod package;
mod table;

use crate::Fallible;
use crate::files::Root;
use std::path::Path;
use std::process::Command;

/// What a check found: nothing is good.
type Findings = Fallible<Vec<String>>;

pub fn run(root: &Root, args: &[&str]) -> Fallible<()> {
    let clippy = match args {
        [] => true,
        ["--no-clippy"] => false,
        other => return Err(format!("check does not know {other:?}").into()),
    };
    let tracked = root.tracked()?;
    let mut tally = Tally::default();
    tally.add("format of the workspace", cargo(&root.workspace(), &["fmt", "--all", "--", "--check", "-l"]));
    tally.add("format of xtask", cargo(&root.xtask(""), &["fmt", "--", "--check", "-l"]));
    tally.add("tests of xtask", cargo(&root.xtask(""), &["test", "--quiet", "--locked"]));
    if clippy {
        let lint = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
        tally.add("clippy on the workspace", cargo(&root.workspace(), &lint));
        tally.add("clippy on xtask", cargo(&root.xtask(""), &lint));
    }
    tally.add("arrows between crates", arrows::findings(root));
    tally.add("no unsafe code where none belongs", hygiene::unsafe_code(root));
    tally.add("file sizes", hygiene::sizes(root, &tracked));
    tally.add("path lengths", hygiene::paths(&tracked));
    tally.add("no unfinished work", hygiene::unfinished(root, &tracked));
    tally.add("no paths of one machine", hygiene::machine_paths(root, &tracked));
    tally.add("no private registries", hygiene::registries(root, &tracked));
    tally.add("generated R files", table::generated_r(root));
    tally.add("generated documents", table::generated_docs(root));
    tally.add("operator table", table::complete());
    tally.add("exports are documented", package::documented(root));
    tally.add("required exports exist", package::required(root));
    tally.finish()
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, name: &str, found: Findings) {
        let list = found.unwrap_or_else(|e| vec![e.to_string()]);
        if list.is_empty() {
            self.passed += 1;
            println!("ok    {name}");
            return;
        }
        self.failed += 1;
        println!("FAIL  {name}");
        list.iter().for_each(|l| println!("      {}", l.replace('\n', "\n      ")));
    }

    fn finish(self) -> Fallible<()> {
        println!("{} passed, {} failed", self.passed, self.failed);
        if self.failed == 0 { Ok(()) } else { Err("the check found something".into()) }
    }
}

/// Runs cargo; its output is the finding when it fails.
fn cargo(dir: &Path, args: &[&str]) -> Findings {
    // The cargo that runs this tool, which may be another than the first on the path.
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let out = Command::new(cargo).args(args).current_dir(dir).output()?;
    if out.status.success() {
        return Ok(Vec::new());
    }
    let text = [out.stdout, out.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.len().min(60);
    Ok(vec![format!("cargo {}:\n{}", args.join(" "), lines[..shown].join("\n"))])
}
