"""Trouble between Poolkeeper and ZooKeeper: it strikes at the next call of its sort."""

from dataclasses import dataclass, field

from poolkeeper.sandbox.fake_zookeeper import Call, Fault, FaultKind
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import Situation

LATE_MS = 700
AT_CALLS = {
    Trouble.DIED_BEFORE_WRITE: Fault(FaultKind.DIED),
    Trouble.DIED_AFTER_WRITE: Fault(FaultKind.DIED, done=True),
    Trouble.LOST_BEFORE_WRITE: Fault(FaultKind.LOST),
    Trouble.LOST_AFTER_WRITE: Fault(FaultKind.LOST, done=True),
    Trouble.EXPIRED_BEFORE_WRITE: Fault(FaultKind.EXPIRED),
    Trouble.EXPIRED_AFTER_WRITE: Fault(FaultKind.EXPIRED, done=True),
    Trouble.WRITE_LATE: Fault(FaultKind.DELAYED, delay_ms=LATE_MS),
    Trouble.READ_LOST: Fault(FaultKind.LOST),
    Trouble.READ_STALE: Fault(FaultKind.STALE, lag=6),
}
READS = (Trouble.READ_LOST, Trouble.READ_STALE)
JUMPS_MS = (-3_600_000, 3_600_000, 30 * 86_400_000)
OUTAGES_MS = {Trouble.ZOOKEEPER_SHORTLY_AWAY: 3_000, Trouble.ZOOKEEPER_LONG_AWAY: 20_000}


@dataclass(slots=True)
class CallTroubles:
    """The fault plan of all processes of a run; `armed` strike at the next calls."""

    situation: Situation
    armed: list[Trouble] = field(default_factory=list)

    def arm(self, kind: Trouble) -> None:
        if kind is Trouble.CLOCK_JUMPS:
            self.situation.skew_ms = self.situation.dice.choice(JUMPS_MS)
            self.situation.struck.append((self.situation.now_ms, kind))
        elif kind in OUTAGES_MS:
            now_ms = self.situation.now_ms
            self.situation.away = (now_ms, now_ms + OUTAGES_MS[kind])
            self.situation.busy(OUTAGES_MS[kind] + 1000)
            self.situation.struck.append((now_ms, kind))
        else:
            self.armed.append(kind)

    def away(self) -> bool:
        """Whether ZooKeeper is away now."""
        outage = self.situation.away
        return outage is not None and outage[0] <= self.situation.now_ms < outage[1]

    def plan(self, call: Call) -> Fault | None:
        """Return what happens to a call."""
        if self.away():
            return Fault(FaultKind.LOST)
        for kind in self.armed:
            if (kind not in READS) == call.write:
                self.armed.remove(kind)
                self.situation.struck.append((self.situation.now_ms, kind))
                return AT_CALLS[kind]
        return None
