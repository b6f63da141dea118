"""The thread that takes, renews and releases a Lease; the rules are in `leader_election`."""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import Any, Protocol

from poolkeeper.errors import Forbidden, PoolkeeperError, Refused, Stale
from poolkeeper.kube.leadership import leader_election
from poolkeeper.kube.leadership.leader_election import (
    Acquire,
    LeaderRole,
    Lease,
    LeaseWait,
    Lost,
    ObservedLease,
    Renew,
)
from poolkeeper.kube.leadership.lease_owner import LeaseOwner

logger = logging.getLogger(__name__)

OnRoleChange = Callable[[LeaderRole, str], None]


class LeaseApi(Protocol):
    """The methods of `client.Api` that an elector needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> dict[str, Any] | None:
        """Return an object."""

    def create(
        self, path: str, body: dict[str, Any], *, deadline_s: float | None = None
    ) -> dict[str, Any]:
        """Create an object, or raise `Stale`."""

    def update(
        self, path: str, body: dict[str, Any], *, deadline_s: float | None = None
    ) -> dict[str, Any]:
        """Replace an object of that version, or raise `Stale`."""


def clock_s() -> float:
    """Return a monotonic clock in seconds that counts while the process or machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(boot)


class LeaderElector:
    """One instance's part in an election; call `start`, and `release` or `stop` at the end.

    `on_change(role, reason)` is called in the elector's thread at every change of role. It must not
    block or raise. `changed` is set too; whoever waits on it clears it. `owner`, if it
    is set before the start, says with what the Lease goes.
    """

    def __init__(
        self,
        api: LeaseApi,
        namespace: str,
        name: str,
        identity: str,
        *,
        duration_s: int = leader_election.DURATION_S,
        on_change: OnRoleChange | None = None,
        clock: Callable[[], float] = clock_s,
    ) -> None:
        self.identity = identity
        self.changed = Event()
        self._api = api
        self._namespace, self._name = namespace, name
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._duration_s = duration_s
        self._pace = leader_election.pace_of(duration_s)
        self.owner: LeaseOwner | None = None
        self._on_change = on_change
        self._clock = clock
        self._lock = Lock()
        self._observed = ObservedLease()
        self._renewed_s = 0.0
        self._reported_role: LeaderRole = LeaderRole.STANDBY
        self._reason = "has not asked for the lease yet"
        self._warned = ""
        self._last_round_s = clock()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="elector", daemon=True)

    @property
    def role(self) -> LeaderRole:
        """The role of this instance at this moment."""
        with self._lock:
            return self._role(self._clock())

    @property
    def state(self) -> LeaderRole:
        """The same as `role`."""
        return self.role

    @property
    def reason(self) -> str:
        """The reason for the role, in one line for people."""
        return self._reason

    @property
    def holder(self) -> str:
        """The identity last seen in the Lease; empty if there was none."""
        lease = self._observed.lease
        return "" if lease is None else lease.holder

    @property
    def quiet_s(self) -> float:
        """Seconds since the elector's thread last ran a round; many if it is stuck or dead."""
        return self._clock() - self._last_round_s

    def start(self) -> None:
        """Start to compete for the Lease."""
        self._thread.start()

    def stop(self) -> None:
        """Stop competing; a Lease that we hold expires by itself."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * self._pace.request_s)

    def release(self) -> bool:
        """Stop, and release the Lease if we hold it; false if that failed.

        Call it once nothing acts as the leader any more: a standby takes over at once.
        """
        self.stop()
        with self._lock:
            held = self._observed.is_ours
            self._observed = replace(self._observed, is_ours=False)
        self._report_role("the lease was released")
        if not held:
            return True
        try:
            found = self._api.get(self._path, deadline_s=self._pace.request_s)
            lease = None if found is None else leader_election.read(found)
            if lease is not None and lease.holder == self.identity:
                self._write(leader_election.release(lease, datetime.now(UTC)))
        except PoolkeeperError as failed:
            logger.warning("the lease was not released, it expires by itself: %s", failed)
            return False
        return True

    def round(self) -> float:
        """Read the Lease once and act on it; return the seconds until the next round."""
        self._last_round_s = self._clock()
        self._report_role(self._reason)
        wrong = ""
        try:
            pause_s, reason = self._renew_unread() or self._read_and_decide()
        except Stale as lost:
            # Somebody else wrote it first, or our namespace is gone or going: the error says which.
            pause_s, reason = self._pace.retry_s / 4, f"the lease was not written: {lost}"
        except Forbidden as forbidden:
            reason = wrong = f"access to the lease is forbidden: {forbidden}"
            pause_s = self._pace.retry_s
        except Refused as refused:
            reason = wrong = f"the lease was refused: {refused}"
            pause_s = self._pace.retry_s
        except PoolkeeperError as away:
            pause_s, reason = self._pace.retry_s, str(away)
        self._warn_once(wrong)
        self._report_role(reason)
        return pause_s

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = self.round()

    def _role(self, now_s: float) -> LeaderRole:
        if not self._observed.is_ours:
            return LeaderRole.STANDBY
        return LeaderRole.HELD if now_s < self._renewed_s + self._pace.hold_s else LeaderRole.UNSURE

    def _renew_unread(self) -> tuple[float, str] | None:
        """Renew our Lease without reading it first; its resourceVersion tells if it is ours."""
        lease = self._observed.lease
        if not self._observed.is_ours or lease is None or self.role is not LeaderRole.HELD:
            return None
        try:
            return self._claim(lease)
        except Stale:
            return None

    def _read_and_decide(self) -> tuple[float, str]:
        found = self._api.get(self._path, deadline_s=self._pace.request_s)
        lease = None if found is None else leader_election.read(found)
        now_s = self._clock()
        with self._lock:
            self._observed = observed = self._observed.after_reading(lease, now_s)
        match leader_election.decide(lease, self.identity, now_s, observed):
            case Acquire() | Renew():
                return self._claim(lease)
            case LeaseWait(until_s):
                pause_s = min(self._pace.retry_s, max(0.05, until_s - now_s))
                return pause_s, f"{self.holder} holds the lease"
            case Lost(holder):
                with self._lock:
                    self._observed = replace(observed, is_ours=False)
                return self._pace.retry_s, f"{holder} took the lease"

    def _claim(self, lease: Lease | None) -> tuple[float, str]:
        sent_s = self._clock()
        self._write(
            leader_election.claim(lease, self.identity, self._duration_s, datetime.now(UTC))
        )
        with self._lock:
            # A response that arrives after `release` must not restore the role.
            self._observed = replace(self._observed, is_ours=not self._stop.is_set())
            self._renewed_s = sent_s
        return self._pace.renew_s, "holds the lease"

    def _write(self, lease: Lease) -> None:
        owners = () if self.owner is None else self.owner.references()
        sent = leader_election.body(lease, self._namespace, self._name, owners)
        if lease.version:
            answer = self._api.update(self._path, sent, deadline_s=self._pace.request_s)
        else:
            answer = self._api.create(self._collection, sent, deadline_s=self._pace.request_s)
        now_s = self._clock()
        with self._lock:
            self._observed = self._observed.after_reading(leader_election.read(answer), now_s)

    def _warn_once(self, wrong: str) -> None:
        """Log what keeps this instance from leading, once for as long as it is so."""
        if wrong not in ("", self._warned):
            logger.warning("%s cannot lead: %s", self.identity, wrong)
        self._warned = wrong

    def _report_role(self, reason: str) -> None:
        """Report a change of role once; a changed reason alone is only stored."""
        self._reason = reason
        role = self.role
        if role is self._reported_role:
            return
        self._reported_role = role
        logger.info("%s is %s: %s", self.identity, role, reason)
        self.changed.set()
        if self._on_change is not None:
            self._on_change(role, reason)
