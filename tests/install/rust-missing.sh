# No cargo, no rustc: the installation stops at once and says what to do.
. "$(dirname "$0")/lib.sh"

PATH=$bare
new_package
check "R CMD INSTALL fails without cargo" fails r_install
check "names cargo" has "$log" "cargo"
check "names rustc" has "$log" "rustc"
check "names the version needed" has "$log" "rustc $needed or newer"
check "says what was found" has "$log" "no cargo on the PATH"
check "gives the Debian packages" has "$log" "apt-get install rustc-web cargo-web"
check "gives rustup" has "$log" "https://sh.rustup.rs"
check "nothing was compiled" lacks "$log" "entrypoint.o"

# A cargo without a rustc is no compiler either.
fake_rust "$scratch/half" 1.99.0
rm "$scratch/half/rustc"
PATH=$scratch/half:$bare
new_package
check "configure fails without rustc" fails configure
check "says that rustc is absent" has "$log" "with no working rustc"

# A cargo that cannot start, as rustup's without a toolchain.
fake_rust "$scratch/broken" 1.99.0
printf '#!/bin/sh\nexit 1\n' >"$scratch/broken/cargo"
PATH=$scratch/broken:$bare
check "configure fails with a broken cargo" fails configure
check "says that cargo does not work" has "$log" "no working cargo"

finish
