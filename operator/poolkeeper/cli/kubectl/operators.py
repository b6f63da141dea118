"""Whether an operator leads: a status stays as it was when nobody writes it any more.

Each KafkaCluster names the release that writes its status, by the namespace and the name of its
Lease. The leader renews the Lease every few seconds; `lease_reader` tells whether anybody does.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from poolkeeper.cli.kubectl.access import status_of
from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.kube.leadership import lease_reader
from poolkeeper.kube.leadership.leader_election import Lease
from poolkeeper.kube.leadership.lease_reader import LeaseReader

RELEASES_MAX = 4
"""Of how many releases is looked: there should be one."""
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*")


@frozen
class OperatorRelease:
    """A release of the operator, and whether one of its pods leads.

    `release` is the namespace and the name of its Lease. `renewed` is when the Lease was renewed
    last, by the clock of who did; empty without a Lease.
    """

    release: str
    leads: bool
    holder: str = ""
    renewed: str = ""

    @property
    def sentence(self) -> str:
        """What is to be known where nobody leads."""
        namespace = self.release.partition("/")[0]
        last = (
            f"its Lease was renewed last at {self.renewed}" if self.renewed else "its Lease is gone"
        )
        return (
            f"no operator of the release {self.release} leads: {last}; statuses may be out of"
            f" date, and nothing is done until one leads (`kubectl get pods -n {namespace}`, and"
            " the logs of these pods)"
        )

    @property
    def document(self) -> dict[str, Any]:
        """The fields as they are printed."""
        return {
            "release": self.release,
            "leads": self.leads,
            "holder": self.holder or None,
            "renewed": self.renewed or None,
        }


def release_names(clusters: Collection[Mapping[str, Any]]) -> Sequence[str]:
    """Return the releases that KafkaClusters name, sorted; of a name that is none, nothing."""
    said = [str(status_of(body).get("operator") or "") for body in clusters]
    names = {name for each in said for name in each.split(", ")}
    return sorted(filter(_NAME.fullmatch, names))[:RELEASES_MAX]


def operator_releases(
    api: LeaseReader,
    clusters: Collection[Mapping[str, Any]],
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> list[OperatorRelease]:
    """Return what is known of each release that the clusters name, by its Lease.

    A release is left out whose Lease this person may not read, or which could not be read in time.
    """
    found: list[OperatorRelease] = []
    for release in release_names(clusters):
        try:
            found.append(_operator_release(api, release, clock, sleep))
        except Unavailable:  # also Forbidden: nothing is known, and the rest is of use without it
            continue
    return found


def _operator_release(
    api: LeaseReader, release: str, clock: Callable[[], float], sleep: Callable[[float], None]
) -> OperatorRelease:
    again = partial(read_release_lease, api, release)
    first = again()
    if first is None:
        return without_leader(release, first)
    held = lease_reader.held_lease(first, again, clock=clock, sleep=sleep)
    if held is None:
        return without_leader(release, first)
    return OperatorRelease(release, True, held.holder, _whole_seconds(held.renewed))


def without_leader(release: str, lease: Lease | None) -> OperatorRelease:
    """Return a release whose Lease, as read last, nobody holds any more."""
    return OperatorRelease(
        release, False, renewed="" if lease is None else _whole_seconds(lease.renewed)
    )


def read_release_lease(api: LeaseReader, release: str) -> Lease | None:
    """Return the Lease of a release, None if there is none; raises Unavailable and Forbidden."""
    namespace, _, name = release.partition("/")
    return lease_reader.read_lease(api, namespace, name)


def _whole_seconds(moment: str) -> str:
    return re.sub(r"\.\d+(?=Z|$)", "", moment)
