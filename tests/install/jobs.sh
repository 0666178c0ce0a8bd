# Two jobs by default, as CRAN wants; another number if the user asks for one.
. "$(dirname "$0")/lib.sh"

fake_rust "$scratch/new" 1.999.0
PATH=$scratch/new:$bare

new_package
check "installs" r_install
check "-j 2 in the log" has "$log" "-j 2 --target-dir"
check "-j 2 reaches cargo" has "$log.args" "-j 2 "

new_package
MAKEFLAGS=-j3
export MAKEFLAGS
check "installs with MAKEFLAGS" r_install
check "MAKEFLAGS is respected" has "$log.args" "-j 3 "
check "make's own flags do not reach cargo" lacks "$log.env" "MAKEFLAGS"
unset MAKEFLAGS

# flags EXPECTED: what Makevars says.
flags() { has "$package/src/Makevars" "-j $1 --target-dir"; }
new_package
for pair in '-j4=4' '-j 4=4' '--jobs=5=5' '-k -j6=6' '-kj7=7' '-j=default' \
  '--no-print-directory=2' 'w -j8 --jobserver-auth=3,4=8' '-k=2'; do
  MAKEFLAGS=${pair%=*} configure
  check "MAKEFLAGS='${pair%=*}'" flags "${pair##*=}"
done

CARGO_BUILD_JOBS=5 configure
check "CARGO_BUILD_JOBS" flags 5
MAKEFLAGS=-j3 CARGO_BUILD_JOBS=5 configure
check "CARGO_BUILD_JOBS wins" flags 5
CARGO_BUILD_JOBS=0 configure
check "a useless number is passed over" flags 2

finish
