"""The return values of calls: rows, and reports whose entries are attributes."""

from __future__ import annotations

import copy
import html
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from lyra import _frames
from lyra._errors import LyraError

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from typing_extensions import Self

    from lyra._lyra import EvidenceGraph

_SHOWN_ROWS = 50
_SHOWN_CHARACTERS = 300


# Stored text is untrusted: it is escaped, and a notebook does not render formulas in it.
_AS_IT_IS = "tex2jax_ignore mathjax_ignore"


def _table(rows: str, head: str = "") -> str:
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<table class="{_AS_IT_IS}">{head}<tbody>{rows}</tbody></table>'


def _title(text: Any) -> str:
    return f'<p class="{_AS_IT_IS}"><b>{_cell(text)}</b></p>'


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return html.escape(text)


class Rows(list[dict[str, Any]]):
    """The rows of a query: a list of dicts that knows its columns and whether there are more.

    A slice of them, such as `rows[:10]`, keeps this information.

    >>> import lyra
    >>> rows = lyra.EvidenceGraph("evidence.db").query("SELECT 1 AS a, 'x' AS b")
    >>> rows
    Rows([{'a': 1, 'b': 'x'}])
    >>> rows.columns, rows.truncated
    (['a', 'b'], False)
    >>> rows.column("b")
    ['x']
    """

    columns: list[str]
    """The names of the columns, in order; also set if there are no rows."""
    truncated: bool
    """Whether rows were left out."""
    next_offset: int | None
    """The offset of the next row, if rows were left out."""
    elapsed_ms: int
    """Milliseconds that the query took."""

    def __init__(
        self,
        rows: Iterable[dict[str, Any]] = (),
        columns: Iterable[str] | None = None,
        truncated: bool = False,
        next_offset: int | None = None,
        elapsed_ms: int = 0,
    ) -> None:
        super().__init__(rows)
        if columns is None:
            columns = dict.fromkeys(name for row in self for name in row)
        self.columns = list(columns)
        self.truncated = truncated
        self.next_offset = next_offset
        self.elapsed_ms = elapsed_ms

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice, /) -> Self: ...
    def __getitem__(self, place: SupportsIndex | slice, /) -> dict[str, Any] | Self:
        if isinstance(place, slice):
            part = type(self)(super().__getitem__(place))
            part.__dict__.update(self.__dict__, columns=list(self.columns))
            return part
        return super().__getitem__(place)

    def copy(self) -> Self:
        """The same rows in a new list.

        >>> import lyra
        >>> rows = lyra.Rows([{"a": 1}])
        >>> rows.copy() == rows, rows.copy() is rows
        (True, False)
        """
        return self[:]

    def column(self, name: str) -> list[Any]:
        """The values of one column.

        >>> import lyra
        >>> lyra.Rows([{"a": 1}, {"a": 2}]).column("a")
        [1, 2]
        """
        if name not in self.columns:
            known = ", ".join(self.columns)
            raise KeyError(f"no column {name!r}; there are: {known}")
        return [row.get(name) for row in self]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas data frame; pandas has to be installed.

        Integers are int64, or Int64 if some values are missing, so that none is rounded; integers and
        floats together are float64; values without a common type are object. If the query has more
        rows than these, a warning says so.

        >>> import lyra
        >>> frame = lyra.Rows([{"a": 1, "b": 2**53 + 1}, {"a": 2, "b": None}]).to_pandas()
        >>> [str(kind) for kind in frame.dtypes], int(frame["b"][0])
        (['int64', 'Int64'], 9007199254740993)
        """
        self._warn_of_the_rest()
        return _frames.to_pandas({name: self.column(name) for name in self.columns})

    def _warn_of_the_rest(self) -> None:
        if self.truncated:
            message = f"only {len(self)} of the rows are here: use all=True, or continue from offset {self.next_offset}"
            warnings.warn(message, stacklevel=3)

    def to_arrow(self, schema: pyarrow.Schema | None = None) -> pyarrow.Table:
        """The rows as a pyarrow table; pyarrow has to be installed.

        A column is int64, float64, string or bool, depending on its values; integers and floats
        together are float64. A column with texts and numbers, or with numbers that float64 would
        round, raises an InvalidInputError, and a column without values has the type null. Use
        `schema` to set the types, for example so that all pages of a query have the same ones. The
        table has the columns of the schema; a string column accepts values of any type.

        >>> import lyra
        >>> lyra.Rows([{"a": 1}, {"a": 2.5}]).to_arrow()["a"].to_pylist()
        [1.0, 2.5]
        >>> import pyarrow
        >>> schema = pyarrow.schema({"a": pyarrow.string()})
        >>> lyra.Rows([{"a": 1}, {"a": "x"}, {"a": None}]).to_arrow(schema)["a"].to_pylist()
        ['1', 'x', None]
        """
        self._warn_of_the_rest()
        return _frames.to_arrow({name: self.column(name) for name in self.columns}, schema)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Except for the rows, which are the first argument of the constructor, everything is an attribute.
        return (type(self), (list(self),), dict(self.__dict__))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_cell(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in self.columns) + "</tr>"
            for row in self[:_SHOWN_ROWS]
        )
        more = len(self) - _SHOWN_ROWS
        said = [f"{len(self)} row" + ("" if len(self) == 1 else "s")]
        if more > 0:
            said.append(f"{more} not shown")
        if self.truncated:
            said.append("there are more rows, from offset " + str(self.next_offset))
        return (
            f"{_table(body, head)}<p>{_cell('; '.join(said))}</p>"
        )


class Hits(Rows):
    """The results of a search, best first: a list of dicts with id, similarity, text_preview,
    page_id, url and title; the last three are None where they are not known.

    >>> import lyra
    >>> graph = lyra.EvidenceGraph("evidence.db")
    >>> task = graph.add_task("Night work shortens sleep")
    >>> claim = graph.add_claim(task, "Night shifts shorten sleep by an hour")
    >>> hits = graph.search("sleep after night shifts")
    >>> hits[0]["id"] == claim
    True
    >>> hits.total_searched, hits.model_id == graph.models().embedder
    (1, True)
    """

    total_searched: int
    """How many vectors were compared."""
    skipped: int
    """Rows in scope without a comparable vector: another model, another length, or none yet."""
    model_id: str
    """Which model embedded the query."""
    hint: str | None
    """If nothing was found: why, and what to try."""

    @classmethod
    def _of(cls, reply: Mapping[str, Any]) -> Hits:
        columns = ["id", "similarity", "text_preview", "page_id", "url", "title"]
        hits = cls(({**dict.fromkeys(columns), **hit} for hit in reply["results"]), columns)
        hits.total_searched = reply["total_searched"]
        hits.skipped = reply["skipped"]
        hits.model_id = reply["model_id"]
        hits.hint = reply.get("hint")
        return hits


class Report(dict[str, Any]):
    """The result of a call, as a dict; its entries can be read as attributes, at every depth.

    >>> import lyra
    >>> report = lyra.EvidenceGraph("evidence.db").verify()
    >>> report["ok"], report.ok, report.violations
    (True, True, [])
    """

    def __init__(
        self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /, **named: Any
    ) -> None:
        given = dict(entries, **named)
        super().__init__({name: _reports(entry) for name, entry in given.items()})

    def copy(self) -> Self:
        """The same entries in a new report.

        >>> import lyra
        >>> report = lyra.Report(ok=True)
        >>> report.copy() == report, report.copy() is report, report.copy().ok
        (True, False, True)
        """
        return type(self)(self)

    def __or__(self, other: Any) -> Any:
        return type(self)({**self, **other}) if isinstance(other, dict) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return type(self)({**other, **self}) if isinstance(other, dict) else NotImplemented

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no entry {name!r}; there are: {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attributes are for reading; set the entry [{name!r}]")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{_cell(name)}</th><td>{_html(entry)}</td></tr>"
            for name, entry in self.items()
        )
        return _table(rows)


class Status(Report):
    """The status of a task.

    Its entries are those of the tool get_status in docs/tools.md: task_id, hypothesis, status;
    progress (searches, queue, jobs), metrics (total_pages, total_claims …), budget, milestones,
    waiting_for, pending_auth_count, warnings, changed; evidence_summary, which is None if
    nothing was found yet; and with detail="full" searches_detail, queue_items, jobs_by_kind,
    pending_auth_detail, blocked_domains, domain_overrides, recent_errors.

    >>> import lyra
    >>> graph = lyra.EvidenceGraph("evidence.db")
    >>> status = graph.status(graph.create_task("Night work shortens sleep"))
    >>> status.status, status.metrics.total_claims, status.is_idle
    ('created', 0, True)
    """

    def __init__(
        self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]] = (), /, **named: Any
    ) -> None:
        super().__init__(entries, **named)
        # Present as soon as there are claims; reading it earlier is not an error.
        self.setdefault("evidence_summary", None)

    @property
    def is_idle(self) -> bool:
        """Whether the task has no job waiting or running.

        >>> import lyra
        >>> graph = lyra.EvidenceGraph("evidence.db")
        >>> task = graph.create_task("Night work shortens sleep")
        >>> _ = graph.queue_targets(task, ["shift work sleep"])
        >>> graph.status(task).is_idle
        False
        """
        queue = self["progress"]["queue"]
        rests = all(each["status"] in ("not_enqueued", "drained") for each in self["waiting_for"])
        return rests and not (queue["depth"] or queue["running"])

    def _repr_html_(self) -> str:
        metrics, budget = self["metrics"], self["budget"]
        queue = self["progress"]["queue"]
        facts: dict[str, Any] = {
            "task": f"{self['task_id']} ({self['status']})",
            "queue": f"{queue['running']} running, {queue['depth']} waiting",
            "found": f"{metrics['total_pages']} pages, {metrics['total_fragments']} fragments, "
            f"{metrics['total_claims']} claims",
            "budget": f"{budget['pages_used']} of {budget['pages_limit']} pages, "
            f"{budget['seconds_used']} of {budget['seconds_limit']} seconds",
        }
        summary = self.get("evidence_summary")
        if summary:
            facts["evidence"] = (
                f"{summary['supporting_edges']} supporting, {summary['refuting_edges']} refuting, "
                f"{summary['neutral_edges']} neutral"
            )
        if self["waiting_for"]:
            facts["waiting for"] = ", ".join(entry["kind"] for entry in self["waiting_for"])
        if self["warnings"]:
            facts["warnings"] = "; ".join(self["warnings"])
        rows = "".join(
            f"<tr><th>{_cell(name)}</th><td>{_cell(fact)}</td></tr>" for name, fact in facts.items()
        )
        return _title(self["hypothesis"]) + _table(rows)


class GraphDiff(Report):
    """What changed between two states of a graph: the result of `diff` and `changes_since`.

    >>> import datetime, lyra
    >>> graph = lyra.EvidenceGraph("evidence.db")
    >>> diff = graph.changes_since(datetime.date(2026, 1, 1))
    >>> diff.total, diff.before
    (0, '2026-01-01T00:00:00.000Z')
    """

    before: str
    """The file with the older state, or the time from which changes are counted."""
    after: str
    """The file with the newer state."""
    new_claims: list[Report]
    """Claims that are only in the newer state."""
    vanished_claims: list[Report]
    """Claims that were only in the older state."""
    rejected_claims: list[Report]
    """Claims that have been rejected."""
    restored_claims: list[Report]
    """Rejected claims that have been restored."""
    flipped_stances: list[Report]
    """Claims whose stance to the hypothesis has changed."""
    moved_claims: list[Report]
    """Claims whose confidence changed by at least 0.05, with the verdicts that changed it."""
    corrected_verdicts: list[Report]
    new_contradictions: list[Report]
    """Passages that refute a claim now and did not before."""
    retracted_works: list[Report]
    """Publications that are marked as retracted now and were not before."""
    superseded_texts: list[Report]
    """Pages that have a newer text."""
    new_sources: list[Report]
    """Pages that had not been read before."""

    @property
    def total(self) -> int:
        """The number of changes of all kinds.

        >>> import lyra
        >>> lyra.EvidenceGraph("evidence.db").changes_since("2026-01-01").total
        0
        """
        return sum(len(entry) for entry in self.values() if isinstance(entry, list))


@dataclass(frozen=True)
class Document:
    r"""A parsed document: the result of `lyra.extract`.

    >>> import lyra
    >>> document = lyra.extract("# Sleep\n\nNight work shortens sleep.", "text/markdown")
    >>> document.title, document.text
    ('Sleep', 'Sleep\n\nNight work shortens sleep.')
    >>> fragment = document.fragments[1]
    >>> document.text[fragment.char_start : fragment.char_end] == fragment.text_content
    True
    """

    title: str | None
    """The title that the document states."""
    text: str
    """The readable text, without navigation and adverts."""
    fragments: list[Report]
    """Paragraph-sized slices of the text, with the columns of the table `fragments`."""
    page_type: str = "html"
    """html, pdf, jats, markdown, text or jsonl."""
    meta: Report = field(default_factory=lambda: Report())
    """The metadata that the document states: authors, year, venue, doi, references …"""
    warnings: list[str] = field(default_factory=list)
    """What was left out or guessed."""

    @classmethod
    def _of(cls, reply: dict[str, Any]) -> Document:
        fragments = [Report(fragment) for fragment in reply.pop("fragments")]
        meta = Report(reply.pop("meta"))
        return cls(fragments=fragments, meta=meta, **reply)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts and lists, which `json.dumps` accepts.

        >>> import json, lyra
        >>> document = lyra.extract("# Sleep", "text/markdown")
        >>> json.loads(json.dumps(document.to_dict()))["fragments"][0]["text_content"]
        'Sleep'
        """
        return {part.name: _plain(getattr(self, part.name)) for part in fields(self)}

    def _repr_html_(self) -> str:
        columns = ["fragment_type", "heading_context", "text_content"]
        return _title(self.title) + Rows(self.fragments, columns)._repr_html_()


