"""The graph as Parquet: DuckDB answers every view as SQLite does, and the graph comes back whole."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_mcp_client import binary

duckdb = pytest.importorskip("duckdb")
lyra = pytest.importorskip("lyra", reason="the extension is not on PYTHONPATH")

ROOT = Path(__file__).parents[2]
HOSTILE = ["a'b\"c", "x,y\r\n\tz", "値🙂é\u202e", "NULL", "50% {x} \\", "\u2028 --; DROP", "1"]
YEAR = 2026


def random_graph(seed: int):
    """Lines of a graph with every type of row, gaps and hostile text."""
    rng = random.Random(seed)

    def maybe(value: Any, share: float = 0.7) -> Any:
        return value if rng.random() < share else None

    def word() -> str:
        return rng.choice(HOSTILE) + str(rng.randrange(5))

    tasks = ["task_1", "t/2 é=%", "Task 3"][: 1 + seed % 3]
    pages, fragments, claims = range(14), range(40), range(22)
    for n, task in enumerate(tasks):
        yield {"type": "task", "id": task, "hypothesis": word(), "created_at": f"2026-01-0{n + 1}T00:00:00Z"}
    works = [n for n in pages if rng.random() < 0.7]
    for n in works:
        yield {"type": "work", "canonical_id": f"w{n}", "title": maybe(word()), "year": maybe(rng.randrange(2005, YEAR + 1)),
               "doi": maybe(f"10.1/{n}"), "venue": maybe(word()), "is_retracted": rng.random() < 0.2, "is_open_access": maybe(True)}
        for place in range(rng.randrange(4)):
            yield {"type": "work_author", "canonical_id": f"w{n}", "position": place, "name": word()}
    for n in pages:
        yield {"type": "page", "id": f"p{n}", "url": f"https://{n % 5}.example/{n}", "domain": maybe(f"{n % 5}.example"),
               "title": maybe(word()), "canonical_id": f"w{n}" if n in works else None,
               "fetched_at": maybe("2026-01-01T00:00:00Z"), "near_duplicate_of": f"p{n - 1}" if n % 6 == 5 else None}
        if rng.random() < 0.3:
            source = rng.choice(["superseded_by", "reference_list"])
            yield {"type": "page_reference", "page_id": f"p{n}", "position": 0, "url": "https://x.example/", "citation_source": source}
    spans = {}
    for page in pages:
        text, place = "", 0
        for n in (n for n in fragments if n % len(pages) == page):
            passage = f"{word()} passage {n}"
            spans[n] = (len(text), len(text) + len(passage))
            text += passage + "\n\n"
            yield {"type": "fragment", "id": f"f{n}", "page_id": f"p{page}", "page_version": 1, "position": place,
                   "text_content": passage, "char_start": spans[n][0], "char_end": spans[n][1], "heading_context": maybe(word(), 0.3)}
            place += 1
        yield {"type": "page_text", "page_id": f"p{page}", "version": 1, "text": text}
    for n in claims:
        task = rng.choice(tasks)
        yield {"type": "claim", "id": f"c{n}", "task_id": task, "claim_text": f"{word()} claim {n}", "llm_claim_confidence": maybe(rng.random()),
               "extractor_id": maybe("e"), "claim_adoption_status": "adopted" if rng.random() < 0.8 else "not_adopted"}
        if rng.random() < 0.6:
            yield {"type": "hypothesis_stance", "claim_id": f"c{n}", "task_id": task, "relation": rng.choice(["supports", "refutes", "neutral"]),
                   "confidence": rng.choice([0.5, rng.random()]), "judge_id": rng.choice(["lyra-x", "human", "agent:a:b"])}
    yield from edges(rng, pages, fragments, claims, spans)
    for task in tasks:
        for page in rng.sample(pages, 6):
            yield {"type": "task_page", "task_id": task, "page_id": f"p{page}", "reason": "search", "depth": rng.randrange(3)}
        for n, reviewer in enumerate(["ann", "bob", "ann", "bob"]):
            yield {"type": "screening", "id": f"{task}-{n}", "task_id": task, "url": f"https://{n // 2}.example/{n // 2}", "page_id": f"p{n // 2}",
                   "revision": n + 1, "reviewer": reviewer, "decision": "exclude" if n % 3 else "include", "reason": maybe(word())}
    for model, length in [("small", 3), ("large", 8)]:
        for n in fragments[:9]:
            vector = [rng.uniform(-1, 1) for _ in range(length)]
            yield {"type": "embedding", "target_type": "fragment", "target_id": f"f{n}", "model_id": model, "vector": vector}


def edges(rng: random.Random, pages: range, fragments: range, claims: range, spans: dict):
    """Origins, verdicts of edges and of judges, and citations."""
    seen = set()

    def edge(kind: tuple[str, str], source: str, target: str, relation: str, **more: Any):
        group = relation if relation in ("origin", "cites") else "verdict"
        if (group, source, target) in seen:
            return
        seen.add((group, source, target))
        yield {"type": "edge", "id": f"e{len(seen):04}", "source_type": kind[0], "source_id": source, "target_type": kind[1],
               "target_id": target, "relation": relation, "created_at": f"2026-02-{rng.randrange(1, 28):02}T00:00:00Z"} | more

    for _ in range(20):
        fragment = rng.choice(fragments)
        start, end = spans[fragment]
        quote = {"quote_start": start + 2, "quote_end": end - 1} if rng.random() < 0.7 else {}
        yield from edge(("fragment", "claim"), f"f{fragment}", f"c{rng.choice(claims)}", "origin", **quote)
    for _ in range(110):
        fragment, claim = rng.choice(fragments), int(rng.random() ** 2 * (len(claims) - 4))
        relation = rng.choice(["supports", "refutes", "neutral"])
        confidence = rng.choice([None, 0.5, rng.random(), rng.randrange(8) / 8])
        judge = rng.choice(["lyra-a", "agent:a:b", "model-x", None])
        more = {"nli_edge_confidence": confidence, "judge_id": judge, "edge_human_corrected": rng.random() < 0.1}
        yield from edge(("fragment", "claim"), f"f{fragment}", f"c{claim}", relation, **more)
        if (fragment, claim) in seen:
            continue
        seen.add((fragment, claim))
        for who in rng.sample(["lyra-a", "lyra-b", "agent:a:b", "human", "model-x"], rng.randrange(4)):
            yield {"type": "verdict", "fragment_id": f"f{fragment}", "claim_id": f"c{claim}", "judge_id": who,
                   "relation": rng.choice(["supports", "refutes", "neutral"]), "confidence": rng.random(),
                   "created_at": f"2026-03-0{rng.randrange(1, 9)}T00:00:00Z"}
    for _ in range(30):
        citing, cited = rng.choice(pages), rng.choice(pages)
        yield from edge(("page", "page"), f"p{citing}", f"p{cited}", "cites", citation_source="link")


def make(folder: Path, lines) -> Path:
    """A database with these lines."""
    file, database = folder / "graph.jsonl", folder / "graph.db"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with lyra.EvidenceGraph(database) as graph:
        graph.import_jsonl(file)
    return database


@pytest.fixture(scope="module", params=["demo", "random 1 by task", "random 2"])
def graph_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str | None]:
    """A database, and how its export is split."""
    folder, (kind, *rest) = tmp_path_factory.mktemp("parquet"), request.param.split()
    if kind == "demo":
        # Three of the example's documents: for and against, and a page of references.
        (folder / "papers").mkdir()
        for name in ["examine.md", "mannucci-2021-meta-analysis.md", "savor-timi-53.md"]:
            shutil.copy(ROOT / "examples" / "corpus" / name, folder / "papers")
        words = ["demo", "--db", folder / "graph.db", "--corpus", folder / "papers"]
        subprocess.run([binary(), *words], check=True, capture_output=True)
        return folder / "graph.db", None
    return make(folder, random_graph(int(rest[0]))), "task" if "task" in rest else None


def in_duckdb(folder: Path) -> Any:
    connection = duckdb.connect()
    connection.execute("SET file_search_path = '" + str(folder).replace("'", "''") + "'")
    connection.execute((folder / "views.sql").read_text(encoding="utf-8"))
    return connection


def of_sqlite(graph: Any, view: str, params: dict) -> list[dict]:
    return [dict(row) for row in graph.view(view, params=params, all=True)]


def of_duckdb(connection: Any, view: str, params: dict) -> list[dict]:
    given = ", ".join(f"{name} := ?" for name in params)
    found = connection.execute(f"SELECT * FROM {view}({given})", list(params.values()))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(a, str) and isinstance(b, str) and a[:1] in ("{", "["):
        return a == b or json.loads(a) == json.loads(b)
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def questions(view: Any, graph: Any):
    """Values for the parameters of a view: none, each alone, and all together."""
    values: dict[str, list] = {"include_rejected": [True], "every_citation": [True], "current_year": [2019, YEAR], "relation": ["refutes", "neutral"]}
    for name, table in [("task_id", "tasks"), ("claim_id", "claims"), ("page_id", "pages")]:
        ids = graph.query(f"SELECT id FROM {table} ORDER BY id LIMIT 40")
        values[name] = [ids[n]["id"] for n in (0, len(ids) // 2)]
    values["claim_id"].append("nobody's")
    names = [parameter["name"] for parameter in view["parameters"]]
    required = {p["name"]: values[p["name"]][0] for p in view["parameters"] if p["required"]}
    year = {"current_year": YEAR} if "current_year" in names else {}
    yield required | year
    for name in names:
        for value in values[name]:
            yield required | year | {name: value}
    for n in (0, -1):
        yield {name: values[name][n] for name in names}
    if "include_rejected" in names:
        yield required | year | {name: values[name][0] for name in names if name != "claim_id"}


def test_duckdb_answers_as_sqlite(graph_of: tuple[Path, str | None], tmp_path: Path) -> None:
    filled = set()
    database, partition = graph_of
    with lyra.EvidenceGraph(database, read_only=True) as graph:
        graph.export(tmp_path / "tables", "parquet", partition_by=partition)
        connection = in_duckdb(tmp_path / "tables")
        for view in graph.views():
            name = view["name"]
            for params in questions(view, graph):
                expected, found = of_sqlite(graph, name, params), of_duckdb(connection, name, params)
                what = f"{name} {params}"
                assert len(found) == len(expected), what
                for place, (a, b) in enumerate(zip(found, expected, strict=True)):
                    assert list(a) == list(b), what
                    different = {column: (a[column], b[column]) for column in b if not same(a[column], b[column])}
                    assert not different, f"{what}, row {place}"
                if expected:
                    filled.add(name)
            if not any(parameter["required"] for parameter in view["parameters"]) and "current_year" not in str(view["parameters"]):
                plain = connection.execute(f"SELECT * FROM {name}").fetchall()
                assert plain == connection.execute(f"SELECT * FROM {name}()").fetchall()
        names = {view["name"] for view in graph.views()}
    if "graph.jsonl" in {path.name for path in database.parent.iterdir()}:
        assert names == filled, "a view without a row shows nothing"


def test_the_graph_comes_back(graph_of: tuple[Path, str | None], tmp_path: Path) -> None:
    database, partition = graph_of
    with lyra.EvidenceGraph(database) as graph, lyra.EvidenceGraph(tmp_path / "copy.db") as copy:
        written = graph.export(tmp_path / "tables", "parquet", partition_by=partition)
        assert written.written == graph.export(tmp_path / "graph.jsonl").written
        copy.import_parquet(tmp_path / "tables")
        assert copy.canonical_hash() == graph.canonical_hash()
        copy.export(tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_bytes() == (tmp_path / "graph.jsonl").read_bytes()


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    database = make(folder, random_graph(2))
    with lyra.EvidenceGraph(database, read_only=True) as graph:
        graph.export(folder / "tables", "parquet")
    return folder / "tables"


def test_pyarrow_reads_it(tables: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    edges = parquet.read_table(tables / "edges")
    assert edges.schema.field("relation").type == arrow.dictionary(arrow.int32(), arrow.string())
    assert edges.schema.field("edge_human_corrected").type == arrow.bool_()
    types = {}
    for file in sorted((tables / "embeddings").iterdir()):
        table = parquet.read_table(file)
        types[table["model_id"][0].as_py()] = table.schema.field("vector").type
    assert types["small"] == arrow.list_(arrow.float32(), 3)
    assert types["large"] == arrow.list_(arrow.float32(), 8)


def test_polars_reads_it(tables: Path) -> None:
    polars = pytest.importorskip("polars")
    claims = polars.scan_parquet(tables / "claims" / "**" / "*.parquet")
    by_task = claims.group_by("task_id").len().collect()
    assert by_task["len"].sum() == 22
    assert claims.collect_schema()["claim_adoption_status"] == polars.Categorical
    # What Polars writes comes back, whatever its own types are.
    pages = tables.parent / "polars"
    for table in ["tasks", "works", "pages"]:
        (pages / table).mkdir(parents=True)
        polars.read_parquet(tables / table / "part-0.parquet").write_parquet(pages / table / "rows.parquet", compression="snappy")
    polars.DataFrame({"id": ["task_z"], "hypothesis": ["z"]}).write_parquet(pages / "tasks" / "more.parquet", compression="zstd")
    with lyra.EvidenceGraph(tables.parent / "polars.db") as graph:
        with pytest.raises(lyra.InvalidInputError, match="tasks/more.parquet is compressed with ZSTD"):
            graph.import_parquet(pages)
        (pages / "tasks" / "more.parquet").unlink()
        assert graph.import_parquet(pages).inserted["page"] == 14


def test_the_command_line_reads_and_writes_it(tables: Path, tmp_path: Path) -> None:
    def run(*words: Any, code: int = 0) -> str:
        done = subprocess.run([binary(), *words], capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    run("export", "--db", tables.parent / "graph.db", "--format", "parquet", "--out", tmp_path / "out", "--partition-by", "task")
    run("import", "--db", tmp_path / "a.db", tmp_path / "out")
    assert run("hash", "--db", tmp_path / "a.db") == run("hash", "--db", tables.parent / "graph.db")
    script = run("views", "--dialect", "duckdb", "--dir", tables)
    connection = duckdb.connect()
    connection.execute(script)
    assert connection.execute("SELECT count(*) FROM v_contradictions()").fetchone()[0] > 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    refused = run("export", "--db", tmp_path / "a.db", "--format", "parquet", "--out", tmp_path / "mine", code=1)
    assert "notes.txt" in refused
    assert "panicked" not in run("import", "--db", tmp_path / "b.db", tmp_path / "mine", code=1)
    assert "--out" in run("export", "--db", tmp_path / "a.db", "--format", "parquet", code=2)
    assert "only parquet" in run("export", "--db", tmp_path / "a.db", "--partition-by", "task", code=1)


def test_the_examples_of_the_page_run(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    (tables.parent / "graph").symlink_to(tables)
    monkeypatch.chdir(tables.parent)
    page = (ROOT / "docs" / "parquet.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 3
    for example in examples:
        exec(compile(example, "docs/parquet.md", "exec"), {})
