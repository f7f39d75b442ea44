#!/usr/bin/env bash
# Tests the evidence page in a headless Chromium. Needs node 20, npm and Chromium (the variable
# CHROMIUM, or /usr/bin/chromium as installed by Debian's package `chromium`). If one of them is
# missing, the script prints a message and exits successfully, or fails if LYRA_PAGE_TESTS=required.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
bash scripts/test_tools.sh
PATH=$target/test-venv/bin:$PATH
cd tests/page

without() {
  echo "test_page.sh: SKIPPED the evidence page's tests: $1"
  [ "${LYRA_PAGE_TESTS:-}" != required ] || exit 1
  exit 0
}
export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
command -v node >/dev/null || without "there is no node"
command -v npm >/dev/null || without "there is no npm"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || without "node is older than 20"
[ -x "$CHROMIUM" ] || without "there is no Chromium at $CHROMIUM"

npm test --silent
