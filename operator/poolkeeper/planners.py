"""Planning of big clusters in worker processes, so that one never delays the others.

A plan for 200,000 partitions is seconds of pure computing, during which other threads of the same
process get a fraction of their time. `Pool.plan` is `make_plan`, to the byte; small clusters are
planned on the spot, big ones by one of a few processes that wait for work, warm.

A worker is a plain child process: questions on its standard input, answers on its standard output,
in pieces with their length in front. Nothing is shared, so whatever happens to one (killed, out of
memory, stuck) costs one pass of one cluster: the call raises `Unavailable`, the worker is replaced,
the next pass asks again. It yields to its parent: lower priority, first to go when memory is short,
and it ends as soon as its standard input is closed, in the midst of a plan as well: a parent that
is killed leaves none behind.
"""

import contextlib
import gc
import logging
import os
import pickle
import queue
import select
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock, Thread, Timer
from types import TracebackType
from typing import IO, Self

import poolkeeper
from poolkeeper import errors, parcels
from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.model.plans import Plan
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.parcels import Question
from poolkeeper.planning.making import make_plan

PROCESSES = 2
THRESHOLD_PARTITIONS = 5_000
DEADLINE_S = 120.0
PIECE_BYTES_MAX = 256 * 1024**2
NICENESS = 5
OOM_SCORE = 500
"""Of at most 1000: where memory runs out, a worker goes before the process that it works for."""

logger = logging.getLogger(__name__)
_NOTHING_RECORDED = Records()
_LENGTH = struct.Struct(">I")
_GREETING = b"ready"
_PLAN, _ERROR = b"plan", b"error"


def inline(
    desired: Desired,
    cluster: Cluster,
    records: Records = _NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
) -> Plan:
    """Plan in this thread of this process."""
    return make_plan(desired, cluster, records, gone)


class Pool:
    """At most `processes` workers, started at once; `plan` may be called from several threads.

    A cluster of fewer than `threshold_partitions` is planned inline, every cluster with no
    processes at all. `deadline_s` bounds a call: waiting for a free worker, and its work.
    """

    def __init__(
        self,
        processes: int = PROCESSES,
        threshold_partitions: int = THRESHOLD_PARTITIONS,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._threshold_partitions = threshold_partitions
        self._deadline_s = deadline_s
        self._workers = tuple(_Worker() for _ in range(processes))
        self._free: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for worker in self._workers:
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
        records: Records = _NOTHING_RECORDED,
        gone: frozenset[int] = frozenset(),
    ) -> Plan:
        """Make the plan that `make_plan` makes; raises `Unavailable` if a worker did not."""
        size = sum(len(topic.partitions) for topic in cluster.topics.values())
        if not self._workers or size < self._threshold_partitions:
            return make_plan(desired, cluster, records, gone)
        until_s = time.monotonic() + self._deadline_s
        try:
            worker = self._free.get(timeout=self._deadline_s)
        except queue.Empty:
            raise Unavailable(
                f"planning waits: {len(self._workers)} worker processes were busy with other"
                f" clusters for {self._deadline_s:g} s"
            ) from None
        try:
            return worker.plan(Question(desired, cluster, records, gone), until_s)
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End all workers; plans under way raise `Unavailable`. May be called again."""
        for worker in self._workers:
            worker.close()


class _Worker:
    """One child process at a time, replaced when it did not answer."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._greeted = False
        with contextlib.suppress(Unavailable):  # it is tried again, and reported, when it is needed
            self._start()

    @property
    def pid(self) -> int | None:
        """Return the id of the process that runs, if one does."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def plan(self, question: Question, until_s: float) -> Plan:
        """Ask the process, a new one if it ended meanwhile."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        late: list[bool] = []

        def end() -> None:
            late.append(True)
            process.kill()

        timer = Timer(max(0.0, until_s - time.monotonic()), end)
        timer.daemon = True
        timer.start()
        try:
            return self._ask(process, question)
        except (OSError, EOFError, pickle.UnpicklingError) as broken:
            code = self._replace(process)
            raise Unavailable(_why(question.cluster.name, bool(late), code)) from broken
        finally:
            timer.cancel()

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                _end(self._process)

    def _ask(self, process: subprocess.Popen[bytes], question: Question) -> Plan:
        assert process.stdin is not None
        assert process.stdout is not None
        if not self._greeted:
            self._greeted = _read(process.stdout) == _GREETING
        _write_all(process.stdin, parcels.packed_question(question))
        answer = _read_all(process.stdout)
        if next(answer) == _PLAN:
            return parcels.unpacked_plan(answer)
        name, text = pickle.loads(next(answer))
        tuple(answer)
        kind = getattr(errors, name, None)
        if kind is not None:
            raise kind(text)
        raise RuntimeError(f"planning failed in a worker process:\n{text}")

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise Unavailable("planning ended: the worker processes are being closed")
            if self._process is not None:
                _end(self._process)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "poolkeeper.planners"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=_environment(),
                )
            except OSError as error:
                self._process = None
                raise Unavailable(f"no worker process could be started: {error}") from error
            self._greeted = False
            return self._process

    def _replace(self, process: subprocess.Popen[bytes]) -> int:
        """End a process that did not answer, start the next one; return the exit code."""
        _end(process)
        with contextlib.suppress(Unavailable):
            self._start()
        return process.returncode


