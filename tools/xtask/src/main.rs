//! Tools for work on ggmlR; `cargo xtask help` lists the commands.

mod bench;
mod bindings;
mod check;
mod conform;
mod exports;
mod files;
mod gen_docs;
mod gen_r;
mod new_op;
mod params;
mod signature;
mod test_new_op;
mod topics;

use std::process::ExitCode;

/// Anything that can go wrong is a message for the developer.
type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
cargo xtask <command>

  gen-r [--check]         write R/generated-ops.R and R/generated-bindings.R; with --check only say what is stale
  gen-docs [--check]      write docs/op-support.md
  new-op FAMILY/NAME      write the skeleton of an operator with kernels and its line in the family's mod.rs
  new-op unary/NAME --value TEXT --slope TEXT --title TEXT [--formula TEXT]
                          add an element-wise formula: x -> TEXT, call style only (see crates/formula/src/unary.in.rs)
  conform [NAME ...]      run the cases of operators (all without NAME) on the CPU and print what fails
  check [--no-clippy]     everything that can be said about the source without running it
  test-new-op             add two throw-away operators in a copy of the workspace, build it, run their cases
  bench [--csv PATH] [FILTER]
                          time the engine and the kernels; use with: cargo run --release
  help                    this text
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Fallible<()> {
    let root = files::Root::find()?;
    match args {
        ["gen-r"] => gen_r::run(&root, false),
        ["gen-r", "--check"] => gen_r::run(&root, true),
        ["gen-docs"] => gen_docs::run(&root, false),
        ["gen-docs", "--check"] => gen_docs::run(&root, true),
        ["new-op", rest @ ..] => new_op::run(&root, rest),
        ["conform", names @ ..] => conform::run(names),
        ["check", rest @ ..] => check::run(&root, rest),
        ["test-new-op"] => test_new_op::run(&root),
        ["bench", rest @ ..] => bench::run(rest),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(USAGE.into()),
        [other, ..] => Err(format!("'{other}' with these arguments is no command; see: cargo xtask help").into()),
    }
}
