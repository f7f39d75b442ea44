#!/usr/bin/env bash
# Builds the wheel (release, unless other maturin options are given) and the source distribution, checks that
# both contain the required files, installs the wheel into a clean virtual environment, runs the README's
# Python example unchanged, and type-checks it against the package. Prints the sizes. With CHECK_SDIST=1 it
# also builds and installs the source distribution, which takes as long as the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- --release
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs the README's example unchanged in a folder with some papers; it must print claims.
run_example() {
  local python=$1 place=$2
  mkdir -p "$place/papers"
  cp examples/corpus/*.md "$place/papers"
  sed -n '/^```python$/,/^```$/p' README.md | sed '/^```/d' > "$place/example.py"
  (cd "$place" && "$python" example.py && "$python" -m lyra --db evidence.db verify)
}

python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet --disable-pip-version-check "maturin>=1.9,<2"
rm -rf "$target/wheels"
"$work/build/bin/maturin" build --quiet --strip "$@" --manifest-path lyra-py/Cargo.toml --out "$target/wheels"
"$work/build/bin/maturin" sdist --manifest-path lyra-py/Cargo.toml --out "$target/wheels" > "$work/sdist.log" 2>&1 || {
  cat "$work/sdist.log"
  exit 1
}
ls -l "$target"/wheels

python3 - "$target"/wheels/*.whl "$target"/wheels/*.tar.gz <<'PY'
import sys
import tarfile
import zipfile

wheel, sdist = zipfile.ZipFile(sys.argv[1]), tarfile.open(sys.argv[2])
licences = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE-embedder.md", "NOTICE-page.md", "THIRD-PARTY-LICENSES"]
package = ["__init__.py", "__main__.py", "_errors.py", "_reply.py", "_lyra.pyi", "py.typed"]
wanted = {
    "wheel": [f"dist-info/licenses/licenses/{name}" for name in licences]
    + [f"lyra/{name}" for name in package]
    + ["dist-info/METADATA", "dist-info/entry_points.txt"],
    "sdist": [f"lyra-py/licenses/{name}" for name in licences]
    + [f"python/lyra/{name}" for name in package]
    + ["PKG-INFO", "Cargo.lock", "pyproject.toml", "models/static-minilm-256.lyt", "models/NOTICE.md"]
    + [f"{crate}/Cargo.toml" for crate in ("lyra-core", "lyra-mcp", "lyra-py")],
}
held = {
    "wheel": {entry.filename: entry.file_size for entry in wheel.infolist()},
    "sdist": {entry.name: entry.size for entry in sdist.getmembers() if entry.isfile()},
}
for kind, names in wanted.items():
    for name in names:
        sizes = [size for held_name, size in held[kind].items() if held_name.endswith(name)]
        # A dangling link would be empty.
        assert sizes and (any(sizes) or name.endswith("py.typed")), f"the {kind} is without {name}"
(metadata,) = [name for name in held["wheel"] if name.endswith("METADATA")]
text = wheel.read(metadata).decode()
for line in ("License-Expression: MIT OR Apache-2.0", "Requires-Python: >=3.10", "Name: lyra-evidence"):
    assert f"\n{line}\n" in text, f"the metadata are without {line}"
print(f"wheel: {len(held['wheel'])} files, sdist: {len(held['sdist'])} files, licences in both")
PY

python3 -m venv "$work/clean"
"$work/clean/bin/pip" install --quiet --disable-pip-version-check "$target"/wheels/*.whl
run_example "$work/clean/bin/python" "$work/here"
"$work/clean/bin/lyra-mcp" --version
"$work/clean/bin/lyra-evidence" --version
"$work/clean/bin/pip" list --format=freeze --disable-pip-version-check | tr '\n' ' '
echo
"$work/clean/bin/pip" install --quiet --disable-pip-version-check mypy
"$work/clean/bin/mypy" --strict "$work/here/example.py"

if [ "${CHECK_SDIST:-}" ]; then
  python3 -m venv "$work/from-source"
  mkdir "$work/source"
  tar xzf "$target"/wheels/*.tar.gz -C "$work/source" --strip-components 1
  # Files from an archive have old timestamps, so cargo would reuse what it built from this folder.
  find "$work/source" -type f -exec touch {} +
  CARGO_TARGET_DIR=$target "$work/from-source/bin/pip" install --quiet --disable-pip-version-check "$work/source"
  run_example "$work/from-source/bin/python" "$work/there"
  echo "the source distribution builds and runs"
fi
