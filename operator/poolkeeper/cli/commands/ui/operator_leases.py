"""Which releases of the operator nobody leads, for the pages.

Pages look again and again: so nothing is waited for, and no clock of another machine counts. Nobody
leads a release whose Lease was seen unchanged, free or not there, for as long as one may be held.
Before that nothing is known, and nothing is told.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.cli.kubectl.operators import (
    OperatorRelease,
    read_release_lease,
    release_names,
    without_leader,
)
from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.kube.leadership.leader_election import DURATION_S, Lease
from poolkeeper.kube.leadership.lease_reader import LeaseReader


@frozen
class SeenLease:
    """A Lease as it was at `since_s`, and still at `read_s`; None: there is none."""

    lease: Lease | None
    since_s: float
    read_s: float

    @property
    def is_over(self) -> bool:
        """Whether nobody held it when it was read: a leader would have renewed it before."""
        held_s = DURATION_S if self.lease is None else self.lease.held_s
        return self.read_s - self.since_s >= held_s


@dataclass(slots=True)
class OperatorLeases:
    """The Leases of the releases that KafkaClusters name, as the looks of the pages saw them."""

    api: LeaseReader
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, SeenLease] = field(default_factory=dict)

    def look(self, clusters: Collection[Mapping[str, Any]]) -> None:
        """Read the Leases of the releases that these bodies name, those that may be read."""
        seen = {}
        for release in release_names(clusters):
            try:
                lease = read_release_lease(self.api, release)
            except Unavailable:  # also Forbidden: nothing is known, and the pages do without it
                continue
            before, now_s = self._seen.get(release), self.clock()
            is_same = before is not None and before.lease == lease
            seen[release] = SeenLease(lease, before.since_s if before and is_same else now_s, now_s)
        self._seen = seen

    def leaderless(self, cluster: Mapping[str, Any]) -> tuple[OperatorRelease, ...]:
        """Return the releases that this body names and that nobody leads."""
        known = [(name, self._seen.get(name)) for name in release_names([cluster])]
        return tuple(
            without_leader(name, seen.lease) for name, seen in known if seen and seen.is_over
        )
