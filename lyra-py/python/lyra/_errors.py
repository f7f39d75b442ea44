"""The exceptions of the package: one hierarchy, so that `except lyra.LyraError` catches them all."""

from __future__ import annotations

from typing import Any


class LyraError(Exception):
    """The base of all exceptions: the message says what went wrong, `code` gives its class, `hint` says
    what to do about it.

    >>> import lyra
    >>> try:
    ...     lyra.normalize_url("no address")
    ... except lyra.LyraError as error:
    ...     print(error.code)
    INVALID_PARAMS
    """

    code: str = "INTERNAL_ERROR"
    """One of a closed set of codes, which is also that of the MCP server's `error_code`."""
    hint: str | None
    """What to do about it, if that is known."""

    def __init__(
        self, message: str = "", *, code: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} ({self.hint})" if self.hint else message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (type(self), self.args, self.code, self.hint))


def _again(
    kind: type[LyraError], args: tuple[Any, ...], code: str, hint: str | None
) -> LyraError:
    error = kind(*args, code=code, hint=hint)
    return error


class InvalidInputError(LyraError, ValueError):
    """An argument, a record or a line of a file does not have the expected form.

    >>> import lyra
    >>> issubclass(lyra.InvalidInputError, ValueError)
    True
    """

    code = "INVALID_PARAMS"


class NotFoundError(LyraError, LookupError):
    """A claim, an edge, a page, a view … does not exist.

    >>> import lyra
    >>> issubclass(lyra.NotFoundError, LookupError)
    True
    """

    code = "RESOURCE_NOT_FOUND"


class TaskNotFoundError(NotFoundError):
    """There is no task with that id.

    >>> import lyra
    >>> graph = lyra.EvidenceGraph("evidence.db")
    >>> try:
    ...     graph.status("task_00000000")
    ... except lyra.TaskNotFoundError as error:
    ...     print(error.code)
    TASK_NOT_FOUND
    """

    code = "TASK_NOT_FOUND"


class BudgetExhaustedError(LyraError):
    """The pages or seconds of a task are used up.

    >>> import lyra
    >>> issubclass(lyra.BudgetExhaustedError, lyra.LyraError)
    True
    """

    code = "BUDGET_EXHAUSTED"


class AuthRequiredError(LyraError):
    """A page requires a human first: a challenge, a login, a cookie wall.

    >>> import lyra
    >>> issubclass(lyra.AuthRequiredError, lyra.LyraError)
    True
    """

    code = "AUTH_REQUIRED"


class QueryError(LyraError):
    """A query failed: the base of the two kinds below.

    >>> import lyra
    >>> issubclass(lyra.QueryInterruptedError, lyra.QueryError)
    True
    """

    code = "QUERY_REJECTED"


class QueryRejectedError(QueryError):
    """SQL that reads or does what queries are not allowed to, or that is not valid SQL.

    >>> import lyra
    >>> graph = lyra.EvidenceGraph("evidence.db")
    >>> try:
    ...     graph.query("DELETE FROM claims")
    ... except lyra.QueryRejectedError as error:
    ...     print(error.code)
    QUERY_REJECTED
    """


class QueryInterruptedError(QueryError):
    """SQL that exceeded its limit of time, steps or memory.

    >>> import lyra
    >>> endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    >>> try:
    ...     lyra.EvidenceGraph("evidence.db").query(endless)
    ... except lyra.QueryInterruptedError as error:
    ...     print(error.code)
    QUERY_INTERRUPTED
    """

    code = "QUERY_INTERRUPTED"


class PipelineError(LyraError):
    """A stage of the research failed.

    >>> import lyra
    >>> issubclass(lyra.BackendError, lyra.PipelineError)
    True
    """

    code = "PIPELINE_ERROR"


class BackendError(PipelineError):
    """A network, a file, a model or a callable of yours failed; `__cause__` is its exception.

    >>> import lyra
    >>> issubclass(lyra.BackendError, lyra.LyraError)
    True
    """


class UnsupportedError(PipelineError):
    """This build does not support the operation, or the operation would write to a graph that is
    open read-only.

    >>> import lyra
    >>> issubclass(lyra.UnsupportedError, lyra.LyraError)
    True
    """


class CalibrationError(LyraError):
    """A calibration could not be fitted, read or rolled back.

    >>> import lyra
    >>> issubclass(lyra.CalibrationError, lyra.LyraError)
    True
    """

    code = "CALIBRATION_ERROR"


class LyraTimeoutError(LyraError, TimeoutError):
    """Something did not answer in time.

    >>> import lyra
    >>> issubclass(lyra.LyraTimeoutError, TimeoutError)
    True
    """

    code = "TIMEOUT"


class InternalError(LyraError):
    """A bug in Lyra.

    >>> import lyra
    >>> issubclass(lyra.InternalError, lyra.LyraError)
    True
    """


class StorageError(InternalError):
    """The database file cannot be used: foreign, corrupt, newer, read-only, full.

    >>> import lyra
    >>> with open("notes.txt", "w") as file:
    ...     _ = file.write("this is no database, and longer than a hundred bytes" * 10)
    >>> try:
    ...     lyra.EvidenceGraph("notes.txt")
    ... except lyra.StorageError as error:
    ...     print(error.hint)
    the file is not an SQLite database; give another --db path
    """