def _why(cluster: str, late: bool, code: int) -> str:
    if late:
        return f"planning {cluster} took too long, and its worker process was ended"
    how = f"by signal {-code}" if code < 0 else f"with code {code}"
    hint = ": out of memory?" if code == -signal.SIGKILL else ""
    return f"the worker process that planned {cluster} ended {how}{hint}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, wait for it, close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # what was not sent yet cannot be sent any more
                pipe.close()


def _environment() -> dict[str, str]:
    """Return our environment, in which the child finds this very package; one thread for numpy."""
    found = (str(Path(poolkeeper.__file__).parent.parent), os.environ.get("PYTHONPATH", ""))
    return {
        "OPENBLAS_NUM_THREADS": "1",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in found if path),
    }


def _write_all(pipe: IO[bytes], pieces: Iterable[bytes]) -> None:
    """Write the pieces, and an empty one as their end."""
    for piece in pieces:
        pipe.write(_LENGTH.pack(len(piece)))
        pipe.write(piece)
    pipe.write(_LENGTH.pack(0))
    pipe.flush()


def _read_all(pipe: IO[bytes]) -> Iterator[bytes]:
    while piece := _read(pipe):
        yield piece


def _read(pipe: IO[bytes]) -> bytes:
    """Read one piece; raises EOFError where the other side is gone."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    if length > PIECE_BYTES_MAX:
        raise EOFError(f"a piece of {length} bytes is none of ours")
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    came = pipe.read(length)
    if len(came) < length:
        raise EOFError("the other side is gone")
    return came


def serve() -> None:
    """Be a worker: answer questions until standard input is closed."""
    questions = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    _yield_to_parent()
    Thread(target=_end_with_parent, args=(questions.fileno(),), daemon=True).start()
    answers.write(_LENGTH.pack(len(_GREETING)) + _GREETING)
    answers.flush()
    gc.disable()  # all that it would look at is needed until the answer is given
    while True:
        try:
            question = parcels.unpacked_question(_read_all(questions))
        except EOFError:
            return
        _write_all(answers, _answer(question))
        del question
        gc.collect()


def _answer(question: Question) -> Iterator[bytes]:
    try:
        plan = make_plan(question.desired, question.cluster, question.records, question.gone)
    except PoolkeeperError as error:
        yield from (_ERROR, pickle.dumps((type(error).__name__, str(error))))
    except Exception:  # noqa: BLE001  a defect is raised again in the process that asked
        yield from (_ERROR, pickle.dumps(("", traceback.format_exc())))
    else:
        yield _PLAN
        yield from parcels.packed_plan(plan)


def _yield_to_parent() -> None:
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # there is no such file but on Linux
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))


def _end_with_parent(descriptor: int) -> None:
    """Wait for the parent's end of the pipe to be closed, reading nothing, and end at once."""
    ended = select.poll()
    ended.register(descriptor, 0)
    ended.poll()
    os._exit(0)


if __name__ == "__main__":
    serve()
