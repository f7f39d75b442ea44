#!/usr/bin/env bash
# Fuzzes each target for a given time: scripts/fuzz.sh [SECONDS [TARGET ...]], 60 seconds by default. Needs a
# nightly compiler and a C++ compiler, and reports if one is missing. See fuzz/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true

skip() {
  echo "scripts/fuzz.sh: SKIPPED: $1" >&2
  [ "${LYRA_FUZZ:-}" != required ]
  exit
}
rustc +nightly --version >/dev/null 2>&1 || skip "there is no nightly toolchain"
command -v c++ >/dev/null || skip "there is no C++ compiler"

# The flags that `cargo fuzz` sets, without a sanitizer: the code of this workspace is almost all
# safe Rust. The first flags add coverage of SQLite to the guard's target.
export CFLAGS="-fsanitize-coverage=trace-pc"
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16"
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
# An explicit target triple, so that build scripts and macros are not instrumented.
cargo +nightly build --manifest-path fuzz/Cargo.toml --release --bins --target "$host" ||
  skip "the fuzz targets cannot be built here"

python3 fuzz/seed.py lyra-core/src/store/guard/testdata/*.jsonl fuzz/corpus/query_guard
targets=("$@")
[ ${#targets[@]} -gt 0 ] ||
  mapfile -t targets < <(basename -s .rs fuzz/fuzz_targets/*.rs)
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
  # One of the targets changes its working directory.
  corpora=("$PWD/fuzz/corpus/$target")
  [ ! -d "fuzz/seeds/$target" ] || corpora+=("$PWD/fuzz/seeds/$target")
  options=(-max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 -max_len=16384
    -artifact_prefix="$PWD/fuzz/artifacts/$target/" -print_final_stats=1 -verbosity=0
    -seed="${LYRA_FUZZ_SEED:-0}")
  [ "$target" != query_guard ] || options+=(-dict=fuzz/sql.dict -max_len=4096)
  printf '\n== fuzz %s for %s s\n' "$target" "$seconds"
  "fuzz/target/$host/release/$target" "${options[@]}" "${corpora[@]}"
done
