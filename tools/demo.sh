#!/bin/sh
# Trains a classifier on real data and shows that it can be saved and used again:
#   sh tools/demo.sh
# On Debian and Ubuntu it first installs what is missing. The package goes into
# _build/library of this directory; your own R library is left alone.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
build=$root/_build

echo "1. What this needs: R, Rust, the data set"
sh tools/install-needs.sh demo

echo "2. Installing ggmlR into _build/library (compiling takes some minutes)"
mkdir -p "$build/library" "$build/demo"
# Compiled crates stay in _build, so that a second run is quick.
GGMLR_CARGO_TARGET_DIR=${GGMLR_CARGO_TARGET_DIR:-$build/target}
export GGMLR_CARGO_TARGET_DIR
log=$build/demo/install.log
if ! R CMD INSTALL --no-docs --library="$build/library" . >"$log" 2>&1 </dev/null
then
  cat "$log"
  echo "The installation failed; the text above is also in $log" >&2
  exit 1
fi
sed -n '/^ggmlR build/,/^$/p' "$log"
R_LIBS=$build/library${R_LIBS:+:$R_LIBS}
export R_LIBS

echo "3. Training"
Rscript tools/demo.R "$build/demo" </dev/null

echo
echo "4. A new R process loads the saved model"
Rscript tools/demo-reload.R "$build/demo" </dev/null
