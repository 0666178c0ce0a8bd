# The body of configure and configure.win: reads the switches, looks at the
# machine, prints what was decided and writes src/Makevars or src/Makevars.win.
#
# Called as `Rscript --vanilla tools/config.R unix|windows [--flag ...]` from the
# top of the source. The platform is an argument and not asked from R, so that
# the tests can run the Windows half anywhere.

source("tools/msrv.R")

usage <- c(
  "Options, for R CMD INSTALL --configure-args=\"...\":",
  "",
  "  --with-vulkan        ask for the Vulkan backend (not in this version)",
  "  --without-vulkan     leave the Vulkan backend out",
  "  --with-simd          compile all code for the CPU of this machine. Without",
  "                       it the hand-written kernels still use the best",
  "                       instructions found at run time; with it the plain",
  "                       loops do too, but the result may not run elsewhere",
  "  --enable-hard-exit   compile in the hard exit of stand-alone GPU scripts;",
  "                       off by default: it ends the whole R process",
  "",
  "On Windows set the environment variables GGML_USE_VULKAN, GGML_USE_SIMD and",
  "GGML_VK_HARD_EXIT to 1/yes/true/on or 0/no/false/off instead.",
  "",
  "Environment variables: CARGO_BUILD_JOBS or -jN in MAKEFLAGS set the number of",
  "parallel jobs (2 otherwise); GGMLR_CARGO_TARGET_DIR, an absolute path, keeps",
  "compiled crates outside the source; RUSTFLAGS is passed on."
)

give_up <- function(...) {
  writeLines(c("", paste0("ggmlR configure: ", ...), ""), stderr())
  quit(save = "no", status = 1L)
}

# ---- switches ----------------------------------------------------------------

read_switch <- function(value, name) {
  word <- tolower(trimws(value))
  if (word %in% c("1", "yes", "true", "on")) {
    TRUE
  } else if (word %in% c("0", "no", "false", "off")) {
    FALSE
  } else {
    give_up(
      name, " is '", value, "'; it must be 1, yes, true or on, or 0, no, false",
      " or off"
    )
  }
}

# NA means that nobody asked. As usual with configure, the last word wins.
read_arguments <- function(args) {
  choice <- list(vulkan = NA, simd = NA, hard_exit = NA)
  ignored <- character()
  for (arg in args) {
    name <- sub("=.*$", "", arg)
    known <- switch(name,
      "--with-vulkan" = list("vulkan", TRUE),
      "--without-vulkan" = list("vulkan", FALSE),
      "--with-simd" = list("simd", TRUE),
      "--without-simd" = list("simd", FALSE),
      "--enable-hard-exit" = list("hard_exit", TRUE),
      "--disable-hard-exit" = list("hard_exit", FALSE)
    )
    if (is.null(known)) {
      # Not an error: users set configure.args for all packages at once.
      ignored <- c(ignored, arg)
    } else {
      value <- known[[2]]
      if (arg != name) {
        if (!value) give_up(name, " takes no value")
        value <- read_switch(sub("^[^=]*=", "", arg), name)
      }
      choice[[known[[1]]]] <- value
    }
  }
  list(choice = choice, given = args, ignored = ignored)
}

read_variables <- function() {
  variables <- c(
    vulkan = "GGML_USE_VULKAN",
    simd = "GGML_USE_SIMD",
    hard_exit = "GGML_VK_HARD_EXIT"
  )
  choice <- list()
  given <- character()
  for (name in names(variables)) {
    variable <- variables[[name]]
    value <- Sys.getenv(variable)
    choice[[name]] <- if (nzchar(value)) read_switch(value, variable) else NA
    if (nzchar(value)) given <- c(given, paste0(variable, "=", value))
  }
  list(choice = choice, given = given, ignored = character())
}

# ---- the machine -------------------------------------------------------------

# CRAN allows two jobs. Whoever asks for another number gets it.
read_jobs <- function() {
  asked <- Sys.getenv("CARGO_BUILD_JOBS")
  if (grepl("^(default|-?[1-9][0-9]*)$", asked)) {
    return(list(n = asked, from = "CARGO_BUILD_JOBS"))
  }
  flags <- paste0(" ", Sys.getenv("MAKEFLAGS"), " ")
  number <- "^.* (?:-[a-zA-Z]*j|--jobs(?:=| )) *([1-9][0-9]*) .*$"
  if (grepl(number, flags, perl = TRUE)) {
    return(list(n = sub(number, "\\1", flags, perl = TRUE), from = "MAKEFLAGS"))
  }
  if (grepl(" (-[a-zA-Z]*j|--jobs) ", flags)) {
    return(list(n = "default", from = "MAKEFLAGS, all cores"))
  }
  list(n = "2", from = "default")
}

