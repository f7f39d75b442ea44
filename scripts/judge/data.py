"""Pairs for training and evaluation: reading, splitting, and changes to which the judge must be robust."""

import collections
import gzip
import json
import random
import re
import zlib
from pathlib import Path

FLIP = {"supports": "refutes", "refutes": "supports", "neutral": "neutral"}
DENIALS = [
    "It is not true that {}",
    "It is false that {}",
    "It is wrong to say that {}",
    "It is a myth that {}",
    "It is not the case that {}",
    "There is no evidence that {}",
    "No evidence shows that {}",
    "The statement that {} is wrong",
]
AFFIRMATIONS = [
    "It is true that {}",
    "There is evidence that {}",
    "Studies show that {}",
    "It is well known that {}",
    "Experts say that {}",
    "Research has found that {}",
]
# Percentage of a source's groups that are kept for validation, chosen by a hash so that they stay
# the same. Of the self-made groups another part is held out and used once, at the end.
VALIDATION = 3
OWN_VALIDATION = 5
OWN_UNSEEN = 5


def place(row):
    """0 to 99, the same for all rows of a group."""
    return zlib.crc32(str(row.get("group") or row["premise"]).encode()) % 100


def is_own(row):
    return row["source"].startswith("own-")


def is_unseen(row):
    return is_own(row) and place(row) < OWN_UNSEEN


def is_validation(row):
    if is_own(row):
        return OWN_UNSEEN <= place(row) < OWN_UNSEEN + OWN_VALIDATION
    return place(row) < (8 if row["source"] == "scifact" else VALIDATION)


def read_folder(folder):
    """The rows of every SOURCE.jsonl.gz in a folder, except Japanese ones."""
    rows = []
    for path in sorted(Path(folder).glob("*.jsonl.gz")):
        if path.name.startswith("jnli"):
            continue
        with gzip.open(path, "rt") as lines:
            rows += [json.loads(line) for line in lines]
    return rows


