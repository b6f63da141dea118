"""Planning in real worker processes: the same plan, and what happens when one of them ends."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import builders
from builders import desired, pool_spec, topic
from conditions import until
from poolkeeper.errors import Unavailable
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import UnmanagedTopics
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.workers import pool as workers_pool
from poolkeeper.workers import wire
from poolkeeper.workers.pool import WorkerPool

DESIRED = desired(
    pool_spec("all", 1, 2, 3, 4), unmanaged_topics=UnmanagedTopics.MANAGE, default_pool="all"
)
RECORDS = Records("c1", brokers={4: BrokerRecord("d", 1)})


def greeting(words: bytes, then: str) -> tuple[str, ...]:
    """A program that greets with these words; it imports nothing, so that it starts at once."""
    framed = io.BytesIO()
    wire.write(framed, [words])
    begin = f"import os, time; os.write(1, {framed.getvalue()!r})"
    return (sys.executable, "-S", "-c", f"{begin}\n{then}")


READING = "while os.read(0, 65536): pass"
MUTE = (sys.executable, "-S", "-c", "import time; time.sleep(600)")
DEAF = greeting(wire.GREETING, "time.sleep(600)")
SILENT = greeting(wire.GREETING, READING)
OTHER = greeting(b"poolkeeper 0.0.0", READING)
ENDLESS = """
from poolkeeper.planning.planner import make_plan
from poolkeeper.workers import worker

def plan(desired, cluster, *more):
    if cluster.id != "endless":
        return make_plan(desired, cluster, *more)
    print("planning", flush=True)
    while True:
        pass

worker.main(plan)
"""
SOMETIMES_ENDLESS = (sys.executable, "-c", ENDLESS)
CLOSED = r"^planning ended: the worker processes are closed$"
ABSENT = ("/nonexistent/python",)


def cluster(partitions: int) -> Cluster:
    """All of it on brokers 1 to 3 of four."""
    lists = ((1, 2), (2, 3), (3, 1))
    each = range(partitions // 10)
    topics = (topic(f"t{t}", *(lists[(p + t) % 3] for p in each)) for t in range(10))
    return builders.cluster((1, 2, 3, 4), *topics)


SMALL, BIG = cluster(100), cluster(1_000)
MORE_THAN_A_PIPE_HOLDS = cluster(20_000)
ENDLESSLY_BIG = replace(BIG, id="endless")
ANSWER = make_plan(DESIRED, SMALL, RECORDS)


def answering() -> tuple[str, ...]:
    """A program that takes any request for one for `SMALL`, and never ends that for "endless"."""
    framed = io.BytesIO()
    wire.write(framed, wire.pack_plan(ANSWER))
    loop = f"""
requests, request = open(0, "rb"), b""
while head := requests.read(4):
    if size := int.from_bytes(head, "big"):
        request += requests.read(size)
        continue
    if b"endless" in request:
        os.write(2, b"planning\\n")
        time.sleep(600)
    os.write(1, {framed.getvalue()!r})
    request = b""
