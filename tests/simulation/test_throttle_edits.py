"""What people do to the throttles of a run that is under way: put back, or yielded to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.cli.output.runs import status_values
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.throttles import Throttled
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.planning.run_state.throttling.throttles import PUT_BACK_MAX
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe
from simulation.executors import Executor

MB = 1_000_000
RATE = 20 * MB
KEYS = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
ENTITIES = ("topics/t", *(f"brokers/{id_}" for id_ in (1, 2, 3, 4)))


def config_of(cluster: SimulatedCluster, entity: str) -> dict[str, str]:
    config: dict[str, str] = (cluster.read(f"/config/{entity}") or {}).get("config", {})
    return config


def edit(cluster: SimulatedCluster, entity: str, changed: Mapping[str, str | None]) -> None:
    """Do as kafka-configs does: rewrite the config, notify the brokers."""
    merged = {**config_of(cluster, entity), **changed}
    config = {key: value for key, value in merged.items() if value is not None}
    write = cluster.set if cluster.exists(f"/config/{entity}") else cluster.create
    write(f"/config/{entity}", {"version": 1, "config": config})
    notice = f'{{"version":2,"entity_path":"{entity}"}}'.encode()
    cluster.client.commit([CreateNode("/config/changes/config_change_", notice, sequence=True)])


def remove_all(cluster: SimulatedCluster) -> None:
    """Do as `kafka-reassign-partitions --verify` does when all it knows of is done."""
    for entity in ENTITIES:
        edit(cluster, entity, dict.fromkeys((*KEYS, *LISTS)))


@dataclass(slots=True)
class Course:
    """A drain of t from brokers 1 and 2 to 3 and 4, a partition a stage, and somebody's edits."""

    cluster: SimulatedCluster
    executor: Executor
    in_flight: Callable[[Outcome], None] = lambda outcome: None

    def at_rest(self, outcome: Outcome) -> bool:
        if self.cluster.exists(REQUEST):
            self.in_flight(outcome)
        return outcome.state is State.CONVERGED

    def finish(self) -> list[Outcome]:
        self.executor.finish()
        self.cluster.settle()
        return self.executor.seen


def made(kafka: str = "3.9.2", size: int = 400 * MB) -> Course:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1])
    for partition in range(2):
        cluster.simulation.set_size("t", partition, size)
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, RATE), max_moves=2)
    topic = topic_spec("t", "p", partitions=2, replication_factor=2)
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), topic, name="c", execution=execution)
    course = Course(cluster, Executor(cluster, wanted))
    course.executor.at_rest = course.at_rest
    return course


def once(act: Callable[[], None]) -> Callable[[Outcome], None]:
    done: list[bool] = []

    def do(_: Outcome) -> None:
        if not done:
            done.append(True)
            act()

    return do


def actions(seen: list[Outcome], kind: ActionKind) -> int:
    return sum(action.kind is kind for outcome in seen for action in outcome.did)


def rates(cluster: SimulatedCluster) -> dict[int, dict[str, int]]:
    return {id_: dict(cluster.simulation.rates_of(id_)) for id_ in cluster.simulation.brokers}


def left_of(cluster: SimulatedCluster) -> tuple[Throttled, Throttled]:
    with FakeSession(cluster.server, cluster.clock) as session:
        reading = journal.read_status(session).throttles
        left = left_throttles.find(observe.cluster(session, "c").cluster, reading, ())
    return left.ours, left.others


def status_of(cluster: SimulatedCluster) -> status_values.Status:
    with FakeSession(cluster.server, cluster.clock) as session:
        return status_values.status_of(
            observe.cluster(session, "c").cluster, journal.read_status(session)
        )


@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1"])
def test_throttles_removed_in_flight_are_put_back(kafka: str) -> None:
    course = made(kafka, size=1000 * MB)
    cluster = course.cluster
    in_force: list[bool] = []
    removed = once(lambda: remove_all(cluster))

    def watch(outcome: Outcome) -> None:
        removed(outcome)
        in_force.append(all(set(found.values()) == {RATE} for found in rates(cluster).values()))

    course.in_flight = watch
    seen = course.finish()
    assert actions(seen, ActionKind.THROTTLES_PUT_BACK) == 1
    assert False in in_force
    assert in_force[-1]
    assert [config_of(cluster, entity) for entity in ENTITIES] == [{}] * 5
    assert left_of(cluster) == (Throttled(), Throttled())


