"""kazoo's exceptions as our own errors: each means that ZooKeeper is unavailable to us now.

A server that rejects a login hangs up, as one does that goes down. So a session that ends at the
login of a new connection is a session that ended: who opens the next one learns which it was.

A lost connection is no lost session: what only reads is asked again on the next one (`repeat`).
"""

from collections.abc import Callable
from copy import copy
from typing import Any

from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    QuotaExceededError,
    RequestTimeoutError,
    SessionClosedRequireSaslError,
    SessionExpiredError,
    ThrottledOpError,
)
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper.errors import Forbidden, Unavailable

QUOTAS = "/zookeeper/quota"
"""Where ZooKeeper keeps them, at the root and not in a chroot."""
EXPIRED = "the ZooKeeper session expired"
READ_ATTEMPTS = 3
"""A read is asked again after a lost connection; but it might be the read that costs it."""


def answer(result: Any, deadline_s: float) -> Any:
    """Wait for kazoo's asynchronous result; raises kazoo's errors.

    A result keeps its error, the error the frame that raised it, and that frame the result and all
    its callers: a circle, in which every node that is not there would keep what a pass has read
    until the collector comes to it. So the error that is raised is another one.
    """
    try:
        return result.get(True, deadline_s)
    except (KazooException, KazooTimeoutError) as failed:
        raise copy(failed.with_traceback(None)) from None


def repeat(ask: Callable[[], Any], deadline_s: float, first: Any = None) -> Any:
    """Return the answer to a read, asked again if the connection is lost; raises kazoo's errors.

    `first`: kazoo's result of the read, where it was asked before.
    """
    result = ask() if first is None else first
    for _ in range(READ_ATTEMPTS - 1):
        try:
            return answer(result, deadline_s)
        except ConnectionLoss:
            result = ask()
    return answer(result, deadline_s)


def unavailable(failed: Exception, doing: str) -> Unavailable:
    """Say in one line what failed; `doing` is a clause such as "reading /controller"."""
    match failed:
        case NoAuthError():
            return Forbidden(f"{doing} is not allowed for this ZooKeeper identity")
        case SessionClosedRequireSaslError():
            return rejected_credentials(doing)
        case AuthFailedError():
            return Unavailable(f"the ZooKeeper session ended at a login ({doing})")
        case SessionExpiredError() | ConnectionClosedError():
            return Unavailable(f"{EXPIRED} ({doing})")
        case ConnectionLoss():
            return Unavailable(f"the connection to ZooKeeper was lost ({doing})")
        case QuotaExceededError():
            return Forbidden(f"a quota in ZooKeeper, below {QUOTAS}, leaves no room ({doing})")
        case ThrottledOpError() | RequestTimeoutError():
            return Unavailable(f"ZooKeeper has more requests than it can answer ({doing})")
        case KazooTimeoutError():
            return Unavailable(f"ZooKeeper did not answer in time ({doing})")
        case _:
            return Unavailable(f"ZooKeeper answered {type(failed).__name__} ({doing})")


def rejected_credentials(doing: str) -> Forbidden:
    """Return the error for a server that rejects the credentials."""
    return Forbidden(f"ZooKeeper rejected the credentials ({doing})")


class ErrorTranslation:
    """A `with` block in which kazoo's errors become ours; cheap, as every read has one."""

    __slots__ = ("_doing", "_unchanged")

    def __init__(self, doing: str, unchanged: type[Exception] | tuple[()]) -> None:
        self._doing = doing
        self._unchanged = unchanged

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, _kind: type[BaseException] | None, failed: BaseException | None, _trace: object
    ) -> None:
        if failed is None or isinstance(failed, self._unchanged):
            return
        if isinstance(failed, KazooException | KazooTimeoutError):
            raise unavailable(failed, self._doing) from failed


def translate_errors(doing: str, unchanged: type[Exception] | tuple[()] = ()) -> ErrorTranslation:
    """Turn whatever kazoo raises inside into `Unavailable`, except for `unchanged`."""
    return ErrorTranslation(doing, unchanged)
