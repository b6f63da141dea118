"""Servers whose jute.maxbuffer was lowered: what is too large is one topic's problem, and told.

With 64 KiB, all that a run of usual stages writes fits.
"""

import pytest

import builders
from builders import pool_spec
from poolkeeper import wording
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, TopicSpec
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.staging.limits import FORGET_MS
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.reading import observe
from simulation.executors import Executor, converged

BUFFER_BYTES = 64 * 1024
TOPICS = [f"{n:03}-{'a-topic-with-a-long-name' * 5}" for n in range(150)]


def simulated(*topics: str, partitions: int = 1, kafka: str = "3.9.2") -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    for topic in topics:
        cluster.create_topic(topic, *([1, 2] for _ in range(partitions)))
    return cluster


def spec(name: str, partitions: int = 1, config: dict[str, str] | None = None) -> TopicSpec:
    return TopicSpec(
        name,
        "default",
        name,
        "p",
        partitions=partitions,
        replication_factor=2,
        config=config or {},
    )


def test_a_run_over_many_topics_fits() -> None:
    cluster = simulated(*TOPICS)
    cluster.server.request_bytes_max = BUFFER_BYTES
    pool = pool_spec("p", 3, 4, cluster="c")
    wanted = builders.desired(pool, *map(spec, TOPICS), name="c", execution=Execution())
    executor = Executor(cluster, wanted)
    executor.finish(passes_max=3000)
    assert executor.endings == [Ending.FINISHED]
    assert all({*cluster.replicas(t)["0"]} == {3, 4} for t in TOPICS)


def test_a_stage_that_is_too_large_is_requested_in_parts() -> None:
    topics = TOPICS[:100]
    cluster = simulated(*topics)
    cluster.server.request_bytes_max = 12 * 1024
    pool = pool_spec("p", 3, 4, cluster="c")
    execution = Execution(max_moves=1000, max_moves_per_broker=1000)
    wanted = builders.desired(pool, *map(spec, topics), name="c", execution=execution)
    executor = Executor(cluster, wanted)
    executor.finish(passes_max=1000)
    assert executor.endings == [Ending.FINISHED]
    assert all({*cluster.replicas(t)["0"]} == {3, 4} for t in topics)


LARGE = 6000
"""Partitions: more than 64 KiB of lists."""


def too_large_of(outcome: Outcome) -> list[Wait | Action]:
    kinds = (WaitReason.TOPIC_TOO_LARGE, ActionKind.TOPIC_TOO_LARGE)
    found = [*(w for w in outcome.waits if w.reason in kinds)]
    return [*found, *(a for a in outcome.did if a.kind in kinds)]


def at_rest(outcome: Outcome) -> bool:
    done = [each for each in outcome.did if each.kind is not ActionKind.TOPIC_TOO_LARGE]
    return bool(too_large_of(outcome)) and not done and outcome.state is not State.PROGRESSED


@pytest.mark.parametrize("by_person", [False, True], ids=["by-a-loop", "by-a-person"])
def test_topics_that_are_too_large_are_told_and_all_others_are_written(by_person: bool) -> None:
    """One that is created, one that grows, and one of which a config is set."""
    cluster = simulated("configured", "grows", "later")
    foreign = {"version": 1, "config": {"of.others": "x" * BUFFER_BYTES}}
    cluster.create("/config/topics/configured", foreign)
    cluster.server.request_bytes_max = BUFFER_BYTES
    pool = pool_spec("p", 1, 2, cluster="c")
    topics = (
        spec("a-new"),
        spec("b-large", LARGE),
        spec("configured", config={"retention.ms": "1000"}),
        spec("grows", LARGE),
        spec("later", config={"retention.ms": "1000"}),
        spec("z-new"),
    )
    wanted = builders.desired(pool, *topics, name="c", execution=Execution())
    plan = None
    if by_person:
        session = FakeSession(cluster.server, cluster.clock)
        plan = make_plan(wanted, observe.cluster(session, "c").cluster)
    executor = Executor(cluster, wanted, agreed=plan, at_rest=at_rest)
    executor.finish(passes_max=40)
    assert {*cluster.client.children("/brokers/topics")} == {
        "a-new",
        "configured",
        "grows",
        "later",
        "z-new",
    }
    told = too_large_of(executor.seen[-1])
    assert {each.topic for each in told} == {"b-large", "configured", "grows"}
    assert all(each.count > BUFFER_BYTES and each.of == 0 for each in told)


def test_a_topic_whose_throttle_is_too_large_stays_and_all_others_move() -> None:
    """Its throttled replicas are more than 64 KiB, its node is less."""
    cluster = simulated("other")
    cluster.create_topic("wide", *([1, 2] for _ in range(3000)))
    cluster.server.request_bytes_max = BUFFER_BYTES
    pool = pool_spec("p", 3, 4, cluster="c")
    topics = (spec("other"), spec("wide", 3000))
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * 1024**2))
    wanted = builders.desired(pool, *topics, name="c", execution=execution)
    executor = Executor(cluster, wanted, at_rest=lambda outcome: bool(unwritable_of(outcome)))
    executor.finish(passes_max=300)
    until_moved = Executor(
        cluster, wanted, at_rest=lambda _: {*cluster.replicas("other")["0"]} == {3, 4}
    )
    until_moved.finish(passes_max=300)
    assert {*cluster.replicas("wide")["0"]} == {1, 2}
    (wait,) = unwritable_of(executor.seen[-1])[:1]
    assert "raise their jute.maxbuffer" in wait.detail


