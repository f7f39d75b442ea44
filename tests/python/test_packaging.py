"""The bundle, server.json, the archives and the names that a release gives them.

The bundle and server.json are checked against the official schemas where these are installed: the manifest's
comes with the npm package @anthropic-ai/mcpb (tests/clients), the registry's with the Python package skillsaw.
Without them the tests of validity are skipped, unless LYRA_TEST_CLIENTS=required.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import resources
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from raw_server import CORPUS, PATIENCE, ROOT, binary, clean_environment

BUNDLE = ROOT / "scripts" / "bundle.py"
RELEASE = ROOT / "scripts" / "release.py"
MCPB = ROOT / "tests" / "clients" / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
# Where nothing is published: a name that is nobody's.
REPOSITORY = "owner-of-nothing/name-of-nothing"
TARGETS = {
    "x86_64-unknown-linux-gnu": "linux",
    "aarch64-unknown-linux-gnu": "linux",
    "x86_64-apple-darwin": "darwin",
    "aarch64-apple-darwin": "darwin",
    "x86_64-pc-windows-msvc": "win32",
}
HERE = "x86_64-unknown-linux-gnu"


def script(path: Path, *arguments: object, fails: bool = False) -> str:
    ended = subprocess.run(
        [sys.executable, path, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, check=False,
    )
    assert (ended.returncode != 0) == fails, ended.stderr
    return ended.stderr if fails else ended.stdout


def missing(what: str):
    """Skips, or fails where everything has to be there."""
    if os.environ.get("LYRA_TEST_CLIENTS") == "required":
        pytest.fail(what)
    pytest.skip(what)


def load(path: Path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("bundle")
    printed = script(BUNDLE, "bundle", "--binary", binary(), "--target", HERE, "--repository", REPOSITORY, "--out", out)
    path = Path(printed.strip())
    assert path.parent == out
    return path


@pytest.fixture(scope="module")
def manifest(bundle) -> dict:
    with zipfile.ZipFile(bundle) as archive:
        return json.loads(archive.read("manifest.json"))


@pytest.fixture(scope="module")
def server_json(bundle, tmp_path_factory) -> dict:
    out = tmp_path_factory.mktemp("registry") / "server.json"
    script(BUNDLE, "server", "--repository", REPOSITORY, "--bundle", bundle, "--out", out)
    return json.loads(out.read_text("utf-8"))


def filled(text: str, values: dict[str, object]) -> str:
    """A text of the manifest, as a client fills it in."""
    return re.sub(r"\$\{([\w.]+)\}", lambda name: str(values[name[1]]), text)


def talk(command: list[str], environment: dict, folder: Path) -> dict:
    """What tools/list answers to a client that starts the server with this command."""
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    ended = subprocess.run(
        command, input="".join(json.dumps(message) + "\n" for message in messages), capture_output=True,
        text=True, cwd=folder, env=clean_environment(folder) | environment, timeout=PATIENCE, check=False,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, ended.stdout.splitlines())}
    assert 2 in answers, ended.stderr
    return answers[2]["result"]


def test_the_server_starts_from_the_unpacked_bundle(bundle, manifest, tmp_path):
    place = tmp_path / "an extension"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(place)
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    # Python's zipfile leaves the modes out; unzip and clients set them.
    for name, mode in modes.items():
        (place / name).chmod(stat.S_IMODE(mode))
    assert stat.S_IMODE(modes[manifest["server"]["entry_point"]]) == 0o755

    configured = manifest["server"]["mcp_config"]
    database, home = tmp_path / "graph.db", tmp_path / "data"
    # Both settings may be left empty.
    for answers in [{"database": "", "corpus": ""}, {"database": database, "corpus": CORPUS}]:
        values = {"__dirname": place} | {f"user_config.{name}": value for name, value in answers.items()}
        command = [filled(word, values) for word in [configured["command"], *configured["args"]]]
        environment = {name: filled(value, values) for name, value in configured["env"].items()}
        tools = talk(command, environment | {"XDG_DATA_HOME": str(home)}, tmp_path)["tools"]
        assert [tool["name"] for tool in tools] == [tool["name"] for tool in manifest["tools"]]
        assert len(tools) == 19
    assert (home / "lyra" / "lyra.db").is_file() and database.is_file()


def test_the_manifest_has_what_a_client_needs(manifest):
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    assert manifest["version"] == version
    assert manifest["server"]["type"] == "binary"
    assert manifest["compatibility"]["platforms"] == ["linux"]
    # Every setting that the command names has a field for the user, and each field is used.
    named = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert named == manifest["user_config"].keys() == {"database", "corpus"}
    # A client that finds no value and no default would pass the placeholder on.
    assert all(field["default"] == "" and not field["required"] for field in manifest["user_config"].values())
    assert all("description" in tool for tool in manifest["tools"])


def test_the_bundle_is_the_same_every_time(tmp_path):
    fake = tmp_path / "program"
    fake.write_bytes(b"the same program")
    arguments = ["bundle", "--binary", fake, "--described-by", binary(), "--target", HERE, "--out", tmp_path]
    first, second = (Path(script(BUNDLE, *arguments).strip()).read_bytes() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("target", TARGETS)
def test_there_is_a_bundle_for_every_platform(target, tmp_path):
    fake = tmp_path / "program"
    fake.write_bytes(b"for another machine")
    arguments = ["--binary", fake, "--described-by", binary(), "--target", target, "--out", tmp_path]
    with zipfile.ZipFile(script(BUNDLE, "bundle", *arguments).strip()) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert archive.read(manifest["server"]["entry_point"]) == fake.read_bytes()
    assert manifest["compatibility"]["platforms"] == [TARGETS[target]]
    assert manifest["server"]["entry_point"].endswith(".exe") == (TARGETS[target] == "win32")
    assert "repository" not in manifest


def test_a_program_that_is_no_server_makes_no_bundle(tmp_path):
    said = script(BUNDLE, "bundle", "--binary", shutil.which("true"), "--target", HERE, "--out", tmp_path, fails=True)
    assert "did not answer" in said
    assert not list(tmp_path.glob("*.mcpb"))


def test_the_official_validator_accepts_the_bundle(bundle, tmp_path):
    node = shutil.which("node")
    if not node or not MCPB.is_file():
        missing("npm ci in tests/clients installs the validator of bundles")
    subprocess.run([node, MCPB, "unpack", bundle, tmp_path / "unpacked"], check=True, capture_output=True)
    ended = subprocess.run(
        [node, MCPB, "validate", tmp_path / "unpacked" / "manifest.json"], capture_output=True, text=True, check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_server_json_names_the_packages(bundle, manifest, server_json):
    assert server_json["name"] == "io.github.owner-of-nothing/lyra-evidence"
    assert server_json["version"] == manifest["version"]
    python, archive = server_json["packages"]
    assert (python["registryType"], python["identifier"], python["runtimeHint"]) == ("pypi", "lyra-evidence", "uvx")
    assert archive["registryType"] == "mcpb"
    assert archive["fileSha256"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert archive["identifier"].endswith(f"/v{manifest['version']}/{bundle.name}")
    # The package must name the server in its README, in these words.
    assert server_json["name"] in script(BUNDLE, "name", "--repository", REPOSITORY)


def test_server_json_fits_the_schema_of_the_registry(server_json):
    if importlib.util.find_spec("skillsaw") is None:
        missing("skillsaw brings the schema of the registry")
    day = server_json["$schema"].split("/")[-2]
    folder = resources.files("skillsaw.schemas.mcp_registry") / f"v{day.replace('-', '_')}"
    schema = json.loads((folder / "server.schema.json").read_text("utf-8"))
    assert schema["$id"] == server_json["$schema"]
    Draft7Validator(schema).validate(server_json)


@pytest.mark.parametrize("repository", ["", "name", "https://github.com/a/b", "a/b/c", "a/b c"])
def test_a_repository_is_an_owner_and_a_name(repository, tmp_path):
    assert "expected OWNER/NAME" in script(BUNDLE, "name", "--repository", repository, fails=True)


@pytest.mark.parametrize("target", TARGETS)
def test_cargo_binstall_finds_the_archive_and_the_program_in_it(target, tmp_path):
    package = tomllib.loads((ROOT / "lyra-mcp" / "Cargo.toml").read_text("utf-8"))["package"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    rules = package["metadata"]["binstall"]
    rules = rules | rules["overrides"].get(target, {})
    is_windows = "windows" in target
    values = {
        "repo": "https://example.org", "name": package["name"], "bin": package["name"], "version": version,
        "target": target, "archive-suffix": f".{rules['pkg-fmt']}", "binary-ext": ".exe" if is_windows else "",
    }
    url, program = (
        re.sub(r"\{ ([a-z-]+) \}", lambda name: values[name[1]], rules[key]) for key in ("pkg-url", "bin-dir")
    )
    fake = tmp_path / "program"
    fake.write_bytes(b"a program")
    path = Path(script(RELEASE, "archive", "--binary", fake, "--target", target, "--out", tmp_path).strip())
    assert url == f"https://example.org/releases/download/v{version}/{path.name}"
    if rules["pkg-fmt"] == "zip":
        with zipfile.ZipFile(path) as archive:
            held, content = archive.namelist(), archive.read(program)
    else:
        with tarfile.open(path) as archive:
            held, content = archive.getnames(), archive.extractfile(program).read()
            assert archive.getmember(program).mode == 0o755
    assert content == fake.read_bytes()
    assert {name.rsplit("/", 1)[1] for name in held} >= {"LICENSE-MIT", "THIRD-PARTY-LICENSES", "NOTICE-embedder.md"}


def test_the_checksums_are_those_of_the_files(tmp_path):
    (tmp_path / "a.tgz").write_bytes(b"a")
    script(RELEASE, "checksums", tmp_path)
    script(RELEASE, "checksums", tmp_path)
    sums = (tmp_path / "SHA256SUMS").read_text("utf-8")
    assert sums == f"{hashlib.sha256(b'a').hexdigest()}  a.tgz\n"


def test_only_the_tag_of_the_version_is_released():
    release = load(RELEASE)
    right = f"v{release.version()}"
    assert any("the tag is v9.9.9" in problem for problem in release.problems("v9.9.9", REPOSITORY))
    assert not any("the tag is" in problem for problem in release.problems(right, REPOSITORY))
    assert any("repository in lyra-mcp/Cargo.toml" in problem for problem in release.problems(right, REPOSITORY))


def test_the_workflow_builds_every_target_twice_and_pins_its_actions():
    text = WORKFLOW.read_text("utf-8")
    for target in TARGETS:
        assert text.count(f"target: {target}") == 2, target
    actions = re.findall(r"uses: (\S+)(.*)", text + (WORKFLOW.parent / "ci.yml").read_text("utf-8"))
    assert actions
    for action, comment in actions:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action


def test_the_package_has_a_command_of_its_own_name():
    project = tomllib.loads((ROOT / "lyra-py" / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"][project["name"]] == project["scripts"]["lyra-mcp"] == "lyra.__main__:main"


def test_every_client_of_the_installation_page_is_told_the_same_command():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    blocks = re.findall(r"```(json|toml)\n(.*?)```", page, re.DOTALL)
    servers = []
    for language, text in blocks:
        ((_, named),) = (json.loads if language == "json" else tomllib.loads)(text).items()
        servers.append(named["lyra"])
    words = {"command": "uvx", "args": ["lyra-evidence"], "env": {"LYRA_CORPUS": "/path/to/papers"}}
    assert len(servers) == 4
    assert all(words.items() <= server.items() for server in servers)
    command = f"claude mcp add lyra --env LYRA_CORPUS=/path/to/papers -- {words['command']} {words['args'][0]}"
    assert command in page
