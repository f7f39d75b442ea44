#!/usr/bin/env bash
# The examples of docs/scale.md on real engines: installs Ray and Dask beside the wheel that scripts/test.sh has
# built and tested, and compares the graphs. Apart from scripts/test.sh because of the size of Ray.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/test-venv
if ! "$venv/bin/python" -c 'import lyra' 2>/dev/null; then
  echo "scripts/test_scale.sh: there is no wheel in $venv; run scripts/test.sh first" >&2
  exit 1
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/python/requirements-scale.txt
LYRA_TEST_SCALE=required "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/python/test_lyra_scale.py
