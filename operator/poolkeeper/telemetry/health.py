"""Is this process alive, and is it ready? Kept from heartbeats, answered to probes. No I/O.

*Alive* is judged by silence: everything that must go on (a cluster's loop, the lease, the writer of
statuses) beats, and says with each beat how long it may now be silent. Who is silent for longer is
stuck, and only a restart helps. A loop that reports errors and tries again is alive.

*Ready* is what the process says of itself: a leader and a warm standby are both ready, since both
do what they are there for; a process that starts, or that finds no CRDs, is not.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe is told: yes or no, and a text for the person who asks."""

    good: bool
    text: str


class ProcessHealth:
    """Heartbeats and readiness; all methods may be called from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._beats: dict[str, tuple[float, float]] = {}
        self._ready = False
        self._says = "starting"

    def beat(self, name: str, patience_s: float) -> None:
        """Note that `name` goes on, and will say so again within `patience_s`."""
        with self._lock:
            self._beats[name] = (self._clock(), patience_s)

    def forget(self, name: str) -> None:
        """Note that `name` ended as it should; its silence is nothing to worry about."""
        with self._lock:
            self._beats.pop(name, None)

    def ready(self, says: str) -> None:
        """Note that the process does its work, and as what: "leader", "standby"."""
        self._say(True, says)

    def unready(self, why: str) -> None:
        """Note that the process cannot do its work, and why not."""
        self._say(False, why)

    def liveness(self) -> ProbeResult:
        """Name who is stuck, longest silence first; else say how many are watched."""
        now_s = self._clock()
        with self._lock:
            beats = dict(self._beats)
        silent = sorted(
            (
                (now_s - since_s, name, patience_s)
                for name, (since_s, patience_s) in beats.items()
                if now_s - since_s > patience_s
            ),
            key=lambda one: (-one[0], one[1]),
        )
        if silent:
            lines = (
                f"{name}: silent for {silence_s:.0f} s, at most {patience_s:.0f} s are expected"
                for silence_s, name, patience_s in silent
            )
            return ProbeResult(False, "\n".join(("stuck", *lines)))
        return ProbeResult(True, f"alive: {len(beats)} watched, none silent for too long")

    def readiness(self) -> ProbeResult:
        """Say as what the process is ready, or why it is not."""
        with self._lock:
            ready, says = self._ready, self._says
        return ProbeResult(ready, f"ready: {says}" if ready else f"not ready: {says}")

    def _say(self, ready: bool, says: str) -> None:
        with self._lock:
            self._ready, self._says = ready, says
