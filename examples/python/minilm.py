"""Researches the demo's question with a sentence encoder plugged in as a Python object.

    pip install onnxruntime tokenizers
    python scripts/minilm_onnx.py FOLDER
    python examples/python/minilm.py FOLDER

With sentence-transformers, the class below is not needed: use `embedder=SentenceTransformer(…)`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lyra

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
HYPOTHESIS = (
    "DPP-4 inhibitors increase the risk of hospitalization for heart failure "
    "in patients with type 2 diabetes"
)


class MiniLM:
    """all-MiniLM-L6-v2 on ONNX Runtime."""

    model_id = "python:all-MiniLM-L6-v2"
    related_threshold = 0.55

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.session = onnxruntime.InferenceSession(folder / "model.onnx")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.enable_padding()

    def encode(self, texts: list[str]) -> Any:
        import numpy as np

        rows = []
        for start in range(0, len(texts), 8):
            encoded = self.tokenizer.encode_batch(texts[start : start + 8])
            mask = np.array([e.attention_mask for e in encoded])
            inputs = {
                "input_ids": np.array([e.ids for e in encoded]),
                "attention_mask": mask,
                "token_type_ids": np.zeros_like(mask),
            }
            wanted = {entry.name for entry in self.session.get_inputs()}
            (states, *_) = self.session.run(None, {k: v for k, v in inputs.items() if k in wanted})
            weights = mask[:, :, None].astype("float32")
            rows.append((states * weights).sum(axis=1) / weights.sum(axis=1))
        return np.concatenate(rows)


def main(model: Path) -> int:
    with tempfile.TemporaryDirectory() as place:
        graph = lyra.EvidenceGraph(Path(place) / "evidence.db", corpus=CORPUS, embedder=MiniLM(model))
        print(graph.models().embedder, graph.models().dimension)
        task = graph.create_task(HYPOTHESIS, max_pages=60)
        graph.queue_targets(task, [HYPOTHESIS])
        began = time.monotonic()
        status = graph.run(task, progress=lambda s: print(s.metrics.total_claims, "claims"))
        print(f"{time.monotonic() - began:.0f} s, {status.metrics.total_pages} pages")
        for row in graph.view("v_contradictions", task, limit=5):
            print(f"{row['support_count']} for, {row['refute_count']} against: {row['claim_text']}")
        assert graph.verify().ok
        claims: int = status.metrics.total_claims
        graph.close()
        return claims


if __name__ == "__main__":
    main(Path(sys.argv[1]))
