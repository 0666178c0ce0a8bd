# Every switch of configure, and what the Rust code is told about it.
. "$(dirname "$0")/lib.sh"

fake_rust "$scratch/new" 1.999.0
PATH=$scratch/new:$bare

# told NAME VALUE: as written into the generated makefile.
told() { has "$package/src/Makevars" "GGMLR_BUILD_$1='$2'"; }

new_package
check "configure without switches" configure
check "report" has "$log" "ggmlR build"
check "simd by default" told SIMD runtime
check "vulkan by default" told VULKAN no
check "hard exit by default" told HARD_EXIT 0
check "no arguments" told CONFIGURE_ARGS ""
check "cargo's version" told CARGO 1.999.0
check "rustc's version" told RUSTC 1.999.0
check "target" told TARGET x86_64-unknown-linux-gnu
check "profile" told PROFILE release
check "RUSTFLAGS are not touched" lacks "$package/src/Makevars" RUSTFLAGS
check "no feature" lacks "$package/src/Makevars" "--features"

check "--with-simd" configure --with-simd
check "simd" told SIMD native
check "target-cpu" has "$package/src/Makevars" "-C target-cpu=native"
check "report of simd" has "$log" "SIMD       native"

check "--with-vulkan" configure --with-vulkan
check "vulkan" told VULKAN "requested, not in this version"
check "report of vulkan" has "$log" "Vulkan     requested, not in this version"

check "--without-vulkan" configure --without-vulkan
check "vulkan" told VULKAN no
check "report of arguments" has "$log" "options    --without-vulkan"

check "--enable-hard-exit" configure --enable-hard-exit
check "hard exit" told HARD_EXIT 1
check "feature" has "$package/src/Makevars" "--features hard-exit"
check "report of hard exit" has "$log" "hard exit  yes"

check "the last word wins" configure --with-vulkan --with-simd --without-vulkan --without-simd
check "vulkan" told VULKAN no
check "simd" told SIMD runtime

check "values" configure --with-vulkan=no --with-simd=ON --enable-hard-exit=1
check "vulkan" told VULKAN no
check "simd" told SIMD native
check "hard exit" told HARD_EXIT 1
check "a wrong value is refused" fails configure --with-simd=perhaps
check "and named" has "$log" "--with-simd is 'perhaps'"

check "an unknown option does not stop" configure --prefix=/usr --with-simd
check "but is reported" has "$log" "ignored    --prefix=/usr"
check "the known one acts" told SIMD native

check "odd characters survive" configure "--with-odd=a'b \$HOME #x"
check "quoted" has "$package/src/Makevars" "a'\\''b \$\$HOME #x"

check "--help" configure --help
check "--help names the switches" has "$log" "--enable-hard-exit"

# All together, through R, as far as cargo.
new_package
RUSTFLAGS="-C debuginfo=0"
export RUSTFLAGS
check "install with all switches" r_install \
  --configure-args="--with-vulkan --with-simd --enable-hard-exit"
unset RUSTFLAGS
check "simd reaches cargo" has "$log.env" "GGMLR_BUILD_SIMD=native"
check "vulkan reaches cargo" has "$log.env" \
  "GGMLR_BUILD_VULKAN=requested, not in this version"
check "hard exit reaches cargo" has "$log.env" "GGMLR_BUILD_HARD_EXIT=1"
check "arguments reach cargo" has "$log.env" \
  "GGMLR_BUILD_CONFIGURE_ARGS=--with-vulkan --with-simd --enable-hard-exit"
check "RUSTFLAGS are kept" has "$log.env" \
  "RUSTFLAGS=-C debuginfo=0 -C target-cpu=native"
check "feature reaches cargo" has "$log.args" "--features hard-exit"

new_package
check "install without switches" r_install
check "no RUSTFLAGS" lacks "$log.env" "RUSTFLAGS"
check "no hard exit" lacks "$log.args" "hard-exit"

finish
