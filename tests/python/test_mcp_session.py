"""A long session over MCP stays inside its byte budget: benches/session_bytes.py, held to its limits.

Environment: LYRA_MCP_BIN names the binary; without it target/release and target/debug are tried.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))

import session_bytes  # noqa: E402


def binary() -> str:
    named = os.environ.get("LYRA_MCP_BIN")
    candidates = [Path(named)] if named else [
        ROOT / "target" / profile / "lyra-mcp" for profile in ("release", "debug")
    ]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate.resolve())
    pytest.fail(f"no server binary among {[str(c) for c in candidates]}; set LYRA_MCP_BIN")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(session_bytes.demo(binary(), tmp_path_factory.mktemp("demo")))


def test_no_reply_of_a_long_session_is_above_its_budget(demo: Path, tmp_path: Path) -> None:
    sizes = session_bytes.replay(binary(), Path(shutil.copy(demo, tmp_path)))
    replies = [(name, size) for name, size, _ in sizes if name not in ("tools/list", "resources/list")]
    assert len(replies) >= 150
    over = [(name, size) for name, size in replies if size > session_bytes.BUDGET]
    assert not over, over
    # The session did ask for more than fits: some replies were cut to the budget.
    assert sum(size > 0.8 * session_bytes.BUDGET for _, size in replies) >= 5
    median = sorted(size for _, size in replies)[len(replies) // 2]
    assert median < 8 * 1024, median


def test_a_typical_session_takes_less_than_everything_at_once(demo: Path, tmp_path: Path) -> None:
    db = Path(shutil.copy(demo, tmp_path))
    at_once = session_bytes.everything(db, binary())
    sizes = session_bytes.typical(binary(), db)
    replies = [size for name, size, _ in sizes if "/" not in name]
    assert len(replies) >= 40
    assert sum(replies) < 0.25 * min(at_once.values()), (sum(replies), at_once)
