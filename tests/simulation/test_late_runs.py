"""Runs that are late because nothing was copied for a while: that is told, however long ago."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.cli.output.runs import status_values
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.punctuality import LateReason, Punctuality
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, Window
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.broker_client import SimulatedBrokerClient
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from simulation.executors import EVERYTHING, Executor

MB = 1_000_000
PARTITIONS = 12
SHORT_MS = 240_000
HOUR_MS = 3_600_000
LONG_MS = 900_000
STAGES = 4
"""As many have arrived when the trouble begins."""


@dataclass(slots=True)
class Course(Executor):
    """A partition a stage; something happens once in mid-run, and is over after `for_ms`."""

    for_ms: int = 0
    begins: Callable[["Course"], None] = lambda course: None
    ends: Callable[["Course"], None] = lambda course: None
    since_ms: int | None = None
    is_over: bool = False
    during: list[Punctuality] = field(default_factory=list)
    after: list[Punctuality] = field(default_factory=list)

    def note(self, outcome: Outcome) -> None:
        now_ms, progress = self.cluster.clock.now_ms(), outcome.progress
        if progress is None:
            return
        if progress.punctuality is not None and self.since_ms is not None:
            (self.after if self.is_over else self.during).append(progress.punctuality)
        if self.since_ms is None and progress.moves_done >= STAGES:
            self.since_ms = now_ms
            self.begins(self)
        elif self.since_ms is not None and not self.is_over:
            self.is_over = now_ms - self.since_ms >= self.for_ms
            if self.is_over:
                self.ends(self)


def made() -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
    cluster.start()
    cluster.create_topic("t", *([1, 2] for _ in range(PARTITIONS)))
    for partition in range(PARTITIONS):
        cluster.simulation.set_size("t", partition, 80 * MB)
    return cluster


def course_of(cluster: SimulatedCluster | None = None, **more: object) -> Course:
    """A drain of brokers 1 and 2; these say how large their logs are."""
    cluster = made() if cluster is None else cluster
    brokers = SimulatedBrokerClient(cluster, tells_logs=True)
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 4 * MB), max_moves=2)
    topic = topic_spec("t", "p", partitions=PARTITIONS, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", execution=execution)
    return Course(
        cluster,
        wanted,
        at_rest=lambda outcome: outcome.state is State.CONVERGED,
        brokers=brokers,
        enrich=brokers.enrich,
        **more,  # type: ignore[arg-type]
    )


def pause(course: Course) -> None:
    course.authority = Authority(paused=True)


def go_on(course: Course) -> None:
    course.authority = EVERYTHING


def declare(course: Course, **execution: object) -> None:
    cluster = course.desired.cluster
    changed = replace(cluster.execution, **execution)  # type: ignore[arg-type]
    course.desired = replace(course.desired, cluster=replace(cluster, execution=changed))


def close(course: Course) -> None:
    """No window is open for hours."""
    declare(course, windows=(Window("0 12 1 1 *", 60),))


def reasons(found: list[Punctuality]) -> set[LateReason]:
    return {each.reason for each in found if each.reason is not None}


@pytest.mark.parametrize(
    ("begins", "ends", "for_ms"),
    [
        pytest.param(pause, go_on, SHORT_MS, id="no-leader-for-four-minutes"),
        pytest.param(pause, go_on, LONG_MS, id="paused-for-a-quarter-of-an-hour"),
        pytest.param(close, lambda course: declare(course, windows=()), LONG_MS, id="window"),
    ],
)
def test_a_run_that_stood_still_says_so_ever_after(
    begins: Callable[[Course], None], ends: Callable[[Course], None], for_ms: int
) -> None:
    course = course_of(begins=begins, ends=ends, for_ms=for_ms)
    course.finish(passes_max=5000)
    assert reasons(course.during) == {LateReason.HELD_UP}
    assert reasons(course.after) == {LateReason.STOOD_STILL}
    assert course.after[-1].late_s > 50


def test_a_run_that_nobody_took_further_says_so() -> None:
    course = course_of()
    course.at_rest = lambda outcome: bool(
        outcome.progress and outcome.progress.moves_done >= STAGES
    )
    course.finish()
    assert course.cluster.clock.run_until(lambda: not course.cluster.exists(REQUEST), 60_000)
    course.cluster.clock.advance(HOUR_MS)
    again = course_of(course.cluster, since_ms=0, is_over=True)
    again.finish()
    assert reasons(again.after) == {LateReason.STOOD_STILL}


def test_what_a_run_lost_is_known_to_the_next_process_and_to_who_looks_at_its_journal() -> None:
    course = course_of(begins=pause, ends=go_on, for_ms=SHORT_MS)
    stages = [0]

    def after_two_more(outcome: Outcome) -> bool:
        stages[0] = outcome.progress.stage if outcome.progress else stages[0]
        return course.is_over and stages[0] >= STAGES + 3

    course.at_rest = after_two_more
    course.finish(passes_max=5000)
    cluster = course.cluster
    with FakeSession(cluster.server, cluster.clock) as session:
        found = status_values.status_of(
            observe.cluster(session, "c").cluster,
            journal.read_status(session),
            status_values.StatusContext(now_ms=cluster.clock.now_ms()),
        )
    assert found.run is not None
    again = course_of(cluster, since_ms=0, is_over=True)
    again.finish()
    assert reasons(again.after) == {LateReason.STOOD_STILL}


def test_a_throttle_that_was_lower_for_a_while_is_told_ever_after() -> None:
    low, high = (Throttle(ThrottleMode.FIXED, rate) for rate in (MB // 4, 4 * MB))
    course = course_of(
        begins=lambda course: declare(course, throttle=low),
        ends=lambda course: declare(course, throttle=high),
        for_ms=200_000,
    )
    course.finish(passes_max=5000)
    assert course.after[-1].reason is LateReason.RATE_LOWERED
