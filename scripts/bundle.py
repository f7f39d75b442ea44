"""Builds the files from which MCP clients and the MCP registry install Lyra: a bundle around a
given binary (`.mcpb`), and `server.json`.

    python3 scripts/bundle.py bundle --binary target/release/lyra-mcp --target x86_64-unknown-linux-gnu \\
        --out dist
    python3 scripts/bundle.py server --repository OWNER/NAME --bundle dist/*.mcpb --out dist/server.json
    python3 scripts/bundle.py name --repository OWNER/NAME

The version and the tools come from the binary itself, which `bundle` starts. A binary for another platform
cannot be started: `--described-by` then names one for this platform, built from the same source. No
repository is hard-coded: `--repository` fills in every address.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MANIFEST_VERSION = "0.3"
SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PACKAGE = "lyra-evidence"
TITLE = "Lyra evidence engine"
# The registry accepts at most 100 characters.
SUMMARY = "Evidence graph for research agents: every claim leads back to the exact words of its source"
DETAILS = """\
State a hypothesis. Lyra searches documents, extracts claims, and judges every claim against what other \
sources say. The result is an evidence graph in one SQLite file on your computer.

Lyra works offline with the small models that it ships with. Replies name the models that were used."""
KEYWORDS = ["evidence", "research", "citations", "fact-checking", "sqlite"]
LICENCES = ["LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-LICENSES"]
NOTICES = {
    "NOTICE-embedder.md": "lyra-core/models/NOTICE.md",
    "NOTICE-page.md": "lyra-core/src/export/page/THIRD_PARTY.md",
}
# Words in Rust targets, with the platform names of the manifest.
PLATFORMS = {"linux": "linux", "darwin": "darwin", "windows": "win32"}
# The timestamp of archive entries, fixed so that the same binary gives the same bundle.
TIME = (1980, 1, 1, 0, 0, 0)


def platform_of(target: str) -> str:
    """The platform of a Rust target, as named in the manifest."""
    for word, platform in PLATFORMS.items():
        if word in target:
            return platform
    raise SystemExit(f"{target}: expected a Rust target with one of {', '.join(PLATFORMS)} in its name")


def ask(binary: Path) -> dict[str, Any]:
    """A server's description of itself: its name and version, and its tools."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bundle", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]
    with tempfile.TemporaryDirectory() as folder:
        # The settings of the person who builds the bundle must not affect the answer.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LYRA_")}
        ended = subprocess.run(
            [binary.resolve(), "--db", str(Path(folder) / "graph.db")],
            input="".join(json.dumps(message) + "\n" for message in messages), capture_output=True,
            encoding="utf-8", cwd=folder, env=environment | {"XDG_CONFIG_HOME": folder}, timeout=120, check=False,
        )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    results = {answer["id"]: answer["result"] for answer in answers if "result" in answer}
    if results.keys() != {0, 1}:
        raise SystemExit(f"{binary} did not answer initialize and tools/list: {ended.stderr.strip()}")
    return {"server": results[0]["serverInfo"], "tools": results[1]["tools"]}


def manifest(about: dict[str, Any], target: str, repository: str | None) -> dict[str, Any]:
    """The manifest.json of a bundle for one platform."""
    platform = platform_of(target)
    program = "server/lyra-mcp.exe" if platform == "win32" else "server/lyra-mcp"
    made: dict[str, Any] = {
        "manifest_version": MANIFEST_VERSION,
        "name": PACKAGE,
        "display_name": TITLE,
        "version": about["server"]["version"],
        "description": SUMMARY,
        "long_description": DETAILS,
        "author": {"name": "The Lyra authors"},
        "license": "MIT OR Apache-2.0",
        "keywords": KEYWORDS,
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {
                "command": "${__dirname}/" + program,
                "args": [],
                # An empty variable counts as not set, whereas an empty argument would be an error.
                "env": {"LYRA_DB": "${user_config.database}", "LYRA_CORPUS": "${user_config.corpus}"},
            },
        },
        # The title states what a tool does; its description advises the agent that calls it.
        "tools": [{"name": tool["name"], "description": tool["title"]} for tool in about["tools"]],
        # The server provides the prompts; the manifest could contain only fixed texts of them.
        "prompts_generated": True,
        "compatibility": {"platforms": [platform]},
        "user_config": {
            "database": {
                "type": "string",
                "title": "Database file",
                "description": "The file that holds the evidence graph. It is created if it does not exist; "
                               "its folder must exist. Leave it empty for lyra/lyra.db in your data folder.",
                # Not every client replaces ${HOME} in a default.
                "default": "",
                "required": False,
            },
            "corpus": {
                "type": "directory",
                "title": "Folder of documents",
                "description": "Documents to search: .md .rst .org .html .pdf .xml .txt .jsonl. "
                               "Leave it empty to search none.",
                "default": "",
                "required": False,
            },
        },
    }
    if repository:
        made["repository"] = {"type": "git", "url": f"https://github.com/{repository}"}
    return made


