"""The compiled part of the package; `lyra` itself exports these names."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from lyra._reply import Document, GraphDiff, Hits, Report, Rows, Status

__all__ = [
    "EvidenceGraph",
    "__version__",
    "canonical_id",
    "claim_confidence",
    "command_line",
    "detect_challenge",
    "extract",
    "find_identifiers",
    "judge_pairs",
    "kneedle_cutoff",
    "normalize_url",
    "read",
    "verify_pack",
]
__version__: str

_Path: TypeAlias = str | PathLike[str]
_Bytes: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.uint8]
_Vectors: TypeAlias = npt.NDArray[np.float32]
_Target: TypeAlias = Literal["claims", "fragments", "claim", "fragment"]
_Priority: TypeAlias = Literal["high", "medium", "low"]
_Verdict: TypeAlias = Literal["supports", "refutes", "neutral"]
_Relation: TypeAlias = Literal["origin", "supports", "refutes", "neutral", "cites"]
_Progress: TypeAlias = Callable[[Status], object]

class _Encoder(Protocol):
    """An encoder with the interface of sentence-transformers."""

    # Its other parameters are optional, and their names differ between encoders.
    @property
    def encode(self) -> Callable[..., Any]: ...

_Embedder: TypeAlias = str | _Encoder | Callable[[list[str]], npt.ArrayLike]
_ClaimExtractor: TypeAlias = Callable[[dict[str, Any]], Iterable[str | Mapping[str, Any]]]
_StanceJudge: TypeAlias = Callable[
    [list[tuple[str, str]]], Iterable[tuple[str, float] | list[Any]]
]
_Provider: TypeAlias = (
    str | Mapping[str, str] | Callable[[str, int], Iterable[str | Mapping[str, Any]]]
)

@final
class EvidenceGraph:
    def __new__(
        cls,
        path: _Path,
        corpus: _Path | Iterable[_Path] | None = None,
        embedder: _Embedder | None = None,
        *,
        claim_extractor: str | _ClaimExtractor | None = None,
        judge: str | _StanceJudge | None = None,
        stance_judge: str | _StanceJudge | None = None,
        providers: _Provider | Iterable[_Provider] | None = None,
        mailto: str | None = None,
        embedder_url: str | None = None,
        embedder_key: str | None = None,
        claim_extractor_url: str | None = None,
        claim_extractor_key: str | None = None,
        judge_url: str | None = None,
        judge_key: str | None = None,
        onnx_runtime: _Path | None = None,
        views_dir: _Path | None = None,
        retractions_csv: _Path | None = None,
        allow_private_hosts: bool = False,
        read_only: bool = False,
        limits: Mapping[str, float] | None = None,
        parser: Literal["process", "in_process"] | None = None,
        parser_memory: int | None = None,
        parser_seconds: int | None = None,
    ) -> Self: ...
    @property
    def path(self) -> Path: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        *_exception: type[BaseException] | BaseException | TracebackType | None,
    ) -> None: ...
    def _repr_html_(self) -> str: ...
    def models(self) -> Report: ...
    def doctor(self) -> Rows: ...
    def schema(self) -> Report: ...
    # Tasks
    def create_task(
        self,
        hypothesis: str,
        config: Mapping[str, Any] | None = None,
        *,
        max_pages: int | None = None,
        max_seconds: int | None = None,
        priority_domains: Iterable[str] | None = None,
    ) -> str: ...
    def tasks(self) -> Rows: ...
    def queue_targets(
        self,
        task_id: str,
        targets: str | Mapping[str, Any] | Iterable[str | Mapping[str, Any]],
        *,
        priority: _Priority = "medium",
        budget_pages: int | None = None,
        providers: Iterable[str] | None = None,
        refute: bool = False,
        repeat: bool = False,
    ) -> Report: ...
    def run(self, task_id: str, progress: _Progress | None = None) -> Status: ...
    def run_async(
        self, task_id: str, progress: _Progress | None = None
    ) -> Coroutine[Any, Any, Status]: ...
    def status(
        self, task_id: str, wait: float = 0.0, detail: Literal["summary", "full"] = "summary"
    ) -> Status: ...
    def status_async(
        self, task_id: str, wait: float = 0.0, detail: Literal["summary", "full"] = "summary"
    ) -> Coroutine[Any, Any, Status]: ...
    def stop_task(
        self,
        task_id: str,
        reason: Literal[
            "session_completed", "budget_exhausted", "user_cancelled"
        ] = "session_completed",
        mode: Literal["graceful", "immediate", "full"] = "graceful",
        scope: Literal["all_jobs", "target_queue_only"] = "all_jobs",
    ) -> Report: ...
    def queue_reference_candidates(
        self,
        task_id: str,
        include_ids: Iterable[str] | None = None,
        exclude_ids: Iterable[str] | None = None,
        limit: int = 10,
        dry_run: bool = False,
        *,
        priority: _Priority = "medium",
    ) -> Report: ...
    # Queries
    def query(
        self,
        sql: str,
        params: Sequence[Any] | Mapping[str, Any] | None = None,
        limit: int = 50,
        offset: int = 0,
        timeout_ms: int = 300,
        max_vm_steps: int = 5_000_000,
        *,
        max_bytes: int = 1_048_576,
        all: bool = False,
    ) -> Rows: ...
    def view(
        self,
        name: str,
        task_id: str | None = None,
        limit: int = 50,
        offset: int = 0,
        params: Mapping[str, Any] | None = None,
        *,
        all: bool = False,
    ) -> Rows: ...
    def views(self) -> Rows: ...
    def search(
        self,
        query: str | npt.ArrayLike,
        target: _Target = "claims",
        task_id: str | None = None,
        top_k: int = 10,
        min_similarity: float | None = None,
        mode: Literal["semantic", "hybrid", "lexical"] | None = None,
        cutoff: Literal["none", "kneedle"] = "none",
        offset: int = 0,
    ) -> Hits: ...
    def judge(
        self, pairs: Iterable[tuple[str, str] | list[str]]
    ) -> list[tuple[_Verdict, float]]: ...
    # Vectors
    def embed(
        self, texts: Iterable[str], role: Literal["document", "query"] = "document"
    ) -> _Vectors: ...
    def embeddings(
        self,
        target: _Target = "claims",
        model_id: str | None = None,
        dimension: int | None = None,
    ) -> tuple[list[str], _Vectors]: ...
    def add_embeddings(
        self,
        target: _Target,
        ids: Iterable[str],
        vectors: npt.ArrayLike,
        model_id: str | None = None,
    ) -> int: ...
    def candidate_pairs(
        self, task_id: str, *, batch_size: int = 256
    ) -> Iterator[list[dict[str, Any]]]: ...
    # Inserting known data
    def add_records(self, records: Iterable[Mapping[str, Any]]) -> Report: ...
    def batch(self) -> AbstractContextManager[EvidenceGraph]: ...
    def add_task(
        self,
        hypothesis: str,
        *,
        id: str | None = None,
        status: Literal["created", "exploring", "paused", "failed"] | None = None,
        config_json: Mapping[str, Any] | str | None = None,
        created_at: str | date | None = None,
        started_at: str | date | None = None,
        completed_at: str | date | None = None,
        error_message: str | None = None,
    ) -> str: ...
    def add_work(
        self,
        canonical_id: str,
        *,
        title: str | None = None,
        year: int | None = None,
        published_date: str | date | None = None,
        venue: str | None = None,
        doi: str | None = None,
        citation_count: int | None = None,
        reference_count: int | None = None,
        is_open_access: bool | None = None,
        is_retracted: bool | None = None,
        oa_url: str | None = None,
        pdf_url: str | None = None,
        source_api: str | None = None,
    ) -> str: ...
    def add_work_author(
        self,
        canonical_id: str,
        position: int,
        name: str,
        *,
        affiliation: str | None = None,
        orcid: str | None = None,
    ) -> None: ...
    def add_work_identifier(
        self,
        canonical_id: str,
        provider: str,
        provider_paper_id: str,
        *,
        doi: str | None = None,
        pmid: str | None = None,
        pmcid: str | None = None,
        arxiv_id: str | None = None,
    ) -> None: ...
    def add_page(
        self,
        url: str,
        text: str | None = None,
        *,
        id: str | None = None,
        final_url: str | None = None,
        domain: str | None = None,
        title: str | None = None,
        page_type: str | None = None,
        fetch_method: str | None = None,
        http_status: int | None = None,
        content_type: str | None = None,
        content_hash: str | None = None,
        content_length: int | None = None,
        canonical_id: str | None = None,
        language: str | None = None,
        fetched_at: str | date | None = None,
        etag: str | None = None,
        last_modified: str | date | None = None,
        error_message: str | None = None,
        fresh_until: str | date | None = None,
        near_duplicate_of: str | None = None,
    ) -> str: ...
    def add_page_text(
        self,
        page_id: str,
        text: str,
        version: int = 1,
        *,
        text_hash: str | None = None,
        fetched_at: str | date | None = None,
    ) -> None: ...
    def add_fragment(
        self,
        page_id: str,
        text_content: str,
        *,
        id: str | None = None,
        page_version: int | None = None,
        fragment_type: Literal[
            "paragraph", "heading", "list", "table", "quote", "figure", "code", "abstract"
        ]
        | None = None,
        position: int | None = None,
        heading_context: str | None = None,
        heading_hierarchy: Sequence[str] | str | None = None,
        char_start: int | None = None,
        char_end: int | None = None,
        text_hash: str | None = None,
        security_flags: str | None = None,
        created_at: str | date | None = None,
    ) -> str: ...
    def add_claim(
        self,
        task_id: str,
        claim_text: str,
        *,
        id: str | None = None,
        claim_type: Literal["fact", "opinion", "prediction"] | None = None,
        granularity: str | None = None,
        details_json: Mapping[str, Any] | str | None = None,
        llm_claim_confidence: float | None = None,
        extractor_id: str | None = None,
        claim_adoption_status: Literal["adopted", "not_adopted"] | None = None,
        claim_rejection_reason: str | None = None,
        claim_rejected_at: str | date | None = None,
        created_at: str | date | None = None,
        cause_id: str | None = None,
    ) -> str: ...
    def add_edge(
        self,
        source_id: str,
        target_id: str,
        relation: _Relation,
        *,
        id: str | None = None,
        source_type: Literal["page", "fragment"] | None = None,
        target_type: Literal["page", "claim"] | None = None,
        nli_label: str | None = None,
        nli_edge_confidence: float | None = None,
        nli_probabilities: str | None = None,
        judge_id: str | None = None,
        quote_start: int | None = None,
        quote_end: int | None = None,
        citation_source: str | None = None,
        citation_context: str | None = None,
        source_domain_category: str | None = None,
        target_domain_category: str | None = None,
        edge_human_corrected: bool | None = None,
        edge_correction_reason: str | None = None,
        edge_corrected_at: str | date | None = None,
        created_at: str | date | None = None,
        cause_id: str | None = None,
    ) -> str: ...
    def add_embedding(
        self,
        target_type: Literal["claim", "fragment"],
        target_id: str,
        embedding: npt.ArrayLike | bytes,
        model_id: str | None = None,
        *,
        id: str | None = None,
        dimension: int | None = None,
        created_at: str | date | None = None,
    ) -> None: ...
    def add_task_page(
        self,
        task_id: str,
        page_id: str,
        reason: Literal["search", "academic_api", "citation_chase", "manual"] = "manual",
        *,
        depth: int | None = None,
        source_page_id: str | None = None,
    ) -> None: ...
    # Corrections
    def feedback(
        self,
        action: Literal[
            "edge_correct",
            "claim_reject",
            "claim_restore",
            "domain_block",
            "domain_unblock",
            "domain_clear_override",
        ],
        *,
        edge_id: str | None = None,
        correct_relation: _Verdict | None = None,
        claim_id: str | None = None,
        domain_pattern: str | None = None,
        reason: str | None = None,
        actor: str = "user",
    ) -> Report: ...
    def judgements(
        self,
        task_id: str,
        limit: int = 10,
        *,
        focus: Literal["all", "uncertain", "disputed", "hypothesis"] = "all",
        lease_seconds: int = 600,
    ) -> Rows: ...
    def check(
        self,
        draft: str | bytes,
        *,
        format: Literal["markdown", "html", "latex", "docx"] = "markdown",
        bibliography: str | None = None,
        task_id: str | None = None,
        other_sources: bool = True,
    ) -> Report: ...
    def claim_standing(self, text: str, task_id: str | None = None) -> Report: ...
    def submit_judgements(
        self,
        task_id: str,
        judgements: Sequence[Mapping[str, Any]],
        model: str,
        *,
        client: str = "python",
    ) -> Report: ...
    @overload
    def auth_queue(
        self,
        task_id: str | None = None,
        group_by: Literal["none"] = "none",
        priority_filter: Literal["all", "high", "medium", "low"] = "all",
    ) -> Rows: ...
    @overload
    def auth_queue(
        self,
        task_id: str | None = None,
        *,
        group_by: Literal["domain", "type"],
        priority_filter: Literal["all", "high", "medium", "low"] = "all",
    ) -> dict[str, Rows]: ...
    @overload
    def auth_queue(
        self,
        task_id: str | None,
        group_by: Literal["domain", "type"],
        priority_filter: Literal["all", "high", "medium", "low"] = "all",
    ) -> dict[str, Rows]: ...
    @overload
    def auth_queue(
        self,
        task_id: str | None = None,
        group_by: str = "none",
        priority_filter: str = "all",
    ) -> Rows | dict[str, Rows]: ...
    def resolve_auth(
        self,
        queue_id: str | None = None,
        *,
        domain: str | None = None,
        task_id: str | None = None,
        action: Literal["complete", "skip"] = "complete",
        success: bool = True,
        cookies: str | None = None,
    ) -> Report: ...
    def calibration_metrics(
        self,
        action: Literal["get_stats", "get_evaluations"] = "get_stats",
        source: str | None = None,
        limit: int = 50,
    ) -> Report: ...
    def calibration_rollback(
        self,
        source: str,
        version: int | None = None,
        reason: str | None = None,
        *,
        actor: str = "user",
    ) -> Report: ...
    # The file as a whole
    def import_jsonl(self, path: _Path) -> Report: ...
    def import_parquet(self, path: _Path) -> Report: ...
    def export(
        self,
        path: _Path,
        format: Literal[
            "jsonl", "bibtex", "ris", "csl-json", "graphml", "markdown", "prov", "html", "csv", "parquet"
        ] = "jsonl",
        task_id: str | None = None,
        *,
        partition_by: Literal["task"] | None = None,
    ) -> Report: ...
    def canonical_hash(self, task_id: str | None = None) -> str: ...
    def pack(
        self,
        path: _Path,
        task_id: str,
        *,
        key: _Path,
        texts: Literal["licensed", "all", "none"] = "licensed",
        licences: Mapping[str, str] | None = None,
        record: _Path | None = None,
    ) -> Report: ...
    def diff(self, before: _Path | EvidenceGraph, task_id: str | None = None) -> GraphDiff: ...
    def changes_since(self, since: str | date, task_id: str | None = None) -> GraphDiff: ...
    # The review
    def screen(
        self,
        task_id: str,
        source: str,
        decision: Literal["include", "exclude"],
        *,
        reason: str | None = None,
        by: str = "user",
        final: bool = False,
    ) -> Report: ...
    def screening(self, task_id: str, *, by: str | None = None) -> Report: ...
    @overload
    def review(self, task_id: str, *, since: str | date | None = None, format: None = None) -> Report: ...
    @overload
    def review(
        self,
        task_id: str,
        *,
        since: str | date | None = None,
        format: Literal["text", "markdown", "json", "atom", "svg"],
    ) -> str: ...
    def verify(self) -> Report: ...
    def backup(self, to: _Path) -> None: ...
    def forget(self, task_id: str, orphans: bool = False) -> Report: ...
    def merge(self, *paths: _Path, report: bool = False) -> Report: ...
    def sync_corpus(self) -> Report | None: ...

def kneedle_cutoff(
    scores: Iterable[float],
    min_results: int = 3,
    max_results: int = 50,
    sensitivity: float = 1.0,
) -> int: ...
def find_identifiers(url_or_text: str) -> dict[str, str]: ...
def canonical_id(
    url: str | None = None,
    *,
    doi: str | None = None,
    pmid: str | None = None,
    pmcid: str | None = None,
    arxiv_id: str | None = None,
    openalex_id: str | None = None,
    s2_id: str | None = None,
    title: str | None = None,
    authors: Iterable[str] | None = None,
    year: int | None = None,
) -> str | None: ...
def normalize_url(url: str) -> str: ...
def claim_confidence(
    verdicts: Iterable[tuple[str, float | None] | list[Any]],
) -> dict[str, float]: ...
def detect_challenge(
    html: str | _Bytes, headers: Mapping[str, str] | None = None, status: int = 200
) -> str | None: ...
def extract(
    html_or_bytes: str | _Bytes, content_type: str | None = None, name: str = ""
) -> Document: ...
def read(
    source: _Path | _Bytes,
    hypothesis: str,
    *,
    task_id: str | None = None,
    url: str | None = None,
    content_type: str | None = None,
    lines: tuple[int, int] | None = None,
    now: str | date | None = None,
    on_error: Literal["raise", "warn"] = "raise",
    embedder: _Embedder | None = None,
    embedder_url: str | None = None,
    claim_extractor: str | _ClaimExtractor | None = None,
    claim_extractor_url: str | None = None,
    onnx_runtime: _Path | None = None,
    limits: Mapping[str, float] | None = None,
    parser: Literal["process", "in_process"] | None = None,
) -> list[dict[str, Any]]: ...
def judge_pairs(
    pairs: Iterable[Mapping[str, Any]],
    *,
    judge: str | _StanceJudge | None = None,
    judge_url: str | None = None,
    onnx_runtime: _Path | None = None,
    limits: Mapping[str, float] | None = None,
    now: str | date | None = None,
) -> list[dict[str, Any]]: ...
def verify_pack(path: _Path, *, key: _Path | None = None) -> Report: ...
def command_line(arguments: Sequence[_Path]) -> int: ...
