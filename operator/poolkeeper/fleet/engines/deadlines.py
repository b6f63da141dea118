"""Waiting that ends: for all of a cluster, whose answers each have a deadline, and for Java."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import TypeVar

from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.zk.client.session import Session

T = TypeVar("T")


def in_background(action: Callable[[], T]) -> "Future[T]":
    """What an action will return; it may never, and does not keep the process from ending."""
    future: Future[T] = Future()

    def act() -> None:
        try:
            future.set_result(action())
        except Exception as failed:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(failed)

    Thread(target=act, name="background", daemon=True).start()
    return future


@contextmanager
def close_at_deadline(session: Session, deadline_s: float) -> Iterator[None]:
    """Close the session at the deadline; what fails because of that is `Unavailable`, saying so."""
    late = Event()
    watchdog = Timer(deadline_s, _give_up, (session, late))
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    except PoolkeeperError as failed:
        if late.is_set():
            raise Unavailable(f"not read within {deadline_s:g} s") from failed
        raise
    finally:
        watchdog.cancel()


def _give_up(session: Session, late: Event) -> None:
    late.set()
    session.close()
