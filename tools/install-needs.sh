#!/bin/sh
# Installs what a Debian or Ubuntu machine lacks, and nothing else:
#   sh tools/install-needs.sh demo|test|full
# demo: R, a C compiler, Rust and the R packages of the demo; test: also those of
# the tests, clippy and rustfmt; full: also the programs that
# R CMD check --as-cran wants.
# Elsewhere it says what is missing. Silent and quick when nothing is.
set -eu
cd "$(dirname "$0")/.."
level=${1:-demo}

say() { echo "install-needs: $*"; }

# as_root COMMAND...: run it with the rights that apt-get needs.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    say "this needs root: $*" >&2
    exit 1
  fi
}

updated=no
apt_install() {
  say "apt-get install $*"
  if [ "$updated" = no ]; then
    as_root apt-get update -q </dev/null
    updated=yes
  fi
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$@" </dev/null
}

have() { command -v "$1" >/dev/null 2>&1; }
installed() {
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

apt=no
if have apt-get && have dpkg-query; then apt=yes; fi

# ---- R and a C compiler ------------------------------------------------------

# r-base-dev is R with all that compiling a package takes.
r_works() { have R && have make && have cc && R CMD config CC >/dev/null 2>&1; }
if ! r_works; then
  if [ "$apt" = no ]; then
    say "R (4.1 or newer) with its headers, make and a C compiler are needed" >&2
    exit 1
  fi
  # Certificates: cargo and curl are useless without them on a bare machine.
  apt_install r-base-dev ca-certificates
fi

# ---- R packages --------------------------------------------------------------

wanted="generics mlbench"
if [ "$level" != demo ]; then wanted="$wanted testthat cli Matrix"; fi
# shellcheck disable=SC2086
missing=$(Rscript -e 'p <- commandArgs(TRUE)
  cat(p[!vapply(p, requireNamespace, NA, quietly = TRUE)])' $wanted)
if [ -n "$missing" ]; then
  if [ "$apt" = no ]; then
    say "R packages are missing: $missing" >&2
    say "install.packages() in R gets them" >&2
    exit 1
  fi
  packages=
  for name in $missing; do
    packages="$packages r-cran-$(echo "$name" | tr '[:upper:]' '[:lower:]')"
  done
  # shellcheck disable=SC2086
  apt_install $packages
fi

# ---- Rust --------------------------------------------------------------------

# The web packages replace the plain ones and exclude rustup's package, so they
# are taken only when nothing on the machine is new enough and rustup's package
# is not there.
rust_works() { Rscript --vanilla tools/msrv.R >/dev/null 2>&1; }
if ! rust_works && [ "$apt" = yes ] && ! installed rustup; then
  apt_install rustc-web cargo-web ca-certificates ||
    say "rustc-web and cargo-web could not be installed" >&2
fi
# Shows what is missing, if anything still is.
cargo=$(Rscript --vanilla tools/msrv.R) || exit 1
if [ "$(command -v cargo)" != "$cargo" ]; then PATH=$(dirname "$cargo"):$PATH; fi

if [ "$level" != demo ]; then
  lint_works() {
    cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1
  }
  if ! lint_works; then
    if [ "$apt" = yes ] && installed cargo-web && [ "$cargo" = /usr/bin/cargo ]; then
      apt_install rust-web-clippy rustfmt-web
    elif have rustup; then
      say "rustup component add clippy rustfmt"
      rustup component add clippy rustfmt
    fi
  fi
  lint_works || {
    say "cargo clippy and cargo fmt are needed for the tests" >&2
    exit 1
  }
fi

# ---- programs for R CMD check --as-cran ---------------------------------------

if [ "$level" = full ] && [ "$apt" = yes ]; then
  packages=
  have checkbashisms || packages="$packages devscripts"
  have qpdf || packages="$packages qpdf"
  # shellcheck disable=SC2086
  [ -z "$packages" ] || apt_install $packages
fi
