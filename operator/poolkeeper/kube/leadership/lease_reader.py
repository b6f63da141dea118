"""Whether anybody holds a Lease, for those who only read it.

Clocks of different machines differ, so a time that is not of just now proves nothing by itself: the
Lease is looked at again, and nobody holds it where it stays as it was for the whole of its
duration. A free Lease is looked at again as well, as one instance may be handing it over to
another. A holder's Lease is read once.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from poolkeeper.kube.leadership import leader_election
from poolkeeper.kube.leadership.leader_election import Lease

RECENT_S = 30.0
LOOK_S = 1.0
HAND_OVER_S = 5
"""Who ends gives its Lease back for a second; a standby takes it well within this time."""

Body = dict[str, Any]


class LeaseReader(Protocol):
    """The method of `client.Api` that this module needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> Body | None:
        """Return an object."""


def read_lease(api: LeaseReader, namespace: str, name: str) -> Lease | None:
    """Return a Lease, None if there is none; raises Unavailable and Forbidden."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    body = api.get(path)
    return None if body is None else leader_election.read(body)


def held_lease(
    lease: Lease,
    read_again: Callable[[], Lease | None],
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    recent_s: float = RECENT_S,
) -> Lease | None:
    """Return the Lease, as just read or as read again, with a holder; None if it has none.

    Renewed within `recent_s` by `clock`, this machine's, it has one.
    """
    return (
        lease if _is_recent(lease, clock(), recent_s) else _renewed_lease(lease, read_again, sleep)
    )


def _renewed_lease(
    first: Lease, read_again: Callable[[], Lease | None], sleep: Callable[[float], None]
) -> Lease | None:
    """Return the Lease once it is renewed or taken, None if its duration goes by before."""
    for _ in range(max(first.held_s, HAND_OVER_S)):
        sleep(LOOK_S)
        now = read_again()
        if now is None:
            return None
        if now != first and now.holder:
            return now
    return None


def _is_recent(lease: Lease, now_s: float, recent_s: float) -> bool:
    """Return whether a holder renewed the Lease just now, by this machine's clock."""
    try:
        renewed = datetime.fromisoformat(lease.renewed).astimezone(UTC).timestamp()
    except ValueError:
        return False
    return bool(lease.holder) and abs(now_s - renewed) <= recent_s
