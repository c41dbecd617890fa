#!/usr/bin/env bash
# Builds the tests of the lower layers with the address and undefined-behaviour sanitizers, and runs them:
#   tests/sanitize.sh SOURCE FOLDER [TEST…]
# FOLDER keeps the build. Ends with 77 (skipped) where the compiler has no sanitizers.
set -euo pipefail
source=$1 folder=$2
shift 2
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(test-tensor test-autograd test-convert test-random test-registry test-nn test-optim test-gradients test-lowbit test-encoded test-lora test-quantized
  fuzz-idx fuzz-csv fuzz-npy fuzz-safetensors fuzz-checkpoint fuzz-state)

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int main (void) { return 0; }' >"$probe/probe.c"
if ! ${CC:-cc} -fsanitize=address,undefined "$probe/probe.c" -o "$probe/probe" 2>/dev/null || ! "$probe/probe"; then
  echo "no libasan or libubsan here"
  exit 77
fi

if [ ! -f "$folder/build.ninja" ]; then
  meson setup "$folder" "$source" -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Ddebug=true \
    -Dintrospection=disabled -Dvapi=disabled -Dexamples=false -Dsanitized_tests=false >"$probe/log" || { cat "$probe/log"; exit 1; }
fi

export ASAN_OPTIONS=detect_leaks=1:halt_on_error=1:abort_on_error=1
export UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
export LSAN_OPTIONS=suppressions=$source/tests/leaks.supp:print_suppressions=0
export G_SLICE=always-malloc
targets=()
for name in "${tests[@]}"; do
  targets+=("$(ninja -C "$folder" -t targets all | sed -n "s|^\(tests/.*/$name\): .*|\1|p" | head -1)")
done
ninja -C "$folder" "${targets[@]}" >"$probe/log" || { tail -30 "$probe/log"; exit 1; }
for target in "${targets[@]}"; do
  echo "== $target"
  G_TEST_SRCDIR=$source/$(dirname "$target") G_TEST_BUILDDIR=$folder/$(dirname "$target") "$folder/$target" >"$probe/log" 2>&1 ||
    { tail -60 "$probe/log"; exit 1; }
done
