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
                is_ours = callable(value) or inspect.isdatadescriptor(value) or isinstance(value, classmethod)
                if not member.startswith("_") and is_ours:
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
    assert examples.examples, f"{name} has no example"
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=said.append)
    assert not said, "".join(said)


def test_nothing_public_is_left_out() -> None:
    kinds = {kind: [name for name, thing in NAMES.items() if kind(thing)] for kind in (inspect.isclass, callable)}
    classes = kinds[inspect.isclass]
    assert {"EvidenceGraph", "Rows", "Hits", "Report", "Status", "GraphDiff", "Document", "LyraError"} <= set(classes)
    assert sum(name.startswith("EvidenceGraph.") for name in NAMES) >= 45
    # Everything that a class of ours adds to its bases is there, and so is every name of the package.
    for name in (name for name in dir(lyra) if not name.startswith("_")):
        assert name in lyra.__all__, f"{name} is public and not in __all__"
    for owner in classes:
        thing = getattr(lyra, owner)
        inherited = {name for base in thing.__mro__[1:] for name in vars(base)}
        for member in set(dir(thing)) - inherited:
            if not member.startswith("_") and not isinstance(getattr(thing, member), str):
                assert f"{owner}.{member}" in NAMES, f"{owner}.{member}"
        if owner.endswith("Error"):
            assert (inspect.getdoc(thing) or "") != (inspect.getdoc(thing.__base__) or ""), owner
