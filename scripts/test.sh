#!/usr/bin/env bash
# Every test of the project: Rust (unit, integration, documentation), the Python package, and the
# official MCP clients, the Inspector and the conformance suite against the server. Needs cargo,
# python3 with venv, and a C compiler; Node comes with the Python packages.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

venv=$target/test-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# A pip of some years ago fails on the extras of a package.
"$venv/bin/pip" install --quiet --disable-pip-version-check --upgrade "pip>=24"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/python/requirements.txt

# Some Rust tests compare their results with those of Python packages.
# Clippy compiles the examples; nothing is gained by linking them. lyra-py has no test of its own in Rust:
# with it, dependencies are compiled with the features that the wheel needs, and once.
export LYRA_TEST_PYTHON=$venv/bin/python
cargo test --workspace --all-features --tests
cargo test --workspace --all-features --doc

# The wheel as users get it, but for optimisation.
wheels=$target/test-wheels
rm -rf "$wheels"
"$venv/bin/maturin" build --quiet --profile dev --strip --manifest-path lyra-py/Cargo.toml --out "$wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl

# The official TypeScript clients, and what validates bundles. A system that the packaged Node does not run on
# may bring its own.
PATH=$venv/bin:$PATH
node=
if node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)'; then
  node=1
  (
    cd tests/clients
    if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
      npm_config_cache=$target/npm-cache npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    fi
  )
fi
# What has deadlines, or works for minutes, goes alone.
alone=(tests/python/test_lyra_waiting.py tests/python/test_mcp_*.py)
export LYRA_MCP_BIN=$target/debug/lyra-mcp
"$venv/bin/python" -m pytest -q -p no:cacheprovider "${alone[@]}"
"$venv/bin/python" -m pytest -q -n 2 --dist loadfile -p no:cacheprovider "${alone[@]/#/--ignore=}" tests/python

if [ -z "$node" ]; then
  echo "scripts/test.sh: SKIPPED tests/clients: there is no Node 22.19 or newer" >&2
  [ "${LYRA_TEST_CLIENTS:-}" != required ]
  exit
fi
cd tests/clients
LYRA_MCP_BIN=$target/debug/lyra-mcp node --test
