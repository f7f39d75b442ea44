"""Makes work on another thread awaitable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def drive(work: Any) -> Any:
    """Starts the work and waits for it; a cancellation ends it, and so does an exception that
    `tell` caught."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    work.begin(loop, future)
    try:
        return await future
    finally:
        # If the work is done, this has no effect.
        work.cancel()


def tell(future: asyncio.Future[Any], progress: Callable[[Any], object], told: Any) -> None:
    """Calls the listener; an exception that it raises becomes the outcome, and the listener is not
    called again."""
    if future.done():
        return
    try:
        progress(told)
    except StopIteration as error:
        # A coroutine cannot raise StopIteration, and a future refuses it.
        wrapped = RuntimeError("progress raised StopIteration")
        wrapped.__cause__ = error
        future.set_exception(wrapped)
    except BaseException as error:
        future.set_exception(error)
        # These are also raised to the event loop, wherever they come from.
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Puts the outcome into the future, unless the future is already done or cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
