"""Exports, read by the programs that they are for: each parses, and nothing is lost on the way.

One graph is full of characters that mean something to some format; the other has one source of
each kind, with names of every sort.
"""

import json
import pathlib
import subprocess
import sys

import bibtexparser
import networkx
import pytest
import rdflib
import rispy
from bibtexparser.middlewares import SeparateCoAuthors, SplitNameParts
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from pybtex.database import parse_string as read_bibtex
from test_mcp_client import binary

ROOT = pathlib.Path(__file__).parents[2]
HOSTILE = '50 % of "A&B" {x} <b>_y_</b> \\cite{z} [t](http://e/) 血糖値 #1 ~ ^ $'


def lines():
    yield {"type": "task", "id": "task_00000001", "hypothesis": "Walking lowers glucose"}
    for n in range(12):
        work = {"type": "work", "canonical_id": f"doi:10.1/{n}", "title": f"{HOSTILE} {n}", "year": 2000 + n}
        yield work | {"doi": f"10.1/{n}_x", "venue": "Journal & Co.", "is_retracted": n == 3}
        for place, name in enumerate(["Ada Byron", "Beethoven, Ludwig van", "WHO", "山田太郎"]):
            yield {"type": "work_author", "canonical_id": f"doi:10.1/{n}", "position": place, "name": name}
        yield {"type": "page", "id": f"p{n}", "url": f"https://a.example/{n}?q={{}}&r=%20", "canonical_id": f"doi:10.1/{n}"}
    # Known by name only: in the graph, in no list of sources.
    yield {"type": "page", "id": "cited", "url": "https://doi.org/10.1234/cited", "page_type": "placeholder"}
    yield {"type": "edge", "id": "cites-cited", "source_type": "page", "source_id": "p0", "target_type": "page", "target_id": "cited", "relation": "cites"}
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


# What an author is called, and family, given, particle and suffix; family alone for what has no parts.
NAMES = [
    ("U.S. Food and Drug Administration", "U.S. Food and Drug Administration"),
    ("World Health Organization", "World Health Organization"),
    ("Barnes and Noble", "Barnes and Noble"),
    ("Ada Young", "Young", "Ada", "", ""),
    ("Jan van der Berg", "Berg", "Jan", "van der", ""),
    ("Vincent de la Cruz", "Cruz", "Vincent", "de la", ""),
    ("Frans Van de Werf", "Werf", "Frans", "Van de", ""),
    ("van Gils CH", "Gils", "CH", "van", ""),
    ("José Ortega y Gasset", "Ortega y Gasset", "José", "", ""),
    ("M. al-Rashid", "al-Rashid", "M.", "", ""),
    ("Frances D'Angelo", "D'Angelo", "Frances", "", ""),
    ("Smith Jr, John", "Smith", "John", "", "Jr."),
    ("Otto von Bismarck III, PhD", "Bismarck", "Otto", "von", "III"),
    ("鈴木 花子", "鈴木", "花子", "", ""),
]


def library():
    work = {"type": "work", "canonical_id": "doi:10.1234/a", "title": "Steps", "doi": "10.1234/a", "venue": "The Journal"}
    yield work | {"published_date": "2019-07"}
    for place, (name, *_) in enumerate(NAMES):
        yield {"type": "work_author", "canonical_id": "doi:10.1234/a", "position": place, "name": name}
    ids = {"provider": "pubmed", "provider_paper_id": "23903748", "pmid": "23903748", "pmcid": "PMC3737249"}
    yield {"type": "work_identifier", "canonical_id": "doi:10.1234/a"} | ids
    yield {"type": "page", "id": "a", "url": "file:///home/somebody/secret/a.pdf", "canonical_id": "doi:10.1234/a"}
    yield {"type": "work", "canonical_id": "arxiv:2301.12345", "title": "Early", "published_date": "2016-13-45"}
    yield {"type": "page", "id": "b", "url": "https://arxiv.org/abs/2301.12345", "canonical_id": "arxiv:2301.12345"}
    yield {"type": "work", "canonical_id": "meta:1", "title": "Seven tips", "year": 2022, "venue": "The List"}
    page = {"type": "page", "id": "c", "url": "https://list.example/tips", "canonical_id": "meta:1", "page_type": "html"}
    yield page | {"fetched_at": "2026-01-02T03:04:05Z"}
    yield {"type": "page", "id": "d", "url": "file:///home/somebody/secret/d.md"}
    for page in "abcd":
        yield {"type": "fragment", "id": f"f{page}", "page_id": page, "text_content": "They help."}


