#!/usr/bin/env bash
# Runs the examples of docs/scale.md on real engines: installs Ray and Dask next to the wheel that
# scripts/test.sh has built and tested, and compares the graphs. It is separate from scripts/test.sh because
# of the size of Ray. With the argument `spark`, it also tests Spark, which takes 460 MB more and needs Java
# 17 or newer.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/test-venv
if ! "$venv/bin/python" -c 'import lyra' 2>/dev/null; then
  echo "scripts/test_scale.sh: there is no wheel in $venv; run scripts/test.sh first" >&2
  exit 1
fi
install=("$venv/bin/pip" install --quiet --disable-pip-version-check)
engines="distributed ray"
"${install[@]}" -r tests/python/requirements-scale.txt
if [ "${1:-}" = spark ]; then
  "${install[@]}" -r tests/python/requirements-spark.txt
  engines+=" pyspark"
fi
LYRA_TEST_SCALE=$engines "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/python/test_lyra_scale.py
