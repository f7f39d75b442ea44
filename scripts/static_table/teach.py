"""Encode the training texts with the teacher (int8 ONNX) and cache its vectors.

Texts are processed in shards; an existing shard is not computed again, and `fit.py` uses the shards
it finds, so the run may be stopped at any time.

    python teach.py MODEL_DIR WORK_DIR [--workers 2]
"""
from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from texts import number

MAX_LEN, SHARD, BATCH_TOKENS = 256, 8192, 256
SOURCES = ("wordnet-gloss", "python", "rust", "mixture", "wordnet-gloss", "wordnet-example",
           "wordnet-lemma")


class Teacher:
    """The sentence encoder on one thread."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        opts = ort.SessionOptions()
        opts.intra_op_num_threads = opts.inter_op_num_threads = 1
        self.run = ort.InferenceSession(str(model), opts, providers=["CPUExecutionProvider"])
        self.tok = Tokenizer.from_file(str(tokenizer))
        self.tok.no_padding()
        self.tok.enable_truncation(MAX_LEN)

    def encode_ids(self, ids: list[list[int]]) -> np.ndarray:
        """Unit vectors of id lists ([CLS] and [SEP] included); batched by length."""
        out = np.zeros((len(ids), 384), np.float32)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        at = 0
        while at < len(order):
            width, stop = len(ids[order[at]]), at
            # Only texts of nearly the same length share a batch: padding costs more than batching
            # saves.
            while (stop < len(order) and len(ids[order[stop]]) <= width + 1
                   and (stop - at + 1) * len(ids[order[stop]]) <= max(BATCH_TOKENS, width)):
                stop += 1
            part = order[at:max(stop, at + 1)]
            width = max(len(ids[i]) for i in part)
            batch = np.zeros((len(part), width), np.int64)
            mask = np.zeros_like(batch)
            for row, i in enumerate(part):
                batch[row, :len(ids[i])] = ids[i]
                mask[row, :len(ids[i])] = 1
            out[part] = self.run.run(None, {"ids": batch, "mask": mask})[0]
            at += len(part)
        return out

    def encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors of texts."""
        return self.encode_ids([e.ids for e in self.tok.encode_batch(texts)])


def shards(work: Path) -> Iterator[tuple[Path, list[dict]]]:
    """The shards of texts.jsonl with the files of their vectors.

    SciFact comes first, then the other sources in turn, each in a fixed random order of groups.
    """
    rows = [json.loads(line) for line in (work / "texts.jsonl").open(encoding="utf-8")]
    queues: dict[str, list[list[dict]]] = {}
    for prefix in ("scifact", *SOURCES):
        part = [r for r in rows if r["source"].startswith(prefix)]
        if prefix != "scifact":
            part.sort(key=lambda r: number(r["group"]))
        queues[prefix] = [part[at:at + SHARD] for at in range(0, len(part), SHARD)][::-1]
    turns = ["scifact"] * len(queues["scifact"])
    while turns:
        for prefix in turns:
            if queues[prefix]:
                chunk = queues[prefix].pop()
                text = "\n".join(r["text"] for r in chunk)
                key = blake2b(text.encode(), digest_size=10).hexdigest()
                yield work / "teacher" / f"{key}.npy", chunk
        turns = list(SOURCES) if any(queues.values()) else []


_teacher: Teacher


def _start(model: Path, tokenizer: Path) -> None:
    global _teacher
    _teacher = Teacher(model, tokenizer)


def _work(job: tuple[Path, list[str]]) -> tuple[str, int]:
    path, texts = job
    vectors = _teacher.encode(texts)
    temp = path.with_suffix(".part")
    with temp.open("wb") as f:
        np.save(f, vectors.astype(np.float16))
    temp.rename(path)
    return path.name, len(texts)


def main() -> None:
    """Fill the cache."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("model_dir", type=Path)
    ap.add_argument("work", type=Path)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--shards", type=int, default=10**6, help="use only the first SHARDS shards")
    args = ap.parse_args()
    paths = (args.work / "minilm-int8.onnx", args.model_dir / "tokenizer.json")
    (args.work / "teacher").mkdir(parents=True, exist_ok=True)
    single = args.work / "teacher" / "tokens.npy"
    if not single.exists():
        teacher = Teacher(*paths)
        cls, sep = teacher.tok.token_to_id("[CLS]"), teacher.tok.token_to_id("[SEP]")
        ids = [[cls, i, sep] for i in range(teacher.tok.get_vocab_size())]
        np.save(single, teacher.encode_ids(ids).astype(np.float16))
        print("tokens", len(ids), flush=True)
    jobs = [(p, [r["text"] for r in c])
            for p, c in list(shards(args.work))[:args.shards] if not p.exists()]
    with get_context("spawn").Pool(args.workers, _start, paths) as pool:
        for name, count in pool.imap(_work, jobs):
            print(name, count, flush=True)


if __name__ == "__main__":
    main()
