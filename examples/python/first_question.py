"""Researches a hypothesis over a folder of documents and prints the evidence for and against it.

    python examples/python/first_question.py [FOLDER] ["hypothesis"]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import lyra

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
HYPOTHESIS = (
    "DPP-4 inhibitors increase the risk of hospitalization for heart failure "
    "in patients with type 2 diabetes"
)


def main(folder: Path, hypothesis: str) -> int:
    with tempfile.TemporaryDirectory() as place:
        graph = lyra.EvidenceGraph(Path(place) / "evidence.db", corpus=folder)
        task = graph.create_task(hypothesis, max_pages=60)
        graph.queue_targets(task, [hypothesis])

        def tell(status: lyra.Status) -> None:
            print(f"{status.metrics.total_pages} pages, {status.metrics.total_claims} claims")

        graph.run(task, progress=tell)
        disputed = graph.view("v_contradictions", task, limit=5)
        for row in disputed:
            print(f"{row['support_count']} for, {row['refute_count']} against: {row['claim_text']}")
        for hit in graph.search(hypothesis, target="fragments", task_id=task, top_k=3):
            print(f"{hit['similarity']:.2f} {hit['text_preview']}")
        graph.close()
        return len(disputed)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else CORPUS,
        sys.argv[2] if len(sys.argv) > 2 else HYPOTHESIS,
    )
