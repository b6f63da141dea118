"""A plan rehearsed, and the same plan carried out on real brokers: where the two part, and how far.

One topic of two replicas lies on all brokers but the last, which is new and empty. Broker 1 to the
last are one pool, so that the plan fills the last one, stage after stage, under a fixed throttle.
What is compared: when the run ended, when each stage ended, and how much each broker had copied in
at each tenth of the run. An error is a part of what the real brokers did.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice, permutations

import builders
import traffic
from builders import MIB, pool_spec
from conditions import until
from poolkeeper.brokers.enrich import enrich_cluster
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cli.commands.plans.plan import audited_plan
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, UnmanagedTopics
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import Rehearsal, Settings
from poolkeeper.sandbox import Sandbox
from poolkeeper.zk.reading import observe
from real import support

BROKER_SETTINGS = (("compression.type", "uncompressed"),)
"""With these, brokers write the full size of what is sent compressed: filling them takes less."""
LOOK_S = 0.5
TENTHS = [n / 10 for n in range(1, 11)]


@dataclass
class Course:
    """How a run went: seconds from its begin, stages by number, what was requested for each.

    `seen`: bytes copied in by broker, at some times.
    """

    seconds: float = 0.0
    requested: list[tuple[int, float]] = field(default_factory=list)
    finished: list[tuple[int, float]] = field(default_factory=list)
    entries: list[list[tuple[str, int]]] = field(default_factory=list)
    seen: list[tuple[float, dict[int, int]]] = field(default_factory=list)

    def copied_in(self, broker: int, at_s: float) -> float:
        """The bytes that a broker had copied in, between two looks in proportion."""
        before = (0.0, 0)
        for when, copied in self.seen:
            now = copied.get(broker, 0)
            if when >= at_s:
                part = (at_s - before[0]) / max(when - before[0], 1e-9)
                return before[1] + part * (now - before[1])
            before = (when, now)
        return before[1]


@dataclass(frozen=True)
class Truth:
    """A rehearsal beside the run that it was for."""

    rehearsed: Rehearsal
    real: Course

    @property
    def makespan_error(self) -> float:
        """By how much the rehearsal's length is wrong."""
        return abs(self.rehearsed.seconds - self.real.seconds) / self.real.seconds

    @property
    def stage_errors(self) -> list[float]:
        """By how much the end of each stage is wrong, counted from the begin of the run."""
        ends = [at for _, at in self.real.finished]
        foretold = [stage.end_s for stage in self.rehearsed.stages]
        return [abs(a - b) / b for a, b in zip(foretold, ends, strict=True)]

    @property
    def bytes_errors(self) -> list[float]:
        """By how much what a broker has copied is wrong, at each tenth of the run."""
        series, real = self.rehearsed.series, self.real
        found = []
        for broker, values in series.copied_in.items():
            whole = real.copied_in(broker, real.seconds)
            for tenth in TENTHS if whole else ():
                at_s = tenth * real.seconds
                foretold = _until(values, series.width_s, at_s)
                found.append(abs(foretold - real.copied_in(broker, at_s)) / whole)
        return found


def _until(values: tuple[float, ...], width_s: float, at_s: float) -> float:
    """The sum of rates in bins up to a time."""
    total = 0.0
    for place, rate in enumerate(values):
        total += rate * max(0.0, min(width_s, at_s - place * width_s))
    return total


def compare(
    sandbox: Sandbox, topic: str, *, partitions: int, mib: int, rate_mib: int, at_a_time: int
) -> Truth:
    """Fill the brokers, rehearse the plan for the last one, and carry it out."""
    brokers = sorted(broker.id for broker in sandbox.spec.brokers)
    old = brokers[:-1]
    support.create(sandbox, topic, *islice(cycle(permutations(old, 2)), partitions))
    traffic.fill(sandbox.bootstrap, {topic: partitions}, mib * MIB, compression="gzip")
    wanted = builders.desired(
        pool_spec("all", *brokers),
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool="all",
        execution=Execution(
            throttle=Throttle(ThrottleMode.FIXED, rate_mib * MIB), max_moves=at_a_time
        ),
    )
    cluster = until(lambda: _whole(sandbox, topic, mib), "all replicas hold what was sent")
    subject = Subject(cluster, wanted, partial(audited_plan, prune=False))
    rehearsed = subject.rehearse(Settings())
    real, before = Course(), support.last_zxid(sandbox)
    with _looking(sandbox, rehearsed.plan, real):
        begin = time.monotonic()

        def watch(outcome: Outcome) -> None:
            now_s = time.monotonic() - begin
            for action in outcome.did:
                if action.kind is ActionKind.STAGE_REQUESTED:
                    real.requested.append((action.stage, now_s))
                elif action.kind is ActionKind.STAGE_FINISHED:
                    real.finished.append((action.stage, now_s))

        last = drive(support.asking_brokers(sandbox), wanted, rehearsed.plan, watch)
        real.seconds = time.monotonic() - begin
    assert last.state is State.CONVERGED
    changes = support.of_path(support.history(sandbox, before), support.REQUEST)
    for change in support.of_kind("CREATE", changes):
        asked = change.body["partitions"]
        real.entries.append(sorted((each["topic"], each["partition"]) for each in asked))
    return Truth(rehearsed, real)


def _whole(sandbox: Sandbox, topic: str, mib: int) -> Cluster | None:
    """The cluster with sizes, once every replica of the topic holds all of it."""
    with support.access(sandbox).session() as session:
        cluster = observe.cluster(session, "main").cluster
    with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
        found = enrich_cluster(cluster, brokers, 30)
    full = all(
        (held := found.sizes.log(TopicPartition(topic, p.partition), broker)) is not None
        and held.size_bytes >= mib * MIB
        for p in cluster.topics[topic].partitions
        for broker in p.replicas
    )
    return found.cluster if full else None


@contextmanager
def _looking(sandbox: Sandbox, plan: Plan, course: Course) -> Iterator[None]:
    """Look at the copies on their way, in a thread of its own, until the block ends."""
    added = [
        (broker, TopicPartition(move.topic, move.partition))
        for move in plan.moves
        for broker in set(move.target) - set(move.source)
    ]
    over, begin = threading.Event(), time.monotonic()

    def look(brokers: BrokerClient) -> None:
        now_s = time.monotonic() - begin
        sizes = brokers.sizes({broker for broker, _ in added}, 10)
        copied: dict[int, int] = {}
        for broker, name in added:
            held = sizes.log(name, broker)
            copied[broker] = copied.get(broker, 0) + (held.size_bytes if held else 0)
        course.seen.append((now_s, copied))

    def look_until_over() -> None:
        with BrokerClient.open(sandbox.bootstrap.split(",")) as brokers:
            while not over.wait(LOOK_S):
                look(brokers)
            look(brokers)

    thread = threading.Thread(target=look_until_over)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