def write_bundle(binary: Path, described_by: Path, target: str, out: Path, repository: str | None) -> Path:
    """Writes the bundle of a binary into the folder `out`."""
    made = manifest(ask(described_by), target, repository)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{PACKAGE}-{made['version']}-{target}.mcpb"
    held = [("manifest.json", json.dumps(made, indent=2, ensure_ascii=False).encode() + b"\n", 0o644)]
    held.append((made["server"]["entry_point"], binary.read_bytes(), 0o755))
    held += [(name, (ROOT / name).read_bytes(), 0o644) for name in LICENCES]
    held += [(name, (ROOT / source).read_bytes(), 0o644) for name, source in NOTICES.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for name, content, mode in held:
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode is read, and the program stays executable.
            entry.external_attr = (0o100000 | mode) << 16
            bundle.writestr(entry, content)
    return path


def checked_repository(text: str) -> str:
    """Checks an OWNER/NAME against GitHub's rules."""
    if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected OWNER/NAME")
    return text


def registry_name(repository: str) -> str:
    """The server's name in the registry, whose namespace belongs to the owner of the repository."""
    return f"io.github.{repository.split('/')[0]}/{PACKAGE}"


def version_of(bundle: Path) -> str:
    """The version in the manifest of a bundle."""
    with zipfile.ZipFile(bundle) as archive:
        version: str = json.loads(archive.read("manifest.json"))["version"]
    return version


def server_json(repository: str, bundles: list[Path]) -> dict[str, Any]:
    """The entry of the registry: the Python package first, because it fits every platform."""
    versions = {version_of(bundle) for bundle in bundles}
    if len(versions) != 1:
        raise SystemExit(f"expected bundles of one version, found {sorted(versions) or 'none'}")
    (version,) = versions
    environment = [
        {"name": "LYRA_DB", "format": "filepath",
         "description": "The database file; by default lyra/lyra.db in the user's data folder"},
        {"name": "LYRA_CORPUS", "format": "filepath", "description": "A folder of documents to search"},
    ]
    packages: list[dict[str, Any]] = [{
        "registryType": "pypi",
        "identifier": PACKAGE,
        "version": version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "environmentVariables": environment,
    }]
    for bundle in bundles:
        packages.append({
            "registryType": "mcpb",
            "identifier": f"https://github.com/{repository}/releases/download/v{version}/{bundle.name}",
            "version": version,
            "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
            "transport": {"type": "stdio"},
        })
    return {
        "$schema": SERVER_SCHEMA,
        "name": registry_name(repository),
        "title": TITLE,
        "description": SUMMARY,
        "version": version,
        "repository": {"url": f"https://github.com/{repository}", "source": "github"},
        "packages": packages,
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    bundle = commands.add_parser("bundle", help="write a bundle around a binary; prints its path")
    bundle.add_argument("--binary", type=Path, required=True, help="the lyra-mcp binary to pack")
    bundle.add_argument("--target", required=True, help="the Rust target that it was built for")
    bundle.add_argument("--described-by", type=Path, help="the lyra-mcp binary that gives version and tools")
    bundle.add_argument("--repository", type=checked_repository, help="OWNER/NAME on GitHub")
    bundle.add_argument("--out", type=Path, default=Path("dist"), help="a folder")
    server = commands.add_parser("server", help="write server.json")
    server.add_argument("--repository", type=checked_repository, required=True)
    server.add_argument("--bundle", type=Path, nargs="+", required=True)
    server.add_argument("--out", type=Path, default=Path("server.json"), help="a file")
    name = commands.add_parser("name", help="print the line that the README of the Python package needs: "
                                            "the registry accepts a package only if its README has it")
    name.add_argument("--repository", type=checked_repository, required=True)
    return parser.parse_args()


def main() -> None:
    """Runs the command line."""
    given = arguments()
    if given.command == "bundle":
        described_by = given.described_by or given.binary
        print(write_bundle(given.binary, described_by, given.target, given.out, given.repository))
    elif given.command == "server":
        text = json.dumps(server_json(given.repository, given.bundle), indent=2) + "\n"
        given.out.write_text(text, "utf-8")
    else:
        sys.stdout.write(f"\n<!-- mcp-name: {registry_name(given.repository)} -->\n")


if __name__ == "__main__":
    main()
