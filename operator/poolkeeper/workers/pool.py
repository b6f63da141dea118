"""The pool of worker processes: `WorkerPool.plan` gives the plan of `make_plan`, to the byte.

A plan for 200,000 partitions is seconds of pure computing, during which the other threads of the
process wait. Small clusters are planned inline, large ones by a few long-lived worker processes.

A worker is a plain child process at the other end of two pipes. Workers share nothing. So a worker
that is killed, out of memory or stuck costs one pass of one cluster: the call raises `Unavailable`,
the worker is replaced, and the next pass asks again.
"""

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Lock, Timer
from types import TracebackType
from typing import Self

import poolkeeper
from poolkeeper.errors import Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.workers import wire
from poolkeeper.workers.wire import PlanningRequest, PlanningResponse

PROCESSES = 2
THRESHOLD_PARTITIONS = 5_000
DEADLINE_S = 120.0
END_S = 5.0
PROGRAM = (sys.executable, "-P", "-m", "poolkeeper.workers.worker")


class WorkerPool:
    """At most `processes` workers; `plan` may be called from several threads.

    `threshold_partitions`: smaller clusters are planned inline; without processes all clusters are.
    `deadline_s`: bounds a call, the wait for a free worker included. A worker starts with the first
    request that finds no other free, and then stays. `warm` starts all of them at once, which saves
    that request half a second and costs 50 MiB for each.
    """

    def __init__(
        self,
        processes: int = PROCESSES,
        threshold_partitions: int = THRESHOLD_PARTITIONS,
        deadline_s: float = DEADLINE_S,
        *,
        warm: bool = False,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self._threshold_partitions = threshold_partitions
        self._deadline_s = deadline_s
        self._workers = tuple(_WorkerProcess(program) for _ in range(processes))
        self._free: queue.LifoQueue[_WorkerProcess] = queue.LifoQueue()
        for worker in self._workers:
            if warm:
                worker.start_early()
            self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of the workers that run."""
        return tuple(pid for worker in self._workers if (pid := worker.pid) is not None)

    def plan(
        self,
        desired: Desired,
        cluster: Cluster,
        records: Records = NOTHING_RECORDED,
        gone: frozenset[int] = frozenset(),
    ) -> Plan:
        """Make the plan of `make_plan`; raises `Unavailable` if a worker did not respond."""
        size = sum(len(topic.partitions) for topic in cluster.topics.values())
        if not self._workers or size < self._threshold_partitions:
            return make_plan(desired, cluster, records, gone)
        until_s = time.monotonic() + self._deadline_s
        try:
            worker = self._free.get(timeout=self._deadline_s)
        except queue.Empty:
            raise Unavailable(
                f"planning of {cluster.name} waits: all worker processes ({len(self._workers)})"
                f" were busy with other clusters for {self._deadline_s:g} s"
            ) from None
        try:
            return worker.plan(PlanningRequest(desired, cluster, records, gone), until_s)
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End all workers; plans under way raise `Unavailable`. May be called again."""
        for worker in self._workers:
            worker.close()


class _WorkerProcess:
    """One child process at a time, replaced if it did not respond."""

    def __init__(self, program: tuple[str, ...]) -> None:
        self._program = program
        self._lock = Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    @property
    def pid(self) -> int | None:
        """Return the id of the process that runs, if one does."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start_early(self) -> None:
        """Let a process warm up for the next request, which reports if there is none."""
        with contextlib.suppress(Unavailable):
            self._start()

    def plan(self, request: PlanningRequest, until_s: float) -> Plan:
        """Request the plan of the process, of a new one if it has ended."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        late = Event()
        timer = Timer(max(0.0, until_s - time.monotonic()), _kill_late, (process, late))
        timer.daemon = True
        timer.start()
        answered = False
        try:
            response = self._ask(process, request)
            answered = True
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as broken:
            _end(process)
            closed = "planning ended: the worker processes are closed" if self._closed else ""
            why = closed or _why(request.cluster.name, late.is_set(), process.returncode)
            raise Unavailable(why) from broken
        finally:
            timer.cancel()
            timer.join()  # one that has begun must not kill the process at its next work
            if late.is_set() or not answered:
                _end(process)
                self.start_early()
        if isinstance(response, Exception):
            raise response
        return response

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                _end(self._process)

    def _ask(self, process: subprocess.Popen[bytes], request: PlanningRequest) -> PlanningResponse:
        assert process.stdin is not None
        assert process.stdout is not None
        if not self._is_ready:
            if tuple(wire.read(process.stdout)) != (wire.GREETING,):
                raise EOFError("this is another program, or another release of ours")
            self._is_ready = True
        wire.write(process.stdin, wire.pack_request(request))
        return wire.unpack_response(wire.read(process.stdout))

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise Unavailable("planning ended: the worker processes are closed")
            if self._process is not None:
                _end(self._process)
            self._process = None
            try:
                self._process = subprocess.Popen(
                    self._program,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=_environment(),
                )
            except OSError as error:
                raise Unavailable(f"no worker process could be started: {error}") from error
            self._is_ready = False
            return self._process


def _why(cluster: str, late: bool, code: int | None) -> str:
    if late:
        return f"planning {cluster} took too long, and its worker process was ended"
    if code is None or code >= 0:
        return f"the worker process that planned {cluster} ended with code {code}"
    hint = ": out of memory?" if code == -signal.SIGKILL else ""
    return f"the worker process that planned {cluster} was ended by signal {-code}{hint}"


def _kill_late(process: subprocess.Popen[bytes], late: Event) -> None:
    late.set()
    process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, wait for it, close its pipes; may be called again."""
    process.kill()
    with contextlib.suppress(
        subprocess.TimeoutExpired
    ):  # the kernel holds the process, and ends it later
        process.wait(END_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # unsent bytes are lost
                pipe.close()


def _environment() -> dict[str, str]:
    """Return the environment of the child: it finds this package, and numpy uses one thread."""
    found = (str(Path(poolkeeper.__file__).parent.parent), os.environ.get("PYTHONPATH", ""))
    return {
        "OPENBLAS_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in found if path),
    }
