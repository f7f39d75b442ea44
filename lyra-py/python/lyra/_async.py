"""How work on another thread becomes something to await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def drive(work: Any) -> Any:
    """Begins the work and waits for it; a cancellation ends it, and so does what `tell` heard."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    work.begin(loop, future)
    try:
        return await future
    finally:
        # Where the work is done, nobody hears it.
        work.cancel()


def tell(future: asyncio.Future[Any], progress: Callable[[Any], object], told: Any) -> None:
    """Calls the listener; what it raises is the outcome, and nothing more is told."""
    if future.done():
        return
    try:
        progress(told)
    except StopIteration as error:
        # A coroutine cannot raise it, and a future refuses it.
        wrapped = RuntimeError("progress raised StopIteration")
        wrapped.__cause__ = error
        future.set_exception(wrapped)
    except BaseException as error:
        future.set_exception(error)
        # Of these the event loop hears, too, whoever raises them.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Puts the outcome into the future, unless nobody waits for it any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