@pytest.mark.parametrize("removed", [ENTITIES, ENTITIES[:1], ENTITIES[1:3]])
def test_throttles_of_others_that_they_remove_in_mid_run_do_not_come_back(
    removed: tuple[str, ...],
) -> None:
    course = made(size=1000 * MB)
    cluster = course.cluster
    theirs = {"topics": dict.fromkeys(LISTS, "0:1,0:2"), "brokers": dict.fromkeys(KEYS, str(MORE))}
    for entity in ENTITIES:
        edit(cluster, entity, theirs[entity.split("/")[0]])

    def remove() -> None:
        for entity in removed:
            edit(cluster, entity, dict.fromkeys((*KEYS, *LISTS)))

    course.in_flight = once(remove)
    seen = course.finish()
    assert actions(seen, ActionKind.THROTTLES_PUT_BACK) == 1
    for entity in ENTITIES:
        left = {} if entity in removed else theirs[entity.split("/")[0]]
        assert config_of(cluster, entity) == left, entity
    assert (cluster.client.children("/poolkeeper/records/throttles") or ()) == ()


def test_throttles_removed_between_stages_are_in_force_again_before_the_next() -> None:
    course = made(size=4 * MB)
    cluster = course.cluster
    at_requests: list[dict[int, dict[str, int]]] = []

    def look(event: object = None) -> None:
        if cluster.client.exists(REQUEST, look) is not None:
            at_requests.append(rates(cluster))
        elif event is not None:
            remove_all(cluster)

    look()
    course.executor.desired = desired(
        *course.executor.desired.pools,
        *course.executor.desired.topics,
        name="c",
        execution=Execution(throttle=Throttle(ThrottleMode.FIXED, RATE), max_moves=1),
    )
    course.finish()
    assert len(at_requests) > 1
    for found in at_requests:
        assert all(set(rate.values()) == {RATE} and len(rate) == 2 for rate in found.values())
    assert left_of(cluster) == (Throttled(), Throttled())


def test_another_value_of_a_person_stays_and_is_named() -> None:
    course = made()
    cluster = course.cluster
    own = {KEYS[0]: str(50 * MB), "log.cleaner.threads": "2"}
    course.in_flight = once(lambda: edit(cluster, "brokers/2", own))
    told: list[tuple[Wait, ...]] = []
    seen_by_all = course.in_flight

    def watch(outcome: Outcome) -> None:
        seen_by_all(outcome)
        told.append(status_of(cluster).waits)

    course.in_flight = watch
    seen = course.finish()
    named = Wait(WaitReason.THROTTLES_YIELDED, brokers=(2,))
    assert any(named in outcome.waits for outcome in seen)
    assert named in told[-1]
    assert actions(seen, ActionKind.THROTTLES_PUT_BACK) == 0
    assert config_of(cluster, "brokers/2") == own
    assert left_of(cluster) == (Throttled(), Throttled((), (2,)))


def test_who_removes_them_again_and_again_is_yielded_to() -> None:
    course = made(size=4000 * MB)
    cluster = course.cluster
    course.executor.pause_s = lambda: 5.0
    course.in_flight = lambda _: edit(cluster, "brokers/1", dict.fromkeys(KEYS))
    seen = course.finish()
    assert actions(seen, ActionKind.THROTTLES_PUT_BACK) == PUT_BACK_MAX
    given_up = Wait(WaitReason.THROTTLES_NOT_KEPT, count=PUT_BACK_MAX)
    assert any(given_up in outcome.waits for outcome in seen)
    assert left_of(cluster) == (Throttled(), Throttled())


def test_config_beside_the_throttles_is_kept_and_so_is_a_changed_list() -> None:
    course = made()
    cluster = course.cluster

    def change() -> None:
        edit(cluster, "topics/t", {LISTS[0]: "*", "segment.ms": "600000"})
        edit(cluster, "brokers/3", {"log.cleaner.threads": "2"})

    course.in_flight = once(change)
    seen = course.finish()
    named = Wait(WaitReason.THROTTLES_YIELDED, topics=("t",))
    assert any(named in outcome.waits for outcome in seen)
    assert config_of(cluster, "topics/t") == {LISTS[0]: "*", "segment.ms": "600000"}
    assert config_of(cluster, "brokers/3") == {"log.cleaner.threads": "2"}
    assert left_of(cluster) == (Throttled(), Throttled(("t",)))


@pytest.mark.parametrize("stay", [True, False], ids=["theirs-stay", "they-take-theirs-off"])
def test_of_a_list_to_which_others_add_only_ours_is_taken_off(stay: bool) -> None:
    """As Cruise Control does: it adds its entries to a list, and takes them off when it is done."""
    course = made()
    cluster, theirs = course.cluster, {"7:1", "8:2"}

    def change(others: set[str]) -> None:
        for key in LISTS:
            live = set(config_of(cluster, "topics/t")[key].split(",")) - theirs
            edit(cluster, "topics/t", {key: ",".join(sorted(live | others, reverse=True))})

    steps = [lambda: change(theirs), lambda: None, lambda: change(theirs if stay else set())]
    course.in_flight = lambda _: steps.pop(0)() if steps else None
    seen = course.finish()
    assert steps == []
    assert not any(has(outcome.waits, WaitReason.THROTTLES_YIELDED) for outcome in seen)
    assert config_of(cluster, "topics/t") == (dict.fromkeys(LISTS, "8:2,7:1") if stay else {})
    assert left_of(cluster) == (Throttled(), Throttled(("t",) if stay else ()))


