"""Research with custom models: an embedder, a claim extractor, a stance judge, and a search provider.

These are toy models of a few lines each; a SentenceTransformer can replace `Encoder` unchanged.

    python examples/python/own_models.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import lyra


class Encoder:
    """Counts words into 256 bins."""

    model_id = "word-bins-256"
    related_threshold = 0.3

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        vectors = np.zeros((len(texts), 256), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[crc32(word.encode()) % 256] += 1
        return vectors


def extract(request: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """The first sentence of every passage."""
    for number, passage in enumerate(request["passages"]):
        sentence = passage["text"].split(". ")[0]
        yield {"text": sentence, "passage": number, "confidence": 0.6}


def judge(pairs: list[tuple[str, str]]) -> list[tuple[str, float]]:
    """Looks for a negation."""
    return [("refutes" if " not " in premise else "supports", 0.7) for premise, _ in pairs]


def library(query: str, limit: int) -> list[dict[str, Any]]:
    """A custom search provider with a few documents."""
    shelf: list[dict[str, Any]] = [
        {
            "url": "https://example.org/sleep",
            "title": "Night work and sleep",
            "year": 2021,
            "abstract": "In 200 nurses, night work shortened sleep by 50 minutes.",
        },
        {
            "url": "https://example.net/drivers",
            "title": "Drivers at night",
            "abstract": "In 80 drivers, night work did not shorten sleep.",
        },
    ]
    return shelf[:limit]


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        graph = lyra.EvidenceGraph(
            Path(place) / "evidence.db",
            embedder=Encoder(),
            claim_extractor=extract,
            judge=judge,
            providers=[library],
        )
        task = graph.create_task("Night work shortens sleep")
        graph.queue_targets(task, ["night work sleep"])
        status = graph.run(task)
        for row in graph.view("v_claim_evidence_summary", task):
            print(row["support_count"], "for,", row["refute_count"], "against:", row["claim_text"])
        graph.close()
        claims: int = status.metrics.total_claims
        return claims


if __name__ == "__main__":
    main()