# Linker flags that shrink the shared object to about a ninth and hide the
# symbols of the Rust library, which could clash with those of another package.
# Each is tried, because every linker knows its own.
try_link_flags <- function() {
  darwin <- Sys.info()[["sysname"]] == "Darwin"
  flags <- if (darwin) {
    "-Wl,-dead_strip"
  } else {
    # -S and -x drop debugging and local symbols. The usual -s drops all, and R
    # CMD check complains that it finds none.
    c("-Wl,--gc-sections", "-Wl,--exclude-libs,ALL", "-Wl,-S", "-Wl,-x")
  }
  shared <- if (darwin) "-dynamiclib" else c("-shared", "-fPIC")
  r <- file.path(R.home("bin"), "R")
  cc <- system2(r, c("CMD", "config", "CC"), stdout = TRUE)
  dir <- tempfile("link")
  dir.create(dir)
  on.exit(unlink(dir, recursive = TRUE))
  source <- file.path(dir, "try.c")
  writeLines("int ggmlr_try(void) { return 0; }", source)
  works <- function(flag) {
    command <- paste(c(
      cc, shared, "-o", shQuote(file.path(dir, "try.so")), shQuote(source), flag
    ), collapse = " ")
    system(command, ignore.stdout = TRUE, ignore.stderr = TRUE) == 0L
  }
  Filter(works, flags)
}

# Compiled crates normally go below the source and vanish with it. Developers
# point GGMLR_CARGO_TARGET_DIR at a place that several installations share.
read_target_dir <- function(native) {
  shared <- Sys.getenv("GGMLR_CARGO_TARGET_DIR")
  if (!nzchar(shared)) {
    return(list(cargo = "target", make = "rust/target", shared = FALSE))
  }
  if (!grepl("^(/|[A-Za-z]:[/\\\\])", shared) || grepl("[[:space:]'#$]", shared)) {
    give_up(
      "GGMLR_CARGO_TARGET_DIR is '", shared, "'; it must be an absolute path",
      " without spaces, quotes, # or $"
    )
  }
  shared <- chartr("\\", "/", shared)
  # Other compiler flags would recompile all that is there, each time.
  if (native) shared <- paste0(shared, "/native")
  list(cargo = shared, make = shared, shared = TRUE)
}

# A release carries its crates in one archive, so that an installation needs no
# network. It is unpacked by R itself: tar or xz may be absent.
unpack_crates <- function() {
  archive <- "src/rust/vendor.tar.xz"
  if (!file.exists(archive)) {
    return(FALSE)
  }
  unlink("src/rust/vendor", recursive = TRUE)
  utils::untar(archive, exdir = "src/rust", tar = "internal")
  if (!dir.exists("src/rust/vendor")) {
    give_up(archive, " does not contain the directory 'vendor'")
  }
  dir <- normalizePath("src/rust/vendor", winslash = "/")
  writeLines(c(
    "# Written by configure.",
    "[source.crates-io]",
    "replace-with = \"vendored\"",
    "",
    "[source.vendored]",
    paste0("directory = \"", dir, "\"")
  ), "src/rust/vendor-source.toml")
  TRUE
}

# The compiler must have the library of the target that R's own gcc makes.
check_windows_target <- function(rust, target) {
  libdir <- msrv_output(
    rust$rustc, c("--print", "target-libdir", "--target", target), rust$dir
  )
  if (is.null(libdir) || !dir.exists(libdir[1])) {
    give_up(
      "rustc ", rust$rustc_version, " (", rust$rustc, ") has no library for ",
      target, ", which R on Windows needs. Get it with\n\n",
      "    rustup target add ", target
    )
  }
}

# ---- Makevars ----------------------------------------------------------------

# A word for a shell command in a makefile.
quote_word <- function(word) {
  word <- gsub("'", "'\\''", word, fixed = TRUE)
  word <- gsub("$", "$$", word, fixed = TRUE)
  word <- gsub("[\r\n]+", " ", word)
  paste0("'", word, "'")
}

write_makevars <- function(from, to, values) {
  text <- readLines(from)
  for (name in names(values)) {
    text <- gsub(paste0("@", name, "@"), values[[name]], text, fixed = TRUE)
  }
  left <- grep("@[A-Z_]+@", text, value = TRUE)
  if (length(left)) stop("no value for: ", paste(left, collapse = "; "))
  # Binary, because make on Windows does not like CR LF.
  con <- file(to, open = "wb")
  on.exit(close(con))
  writeLines(sub("[ \t]+$", "", text), con, sep = "\n")
}

# ---- main --------------------------------------------------------------------