def unwritable_of(outcome: Outcome) -> list[Wait]:
    return [w for w in outcome.waits if w.reason is WaitReason.THROTTLES_UNWRITABLE]


NODE_BYTES_MAX = 5_200
"""The node of a topic with 400 partitions of two replicas has 5,320 at the most."""
HOME, AWAY = frozenset({3, 4}), frozenset({1, 2})


def with_a_wide_topic() -> tuple[SimulatedCluster, Desired]:
    cluster = simulated("other")
    cluster.create_topic(
        "wide", *([1, 2] if n < 20 else [3 + n % 2, 4 - n % 2] for n in range(400))
    )
    cluster.server.request_bytes_max = NODE_BYTES_MAX
    pool = pool_spec("p", 3, 4, cluster="c")
    topics = (spec("other"), spec("wide", 400))
    execution = Execution(throttle=Throttle(ThrottleMode.FIXED, 10 * 1024**2), max_moves=1000)
    return cluster, builders.desired(pool, *topics, name="c", execution=execution)


def is_told(outcome: Outcome) -> bool:
    return any(w.reason is WaitReason.TOPIC_NODE_TOO_LARGE for w in outcome.waits)


def is_left(outcome: Outcome) -> bool:
    """Whether no run is under way any more, and the topic is told of."""
    done = outcome.state is State.PROGRESSED or outcome.progress is not None
    return is_told(outcome) and not done


def assert_left_without_a_run(cluster: SimulatedCluster) -> None:
    assert {*cluster.replicas("other")["0"]} == HOME
    assert {*map(frozenset, cluster.replicas("wide").values())} == {HOME, AWAY}
    assert not cluster.exists("/poolkeeper/run")
    configs = [f"/config/topics/{topic}" for topic in ("other", "wide")]
    configs += [f"/config/brokers/{broker}" for broker in range(1, 5)]
    told = [cluster.read(path) for path in configs if cluster.exists(path)]
    assert "throttled" not in str(told)


def begun(executor: Executor) -> int:
    return sum(a.kind is ActionKind.RUN_BEGUN for outcome in executor.seen for a in outcome.did)


def test_no_topic_moves_whose_node_the_controller_could_not_write() -> None:
    """A controller writes it over and over, and does nothing else: no leader is elected.

    The run of all others ends, none begins for this one alone, until the servers take it.
    """
    cluster, wanted = with_a_wide_topic()
    executor = Executor(cluster, wanted, at_rest=is_left)
    executor.finish(passes_max=300)
    assert_left_without_a_run(cluster)
    assert begun(executor) == 1
    told = [w for w in executor.seen[-1].waits if w.reason is WaitReason.TOPIC_NODE_TOO_LARGE]
    assert [wording.sentence(w)[:24] for w in told] == ["the znode of topic wide "]
    end_ms = cluster.clock.now_ms() + FORGET_MS + 60_000
    executor.at_rest = lambda _: cluster.clock.now_ms() > end_ms
    executor.finish(passes_max=3000)
    assert begun(executor) == 1
    cluster.server.request_bytes_max = BUFFER_BYTES
    executor.at_rest = converged
    executor.finish(passes_max=3000)
    assert {*map(frozenset, cluster.replicas("wide").values())} == {HOME}


def test_the_plan_of_a_person_ends_without_a_topic_whose_node_is_too_large() -> None:
    cluster, wanted = with_a_wide_topic()
    session = FakeSession(cluster.server, cluster.clock)
    plan = make_plan(wanted, observe.cluster(session, "c").cluster)
    executor = Executor(cluster, wanted, agreed=plan)
    executor.finish(passes_max=300)
    assert_left_without_a_run(cluster)
    kind = ActionKind.TOPIC_NODE_TOO_LARGE
    (left,) = [a for a in executor.seen[-1].did if a.kind is kind]
    assert (left.topic, len(left.partitions)) == ("wide", 20)


def test_a_limit_that_is_lowered_in_mid_run_ends_it_without_the_topic() -> None:
    cluster, wanted = with_a_wide_topic()
    cluster.server.request_bytes_max = BUFFER_BYTES

    def is_under_way(outcome: Outcome) -> bool:
        return any(a.kind is ActionKind.STAGE_FINISHED for a in outcome.did)

    executor = Executor(cluster, wanted, at_rest=is_under_way)
    executor.finish(passes_max=300)
    cluster.server.request_bytes_max = NODE_BYTES_MAX
    executor.at_rest = is_left
    executor.finish(passes_max=300)
    assert_left_without_a_run(cluster)
    told = [a for outcome in executor.seen for a in outcome.did]
    assert ActionKind.TOPIC_NODE_TOO_LARGE in {a.kind for a in told}
