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
    view: View,
    mark: str,
    ends: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[bytes]:
    """What to send, piece by piece, until `ends` or the stream is old; waits between pieces.

    `mark` is of the page that the reader has, empty for one that shows nothing yet.
    """
    until_s = clock() + STREAM_S
    yield f"retry: {RETRY_MS}\n\n".encode()
    number = -1
    while not ends() and clock() < until_s:
        shown = view.newer(number, NUDGE_S)
        news = _news(view, mark, shown) if shown.number != number else ()
        yield b"".join(news) or b": still here\n\n"
        number, mark = shown.number, shown.mark


def _news(view: View, mark: str, shown: Shown) -> Iterator[bytes]:
    if shown.mark != mark:
        if mark and not view.live.in_place:
            yield _event("newer", {})
            return
        yield _event("page", {"title": shown.report.title, "content": shown.content})
    yield _event("seen", {"told": shown.told})


def _event(kind: str, data: dict[str, str]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()
