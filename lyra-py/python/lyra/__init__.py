"""Lyra: an evidence graph in one file, in which every claim can be traced to its source.

>>> import lyra
>>> graph = lyra.EvidenceGraph("evidence.db")
>>> task = graph.create_task("Night work shortens sleep")
>>> graph.status(task).status
'created'
"""

from lyra._errors import (
    AuthRequiredError,
    BackendError,
    BudgetExhaustedError,
    CalibrationError,
    InternalError,
    InvalidInputError,
    LyraError,
    LyraTimeoutError,
    NotFoundError,
    PipelineError,
    QueryError,
    QueryInterruptedError,
    QueryRejectedError,
    StorageError,
    TaskNotFoundError,
    UnsupportedError,
)
from lyra._lyra import (
    EvidenceGraph,
    __version__,
    canonical_id,
    claim_confidence,
    detect_challenge,
    extract,
    find_identifiers,
    judge_pairs,
    kneedle_cutoff,
    normalize_url,
    read,
    verify_pack,
)
from lyra._reply import Document, GraphDiff, Hits, Report, Rows, Status

__all__ = [
    "AuthRequiredError",
    "BackendError",
    "BudgetExhaustedError",
    "CalibrationError",
    "Document",
    "EvidenceGraph",
    "GraphDiff",
    "Hits",
    "InternalError",
    "InvalidInputError",
    "LyraError",
    "LyraTimeoutError",
    "NotFoundError",
    "PipelineError",
    "QueryError",
    "QueryInterruptedError",
    "QueryRejectedError",
    "Report",
    "Rows",
    "Status",
    "StorageError",
    "TaskNotFoundError",
    "UnsupportedError",
    "__version__",
    "canonical_id",
    "claim_confidence",
    "detect_challenge",
    "extract",
    "find_identifiers",
    "judge_pairs",
    "kneedle_cutoff",
    "normalize_url",
    "read",
    "verify_pack",
]