"""
    return greeting(wire.GREETING, loop)


ANSWERING = answering()


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(processes=1, threshold_partitions=1_000) as shared:
        yield shared


def plan_of(pool: WorkerPool, observed: Cluster) -> Plan:
    return pool.plan(DESIRED, observed, RECORDS, frozenset())


def test_a_worker_makes_the_very_plan(pool: WorkerPool) -> None:
    there, here = plan_of(pool, BIG), make_plan(DESIRED, BIG, RECORDS)
    assert there == here
    assert there.hash == here.hash
    assert len(there.moves) > 200


def test_a_small_cluster_needs_no_worker() -> None:
    with WorkerPool(1, threshold_partitions=1_000, program=ABSENT) as pool:
        assert plan_of(pool, SMALL) == make_plan(DESIRED, SMALL, RECORDS)


def test_without_processes_everything_is_planned_here() -> None:
    with WorkerPool(0, threshold_partitions=1) as pool:
        assert plan_of(pool, BIG) == make_plan(DESIRED, BIG, RECORDS)


def test_a_defect_is_raised_here_and_the_worker_goes_on(pool: WorkerPool) -> None:
    plan_of(pool, BIG)  # starts it
    before = pool.pids
    broken = replace(DESIRED, pools=(None,))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=r"(?s)planning failed in a worker.*AttributeError"):
        pool.plan(broken, BIG, RECORDS)
    assert plan_of(pool, BIG) == make_plan(DESIRED, BIG, RECORDS)
    assert pool.pids == before


def test_a_worker_that_is_killed_at_its_work_costs_one_pass(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with (
        WorkerPool(1, threshold_partitions=1_000, program=ANSWERING) as pool,
        ThreadPoolExecutor(1) as thread,
    ):
        asked = thread.submit(plan_of, pool, ENDLESSLY_BIG)
        until(lambda: "planning" in capfd.readouterr().err, "the worker plans")
        (worker,) = pool.pids
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(
            Unavailable,
            match=r"^the worker process that planned main was ended by signal 9: out of memory\?$",
        ):
            asked.result(15)
        assert plan_of(pool, BIG) == ANSWER
        assert pool.pids != (worker,)


def test_a_worker_that_ended_while_idle_is_replaced_unnoticed() -> None:
    with WorkerPool(1, threshold_partitions=1_000, program=ANSWERING) as pool:
        plan_of(pool, BIG)
        (worker,) = pool.pids
        os.kill(worker, signal.SIGKILL)
        until(lambda: not pool.pids, "it is gone")
        assert plan_of(pool, BIG) == ANSWER


@pytest.mark.parametrize(
    ("program", "observed", "signals"),
    [
        pytest.param(MUTE, BIG, [], id="does-not-greet"),
        pytest.param(DEAF, MORE_THAN_A_PIPE_HOLDS, [], id="does-not-even-read"),
        pytest.param(SILENT, BIG, [], id="does-not-answer"),
        pytest.param(SILENT, BIG, [signal.SIGSTOP], id="is-stopped"),
    ],
)
def test_a_worker_that_is_late_is_killed(
    program: tuple[str, ...], observed: Cluster, signals: list[signal.Signals]
) -> None:
    with WorkerPool(
        1, threshold_partitions=1_000, deadline_s=0.2, warm=True, program=program
    ) as pool:
        (worker,) = pool.pids
        for one in signals:
            os.kill(worker, one)
        with pytest.raises(
            Unavailable, match=r"^planning main took too long, and its worker process was ended$"
        ):
            plan_of(pool, observed)
        assert not _there(worker)
        assert len(pool.pids) == 1
        assert pool.pids != (worker,)


@pytest.mark.slow
def test_a_worker_that_answers_at_the_deadline_is_not_killed_after_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late, answered, returned, killed = Event(), Event(), Event(), Event()
    kill, ask = workers_pool._kill_late, workers_pool._WorkerProcess._ask

    def kill_late(*about: Any) -> None:
        late.set()
        assert answered.wait(20)
        returned.wait(1)
        kill(*about)
        killed.set()

    def ask_until_late(*asked: Any) -> Any:
        response = ask(*asked)
        assert late.wait(20)
        answered.set()
        return response

    monkeypatch.setattr(workers_pool, "_kill_late", kill_late)
    monkeypatch.setattr(workers_pool._WorkerProcess, "_ask", ask_until_late)
    with WorkerPool(1, 0, deadline_s=1, warm=True, program=ANSWERING) as found:
        (worker,) = found.pids
        assert found.plan(DESIRED, SMALL, RECORDS) == ANSWER
        returned.set()
        assert killed.wait(20)
        until(lambda: worker not in found.pids, "it is killed")
        assert len(found.pids) == 1, "before it was free for others, and another took its place"


def test_who_finds_no_free_worker_waits_until_the_deadline() -> None:
    with (
        WorkerPool(1, threshold_partitions=1_000, deadline_s=0.4, program=SILENT) as pool,
        ThreadPoolExecutor(2) as threads,
    ):
        both = [threads.submit(plan_of, pool, BIG) for _ in range(2)]
        said = sorted(str(one.exception(15)) for one in both)
    assert said[0] == "planning main took too long, and its worker process was ended"
    assert said[1] in (
        "planning of main waits: all worker processes (1) were busy with other clusters for 0.4 s",
        said[0],
    )


@pytest.mark.parametrize(
    ("program", "why"),
    [
        pytest.param(ABSENT, r"^no worker process could be started: ", id="no-such-program"),
        pytest.param(
            OTHER, r"^the worker process that planned main was ended ", id="another-release"
        ),
        pytest.param(
            (sys.executable, "-c", "raise SystemExit(7)"),
            r"^the worker process that planned main ended with code 7$",
            id="a-program-that-ends",
        ),
    ],
)
def test_a_worker_that_cannot_be_had_is_unavailable(program: tuple[str, ...], why: str) -> None:
    with WorkerPool(1, threshold_partitions=1_000, program=program) as pool:
        for _ in range(2):
            with pytest.raises(Unavailable, match=why):
                plan_of(pool, BIG)


def test_closing_ends_workers_and_plans_under_way() -> None:
    pool = WorkerPool(2, threshold_partitions=1_000, warm=True, program=SILENT)
    pids = pool.pids
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(plan_of, pool, BIG)
        until(lambda: asked.running(), "it is asked")
        pool.close()
        pool.close()
        with pytest.raises(Unavailable, match=CLOSED):
            asked.result(15)
    assert len(pids) == 2
    assert not any(_there(pid) for pid in pids)
    assert pool.pids == ()
    with pytest.raises(Unavailable, match=CLOSED):
        plan_of(pool, BIG)


def test_workers_start_when_they_are_needed_or_at_once() -> None:
    with WorkerPool(2, threshold_partitions=1_000, program=ANSWERING) as lazy:
        started = [len(lazy.pids)]
        for observed in (SMALL, BIG, BIG):
            plan_of(lazy, observed)
            started.append(len(lazy.pids))
    with WorkerPool(2, threshold_partitions=1_000, warm=True, program=ANSWERING) as eager:
        started.append(len(eager.pids))
    assert started == [0, 0, 1, 1, 2]


@pytest.mark.slow
def test_many_threads_share_few_workers() -> None:
    with (
        WorkerPool(2, threshold_partitions=1_000, program=ANSWERING) as pool,
        ThreadPoolExecutor(6) as threads,
    ):
        plans = [threads.submit(plan_of, pool, BIG) for _ in range(6)]
        assert [one.result(60) for one in plans] == [ANSWER] * 6
        assert len(pool.pids) == 2


@pytest.mark.slow
def test_a_worker_yields_to_its_parent(pool: WorkerPool) -> None:
    plan_of(pool, BIG)
    (worker,) = pool.pids
    assert os.getpriority(os.PRIO_PROCESS, worker) == min(
        19, os.getpriority(os.PRIO_PROCESS, 0) + 5
    )
    assert Path(f"/proc/{worker}/oom_score_adj").read_text().strip() == "500"


PARENT = """
import sys, threading
sys.path.insert(0, sys.argv[1])
from unit.workers import test_pool as t
pool = t.WorkerPool(2, 1_000, warm=True, program=t.SOMETIMES_ENDLESS)
print(*pool.pids, flush=True)
t.plan_of(pool, t.ENDLESSLY_BIG)
"""


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed() -> None:
    tests = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, tests],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        try:
            workers = [int(word) for word in parent.stdout.readline().split()]
            assert parent.stderr.readline() == "planning\n", "what a worker prints is no response"
            there = [_there(worker) for worker in workers]
        finally:
            parent.kill()
        try:
            until(lambda: not any(_there(pid) for pid in workers), "no worker is left")
        finally:
            for pid in filter(_there, workers):
                os.kill(pid, signal.SIGKILL)
    assert there == [True, True], "one waited, one would have planned for ever"


def _there(pid: int) -> bool:
    """Whether the process runs; one that ended and that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
