"""Exports, read by the programs that they are for: each parses, and nothing is lost on the way.

The graph is small and full of characters that mean something to some format.
"""

import json
import subprocess

import bibtexparser
import networkx
import pytest
import rdflib
import rispy
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from pybtex.database import parse_string as read_bibtex
from test_mcp_client import binary

HOSTILE = '50 % of "A&B" {x} <b>_y_</b> \\cite{z} [t](http://e/) 血糖値 #1 ~ ^ $'


def lines():
    yield {"type": "task", "id": "task_00000001", "hypothesis": "Walking lowers glucose"}
    for n in range(12):
        work = {"type": "work", "canonical_id": f"doi:10.1/{n}", "title": f"{HOSTILE} {n}", "year": 2000 + n}
        yield work | {"doi": f"10.1/{n}_x", "venue": "Journal & Co.", "is_retracted": n == 3}
        for place, name in enumerate(["Ada Byron", "Beethoven, Ludwig van", "WHO", "山田太郎"]):
            yield {"type": "work_author", "canonical_id": f"doi:10.1/{n}", "position": place, "name": name}
        yield {"type": "page", "id": f"p{n}", "url": f"https://a.example/{n}?q={{}}&r=%20", "canonical_id": f"doi:10.1/{n}"}
    yield {"type": "page", "id": "plain", "url": "https://b.example/", "title": HOSTILE, "fetched_at": "2026-01-02T03:04:05Z"}
    for n in [*range(12), "lain"]:
        yield {"type": "fragment", "id": f"f{n}", "page_id": f"p{n}", "text_content": f"{HOSTILE} {n}"}
    for n in range(5):
        yield {"type": "claim", "id": f"c{n}", "task_id": "task_00000001", "claim_text": f"{HOSTILE} {n}"}
        yield edge(f"f{n}", f"c{n}", "origin")
        for other in range(5, 12):
            yield edge(f"f{other}", f"c{n}", ["supports", "refutes", "neutral"][other % 3], nli_edge_confidence=0.75)
    yield {"type": "edge", "id": "cites", "source_type": "page", "source_id": "p0", "target_type": "page", "target_id": "p1", "relation": "cites"}


def edge(fragment, claim, relation, **more):
    ends = {"source_type": "fragment", "source_id": fragment, "target_type": "claim", "target_id": claim}
    return {"type": "edge", "id": f"{fragment}-{claim}-{relation}", "relation": relation} | ends | more


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    database = folder / "a.db"
    graph = folder / "graph.jsonl"
    graph.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines()), encoding="utf-8")
    subprocess.run([binary(), "import", "--db", database, graph], check=True, capture_output=True)

    def run(name, *options):
        done = subprocess.run(
            [binary(), "export", "--db", database, "--format", name, *options], check=True, capture_output=True
        )
        return done.stdout.decode("utf-8")

    return run


def test_bibtex(export):
    text = export("bibtex")
    ours = read_bibtex(text, "bibtex").entries
    assert len(ours) == 13
    entry = next(e for e in ours.values() if e.fields["doi"] == "10.1/3\\_x")
    assert entry.fields["note"] == "RETRACTED"
    assert [str(p) for p in entry.persons["author"]] == ["Byron, Ada", "Beethoven, Ludwig van", "{WHO}", "{山田太郎}"]
    assert len(bibtexparser.parse_string(text).entries) == 13


def test_ris(export):
    records = rispy.loads(export("ris"))
    assert len(records) == 13
    record = next(r for r in records if r.get("doi") == "10.1/7_x")
    assert record["title"] == f"{HOSTILE} 7"
    assert record["authors"] == ["Byron, Ada", "Beethoven, Ludwig van", "WHO", "山田太郎"]
    assert record["year"] == "2007"


def test_csl_json(export):
    items = json.loads(export("csl-json"))
    assert len(items) == 13
    assert {item["title"] for item in items} == {f"{HOSTILE} {n}" for n in range(12)} | {HOSTILE}
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    bibliography = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    for item in items:
        bibliography.register(Citation([CitationItem(item["id"])]))
    printed = [str(entry) for entry in bibliography.bibliography()]
    assert len(printed) == 13
    assert any("Byron" in entry and "2007" in entry for entry in printed)


def test_graphml(export):
    graph = networkx.parse_graphml(export("graphml"), node_type=str, force_multigraph=True)
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert (kinds.count("claim"), kinds.count("fragment"), kinds.count("page")) == (5, 13, 13)
    relations = [data["relation"] for *_, data in graph.edges(data=True)]
    assert relations.count("origin") == 5 and relations.count("cites") == 1
    assert sum(relations.count(r) for r in ("supports", "refutes", "neutral")) == 35
    assert graph.nodes["claim:c2"]["text"] == f"{HOSTILE} 2"
    assert graph.nodes["page:p3"]["is_retracted"] is True
    scoped = networkx.parse_graphml(export("graphml", "--task", "task_00000001"), node_type=str, force_multigraph=True)
    assert "page:plain" not in scoped.nodes and "claim:c0" in scoped.nodes


def test_prov(export):
    graph = rdflib.Graph().parse(data=export("prov"), format="json-ld")
    prov = rdflib.Namespace("http://www.w3.org/ns/prov#")
    claims = {s for s in graph.subjects(prov.value) if ":claim:" in s}
    assert len(claims) == 5
    for claim in claims:
        (fragment,) = graph.objects(claim, prov.wasDerivedFrom)
        (page,) = graph.objects(fragment, prov.wasQuotedFrom)
        assert str(next(graph.objects(page, prov.atLocation))).startswith("https://a.example/")
    verdicts = {s for s in graph.subjects(rdflib.RDF.type, prov.Entity) if ":verdict:" in s}
    assert len(verdicts) == 35


def test_markdown_numbers_resolve(export):
    text = export("markdown")
    for part in text.split("](#source-")[1:]:
        number = part.split(")")[0]
        assert f'<a id="source-{number}"></a>' in text


def test_unknown_tasks_and_formats_are_refused(export):
    for options, words in [(["csl-json", "--task", "task_ffffffff"], b"no task"), (["word"], b"csl-json")]:
        with pytest.raises(subprocess.CalledProcessError) as failed:
            export(*options)
        assert words in failed.value.stderr and not failed.value.stdout
