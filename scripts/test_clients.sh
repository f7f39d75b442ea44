#!/usr/bin/env bash
# Tests the server built by scripts/test.sh with the official MCP clients, the Inspector and the conformance
# suite. Needs Node 22.19 or newer, which comes with the Python packages of scripts/test_tools.sh. Without it
# the script prints a message and exits successfully, or fails if LYRA_TEST_CLIENTS=required.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
PATH=$target/test-venv/bin:$PATH
if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)'; then
  echo "scripts/test_clients.sh: SKIPPED tests/clients: there is no Node 22.19 or newer" >&2
  [ "${LYRA_TEST_CLIENTS:-}" != required ]
  exit
fi
cd tests/clients
LYRA_MCP_BIN=$target/debug/lyra-mcp node --test
