# Which Rust the package needs, and which one this machine offers.
#
# `Rscript tools/msrv.R`, from the top of the source, prints the path of the
# cargo that configure would use, or explains what is missing and fails.
# tools/config.R reads this file for its functions.

# The minimum is written once, in the workspace's Cargo.toml, where cargo itself
# enforces it; we read it so that the user hears of it before a crate somewhere
# deep in the build fails to compile.
msrv_needed <- function(file = "src/rust/Cargo.toml") {
  pattern <- '^\\s*rust-version\\s*=\\s*"([0-9.]+)".*$'
  lines <- grep(pattern, readLines(file, warn = FALSE), value = TRUE)
  if (length(lines) != 1L) {
    stop("expected one rust-version in ", file, ", found ", length(lines))
  }
  sub(pattern, "\\1", lines)
}

# Output of a program, or NULL if it cannot be run. `dir` is put in front of
# PATH for the call: the cargo of a directory should find the rustc beside it.
msrv_output <- function(program, args, dir = "") {
  old <- Sys.getenv("PATH")
  on.exit(Sys.setenv(PATH = old))
  if (nzchar(dir)) Sys.setenv(PATH = paste(dir, old, sep = .Platform$path.sep))
  out <- tryCatch(
    suppressWarnings(
      system2(program, args, stdout = TRUE, stderr = FALSE)
    ),
    error = function(e) NULL
  )
  if (is.null(out) || !is.null(attr(out, "status"))) NULL else out
}

# "cargo 1.95.0 (f2d3ce0bd 2026-03-21)" -> "1.95.0"; NA if there is no version.
msrv_version <- function(output, name) {
  pattern <- paste0("^", name, " ([0-9]+\\.[0-9]+\\.[0-9]+).*$")
  line <- grep(pattern, output, value = TRUE)
  if (length(line)) sub(pattern, "\\1", line[1]) else NA_character_
}

# One offer: a cargo and the rustc that it would call. `dir` is empty for the
# cargo of PATH, which takes rustc from PATH as well.
msrv_look <- function(cargo, rustc, dir = "") {
  info <- msrv_output(rustc, "-vV", dir)
  host <- grep("^host: ", info, value = TRUE)
  list(
    cargo = cargo,
    rustc = rustc,
    dir = dir,
    cargo_version = msrv_version(msrv_output(cargo, "--version", dir), "cargo"),
    rustc_version = msrv_version(info, "rustc"),
    host = if (length(host)) sub("^host: ", "", host[1]) else NA_character_
  )
}

msrv_new_enough <- function(version, needed) {
  !is.na(version) && numeric_version(version) >= needed
}

# The offers of this machine in the order in which they are tried: PATH, then
# the directory where rustup puts its programs, which is often not on the PATH
# of an R started from a desktop menu.
msrv_offers <- function(windows) {
  exe <- if (windows) ".exe" else ""
  offers <- list()
  rustc_variable <- Sys.getenv("RUSTC")
  on_path <- unname(Sys.which("cargo"))
  if (nzchar(on_path)) {
    rustc <- if (nzchar(rustc_variable)) rustc_variable else Sys.which("rustc")
    offers <- list(msrv_look(on_path, unname(rustc)))
  }
  home <- Sys.getenv(if (windows) "USERPROFILE" else "HOME")
  dirs <- c(
    if (nzchar(Sys.getenv("CARGO_HOME"))) {
      file.path(Sys.getenv("CARGO_HOME"), "bin")
    },
    if (nzchar(home)) file.path(home, ".cargo", "bin")
  )
  for (dir in unique(chartr("\\", "/", dirs))) {
    cargo <- file.path(dir, paste0("cargo", exe))
    rustc <- file.path(dir, paste0("rustc", exe))
    if (file.exists(cargo)) {
      offers <- c(offers, list(msrv_look(cargo, rustc, dir)))
    }
  }
  offers
}

msrv_describe <- function(offer) {
  part <- function(name, version) {
    if (is.na(version)) paste0("no working ", name) else paste(name, version)
  }
  paste0(
    part("cargo", offer$cargo_version), " (", offer$cargo, ") with ",
    part("rustc", offer$rustc_version),
    if (nzchar(offer$rustc)) paste0(" (", offer$rustc, ")")
  )
}

msrv_explain <- function(offers, needed) {
  found <- if (length(offers)) {
    vapply(offers, msrv_describe, "")
  } else {
    "no cargo on the PATH, none in ~/.cargo/bin"
  }
  rustup <- nzchar(Sys.which("rustup")) ||
    file.exists(file.path(Sys.getenv("HOME"), ".cargo", "bin", "rustup"))
  c(
    "",
    strrep("-", 76),
    paste0(
      "ggmlR is compiled with Rust. It needs cargo and rustc ", needed,
      " or newer."
    ),
    "",
    paste("  found:", found),
    "",
    "To get it, use one of these, then install ggmlR again:",
    "",
    if (rustup) {
      "  rustup is here already:  rustup update stable"
    },
    "  Debian 12:               apt-get install rustc-web cargo-web",
    "  Linux, macOS:            curl -sSf https://sh.rustup.rs | sh",
    "  Windows:                 the installer from https://rustup.rs, then",
    "                           rustup target add x86_64-pc-windows-gnu",
    "",
    "(Debian 12's own rustc package is version 1.63.)",
    strrep("-", 76),
    ""
  )
}

# The first offer that is new enough. Without one, explain and end R with a
# failure, which stops the installation before anything is compiled.
msrv_find <- function(windows = .Platform$OS.type == "windows") {
  needed <- msrv_needed()
  offers <- msrv_offers(windows)
  for (offer in offers) {
    if (msrv_new_enough(offer$cargo_version, needed) &&
        msrv_new_enough(offer$rustc_version, needed)) {
      return(offer)
    }
  }
  writeLines(msrv_explain(offers, needed), stderr())
  quit(save = "no", status = 1L)
}

if (sys.nframe() == 0L) cat(msrv_find()$cargo, "\n", sep = "")
