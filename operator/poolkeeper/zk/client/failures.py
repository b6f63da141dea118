"""kazoo's exceptions as our own errors: each means that ZooKeeper is unavailable to us now."""

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    SessionClosedRequireSaslError,
    SessionExpiredError,
)
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper.errors import Forbidden, Unavailable

EXPIRED = "the ZooKeeper session expired"


def unavailable(failed: Exception, doing: str) -> Unavailable:
    """Say in one line what failed; `doing` is a clause such as "reading /controller"."""
    match failed:
        case NoAuthError():
            return Forbidden(f"{doing} is not allowed for this ZooKeeper identity")
        case AuthFailedError() | SessionClosedRequireSaslError():
            return Forbidden(f"ZooKeeper rejected the credentials ({doing})")
        case SessionExpiredError() | ConnectionClosedError():
            return Unavailable(f"{EXPIRED} ({doing})")
        case ConnectionLoss():
            return Unavailable(f"the connection to ZooKeeper was lost ({doing})")
        case KazooTimeoutError():
            return Unavailable(f"ZooKeeper did not answer in time ({doing})")
        case _:
            return Unavailable(f"ZooKeeper answered {type(failed).__name__} ({doing})")


@contextmanager
def translate_errors(doing: str, unchanged: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn whatever kazoo raises inside into `Unavailable`, except for `unchanged`."""
    try:
        yield
    except unchanged:
        raise
    except (KazooException, KazooTimeoutError) as failed:
        raise unavailable(failed, doing) from failed
