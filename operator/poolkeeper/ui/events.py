"""The stream of events of one page: server-sent events, one stream a viewer.

`seen`: when the latest look was. `page`: the page's title and content, where they changed and are
replaced in place; `newer` where the reader shall load the page. Between news a comment goes out
every `NUDGE_S`, so that a viewer that went is noticed. A stream ends after `STREAM_S`, and the
browser begins another one.
"""

import json
import time
from collections.abc import Callable, Iterator

from poolkeeper.ui.registry import Shown, View

CONTENT_TYPE = "text/event-stream; charset=utf-8"
STREAM_S = 600.0
NUDGE_S = 5.0
RETRY_MS = 2000


def stream(
    view: View, ends: Callable[[], bool], clock: Callable[[], float] = time.monotonic
) -> Iterator[bytes]:
    """What to send, piece by piece, until `ends` or the stream is old; waits between pieces."""
    until_s = clock() + STREAM_S
    yield f"retry: {RETRY_MS}\n\n".encode()
    last: Shown | None = None
    while not ends() and clock() < until_s:
        shown = view.newer(last.number if last else -1, NUDGE_S)
        yield b"".join(_news(view, last, shown)) or b": still here\n\n"
        last = shown


def _news(view: View, last: Shown | None, shown: Shown) -> Iterator[bytes]:
    if last is not None and last.number == shown.number:
        return
    if last is None or last.content != shown.content:
        if view.live.in_place:
            yield _event("page", {"title": shown.report.title, "content": shown.content})
        elif last is not None:
            yield _event("newer", {})
            return
    yield _event("seen", {"told": shown.told})


def _event(kind: str, data: dict[str, str]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
