"""Leader election rules (coordination.k8s.io/v1): one holder of a Lease, and its standbys.

Whether a Lease has expired is judged by how long *we* have seen its record unchanged, by our own
clock, never by the times written in it: clocks of different machines may differ by anything. The
holder counts from the moment before it sent its last successful renewal, and subtracts a margin. So
it stops leading before any standby may start to:

    holder    ──sent──┬──────── HELD: duration - margin ────────┤ UNSURE …
    standby           └──seen──┬──────────── duration ────────────────────┤ may take it

The role is computed when it is asked for. A process that was frozen and wakes up is UNSURE before
any of its threads does anything. UNSURE does not mean lost. With the API server away no standby can
take over, so the work goes on, fenced by the journal's epoch. The Lease is lost when another holder
is seen.

An instance that saw a Lease held, and then sees it deleted, waits for it to expire all the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from poolkeeper.frozen import frozen

DURATION_S = 9
DURATION_S_MIN = 3
DURATION_S_MAX = 60
"""The longest Lease duration that is respected: the journal fences a holder that returns."""
TRANSITIONS_MAX = 2**31 - 1
"""The API server refuses a Lease with more: nobody could take it ever again."""


@frozen
class Pace:
    """How often the Lease is renewed and looked at, and how long a request may take.

    Between two renewals lie two ninths of the duration. A holder is sure of its Lease for eight
    ninths: so one renewal may fail, and take a third of the duration to do so, before it is UNSURE.
    """

    renew_s: float
    retry_s: float
    request_s: float
    hold_s: float


def pace_of(duration_s: int) -> Pace:
    """Return the pace of a Lease of that duration: of 9 s, 2 s, 1 s, 3 s and 8 s."""
    ninth_s = duration_s / 9
    return Pace(2 * ninth_s, ninth_s, 3 * ninth_s, 8 * ninth_s)


class LeaderRole(StrEnum):
    """The role of an instance, as far as it knows at this moment."""

    HELD = "held"
    UNSURE = "unsure"
    STANDBY = "standby"


@frozen
class Lease:
    """The record of a Lease; `version` is its resourceVersion, `holder` empty if it is free."""

    holder: str
    duration_s: int
    acquired: str
    renewed: str
    transitions: int
    version: str

    @property
    def held_s(self) -> int:
        """How long it may be held after it was last seen to change, whatever it says itself."""
        return min(max(self.duration_s, 1), DURATION_S_MAX)


@frozen
class ObservedLease:
    """The Lease last seen, unchanged since `since_s`; `is_ours`: whether we believe to hold it."""

    lease: Lease | None = None
    since_s: float = 0.0
    is_ours: bool = False

    def after_reading(self, lease: Lease | None, now_s: float) -> "ObservedLease":
        """Return what is known after another read; an absent Lease leaves the one seen before."""
        if lease is None or lease == self.lease:
            return self
        return replace(self, lease=lease, since_s=now_s)


@frozen
class Acquire:
    """Take the Lease: it is absent, free or expired."""


@frozen
class Renew:
    """Renew the Lease: we hold it."""


@frozen
class LeaseWait:
    """Wait: another instance may hold the Lease until then, by our clock."""

    until_s: float


@frozen
class Lost:
    """The Lease was ours; another instance holds it now."""

    holder: str


Decision = Acquire | Renew | LeaseWait | Lost


def decide(lease: Lease | None, identity: str, now_s: float, observed: ObservedLease) -> Decision:
    """Decide what to do about the Lease as read; `observed` includes this read.

    Seen held by b at 100 and unchanged, 9 s long: at 105 → Wait(109), at 109 → Acquire.
    """
    if lease is not None and lease.holder == identity:
        return Renew()
    if lease is not None and observed.is_ours and lease.holder:
        return Lost(lease.holder)
    if lease is not None and not lease.holder:
        return Acquire()
    last = observed.lease
    if last is None or last.holder in ("", identity):
        return Acquire()
    until_s = observed.since_s + last.held_s
    return Acquire() if now_s >= until_s else LeaseWait(until_s)


def read(body: dict[str, Any]) -> Lease:
    """Return the record in a Lease's body; a missing or malformed field counts as empty."""
    spec = body.get("spec") or {}
    return Lease(
        holder=spec.get("holderIdentity") or "",
        duration_s=spec.get("leaseDurationSeconds") or DURATION_S,
        acquired=spec.get("acquireTime") or "",
        renewed=spec.get("renewTime") or "",
        transitions=spec.get("leaseTransitions") or 0,
        version=(body.get("metadata") or {}).get("resourceVersion", ""),
    )


def claim(lease: Lease | None, identity: str, duration_s: int, now: datetime) -> Lease:
    """Return the record to write to take a Lease or to renew it."""
    moment = microtime(now)
    if lease is None:
        return Lease(identity, duration_s, moment, moment, 0, "")
    if lease.holder == identity:
        return replace(lease, duration_s=duration_s, renewed=moment)
    transitions = min(lease.transitions + 1, TRANSITIONS_MAX)
    return Lease(identity, duration_s, moment, moment, transitions, lease.version)


def release(lease: Lease, now: datetime) -> Lease:
    """Return the record to write to release a Lease, so that a standby takes it at once."""
    return replace(lease, holder="", duration_s=1, renewed=microtime(now))


def body(
    lease: Lease, namespace: str, name: str, owners: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the object to send; with a version it replaces only that version.

    `owners` are its ownerReferences.
    """
    meta: dict[str, Any] = {"namespace": namespace, "name": name}
    if owners:
        meta["ownerReferences"] = list(owners)
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta | ({"resourceVersion": lease.version} if lease.version else {}),
        "spec": {
            "holderIdentity": lease.holder,
            "leaseDurationSeconds": lease.duration_s,
            "acquireTime": lease.acquired,
            "renewTime": lease.renewed,
            "leaseTransitions": lease.transitions,
        },
    }


def microtime(now: datetime) -> str:
    """Return a time in the API server's format: `2026-01-31T12:00:00.000000Z`."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
