#!/bin/sh
# Runs every check of the project:
#   sh tools/test.sh [quick|default|full]
#     quick    lints, Rust tests, installation tests, R tests     (<= 10 minutes)
#     default  also R CMD build and R CMD check                   (<= 60 minutes)
#     full     R CMD check --as-cran, R tests twice more and on a build with
#              --with-simd --enable-hard-exit
# On Debian and Ubuntu it first installs what is missing. Everything it makes is
# below _build. The last line is "N passed, N failed"; any failure, and any part
# that should have tested something and did not, makes the exit status non-zero.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
build=$root/_build
level=${1:-default}
case $level in
  quick | default | full) ;;
  *)
    echo "usage: sh tools/test.sh [quick|default|full]" >&2
    exit 2
    ;;
esac

mkdir -p "$build/log" "$build/library"
rm -f "$build"/log/*

# One directory for everything that is compiled: crates that two parts share are
# compiled once. RUSTFLAGS must not change on the way, that would undo it.
GGMLR_CARGO_TARGET_DIR=${GGMLR_CARGO_TARGET_DIR:-$build/target}
CARGO_TARGET_DIR=$GGMLR_CARGO_TARGET_DIR
export GGMLR_CARGO_TARGET_DIR CARGO_TARGET_DIR
# Tests may look at the level to do more when there is time.
GGMLR_TEST_LEVEL=$level
export GGMLR_TEST_LEVEL
# Names and messages are UTF-8; a bare machine has no locale set.
case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in
  *UTF-8* | *utf8*) ;;
  *)
    LC_ALL=C.UTF-8
    export LC_ALL
    ;;
esac

total_passed=0
total_failed=0
table=$build/log/summary.txt
: >"$table"

# part NAME COUNTER COMMAND...: runs the command, its output goes to a log that
# is shown if it fails. COUNTER prints "passed failed" from log and exit status.
part() {
  name=$1
  counter=$2
  shift 2
  log=$build/log/$(echo "$name" | tr ' /' '--').log
  echo "== $name"
  start=$(date +%s)
  "$@" >"$log" 2>&1 </dev/null
  status=$?
  minutes=$(($(date +%s) - start))
  minutes=$(awk "BEGIN { printf \"%.1f\", $minutes / 60 }")
  counts=$($counter "$log" "$status")
  n_passed=${counts% *}
  n_failed=${counts#* }
  # A part that failed without saying what, or that tested nothing, is a failure.
  if [ "$status" -ne 0 ] && [ "$n_failed" -eq 0 ]; then n_failed=1; fi
  if [ "$n_passed" -eq 0 ] && [ "$n_failed" -eq 0 ]; then n_failed=1; fi
  if [ "$n_failed" -gt 0 ]; then
    echo "-- the end of $log"
    tail -n 150 "$log"
    echo "--"
  fi
  total_passed=$((total_passed + n_passed))
  total_failed=$((total_failed + n_failed))
  printf '%-28s %6s minutes %7s passed %5s failed\n' \
    "$name" "$minutes" "$n_passed" "$n_failed" | tee -a "$table"
  [ "$n_failed" -eq 0 ]
}

finish() {
  echo
  echo "Summary of level $level, $(($(date +%s) - begin)) seconds"
  cat "$table"
  echo "$total_passed passed, $total_failed failed"
  [ "$total_failed" -eq 0 ]
  exit
}

# ---- counters ----------------------------------------------------------------

count_status() { if [ "$2" -eq 0 ]; then echo "1 0"; else echo "0 1"; fi; }

# test result: ok. 12 passed; 0 failed; ...
count_cargo() {
  awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$1"
}

# 12 passed, 0 failed
count_lines() {
  awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 }
    END { print p + 0, f + 0 }' "$1"
}

# Each "* checking ... OK" counts; NOTEs are for reading, not failures.
count_r_check() {
  awk '/^\* checking .* OK$/ || /^\* checking .* NOTE$/ { p++ }
    /^Status:/ { for (i = 2; i <= NF; i++)
      if ($i ~ /^(ERROR|WARNING)/) f += $(i - 1) }
    END { print p + 0, f + 0 }' "$1"
}

# ---- parts -------------------------------------------------------------------

in_workspace() { (cd src/rust && "$@"); }

r_install() {
  mkdir -p "$1"
  library=$1
  shift
  R CMD INSTALL --no-docs --library="$library" "$@" .
}

# r_tests LIBRARY
r_tests() { GGMLR_TEST_LIBRARY=$1 Rscript tools/test.R; }

install_tests() {
  result=0
  for script in tests/install/*.sh; do
    case $script in */lib.sh) continue ;; esac
    echo "$script"
    sh "$script" || result=1
  done
  return $result
}

