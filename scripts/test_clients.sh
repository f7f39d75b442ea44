#!/usr/bin/env bash
# The official MCP clients, the Inspector and the conformance suite against the server that scripts/test.sh has
# built. Needs Node 22.19 or newer, which comes with the Python packages of scripts/test_tools.sh; without it the
# script says so and ends well, unless LYRA_TEST_CLIENTS=required says that it must not.
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
