"""One container of one pod through all its runs: start, probe, end, start again.

Each runs in a thread of its own, which is also what its process is tied to. What happens is told
to the pod through `tell(**changes)`, fields of `statuses.View`.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread

from control_plane.kubelet import containers, podspecs, probes
from control_plane.kubelet.containers import Launch, Process
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.nodes import now
from control_plane.kubelet.podspecs import Container, Probe
from control_plane.kubelet.statuses import Running, Terminated, Waiting
from poolkeeper import errors

log = logging.getLogger(__name__)

RETRY_S = 0.5
BACK_OFF_S = 0.5
BACK_OFF_MAX_S = 10
WELL_S = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a container runs and how to make out, each time, what to run there."""

    ip: str
    directory: Path
    grace_s: float
    prepare: Callable[[Path], Launch]  # raises Missing
    tell: Callable[..., None]

    @property
    def log(self) -> Path:
        """The output of all runs, one after the other."""
        return self.directory / "log"


def back_off_s(crashes: int) -> float:
    """Return the pause before the next run after so many in a row: 0, 0.5, 1, 2, … 10 seconds."""
    return 0 if crashes < 2 else min(BACK_OFF_S * 2 ** (crashes - 2), BACK_OFF_MAX_S)


class Runner:
    """Runs one container until it is over or stopped."""

    def __init__(self, container: Container, place: Place) -> None:
        self.container = container
        self._place = place
        self._stopping = Event()
        self._process: Process | None = None
        self._lock = Lock()
        self._thread = Thread(target=self._run, daemon=True, name=f"container {container.name}")

    def start(self) -> None:
        """Begin; returns at once."""
        self._place.directory.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self, grace_s: float) -> None:
        """End it for good: SIGTERM, and SIGKILL after `grace_s`."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process:
            process.stop(grace_s)
        if self._thread.is_alive():
            self._thread.join(containers.START_S)

    def kill(self) -> None:
        """End it for good, now."""
        with self._lock:
            self._stopping.set()
            process = self._process
        if process:
            process.kill()

    def _run(self) -> None:
        crashes = 0
        for attempt in count():
            if (ended := self._run_once()) is None:
                return
            self._place.tell(state=ended[0], started=False, ready=False, pid=0)
            if not podspecs.restarts(self.container.restart_policy, ended[0].exit_code):
                return
            crashes = 1 if ended[1] > WELL_S else crashes + 1
            if (pause_s := back_off_s(crashes)) and not self._stopping.is_set():
                message = f"back-off {pause_s:g} s restarting failed container"
                self._place.tell(state=Waiting("CrashLoopBackOff", message), last=ended[0])
            if self._stopping.wait(pause_s):
                self._place.tell(state=ended[0])
                return
            self._place.tell(last=ended[0], restarts=attempt + 1)

    def _run_once(self) -> tuple[Terminated, float] | None:
        """Return how the run ended and how many seconds it took; None if stopped before it."""
        begun_at, begun = now(), time.monotonic()
        path, offset = self._place.directory / "termination-log", self._log_size()
        path.write_bytes(b"")
        path.chmod(0o666)
        try:
            if (launch := self._prepared()) is None or (process := self._started(launch)) is None:
                return None
        except errors.Refused as refused:
            return Terminated(128, "StartError", str(refused), begun_at, now()), 0
        done = Event()
        self._place.tell(state=Running(begun_at), pid=process.pid)
        self._watch(process, done)
        code = process.wait() or 0
        done.set()
        (self._place.directory / "pid").unlink(missing_ok=True)
        last_words = self.container.last_words
        message = containers.message_of(path, self._place.log, offset, code, last_words)
        reason = "Error" if code else "Completed"
        return Terminated(code, reason, message, begun_at, now()), time.monotonic() - begun

    def _prepared(self) -> Launch | None:
        while not self._stopping.is_set():
            try:
                return self._place.prepare(self._place.directory)
            except Missing as missing:
                self._place.tell(state=Waiting(missing.reason, str(missing)))
            except errors.Unavailable as unavailable:
                log.warning("container %s: %s", self.container.name, unavailable)
            self._stopping.wait(RETRY_S)
        return None

    def _started(self, launch: Launch) -> Process | None:
        process = containers.start(launch, self._place.log)
        with self._lock:
            if not self._stopping.is_set():
                self._process = process
                pid = self._place.directory / "pid"
                pid.with_suffix(".new").write_text(f"{process.pid}\n")
                pid.with_suffix(".new").replace(pid)
                return process
        process.kill()
        process.wait()
        return None

    def _watch(self, process: Process, done: Event) -> None:
        """Ask the probes until `done`: first whether it has started, then the other two."""
        container = self.container

        def ask(probe: Probe | None, on_verdict: Callable[[bool], None]) -> None:
            if probe is None:
                return
            question = partial(probes.answer, probe, container, self._place.ip)
            arguments = (probe, question, on_verdict, done)
            Thread(target=probes.ask_regularly, args=arguments, daemon=True).start()

        def end_if_bad(what: str, then: Callable[[], None]) -> Callable[[bool], None]:
            def judge(well: bool) -> None:
                if well:
                    then()
                    return
                log.info("container %s failed its %s probe", container.name, what)
                process.stop(self._place.grace_s)

            return judge

        def started() -> None:
            self._place.tell(started=True, ready=container.readiness is None)
            ask(container.liveness, end_if_bad("liveness", lambda: None))
            ask(container.readiness, lambda well: self._place.tell(ready=well))

        if container.startup:
            ask(container.startup, end_if_bad("startup", started))
        else:
            started()

    def _log_size(self) -> int:
        return self._place.log.stat().st_size if self._place.log.exists() else 0
