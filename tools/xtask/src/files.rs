//! The repository and its files.

use crate::Fallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Top of the repository.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Root {
    /// Found from where this tool was compiled, so that it works from any directory.
    pub fn find() -> Fallible<Root> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Root::at(here.ancestors().nth(2).ok_or("the tool is not in tools/xtask")?)
    }

    /// The package in this folder.
    pub fn at(dir: &Path) -> Fallible<Root> {
        if !dir.join("DESCRIPTION").is_file() {
            return Err(format!("{} is not the top of the package", dir.display()).into());
        }
        Ok(Root(dir.to_owned()))
    }

    /// A file or folder by its path from the top.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }

    /// The Rust workspace of the package.
    pub fn workspace(&self) -> PathBuf {
        self.path("src/rust")
    }

    /// A file of this tool.
    pub fn xtask(&self, name: &str) -> PathBuf {
        self.path("tools/xtask").join(name)
    }

    /// Files that git tracks or would track, from the top, with `/`; without git, every file that is not built.
    pub fn tracked(&self) -> Fallible<Vec<String>> {
        let out = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.0)
            .output();
        let mut list: Vec<String> = match out {
            Ok(o) if o.status.success() => {
                String::from_utf8_lossy(&o.stdout).split('\0').filter(|s| !s.is_empty()).map(str::to_owned).collect()
            }
            _ => {
                let mut list = Vec::new();
                walk(&self.0, "", &mut list)?;
                list
            }
        };
        // A file that was deleted but not committed is still listed.
        list.retain(|f| self.path(f).is_file());
        list.sort();
        Ok(list)
    }
}

fn walk(dir: &Path, prefix: &str, out: &mut Vec<String>) -> Fallible<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            if !matches!(name.as_str(), ".git" | "target" | "_build" | "vendor") {
                walk(&entry.path(), &path, out)?;
            }
        } else {
            out.push(path);
        }
    }
    Ok(())
}

/// Reads a text file; the message names it.
pub fn read(path: &Path) -> Fallible<String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()).into())
}

/// A file that a command generates.
#[derive(Debug)]
pub struct Generated {
    /// Path from the top.
    pub path: &'static str,
    pub text: String,
}

impl Generated {
    /// Whether the file on disk is the same.
    pub fn is_fresh(&self, root: &Root) -> bool {
        // Line ends may have been converted by git on Windows.
        fs::read_to_string(root.path(self.path)).is_ok_and(|old| old.replace("\r\n", "\n") == self.text)
    }

    /// Writes the file if it differs; whether it did.
    pub fn write(&self, root: &Root) -> Fallible<bool> {
        if self.is_fresh(root) {
            return Ok(false);
        }
        let path = root.path(self.path);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&path, &self.text)?;
        Ok(true)
    }
}

/// Writes generated files, or with `check` only says which are stale.
pub fn settle(root: &Root, files: &[Generated], check: bool, command: &str) -> Fallible<()> {
    let mut stale = Vec::new();
    for f in files {
        if check {
            if !f.is_fresh(root) {
                stale.push(f.path);
            }
        } else if f.write(root)? {
            println!("wrote {}", f.path);
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!("stale: {}; run: cargo xtask {command}", stale.join(", ")).into())
    }
}