HARMS = {
    "run removed": lambda cluster: cluster.delete_all("/poolkeeper/run"),
    "records removed": lambda cluster: cluster.delete_all("/poolkeeper/records/throttles"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_records_that_somebody_removes_under_a_live_process_leave_nothing_behind(harm: str) -> None:
    course = made()
    course.in_flight = once(lambda: HARMS[harm](course.cluster))
    course.finish()
    assert [config_of(course.cluster, entity) for entity in ENTITIES] == [{}] * 5
    assert left_of(course.cluster) == (Throttled(), Throttled())
    assert (course.cluster.client.children("/poolkeeper/records/throttles") or ()) == ()


def test_throttles_of_a_topic_that_is_deleted_are_not_set_again() -> None:
    course = made()
    cluster = course.cluster
    remedies = Remedies(remove_stale_requests=True, allow_controller_failover=True)
    before = course.executor.desired
    execution = replace(before.cluster.execution, remedies=remedies)
    course.executor.desired = replace(before, cluster=replace(before.cluster, execution=execution))
    course.in_flight = once(lambda: cluster.create("/admin/delete_topics/t", b""))
    seen = course.finish()
    assert any(action.kind is ActionKind.STALE_REQUEST_WITHDRAWN for o in seen for action in o.did)
    assert actions(seen, ActionKind.THROTTLES_PUT_BACK) == 0
    assert left_of(cluster) == (Throttled(), Throttled())
    assert (cluster.client.children("/poolkeeper/records/throttles") or ()) == ()


MORE = 5 * RATE


def rates_of(course: Course) -> set[int]:
    """All rates in force."""
    return {rate for found in rates(course.cluster).values() for rate in found.values()}


def redeclare(course: Course, rate: int, **others: object) -> None:
    """Do as a person who edits the manifest: another rate, and perhaps more."""
    known = course.executor.desired
    throttle = replace(known.cluster.execution.throttle, rate_bytes_per_s=rate)
    execution = replace(known.cluster.execution, throttle=throttle)
    cluster = replace(known.cluster, execution=execution)
    course.executor.desired = replace(known, cluster=cluster, **others)


@pytest.mark.parametrize("rate", [MORE, RATE // 4])
def test_a_rate_that_is_declared_in_mid_stage_counts_at_once_and_is_taken_off(rate: int) -> None:
    course = made(size=150 * MB)
    known: list[set[int]] = []

    def in_flight(_: Outcome) -> None:
        redeclare(course, rate)
        known.append(
            {value for found in rates(course.cluster).values() for value in found.values()}
        )

    course.in_flight = in_flight
    seen = course.finish()
    assert {RATE} in known
    assert known[-1] == {rate}
    assert len([found for found in known if found != {rate}]) <= 4  # passes until it is in force
    assert actions(seen, ActionKind.RUN_BEGUN) == 1
    assert rates(course.cluster) == {id_: {} for id_ in (1, 2, 3, 4)}


def test_a_rate_that_is_declared_before_a_request_is_in_force_when_it_is_made() -> None:
    course = made(size=40 * MB)
    stages: list[set[int]] = []

    def at_rest(outcome: Outcome) -> bool:
        if actions([outcome], ActionKind.RUN_BEGUN):
            redeclare(course, MORE)
        if actions([outcome], ActionKind.STAGE_REQUESTED):
            stages.append(rates_of(course))
        return outcome.state is State.CONVERGED

    course.executor.at_rest = at_rest
    course.finish()
    assert stages
    assert set(map(frozenset, stages)) == {frozenset({MORE})}
    assert rates(course.cluster) == {id_: {} for id_ in (1, 2, 3, 4)}


def test_a_run_that_is_wound_up_takes_the_rate_that_is_declared_for_its_last_stage() -> None:
    course = made()
    known: list[tuple[str, set[int]]] = []

    def in_flight(_: Outcome) -> None:
        back = topic_spec("t", "q", partitions=2, replication_factor=2)
        pools = (*course.executor.desired.pools[:1], pool_spec("q", 1, 2, cluster="c"))
        redeclare(course, MORE, topics=(back,), pools=pools)
        with FakeSession(course.cluster.server, course.cluster.clock) as session:
            run = journal.read_status(session).stored.run
        assert run is not None
        known.append((run.plan, rates_of(course)))

    course.in_flight = in_flight
    course.finish()
    wound_up = [found for plan, found in known if plan == known[0][0]]
    assert wound_up[-1] == {MORE}
    assert rates(course.cluster) == {id_: {} for id_ in (1, 2, 3, 4)}
