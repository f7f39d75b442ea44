"""The platform-independent steps of a release.

    python3 scripts/release.py check --tag v0.1.0 --repository OWNER/NAME
    python3 scripts/release.py archive --binary target/release/lyra-mcp --target x86_64-unknown-linux-gnu --out dist
    python3 scripts/release.py checksums dist

`check` fails if the tag is not the version of the workspace, or if `repository` in lyra-mcp/Cargo.toml is not
the repository that the release comes from. `archive` packs a binary under the name to which
`[package.metadata.binstall]` in lyra-mcp/Cargo.toml resolves. `checksums` writes SHA256SUMS.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "lyra-mcp"
# The other files in an archive besides the binary.
BESIDE = {
    "README.md": "README.md",
    "LICENSE": "LICENSE",
    "LICENSE-APACHE": "LICENSE-APACHE",
    "LICENSE-MIT": "LICENSE-MIT",
    "THIRD-PARTY-LICENSES": "THIRD-PARTY-LICENSES",
    "NOTICE-embedder.md": "lyra-core/models/NOTICE.md",
    "NOTICE-page.md": "lyra-core/src/export/page/THIRD_PARTY.md",
}


def toml(path: str) -> dict[str, Any]:
    """Reads a TOML file of the repository."""
    return tomllib.loads((ROOT / path).read_text("utf-8"))


def version() -> str:
    """The version of every crate."""
    found: str = toml("Cargo.toml")["workspace"]["package"]["version"]
    return found


def problems(tag: str, repository: str) -> list[str]:
    """The reasons why this tag cannot be released."""
    found = []
    if tag != f"v{version()}":
        found.append(f"the tag is {tag}; expected v{version()}, the version in Cargo.toml")
    address = f"https://github.com/{repository}"
    written = toml("lyra-mcp/Cargo.toml")["package"].get("repository")
    if written != address:
        found.append(
            f"repository in lyra-mcp/Cargo.toml is {written}; expected {address}, "
            "from which cargo-binstall builds the addresses of the archives"
        )
    return found


def expand(template: str, target: str) -> str:
    """Expands a template of cargo-binstall, except for the part that names the repository."""
    is_windows = "windows" in target
    values = {
        "name": PACKAGE,
        "bin": PACKAGE,
        "version": version(),
        "target": target,
        "archive-suffix": ".zip" if is_windows else ".tgz",
        "binary-ext": ".exe" if is_windows else "",
    }
    for name, value in values.items():
        template = template.replace("{ " + name + " }", value)
    return template


def archive(binary: Path, target: str, out: Path) -> Path:
    """Packs a binary and the licences."""
    binstall = toml("lyra-mcp/Cargo.toml")["package"]["metadata"]["binstall"]
    path = out / expand(binstall["pkg-url"], target).rsplit("/", 1)[1]
    program = expand(binstall["bin-dir"], target)
    folder = program.rsplit("/", 1)[0]
    held = [(program, binary.read_bytes(), 0o755)]
    held += [(f"{folder}/{name}", (ROOT / source).read_bytes(), 0o644) for name, source in BESIDE.items()]
    out.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
            for name, content, _ in held:
                packed.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz", compresslevel=6) as tar:
            for name, content, mode in held:
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(content), mode
                tar.addfile(entry, io.BytesIO(content))
    return path


def checksums(folder: Path) -> str:
    """Lines in the format of `sha256sum --check`."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="fail if the tag cannot be released")
    check.add_argument("--tag", required=True)
    check.add_argument("--repository", required=True, help="OWNER/NAME on GitHub")
    pack = commands.add_parser("archive", help="pack a binary; prints the path")
    pack.add_argument("--binary", type=Path, required=True)
    pack.add_argument("--target", required=True, help="the Rust target that it was built for")
    pack.add_argument("--out", type=Path, default=Path("dist"))
    sums = commands.add_parser("checksums", help="write SHA256SUMS into a folder")
    sums.add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.command == "check":
        found = problems(given.tag, given.repository)
        raise SystemExit("\n".join(found) if found else None)
    if given.command == "archive":
        print(archive(given.binary, given.target, given.out))
    else:
        (given.folder / "SHA256SUMS").write_text(checksums(given.folder), "utf-8")


if __name__ == "__main__":
    main()
