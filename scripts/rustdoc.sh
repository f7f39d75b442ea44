#!/usr/bin/env bash
# Use as RUSTDOC for `cargo test --doc`: builds the documentation of a crate with warnings as errors, then
# tests its examples. `cargo doc` would compile every dependency a second time.
set -euo pipefail
if [[ " $* " == *" --test "* ]]; then
  rest=("$@")
  words=()
  while ((${#rest[@]})); do
    case ${rest[0]} in
    --test) ;;
    --test-*) rest=("${rest[@]:1}") ;; # and its value
    *) words+=("${rest[0]}") ;;
    esac
    rest=("${rest[@]:1}")
  done
  rustdoc "${words[@]}" --out-dir "${CARGO_TARGET_DIR:-target}/doc" -D warnings
fi
exec rustdoc "$@"