def exporter(folder, lines):
    database = folder / "a.db"
    graph = folder / "graph.jsonl"
    graph.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    subprocess.run([binary(), "import", "--db", database, graph], check=True, capture_output=True)

    def run(name, *options):
        done = subprocess.run(
            [binary(), "export", "--db", database, "--format", name, *options], check=True, capture_output=True
        )
        return done.stdout.decode("utf-8")

    return run


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    return exporter(tmp_path_factory.mktemp("exports"), lines())


@pytest.fixture(scope="module")
def export_library(tmp_path_factory):
    return exporter(tmp_path_factory.mktemp("library"), library())


def test_names_keep_their_parts_in_bibtex(export_library):
    text = export_library("bibtex")
    entry = next(e for e in read_bibtex(text, "bibtex").entries.values() if e.type == "article")
    for (_, family, *parts), person in zip(NAMES, entry.persons["author"], strict=True):
        assert " ".join(person.last_names).strip("{}") == family
        found = [" ".join(p) for p in (person.first_names + person.middle_names, person.prelast_names, person.lineage_names)]
        assert found == (parts or ["", "", ""]), family
    library = bibtexparser.parse_string(text, append_middleware=[SeparateCoAuthors(), SplitNameParts()])
    assert not library.failed_blocks
    authors = next(e for e in library.entries if e.entry_type == "article")["author"]
    for (_, family, *parts), name in zip(NAMES, authors, strict=True):
        assert " ".join(name.last).strip("{}") == family
        assert [" ".join(p) for p in (name.first, name.von, name.jr)] == (parts or ["", "", ""]), family


def test_names_keep_their_parts_in_ris_and_csl_json(export_library):
    record = next(r for r in rispy.loads(export_library("ris")) if r["type_of_reference"] == "JOUR")
    item = next(i for i in json.loads(export_library("csl-json")) if i["type"] == "article-journal")
    for (_, family, *parts), in_ris, in_csl in zip(NAMES, record["authors"], item["author"], strict=True):
        if not parts:
            assert in_ris == f"{family},"
            assert in_csl == {"literal": family}
            continue
        given, particle, suffix = parts
        assert in_ris == ", ".join(p for p in (f"{particle} {family}".strip(), given, suffix) if p)
        named = {"family": family, "given": given, "non-dropping-particle": particle, "suffix": suffix}
        assert in_csl == {k: v for k, v in named.items() if v}
    for place, printed in [(0, "U.S. Food and Drug Administration (2019)"), (4, "van der Berg, J. (2019)")]:
        assert csl_bibliography([item | {"author": item["author"][place : place + 1]}])[0].startswith(printed)


def test_sources_are_what_they_are(export_library):
    bibtex = read_bibtex(export_library("bibtex"), "bibtex").entries
    entries = {e.fields["title"].strip("{}"): e for e in bibtex.values()}
    records = {r["title"]: r for r in rispy.loads(export_library("ris"))}
    items = {i["title"]: i for i in json.loads(export_library("csl-json"))}
    kinds = {
        "Steps": ("article", "JOUR", "article-journal"),
        "Early": ("misc", "UNPB", "article"),
        "Seven tips": ("misc", "ELEC", "webpage"),
        "d.md": ("misc", "GEN", "document"),
    }
    for title, kind in kinds.items():
        assert (entries[title].type, records[title]["type_of_reference"], items[title]["type"]) == kind
    assert len(entries) == len(records) == len(items) == len(kinds)
    steps = entries["Steps"].fields
    assert (steps["year"], steps["month"], steps["pmid"], steps["pmcid"]) == ("2019", "July", "23903748", "PMC3737249")
    assert (entries["Early"].fields["eprint"], entries["Early"].fields["eprinttype"]) == ("2301.12345", "arxiv")
    assert (records["Steps"]["year"], records["Steps"]["date"]) == ("2019", "2019/07//")
    assert (records["Steps"]["accession_number"], records["Steps"]["custom2"]) == ("23903748", "PMC3737249")
    assert items["Steps"]["issued"] == {"date-parts": [[2019, 7]]} and items["Steps"]["PMCID"] == "PMC3737249"
    assert items["Early"]["issued"] == {"date-parts": [[2016]]}
    assert entries["Seven tips"].fields["howpublished"] == items["Seven tips"]["container-title"] == "The List"
    for name in ("bibtex", "ris", "csl-json", "markdown"):
        assert "somebody" not in export_library(name)


