"""One run of a scenario under faults, and what it is held against: the same run without any.

plain = plain_course(SCENARIOS["migration"], "3.9.2")
course = run(SCENARIOS["migration"], "3.9.2", lambda process: plan)
assert broken_laws(course, plain, Bounds(passes=2, writes=4)) == []
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import ThrottleMode
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Call, FaultKind, Faults, faults
from poolkeeper.sandbox.simulation.zookeeper.session import Event
from simulation import invariants
from simulation.asked import AskedBrokers
from simulation.executors import Executor
from simulation.invariants import Partition, Replicas, Requested, Trail
from simulation.scenarios import SCENARIOS

BROKER_KEYS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
SEVERING = (FaultKind.LOST, FaultKind.EXPIRED, FaultKind.DIED)
SETTLE_MS = 5_000  # brokers that cannot be asked take a throttle up within that
Rates = dict[int, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Course:
    """What one run came to.

    `asked` are the paths of each write of the first process, in order. `broken`: laws that need no
    comparison and were broken. `faults`: how many ended a session of ours. `rates_at_requests` are
    those in force on the brokers when a request was made, the others those before and after it all.
    """

    asked: tuple[tuple[str, ...], ...]
    plans: frozenset[str]
    requests: tuple[Requested, ...]
    end: dict[str, Any]
    rates_before: Rates
    rates_at_requests: tuple[Rates, ...]
    rates_after: Rates
    broken: tuple[str, ...]
    faults: int
    processes: int
    passes: int
    writes: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much more than without faults a run may take, for each fault that ended a session."""

    passes: int
    writes: int


def run(name: str, kafka: str, plans: Callable[[int], Faults]) -> Course:
    """Run a scenario to its end; `plans` gives the faults of the n-th process."""
    scenario = SCENARIOS[name]
    cluster, wanted = scenario.made(kafka)
    since = cluster.server.zxid
    first = invariants.assignments(cluster.server)
    before, at_requests = _rates(cluster), _rates_at_requests(cluster)
    asked: list[tuple[str, ...]] = []
    struck: list[faults.Fault] = []

    def counting(process: int) -> Faults:
        plan = plans(process)

        def count(call: Call) -> faults.Fault | None:
            if call.write and process == 0:
                asked.append(call.paths)
            fault = plan(call)
            if fault is not None and fault.kind in SEVERING:
                struck.append(fault)
            return fault

        return count

    asks = scenario.asks_brokers or scenario.tells_logs
    brokers = AskedBrokers(cluster, scenario.tells_logs) if asks else None
    executor = Executor(cluster, wanted, at_rest=scenario.at_rest, brokers=brokers)
    if scenario.tells_logs and brokers is not None:
        executor.enrich = brokers.enrich
    processes = executor.finish(counting)
    cluster.settle()
    trail = Trail(cluster.server, since, frozenset({cluster.client.session_id}))
    return Course(
        asked=tuple(asked),
        plans=invariants.plans(trail),
        requests=invariants.requests(trail),
        end={
            **invariants.everything(cluster.server),
            "log directories": directories(cluster) if scenario.tells_logs else _held(cluster),
        },
        rates_before=before,
        rates_at_requests=tuple(at_requests),
        rates_after=_rates(cluster),
        broken=(
            *invariants.unfenced(trail),
            *invariants.repeated(trail),
            *invariants.out_of_sync(trail, first),
            *invariants.half_way(trail, first),
            *invariants.unrecorded(trail),
            *invariants.unknown_requests(trail),
            *invariants.unlisted(trail),
            *invariants.unsettled(trail, SETTLE_MS),
            *invariants.rethrottled(trail),
            *invariants.unaccounted(trail),
            *invariants.leftovers(cluster.server, scenario.left),
            *_unthrottled(wanted, at_requests, _copying(first, cluster)),
            *(_unthrottled_copies(wanted, brokers) if brokers is not None else ()),
            *_left_copies(cluster),
        ),
        faults=len(struck),
        processes=processes,
        passes=executor.passes,
        writes=executor.writes,
    )


