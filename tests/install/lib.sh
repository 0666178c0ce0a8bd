# Shared by the installation tests, which read this file; each is a POSIX sh
# script that runs alone, e.g. `sh tests/install/flags.sh`.
#
# They install a package with our configure, Makevars and entry point, but with a
# fake cargo that records how it was called. So a test takes a second, and the
# question "what if there is no compiler, or an old one" can be asked anywhere.

set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# Nothing of the caller's own settings may reach the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL R_HOME RUSTC RUSTFLAGS CARGO_HOME \
  CARGO_BUILD_JOBS CARGO_BUILD_TARGET CARGO_TARGET_DIR GGMLR_CARGO_TARGET_DIR \
  GGML_USE_SIMD GGML_USE_VULKAN GGML_VK_HARD_EXIT USERPROFILE
HOME=$scratch/home
export HOME
mkdir "$HOME"

needed=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' "$root/src/rust/Cargo.toml")

# check NAME COMMAND...: one counted test.
check() {
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    if [ -f "$log" ]; then sed 's/^/    /' "$log" | tail -n 25; fi
  fi
}

# Fixed strings; -e because many begin with a dash.
has() { grep -qF -e "$2" "$1"; }
lacks() { [ -f "$1" ] && ! grep -qF -e "$2" "$1"; }
fails() { ! "$@"; }
equal() { [ "$1" = "$2" ] || { echo "got '$1', expected '$2'"; false; }; }

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# The PATH of a machine without Rust: links to all programs but its own.
bare=$scratch/bare
mkdir "$bare"
old_ifs=$IFS
IFS=:
for dir in $PATH; do
  for program in "$dir"/*; do
    case ${program##*/} in
      cargo* | rustc* | rustup* | rustdoc* | '*') ;;
      *) [ -e "$bare/${program##*/}" ] || ln -s "$program" "$bare/" ;;
    esac
  done
done
IFS=$old_ifs

# fake_rust DIR VERSION: a cargo and a rustc which say that they are VERSION. The
# cargo records its arguments and environment in $log.args and $log.env, and
# makes a library with the two functions that the entry point calls.
fake_rust() {
  mkdir -p "$1"
  cat >"$1/rustc" <<EOF
#!/bin/sh
case "\$1" in
  --print) echo "$scratch/rust-libdir" ;;
  *)
    echo "rustc $2 (000000000 2020-01-01)"
    echo "host: x86_64-unknown-linux-gnu"
    ;;
esac
EOF
  cat >"$1/cargo" <<EOF
#!/bin/sh
if [ "\$1" = --version ]; then
  echo "cargo $2 (000000000 2020-01-01)"
  exit 0
fi
printf '%s\n' "\$*" >"$log.args"
env >"$log.env"
target=
while [ \$# -gt 0 ]; do
  case "\$1" in
    --target-dir) dir=\$2 ;;
    --target) target=/\$2 ;;
  esac
  shift
done
mkdir -p "\$dir\$target/release"
cd "\$dir\$target/release" || exit 1
cat >stub.c <<EOC
void R_init_ggmlR_extendr(void *dll) { (void) dll; }
void register_extendr_panic_hook(void) {}
EOC
cc -fPIC -c stub.c -o stub.o && rm -f libggmlr.a && ar rcs libggmlr.a stub.o
EOF
  chmod +x "$1/rustc" "$1/cargo"
}

# new_package: a fresh small package in $package.
package=$scratch/ggmlR
log=$scratch/log
new_package() {
  rm -rf "$package" "$log" "$log.args" "$log.env"
  mkdir -p "$package/R" "$package/tools" "$package/src/rust" "$scratch/library"
  cp -p "$root/configure" "$root/configure.win" "$root/cleanup" "$package/"
  cp "$root/tools/config.R" "$root/tools/msrv.R" "$package/tools/"
  cp "$root/src/Makevars.in" "$root/src/Makevars.win.in" \
    "$root/src/entrypoint.c" "$root/src/ggmlR-win.def" "$package/src/"
  cp "$root/src/rust/Cargo.toml" "$package/src/rust/"
  grep -E '^(Package|Version|License|Title|Encoding):' "$root/DESCRIPTION" |
    sed 's/ + file LICENSE//' >"$package/DESCRIPTION"
  echo 'Description: Stands in for the real one.' >>"$package/DESCRIPTION"
  printf 'useDynLib(ggmlR)\nexport(one)\n' >"$package/NAMESPACE"
  echo 'one <- function() 1' >"$package/R/one.R"
}

# Both leave their output in $log and return the exit status.
configure() {
  (cd "$package" && exec ./configure "$@") >"$log" 2>&1
}
r_install() {
  (cd "$scratch" && exec R CMD INSTALL "$@" -l "$scratch/library" "$package") \
    >"$log" 2>&1
}