def test_bibtex(export):
    text = export("bibtex")
    ours = read_bibtex(text, "bibtex").entries
    assert len(ours) == 13
    entry = next(e for e in ours.values() if e.fields["doi"] == "10.1/3\\_x")
    assert entry.fields["note"] == "RETRACTED"
    assert [str(p) for p in entry.persons["author"]] == ["Byron, Ada", "van Beethoven, Ludwig", "{WHO}", "{山田太郎}"]
    assert len(bibtexparser.parse_string(text).entries) == 13


def test_ris(export):
    records = rispy.loads(export("ris"))
    assert len(records) == 13
    record = next(r for r in records if r.get("doi") == "10.1/7_x")
    assert record["title"] == f"{HOSTILE} 7"
    assert record["authors"] == ["Byron, Ada", "van Beethoven, Ludwig", "WHO,", "山田太郎,"]
    assert record["year"] == "2007"


def test_csl_json(export):
    items = json.loads(export("csl-json"))
    assert len(items) == 13
    assert {item["title"] for item in items} == {f"{HOSTILE} {n}" for n in range(12)} | {HOSTILE}
    printed = csl_bibliography(items)
    assert len(printed) == 13
    assert any("Byron" in entry and "2007" in entry for entry in printed)


def csl_bibliography(items):
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    bibliography = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    for item in items:
        bibliography.register(Citation([CitationItem(item["id"])]))
    return [str(entry) for entry in bibliography.bibliography()]


def test_graphml(export):
    graph = networkx.parse_graphml(export("graphml"), node_type=str, force_multigraph=True)
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert (kinds.count("claim"), kinds.count("fragment"), kinds.count("page")) == (5, 13, 14)
    relations = [data["relation"] for *_, data in graph.edges(data=True)]
    assert relations.count("origin") == 5 and relations.count("cites") == 2
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
        (location,) = graph.objects(page, prov.atLocation)
        assert (location, rdflib.RDF.type, prov.Location) in graph
        address = graph.value(location, rdflib.URIRef("urn:lyra:term:address"))
        assert address.datatype == rdflib.XSD.anyURI and str(address).startswith("https://a.example/")
    verdicts = {s for s in graph.subjects(rdflib.RDF.type, prov.Entity) if ":verdict:" in s}
    assert len(verdicts) == 35


def test_markdown_numbers_resolve(export):
    text = export("markdown")
    for part in text.split("](#source-")[1:]:
        number = part.split(")")[0]
        assert f'<a id="source-{number}"></a>' in text
    # Of 14 pages 9 are quoted; of 3 with neutral verdicts only nothing is, but they were read; one was
    # read for no task, and one is known by name only.
    cited, others = text.split("## Sources")[1].split("## Read, but not cited")
    assert (cited.count("<a id="), others.count("\n- ")) == (9, 3)
    assert "10.1234/cited" not in text


def test_unknown_tasks_and_formats_are_refused(export):
    for options, words in [(["csl-json", "--task", "task_ffffffff"], b"no task"), (["word"], b"csl-json")]:
        with pytest.raises(subprocess.CalledProcessError) as failed:
            export(*options)
        assert words in failed.value.stderr and not failed.value.stdout


def test_the_hash_follows_from_the_export(tmp_path):
    """The program in docs/replay.md, run on an export, gives what `hash` prints."""
    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    program = page.split("```python\n", 1)[1].split("```", 1)[0]
    file, db = tmp_path / "in.jsonl", tmp_path / "a.db"
    odd = 'a\u202e\u200b\x1b[0m "\\ \x7f / \x07\t 😀'
    rows = [*lines(), {"type": "task", "id": "t2", "hypothesis": odd}, {"type": "claim", "id": "odd", "task_id": "t2", "claim_text": odd, "llm_claim_confidence": 1e-7}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def lyra(*arguments):
        done = subprocess.run([binary(), "--db", db, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    lyra("import", file)
    for task in [[], ["--task", "t2"]]:
        lyra("export", *task, "--out", tmp_path / "out.jsonl")
        ours = subprocess.run([sys.executable, "-c", program, tmp_path / "out.jsonl"], capture_output=True, text=True, check=True)
        assert ours.stdout.strip() == lyra("hash", *task)
