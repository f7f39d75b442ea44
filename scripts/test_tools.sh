#!/usr/bin/env bash
# Installs what the tests need besides Rust: Python packages in target/test-venv, including Node, and the
# packages of the official MCP clients and of the page's tests. A second run reuses them.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

venv=$target/test-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# A pip from some years ago fails on the extras of a package.
"$venv/bin/pip" install --quiet --disable-pip-version-check --upgrade "pip>=24"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/python/requirements.txt

# On a system where the packaged Node does not run, install Node separately or skip these tests.
PATH=$venv/bin:$PATH
npm --version >/dev/null 2>&1 || exit 0
for folder in tests/clients tests/page; do
  (
    cd "$folder"
    if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
      npm_config_cache=$target/npm-cache npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    fi
  )
done