def read_own(folder):
    """The self-made groups in FOLDER/*.jsonl, one row per pair."""
    rows = []
    for path in sorted(Path(folder).glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            group = json.loads(line)
            for key, label in (("s", "supports"), ("r", "refutes"), ("n", "neutral")):
                for claim in group.get(key, []):
                    rows.append(
                        {
                            "premise": group["p"],
                            "claim": claim,
                            "label": label,
                            "source": f"own-{path.stem}",
                            "group": f"{path.stem}{number}",
                        }
                    )
    return rows


def read_sentences(path):
    """The labelled sentences of the documents that are not held out for evaluation.

    `reading` contains the correct classes of the second head."""
    rows, last, rng = [], None, random.Random(0)
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    told = collections.defaultdict(list)
    for found in lines:
        if found["label"] == "on":
            told[found["doc"], found["hypothesis"]].append(found["sentence"])
    for found in lines:
        is_next = last and last["doc"] == found["doc"] and points_back(found["sentence"])
        before, last = last["sentence"] if is_next else None, found
        if found["half"] != "a":
            continue
        title = title_or(found["title"], told[found["doc"], found["hypothesis"]], found["sentence"], rng)
        headings = [before, title, found["heading"]]
        rows.append(
            {
                "premise": found["sentence"],
                "claim": found["hypothesis"],
                "context": context_of(headings, found["sentence"], found["hypothesis"]),
                "label": found["side"],
                "reading": [found["label"]],
                "source": "sentences",
                "group": found["doc"] + found["sentence"],
            }
        )
    return rows


def read_stretches(folder, seed=0):
    """Sentences of documents under several hypotheses each, as FOLDER/*.jsonl lists them.

    A line has `sentences`, the numbers of those that assert nothing (`none`), and for each hypothesis the
    numbers of those that support it, refute it, or are relevant to it without a side. The others are about
    something else.
    """
    rng, rows = random.Random(seed), []
    for path in sorted(Path(folder).glob("*.jsonl")):
        for line in path.read_text().splitlines():
            document = json.loads(line)
            for entry in document["hypotheses"]:
                rows += of_hypothesis(document, entry, rng)
    return rows


# Number of sentences that are not relevant to a hypothesis, and repetitions of those that are.
OTHERS, TIMES = 10, 3


def of_hypothesis(document, entry, rng):
    told = {i: side for side in ("supports", "refutes") for i in entry[side]}
    told |= {i: "neutral" for i in entry["open"]}
    rest = [i for i in range(len(document["sentences"])) if i not in told]
    numbers = [*told] * TIMES + rng.sample(rest, min(OTHERS, len(rest)))
    for i in numbers:
        sentence = document["sentences"][i]
        before = document["sentences"][i - 1] if i and points_back(sentence) else None
        title = title_or(document["title"], [document["sentences"][k] for k in told], sentence, rng)
        headings = [before, title, document["headings"][i]]
        reading = "on" if i in told else "none" if i in document["none"] else "other"
        yield {
            "premise": sentence,
            "claim": entry["h"],
            "context": context_of(headings, sentence, entry["h"]),
            "label": told.get(i, "neutral"),
            "reading": [reading],
            "source": "stretches",
            "group": document["doc"],
        }


# Number of sentences of each document of a set that are not relevant to a hypothesis: first those that share
# most words with it, then random ones. Fewer for a document without a relevant sentence.
NEAR, FAR = 8, 3
NEAR_ELSEWHERE, FAR_ELSEWHERE = 4, 1
SET_TIMES = 3


def is_kept_set(name):
    """Whether a set of documents is kept for validation."""
    return zlib.crc32(name.encode()) % 10 == 0


def read_sets(path, kept=False, seed=0):
    """Rows of sets of related documents, as `sets.py` writes them: one set per line, with its documents, its
    sentences `[doc, heading, text]`, and hypotheses with the numbers of the sentences that are relevant to
    them. A hypothesis with the number `c` is that sentence, judged as a claim against the others. The sets
    that are kept for validation give all their rows; see `is_kept_set`."""
    rng, rows = random.Random(seed), []
    for line in Path(path).read_text().splitlines():
        found = json.loads(line)
        if is_kept_set(found["set"]) != kept:
            continue
        titles = {d["doc"]: d["title"] for d in found["docs"]}
        places = collections.defaultdict(list)
        for number, (doc, _, _) in enumerate(found["sentences"]):
            places[doc].append(number)
        for entry in found["hypotheses"]:
            for doc, numbers in places.items():
                rows += of_document(found, entry, titles[doc], numbers, None if kept else rng)
    return rows


def of_document(found, entry, title, numbers, rng):
    """The rows of one document for one hypothesis; all of them without an `rng`."""
    told = {i: side for side in ("supports", "refutes") for i in entry[side]}
    told |= {i: "neutral" for i in entry.get("open", [])}
    is_claim = "c" in entry
    numbers = [i for i in numbers if not is_claim or i != entry["c"]]
    here = [i for i in numbers if i in told]
    rest = [i for i in numbers if i not in told]
    sentences = [text for _, _, text in found["sentences"]]
    chosen = numbers
    if rng:
        near, far = (NEAR, FAR) if here else (NEAR_ELSEWHERE, FAR_ELSEWHERE)
        wanted = starts(entry["h"])
        rest.sort(key=lambda i: -len(wanted & starts(sentences[i])))
        chosen = here * SET_TIMES + rest[:near] + rng.sample(rest[near:], min(far, len(rest[near:])))
    for i in chosen:
        is_next = i and found["sentences"][i - 1][0] == found["sentences"][i][0] and points_back(sentences[i])
        before = sentences[i - 1] if is_next else None
        head = title_or(title, [sentences[k] for k in here], sentences[i], rng) if rng else title
        yield {
            "premise": sentences[i],
            "claim": entry["h"],
            "context": context_of([before, head, found["sentences"][i][1]], sentences[i], entry["h"]),
            "label": told.get(i, "neutral"),
            # A sentence that neither supports nor refutes a claim may still be on its subject.
            "reading": None if is_claim else ["on" if i in told else "none" if i in found["none"] else "other"],
            "source": "set-claims" if is_claim else "sets",
            "group": found["set"],
        }


SWAPPED = ("other_cause", "other_outcome", "other_population", "other_relation")


def read_swaps(folder, sets, kept=False):
    """Rows of hypotheses that are changed to ones about which their set says nothing; see `SWAPPED`.

    A line of FOLDER/*.jsonl has a `set`, the number of its `hypothesis`, the `text` of that, and the
    variants. The sentences that take a side on the original are neutral on each variant. `sets` is the output
    of `sets.py`; sets that are kept for validation are left out, or with `kept` the others."""
    lines = [json.loads(line) for line in Path(sets).read_text().splitlines()]
    of_name, rows = {found["set"]: found for found in lines}, []
    for path in sorted(Path(folder).glob("*.jsonl")):
        for line in path.read_text().splitlines():
            swap = json.loads(line)
            found = of_name.get(swap["set"])
            if found and is_kept_set(swap["set"]) == kept:
                rows += of_swap(found, swap)
    return rows


def of_swap(found, swap):
    entry = found["hypotheses"][swap["hypothesis"]]
    if entry["h"] != swap["text"]:
        raise ValueError(f"{swap['set']} {swap['hypothesis']}: the text is {swap['text']!r}, the set has {entry['h']!r}")
    sides = sorted({*entry["supports"], *entry["refutes"]})
    for document in found["docs"]:
        numbers = [i for i in sides if found["sentences"][i][0] == document["doc"]]
        for key in SWAPPED:
            nothing = {"h": swap.get(key), "supports": [], "refutes": []}
            for row in of_document(found, nothing, document["title"], numbers, None) if nothing["h"] else ():
                yield {**row, "source": "swaps", "swap": key, "swapped": swap["text"]}


def read_swap_texts(folder):
    """Rows of hypotheses and their variants alone: each supports itself, and the original is neutral on its
    variants. A variant is also neutral on the original, except for another relation, which may presuppose
    the original."""
    rows = []
    for path in sorted(Path(folder).glob("*.jsonl")):
        for line in path.read_text().splitlines():
            swap = json.loads(line)
            if not is_kept_set(swap["set"]):
                rows += of_texts(swap)
    return rows


def of_texts(swap):
    common = {"context": None, "source": "swap-texts", "group": swap["set"]}
    text = swap["text"]
    for key in SWAPPED:
        if variant := swap.get(key):
            yield {**common, "premise": variant, "claim": variant, "label": "supports", "reading": ["on"]}
            yield {**common, "premise": text, "claim": variant, "label": "neutral", "reading": None}
            if key != "other_relation":
                yield {**common, "premise": variant, "claim": text, "label": "neutral", "reading": None}


def title_or(title, told, sentence, rng):
    """The title or, sometimes, another sentence that takes a side: many titles take a side, which can differ
    from that of this sentence."""
    others = [other for other in told if other != sentence]
    return rng.choice(others) if others and rng.random() < 0.3 else title


POINTING = re.compile(
    r"\W*((however|but|and|also|thus|moreover|in|for|of)\W+)?"
    r"(its?|they|their|this|these|those|such|s?he|both|neither)\b",
    re.IGNORECASE,
)


def points_back(sentence):
    """Whether a sentence begins with a word that refers to something mentioned before."""
    return POINTING.match(sentence) is not None


def starts(text):
    """The first letters of a text's words, as approximate stems."""
    return {w[:6] for w in re.findall(r"[a-z0-9]{3,}", text.lower())} - COMMON_STARTS


def context_of(headings, sentence, claim):
    """The headings that name a part of the claim that the sentence does not name."""
    missing, named = starts(claim) - starts(sentence), []
    for heading in headings:
        if heading and missing & starts(heading):
            named.append(heading.rstrip(". ") + ". ")
            missing -= starts(heading)
    return "".join(named)


def attach_titles(rows, articles, scifact):
    """Adds the title of their document as context to the rows of Evidence Inference and SciFact."""
    titles, of_sentence = {}, {}
    for line in (Path(scifact) / "corpus.jsonl").read_text().splitlines():
        entry = json.loads(line)
        of_sentence |= {s.strip(): entry["title"] for s in entry["abstract"]}
    for row in rows:
        if row["source"].startswith("evidence-inference") or row["source"] == "document-neutrals":
            group = row["group"]
            if group.startswith("pmc") and group not in titles:
                path = Path(articles) / f"PMC{group[3:]}.txt"
                found = re.search(r"TITLE:\s*(.+)", path.read_text(errors="replace")) if path.is_file() else None
                titles[group] = found[1].strip() if found else ""
            title = titles.get(group) or of_sentence.get(row["premise"].strip(), "")
        elif row["source"] == "scifact":
            title = of_sentence.get(row["premise"].strip(), "")
        else:
            continue
        row["context"] = context_of([title], row["premise"], row["claim"])


NO_ASSERTION = "METHOD|OBJECTIVE|PURPOSE|AIM|DESIGN|SETTING|PATIENTS|PARTICIPANTS|SUBJECTS|INTERVENTION"


def read_sections(path, claims):
    """Sentences of PubMedQA's abstracts, classified by the heading of their section.

    `claims` are the statements made from the abstracts' questions, by group."""
    rows = []
    for number, entry in json.loads(Path(path).read_text()).items():
        group = f"pqa{number}"
        for heading, text in zip(entry["LABELS"], entry["CONTEXTS"]):
            if "RESULT" in heading or "FINDING" in heading:
                reading = ["other", "on"]
            elif re.search(NO_ASSERTION, heading) and "BACKGROUND" not in heading:
                reading = ["none"]
            else:
                continue
            sentences = [s for s in re.split(r"(?<=[.?!])\s+(?=[A-Z])", text) if 40 < len(s) < 400]
            for sentence in sentences if claims.get(group) else []:
                rows.append(
                    {
                        "premise": sentence,
                        "claim": claims[group],
                        "label": None if len(reading) > 1 else "neutral",
                        "reading": reading,
                        "source": "sections",
                        "group": group,
                    }
                )
    return rows


def embedded(claim):
    """The claim in the form used inside a sentence: no final full stop, no initial capital unless it is a
    name."""
    claim = claim.strip().rstrip(".")
    first, _, rest = claim.partition(" ")
    if first[:1].isupper() and first[1:].islower() and first.lower() in COMMON_STARTS:
        first = first.lower()
    return f"{first} {rest}" if rest else first


COMMON_STARTS = set(
    """the a an in on at of for to from with without by after before during under over there this that these those
    it its most many some all no not people patients children women men adults older young higher lower high low
    increased decreased reduced drinking eating smoking using taking exercise vaccines vaccination masks treatment
    students teachers workers employees companies cities countries dogs cats bees birds fish trees plants water
    air sea sleep coffee tea sugar salt alcohol early late long short more less fewer""".split()
)


def vary(row, rng, fillers):
    """A modified copy of a row, with a known label, or the row itself."""
    premise, claim, label = row["premise"], row["claim"], row["label"]
    if row.get("reading"):
        return row
    dice = rng.random()
    if dice < 0.05:
        claim, label = rng.choice(DENIALS).format(embedded(claim)), FLIP[label]
    elif dice < 0.08:
        claim = rng.choice(AFFIRMATIONS).format(embedded(claim))
    elif dice < 0.16:
        filler = rng.choice(fillers)
        premise = f"{premise} {filler}" if rng.random() < 0.5 else f"{filler} {premise}"
    elif dice < 0.18:
        premise, label = rng.choice(fillers), "neutral"
    elif dice < 0.19:
        claim, label = premise, "supports"
    elif dice < 0.195:
        claim, label = rng.choice(DENIALS[:5]).format(embedded(premise)), "refutes"
    else:
        return row
    return {**row, "premise": premise, "claim": claim, "label": label}


def titled(row, rng, claims):
    """The row, sometimes under a title that asserts or denies its claim or a similar one. The label is
    unchanged: a title is not evidence."""
    if row.get("group") not in claims or rng.random() > (0.25 if row["label"] == "neutral" else 0.12):
        return row
    title = rng.choice([row["claim"], rng.choice(claims[row["group"]])])
    if rng.random() < 0.25:
        title = rng.choice(DENIALS).format(embedded(title))
    return {**row, "context": title.rstrip(". ") + ". "}


def shuffled(rows, seed):
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    return rows
