"""Python's side of embed_throughput.rs: MODEL TEXTS GRAPH BATCH THREADS → texts per second of wall time and
of processor time. For batches of 8 or fewer, texts are sorted by length."""

import json
import os
import sys
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def main():
    folder, texts, graph, batch, threads = sys.argv[1:]
    texts, batch = json.loads(Path(texts).read_text(encoding="utf-8")), int(batch)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(Path(folder) / graph, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()

    def embed(ids):
        width = max(map(len, ids))
        rows = np.array([row + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        feed = {"input_ids": rows, "attention_mask": mask, "token_type_ids": np.zeros_like(rows)}
        (hidden,) = session.run(None, feed)
        column = mask[:, :, None].astype(np.float32)
        pooled = (hidden * column).sum(axis=1) / column.sum(axis=1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    embed([tokenizer.encode(texts[0]).ids])
    start, used = time.perf_counter(), time.process_time()
    ids = [tokenizer.encode(text).ids for text in texts]
    if batch <= 8:
        ids.sort(key=len)
    for at in range(0, len(ids), batch):
        embed(ids[at : at + batch])
    wall, processor = time.perf_counter() - start, time.process_time() - used
    print(len(texts) / wall, len(texts) / processor)


if __name__ == "__main__":
    main()
