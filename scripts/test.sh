#!/usr/bin/env bash
# Runs every test of the project: Rust (unit, integration, documentation), the Python package, and
# the official MCP clients, the Inspector and the conformance suite against the server. Needs cargo,
# python3 with venv, and a C compiler; scripts/test_tools.sh installs the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

venv=$target/test-venv
bash scripts/test_tools.sh

# Some Rust tests compare their results with those of Python packages. .ci/run compiles the
# examples. lyra-py has no Rust tests; it is included so that dependencies are compiled once, with
# the features that the wheel needs.
export LYRA_TEST_PYTHON=$venv/bin/python
programs=$(cargo test --workspace --all-features --tests --no-run --message-format json-render-diagnostics | python3 -c '
import json, pathlib, sys
for line in map(json.loads, sys.stdin):
    if line.get("executable") and line["profile"]["test"]:
        print(line["target"]["name"], pathlib.Path(line["manifest_path"]).parent, line["executable"], sep="\t")')
# The servers' tests spend a third of the time waiting for processes, so they run in parallel with all others;
# two threads for each group keep two cores busy.
run_tests() {
  local name folder program failed=0
  while IFS=$'\t' read -r name folder program; do
    printf '\n== %s\n' "$program"
    (cd "$folder" && "$program" --test-threads 2) </dev/null || failed=1
  done
  return "$failed"
}
aside=$(mktemp)
trap 'rm -f "$aside"' EXIT
grep -v $'^mcp\t' <<<"$programs" | run_tests >"$aside" 2>&1 &
grep $'^mcp\t' <<<"$programs" | run_tests || failed=1
wait "$!" || failed=1
cat "$aside"
[ -z "${failed:-}" ]
cargo test --workspace --all-features --doc

# The wheel as users get it, except for optimisation.
wheels=$target/test-wheels
rm -rf "$wheels"
"$venv/bin/maturin" build --quiet --profile dev --strip --manifest-path lyra-py/Cargo.toml --out "$wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheels"/*.whl

PATH=$venv/bin:$PATH
# Tests with deadlines run alone.
alone=tests/python/test_lyra_waiting.py
export LYRA_MCP_BIN=$target/debug/lyra-mcp
"$venv/bin/python" -m pytest -q -p no:cacheprovider "$alone"
"$venv/bin/python" -m pytest -q -n 3 --dist loadfile -p no:cacheprovider --ignore="$alone" tests/python

[ "${LYRA_TEST_CLIENTS:-}" = apart ] || bash scripts/test_clients.sh