def directories(cluster: SimulatedCluster) -> dict[str, int]:
    """Return the number of the directory of each replica."""
    return {
        f"{tp.topic}-{tp.partition} of broker {id_}": log.directory
        for id_, broker in sorted(cluster.simulation.brokers.items())
        for tp, log in sorted(broker.disk.logs.items())
    }


def _held(cluster: SimulatedCluster) -> Counter[tuple[int, int]]:
    """Return how many replicas each directory has: brokers choose one for whoever comes first."""
    return Counter(
        (id_, log.directory)
        for id_, broker in cluster.simulation.brokers.items()
        for log in broker.disk.logs.values()
    )


def _left_copies(cluster: SimulatedCluster) -> list[str]:
    return [
        f"broker {id_} still copies {tp}"
        for id_, broker in cluster.simulation.brokers.items()
        for tp in broker.disk.moving
    ]


def _unthrottled_copies(wanted: Desired, brokers: AskedBrokers) -> list[str]:
    """Name the moves between log directories that were requested without the run's throttle."""
    throttle, limit = wanted.cluster.execution.throttle, wanted.cluster.execution
    right = None if throttle.mode is ThrottleMode.NONE else throttle.rate_bytes_per_s
    return [
        f"broker {each.broker} had {each.rate} in force when {len(each.targets)} replicas began"
        for each in brokers.requests
        if each.rate != right or len(each.targets) > limit.max_moves_per_broker
    ]


@cache
def plain_course(name: str, kafka: str) -> Course:
    """Return the run without faults."""
    return run(name, kafka, lambda _: faults.none)


def broken_laws(course: Course, plain: Course, bounds: Bounds) -> list[str]:
    """Name every law that a run with faults broke."""
    found = list(course.broken)
    for what, is_, was in (
        ("the plan", course.plans, plain.plans),
        ("the requests", course.requests, plain.requests),
        ("the end", course.end, plain.end),
        (
            "the rates in force at the end, on live brokers",
            course.rates_after,
            {id_: plain.rates_before[id_] for id_ in plain.rates_after},
        ),
    ):
        if is_ != was:
            found.append(f"{what}: {is_}, without faults: {was}")
    if course.passes > plain.passes + course.faults * bounds.passes:
        found.append(
            f"{course.passes} passes, {course.faults} faults, without faults: {plain.passes}"
        )
    if course.writes > plain.writes + course.faults * bounds.writes:
        found.append(
            f"{course.writes} writes, {course.faults} faults, without faults: {plain.writes}"
        )
    return found


def _rates(cluster: SimulatedCluster) -> Rates:
    brokers = cluster.simulation.brokers.items()
    return {id_: dict(cluster.simulation.rates_of(id_)) for id_, broker in brokers if broker.alive}


def _rates_at_requests(cluster: SimulatedCluster) -> list[Rates]:
    """Return a list that gets the brokers' rates each time a request is created."""
    seen: list[Rates] = []

    def look(_: Event | None) -> None:
        if cluster.client.exists(REQUEST, look) is not None:
            seen.append(_rates(cluster))

    look(None)
    return seen


def _copying(first: Mapping[Partition, Replicas], cluster: SimulatedCluster) -> frozenset[int]:
    """Return the brokers that data was copied from or to, as far as the lists tell."""
    last = invariants.assignments(cluster.server)
    return frozenset(
        id_
        for name, before in first.items()
        if set(last[name]) - set(before)
        for id_ in (*before, *last[name])
    )


def _unthrottled(wanted: Desired, at_requests: list[Rates], ids: Collection[int]) -> list[str]:
    """Name the brokers that had another rate than the run's when a request was made."""
    throttle = wanted.cluster.execution.throttle
    if throttle.mode is ThrottleMode.NONE:
        return []
    right = {key: throttle.rate_bytes_per_s for key in BROKER_KEYS}
    return [
        f"broker {id_} had {request[id_]} in force at request {n}"
        for n, request in enumerate(at_requests)
        for id_ in sorted(ids)
        if {key: rate for key, rate in request[id_].items() if key in right} != right
    ]
