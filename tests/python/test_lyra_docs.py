"""Every public name has a docstring, and every docstring has an example that runs."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

# Examples that want a package which Lyra does without.
WANTED = {"Rows.to_pandas": "pandas", "Rows.to_arrow": "pyarrow"}


def public() -> Iterator[tuple[str, Any]]:
    """What the package offers: its names, and what its own classes add to their bases."""
    for name in lyra.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(lyra, name)
        yield name, thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or inspect.isdatadescriptor(value)):
                    yield f"{name}.{member}", value


NAMES = dict(public())


@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in WANTED:
        pytest.importorskip(WANTED[name])
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(NAMES[name])
    assert text, f"{name} has no docstring"
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    if not examples.examples:
        # What is obvious of a class is shown by the example of the class.
        owner = NAMES.get(name.rpartition(".")[0])
        assert owner is not None and name.rpartition(".")[2] in (inspect.getdoc(owner) or ""), (
            f"{name} has no example"
        )
        return
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=said.append)
    assert not said, "".join(said)
