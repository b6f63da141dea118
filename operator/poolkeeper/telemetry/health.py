"""Liveness and readiness of this process, from heartbeats; probes ask for them. No I/O.

*Alive* is judged by heartbeats. Everything that must go on (a cluster's loop, the elector, the
status writer) sends them, each with the seconds until the next one at the latest. A part that is
silent for longer is stuck, and only a restart helps. A loop that reports errors and retries is
alive.

*Ready* is set by the process. A leader and a warm standby are both ready, because both do their
work. A process that is starting, or that finds no CRDs, is not ready.
"""

import time
from collections.abc import Callable
from threading import Lock

from poolkeeper.frozen import frozen


@frozen
class ProbeResult:
    """The result of a probe: yes or no, and a text for people."""

    good: bool
    text: str


class ProcessHealth:
    """Heartbeats and readiness; all methods are thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._beats: dict[str, tuple[float, float]] = {}
        self._ready = False
        self._says = "starting"

    def beat(self, name: str, patience_s: float) -> None:
        """Record a heartbeat of `name`; the next is due within `patience_s`."""
        with self._lock:
            self._beats[name] = (self._clock(), patience_s)

    def forget(self, name: str) -> None:
        """Expect no more heartbeats of `name`, which ended normally."""
        with self._lock:
            self._beats.pop(name, None)

    def ready(self, says: str) -> None:
        """Set the process ready; `says` is its role: "leader", "standby"."""
        self._say(says, ready=True)

    def unready(self, why: str) -> None:
        """Set the process not ready; `why` is the reason."""
        self._say(why, ready=False)

    def liveness(self) -> ProbeResult:
        """Return the stuck parts, longest silence first; else the number of parts watched."""
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
            return ProbeResult(good=False, text="\n".join(("stuck", *lines)))
        return ProbeResult(good=True, text=f"alive: {len(beats)} watched, none silent for too long")

    def readiness(self) -> ProbeResult:
        """Return the role in which the process is ready, or why it is not."""
        with self._lock:
            ready, says = self._ready, self._says
        return ProbeResult(ready, f"ready: {says}" if ready else f"not ready: {says}")

    def _say(self, says: str, *, ready: bool) -> None:
        with self._lock:
            self._ready, self._says = ready, says
