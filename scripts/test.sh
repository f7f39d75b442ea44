#!/usr/bin/env bash
# Every test of the project: Rust (unit, integration, documentation), the Python extension, and the
# official MCP client against the server. Needs cargo, python3 with venv, and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

venv=$target/test-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/python/requirements.txt

# Some Rust tests compare their results with those of Python packages.
LYRA_TEST_PYTHON=$(realpath "$target")/test-venv/bin/python \
  cargo test --workspace --exclude lyra-py --all-features
cargo build -p lyra-mcp
cargo build -p lyra-py --features extension-module

package=$target/test-package
rm -rf "$package"
cp -r lyra-py/python "$package"
cp "$target/debug/lib_lyra.so" "$package/lyra/_lyra.abi3.so" 2>/dev/null ||
  cp "$target/debug/lib_lyra.dylib" "$package/lyra/_lyra.abi3.so"
LYRA_MCP_BIN=$(realpath "$target/debug/lyra-mcp") PYTHONPATH=$(realpath "$package") \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/python