# The tarball is packed from a copy, because R CMD build copies all it sees,
# compiled crates included, before it leaves out what .Rbuildignore names.
r_build() {
  rm -rf "$build/source" "$build/check"
  mkdir -p "$build/source/ggmlR" "$build/check"
  tar -cf - --exclude=./_build --exclude=./.git --exclude=./src/rust/target \
    --exclude=./tools/xtask/target . | tar -xf - -C "$build/source/ggmlR" || return 1
  (cd "$build/check" && R CMD build --no-build-vignettes "$build/source/ggmlR")
}

r_check() {
  (
    cd "$build/check" || exit 1
    _R_CHECK_CRAN_INCOMING_=false
    _R_CHECK_FORCE_SUGGESTS_=false
    export _R_CHECK_CRAN_INCOMING_ _R_CHECK_FORCE_SUGGESTS_
    R CMD check --no-manual --no-build-vignettes "$@" ggmlR_*.tar.gz >output
    status=$?
    # The details, which R writes to files, first; the verdict is read last.
    cat ggmlR.Rcheck/00install.out
    for file in ggmlR.Rcheck/tests/*.fail; do
      if [ -f "$file" ]; then cat "$file"; fi
    done
    cat output
    exit $status
  )
}

# ---- order -------------------------------------------------------------------

begin=$(date +%s)
case $level in
  full) part "needs" count_status sh tools/install-needs.sh full || finish ;;
  *) part "needs" count_status sh tools/install-needs.sh test || finish ;;
esac
# The same cargo as configure will choose.
cargo=$(Rscript --vanilla tools/msrv.R) || finish
if [ "$(command -v cargo)" != "$cargo" ]; then
  PATH=$(dirname "$cargo"):$PATH
  export PATH
fi

part "cargo fmt" count_status in_workspace cargo fmt --all --check
part "cargo clippy" count_status in_workspace \
  cargo clippy --workspace --all-targets --locked -- -D warnings
# Without the root crate: it needs R to link. The R tests are its tests.
part "cargo test" count_cargo in_workspace \
  cargo test --workspace --exclude ggmlr --locked --no-fail-fast
part "cargo xtask check" count_lines \
  cargo run --quiet --locked --manifest-path tools/xtask/Cargo.toml -- check --no-clippy
if [ "$level" != quick ]; then
  part "cargo xtask test-new-op" count_status \
    cargo run --quiet --locked --manifest-path tools/xtask/Cargo.toml -- test-new-op
fi
part "configure and install" count_lines install_tests
if part "R CMD INSTALL" count_status r_install "$build/library"; then
  part "testthat" count_lines r_tests "$build/library"
fi
if [ "$level" != quick ]; then
  if part "R CMD build" count_status r_build; then
    if [ "$level" = full ]; then
      part "R CMD check as-cran" count_r_check r_check --as-cran
    else
      part "R CMD check" count_r_check r_check
    fi
  fi
fi
if [ "$level" = full ]; then
  part "testthat, second run" count_lines r_tests "$build/library"
  part "testthat, third run" count_lines r_tests "$build/library"
  native=$build/library-native
  if part "R CMD INSTALL native" count_status r_install "$native" \
    --configure-args="--with-simd --enable-hard-exit"; then
    part "testthat native" count_lines r_tests "$native"
  fi
fi
finish