def _reports(entry: Any) -> Any:
    if isinstance(entry, dict) and not isinstance(entry, Report):
        return Report(entry)
    if isinstance(entry, list):
        return [_reports(item) for item in entry]
    return entry


def _plain(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {name: _plain(value) for name, value in entry.items()}
    if isinstance(entry, list):
        return [_plain(item) for item in entry]
    return entry


_LATEST_TASKS = 5


def _graph_html(graph: EvidenceGraph) -> str:
    """How a notebook shows a graph: its path, the numbers of its rows, its latest tasks."""
    kinds = ("tasks", "pages", "fragments", "claims", "edges")
    counts = ", ".join(f"(SELECT count(*) FROM {kind}) AS {kind}" for kind in kinds)
    latest = "SELECT id, status, hypothesis FROM tasks ORDER BY created_at DESC, id DESC LIMIT ?"
    try:
        (count,) = graph.query(f"SELECT {counts}")
        tasks = graph.query(latest, [_LATEST_TASKS])
    except LyraError as error:
        return _title(graph.path) + f"<p>{_cell(error)}</p>"
    facts = "".join(f"<th>{_cell(kind)}</th><td>{_cell(count[kind])}</td>" for kind in kinds)
    shown = tasks._repr_html_() if tasks else ""
    return _title(graph.path) + _table(f"<tr>{facts}</tr>") + shown


def _html(entry: Any) -> str:
    if isinstance(entry, Report):
        return entry._repr_html_()
    if isinstance(entry, list) and entry and all(isinstance(item, Report) for item in entry):
        return Rows(entry)._repr_html_()
    return _cell(entry)