main <- function(args) {
  windows <- identical(args[1], "windows")
  args <- args[-1]
  if (any(args %in% c("--help", "-h"))) {
    writeLines(usage)
    return(invisible())
  }
  asked <- if (windows) read_variables() else read_arguments(args)
  native <- isTRUE(asked$choice$simd)
  hard_exit <- isTRUE(asked$choice$hard_exit)
  vulkan <- if (isTRUE(asked$choice$vulkan)) {
    "requested, not in this version"
  } else {
    "no"
  }

  rust <- msrv_find(windows)
  target <- rust$host
  if (windows) {
    # R for Windows on Arm uses another compiler and another Rust target.
    if (grepl("aarch64|arm64", R.version$arch) && .Platform$OS.type == "windows") {
      give_up("R for Windows on Arm is not supported in this version")
    }
    target <- "x86_64-pc-windows-gnu"
    check_windows_target(rust, target)
  }

  jobs <- read_jobs()
  target_dir <- read_target_dir(native)
  vendored <- unpack_crates()
  link_flags <- if (windows) character() else try_link_flags()

  # What the Rust code is told about its own build; it reads these at compile
  # time (option_env!) and shows them through ggml_build_info().
  facts <- c(
    GGMLR_BUILD_CARGO = rust$cargo_version,
    GGMLR_BUILD_RUSTC = rust$rustc_version,
    GGMLR_BUILD_TARGET = target,
    GGMLR_BUILD_PROFILE = "release",
    GGMLR_BUILD_SIMD = if (native) "native" else "runtime",
    GGMLR_BUILD_VULKAN = vulkan,
    GGMLR_BUILD_HARD_EXIT = if (hard_exit) "1" else "0",
    GGMLR_BUILD_CONFIGURE_ARGS = paste(asked$given, collapse = " ")
  )
  environment <- paste0(names(facts), "=", vapply(facts, quote_word, ""))
  if (native) {
    # Set only when needed: any change of RUSTFLAGS recompiles every crate.
    environment <- c(
      environment, "RUSTFLAGS=\"$${RUSTFLAGS} -C target-cpu=native\""
    )
  }
  if (nzchar(rust$dir)) {
    environment <- c(
      environment, paste0("PATH=", quote_word(rust$dir), ":\"$${PATH}\"")
    )
  }
  if (vendored) {
    home <- paste0(normalizePath("src/rust", winslash = "/"), "/cargo-home")
    environment <- c(environment, paste0("CARGO_HOME=", quote_word(home)))
  }
  options <- c(
    if (hard_exit) "--features hard-exit",
    if (vendored) "--offline --config vendor-source.toml"
  )
  here <- normalizePath("src", winslash = "/")
  libgcc_dir <- if (target_dir$shared) {
    paste0(target_dir$make, "/libgcc_mock")
  } else {
    paste0(here, "/", target_dir$make, "/libgcc_mock")
  }
  values <- list(
    CARGO = quote_word(rust$cargo),
    CARGO_ENV = paste(environment, collapse = " \\\n\t"),
    CARGO_OPTIONS = paste(options, collapse = " "),
    JOBS = jobs$n,
    LIBDIR = paste0(
      target_dir$make, if (windows) "/$(TARGET)", "/release"
    ),
    LIBGCC_DIR = quote_word(libgcc_dir),
    LINK_FLAGS = paste(link_flags, collapse = " "),
    LINKER = if (getRversion() >= "4.2.0") {
      "x86_64-w64-mingw32.static.posix-gcc.exe"
    } else {
      "gcc.exe"
    },
    SYSTEM_LIBS = if (windows) {
      "-lws2_32 -ladvapi32 -luserenv -lbcrypt -lntdll"
    } else if (Sys.info()[["sysname"]] == "Darwin") {
      "-lm"
    } else {
      "-lpthread -ldl -lm"
    },
    TARGET = target,
    TARGET_DIR = quote_word(target_dir$cargo),
    TIDY = if (vendored) {
      "rm -rf rust/vendor rust/cargo-home rust/vendor-source.toml"
    } else {
      ":"
    }
  )
  makevars <- if (windows) "src/Makevars.win" else "src/Makevars"
  write_makevars(paste0(makevars, ".in"), makevars, values)

  line <- function(name, ...) paste0("  ", formatC(name, width = -11), ...)
  writeLines(c(
    "",
    "ggmlR build",
    line("cargo", rust$cargo_version, " (", rust$cargo, ")"),
    line("rustc", rust$rustc_version, ", needs ", msrv_needed(), " or newer"),
    line("target", target),
    line("jobs", "-j ", jobs$n, " (", jobs$from, ")"),
    line("crates", if (vendored) {
      "from the source package, offline"
    } else {
      "fetched by cargo"
    }),
    line("SIMD", if (native) {
      "native: for this CPU only (and kernels chosen at run time)"
    } else {
      "runtime: kernels chosen from what the CPU has"
    }),
    line("Vulkan", vulkan),
    line("hard exit", if (hard_exit) "yes" else "no"),
    line("linking", if (windows) {
      "exports from ggmlR-win.def"
    } else if (length(link_flags)) {
      paste(link_flags, collapse = " ")
    } else {
      "plain (no size flag is known to this linker)"
    }),
    line("options", if (length(asked$given)) {
      paste(asked$given, collapse = " ")
    } else {
      "none"
    }),
    if (length(asked$ignored)) {
      line("ignored", paste(asked$ignored, collapse = " "), " (unknown)")
    },
    ""
  ))
}

main(commandArgs(trailingOnly = TRUE))
