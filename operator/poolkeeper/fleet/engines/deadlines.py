"""A deadline for the whole of a cluster's reading: each answer has its own, and there are many."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Timer

from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.zk.client.session import Session


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
