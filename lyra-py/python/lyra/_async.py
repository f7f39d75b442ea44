"""How work on another thread becomes something to await."""

from __future__ import annotations

import asyncio
from typing import Any


async def drive(work: Any) -> Any:
    """Begins the work and waits for it; a cancellation ends it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    work.begin(loop, future)
    try:
        return await future
    finally:
        if not future.done() or future.cancelled():
            work.cancel()


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Puts the outcome into the future, unless nobody waits for it any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
