#!/usr/bin/env bash
# Builds the wheel (release, unless other options of maturin are given), installs it into a clean
# virtual environment, runs the README's Python example as it stands, and checks the types of the
# package. Prints the size of the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- --release
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9,<2"
rm -rf "$target/wheels"
"$work/build/bin/maturin" build --quiet --strip "$@" --manifest-path lyra-py/Cargo.toml --out "$target/wheels"
ls -l "$target"/wheels/*.whl

python3 -m venv "$work/clean"
"$work/clean/bin/pip" install --quiet --disable-pip-version-check "$target"/wheels/*.whl
mkdir -p "$work/here/papers"
cp examples/corpus/*.md "$work/here/papers"
sed -n '/^```python$/,/^```$/p' README.md | sed '/^```/d' > "$work/here/example.py"
cd "$work/here"
"$work/clean/bin/python" example.py
"$work/clean/bin/python" -m lyra --db evidence.db verify
"$work/clean/bin/lyra-mcp" --version
"$work/clean/bin/pip" list --format=freeze --disable-pip-version-check | tr '\n' ' '
echo
