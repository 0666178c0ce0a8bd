# Compilers older than rust-version are refused with both numbers, and the first
# one that is new enough is used.
. "$(dirname "$0")/lib.sh"

requirement=$(sed -n 's/^SystemRequirements:.*rustc >= \([0-9.]*\).*/\1/p' \
  "$root/DESCRIPTION")
check "DESCRIPTION and Cargo.toml agree" equal "$requirement" "$needed"

fake_rust "$scratch/old" 1.56.0
fake_rust "$scratch/exact" "$needed.0"
fake_rust "$scratch/new" 1.999.0

PATH=$scratch/old:$bare
new_package
check "an old compiler is refused" fails r_install
check "the version needed" has "$log" "rustc $needed or newer"
check "the version found" has "$log" "1.56.0"
check "nothing was compiled" lacks "$log" "entrypoint.o"

# Only rustc is old: cargo would call it, so cargo's own number is no help.
mkdir "$scratch/mixed"
cp "$scratch/new/cargo" "$scratch/old/rustc" "$scratch/mixed/"
PATH=$scratch/mixed:$bare
check "an old rustc under a new cargo is refused" fails configure
check "the version found" has "$log" "rustc 1.56.0"

PATH=$scratch/exact:$bare
check "the minimum itself is enough" configure
check "and is shown" has "$log" "$needed.0"

# An old one on the PATH, a new one from rustup.
mkdir -p "$HOME/.cargo/bin"
cp "$scratch/new/cargo" "$scratch/new/rustc" "$HOME/.cargo/bin/"
PATH=$scratch/old:$bare
new_package
check "the one in ~/.cargo/bin is used" r_install
check "its version is shown" has "$log" "1.999.0"
check "its rustc is found first" has "$log.env" "PATH=$HOME/.cargo/bin:"

PATH=$scratch/exact:$bare
check "PATH comes first if new enough" configure
check "and is shown" has "$log" "$needed.0"

# The tool that other scripts ask.
cargo=$(cd "$package" && Rscript --vanilla tools/msrv.R)
check "tools/msrv.R prints the cargo to use" equal "$cargo" "$scratch/exact/cargo"

finish
