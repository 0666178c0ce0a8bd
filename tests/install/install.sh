# The way of a package through R: build, load, clean up, directories, offline.
. "$(dirname "$0")/lib.sh"

fake_rust "$scratch/new" 1.999.0
PATH=$scratch/new:$bare

new_package
check "installs" r_install
check "loads" env R_LIBS="$scratch/library" Rscript -e \
  'stopifnot(getNamespace("ggmlR")$one() == 1)'
check "locked" has "$log.args" "--locked"
check "the crate only" has "$log.args" "-p ggmlr"
check "crates below the source" test -f \
  "$package/src/rust/target/release/libggmlr.a"

(cd "$package" && ./cleanup)
check "cleanup removes what was built" test ! -e "$package/src/rust/target"
check "cleanup removes the objects" test ! -e "$package/src/entrypoint.o"
check "cleanup removes Makevars" test ! -e "$package/src/Makevars"
check "cleanup keeps the source" test -f "$package/src/Makevars.in"

# A directory for compiled crates that several installations share.
GGMLR_CARGO_TARGET_DIR=$scratch/shared
export GGMLR_CARGO_TARGET_DIR
new_package
check "installs with a shared directory" r_install
check "it is used" test -f "$scratch/shared/release/libggmlr.a"
check "and not the one below the source" test ! -e "$package/src/rust/target"
check "other flags, other directory" configure --with-simd
check "named native" has "$package/src/Makevars" "$scratch/shared/native"
GGMLR_CARGO_TARGET_DIR=relative/path
check "a relative path is refused" fails configure
check "and named" has "$log" "relative/path"
GGMLR_CARGO_TARGET_DIR="$scratch/two words"
check "a path with spaces is refused" fails configure
unset GGMLR_CARGO_TARGET_DIR

# A release with its crates in the package: no network, nothing left behind.
new_package
mkdir -p "$scratch/vendor/some-crate"
echo 'text' >"$scratch/vendor/some-crate/Cargo.toml"
(cd "$scratch" && tar -cJf "$package/src/rust/vendor.tar.xz" vendor)
check "configure unpacks the crates" configure
check "and says so" has "$log" "from the source package, offline"
check "they are there" test -f "$package/src/rust/vendor/some-crate/Cargo.toml"
check "cargo is told where" has "$package/src/rust/vendor-source.toml" \
  "directory = \"$package/src/rust/vendor\""
check "installs offline" r_install
check "--offline" has "$log.args" "--offline --config vendor-source.toml"
check "cargo's home is inside the source" has "$log.env" \
  "CARGO_HOME=$package/src/rust/cargo-home"
check "unpacked crates are removed" test ! -e "$package/src/rust/vendor"

# The scripts that users and R run must work in any sh.
for script in configure configure.win cleanup tools/demo.sh tools/test.sh \
  tools/install-needs.sh; do
  check "syntax of $script" sh -n "$root/$script"
  if command -v checkbashisms >/dev/null 2>&1; then
    check "checkbashisms $script" checkbashisms -p "$root/$script"
  fi
done
for script in configure cleanup; do
  check "$script can be executed" test -x "$root/$script"
done

finish
