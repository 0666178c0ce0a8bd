# configure.win and its makefile. Nothing here needs Windows: the fake compiler
# knows the target, and the variables are those that a Windows user would set.
. "$(dirname "$0")/lib.sh"

fake_rust "$scratch/new" 1.999.0
PATH=$scratch/new:$bare
makevars=$package/src/Makevars.win

configure_win() {
  (cd "$package" && exec sh ./configure.win) >"$log" 2>&1
}
told() { has "$makevars" "GGMLR_BUILD_$1='$2'"; }

new_package
check "without the gnu target it stops" fails configure_win
check "and says how to get it" has "$log" \
  "rustup target add x86_64-pc-windows-gnu"

mkdir "$scratch/rust-libdir"
check "configure.win" configure_win
check "simd by default" told SIMD runtime
check "vulkan by default" told VULKAN no
check "hard exit by default" told HARD_EXIT 0
check "the target is gnu" has "$makevars" "TARGET = x86_64-pc-windows-gnu"
check "cargo is given the target" has "$makevars" '--target $(TARGET)'
check "the library is looked for below the target" \
  has "$makevars" 'LIBDIR = rust/target/$(TARGET)/release'
check "the linker" has "$makevars" \
  "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER='x86_64-w64-mingw32.static.posix-gcc.exe'"
check "the stand-in for libgcc_eh" has "$makevars" "/libgcc_eh.a"
check "and its place" has "$makevars" "LIBRARY_PATH="
check "no flag of the GNU linker" lacks "$makevars" "--gc-sections"
check "the exported name" has "$package/src/ggmlR-win.def" "R_init_ggmlR"

for word in 1 yes true on TRUE Yes; do
  GGML_USE_SIMD=$word GGML_USE_VULKAN=$word GGML_VK_HARD_EXIT=$word configure_win
  check "GGML_USE_SIMD=$word" told SIMD native
  check "GGML_USE_VULKAN=$word" told VULKAN "requested, not in this version"
  check "GGML_VK_HARD_EXIT=$word" told HARD_EXIT 1
done
check "target-cpu" has "$makevars" "-C target-cpu=native"
check "feature" has "$makevars" "--features hard-exit"
check "what was given" told CONFIGURE_ARGS \
  "GGML_USE_VULKAN=Yes GGML_USE_SIMD=Yes GGML_VK_HARD_EXIT=Yes"
for word in 0 no false off; do
  GGML_USE_SIMD=$word GGML_USE_VULKAN=$word GGML_VK_HARD_EXIT=$word configure_win
  check "GGML_USE_SIMD=$word" told SIMD runtime
  check "GGML_USE_VULKAN=$word" told VULKAN no
  check "GGML_VK_HARD_EXIT=$word" told HARD_EXIT 0
done
wrong() { GGML_USE_SIMD=2 configure_win; }
check "another value is refused" fails wrong
check "and named" has "$log" "GGML_USE_SIMD is '2'"

# The variables belong to Windows; elsewhere the switches of configure do.
GGML_USE_SIMD=1 configure
check "no effect on other systems" has "$package/src/Makevars" \
  "GGMLR_BUILD_SIMD='runtime'"

# rustup's directory, and a name with .exe.
mkdir -p "$scratch/user/.cargo/bin"
cp "$scratch/new/cargo" "$scratch/user/.cargo/bin/cargo.exe"
cp "$scratch/new/rustc" "$scratch/user/.cargo/bin/rustc.exe"
PATH=$bare USERPROFILE=$scratch/user configure_win
check "cargo.exe in the user's profile" has "$log" \
  "$scratch/user/.cargo/bin/cargo.exe"

# The rule itself, as far as it can run here.
configure_win
(cd "$package/src" && make -f Makevars.win SHLIB=none.dll \
  rust/target/x86_64-pc-windows-gnu/release/libggmlr.a) >"$log" 2>&1
check "the rule makes the library" test -f \
  "$package/src/rust/target/x86_64-pc-windows-gnu/release/libggmlr.a"
check "the stand-in exists" test -f "$package/src/rust/target/libgcc_mock/libgcc_eh.a"
check "cargo gets its directory" has "$log.env" \
  ";$package/src/rust/target/libgcc_mock"
check "cargo gets the linker" has "$log.env" \
  "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32"
check "cargo gets the target" has "$log.args" "--target x86_64-pc-windows-gnu"

finish
