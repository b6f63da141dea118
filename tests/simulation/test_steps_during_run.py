"""What goes on beside a run that is in flight, and what ends a run: on simulated clusters."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Execution, Mode, Throttle, ThrottleMode, TopicSpec
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PreviewContext
from poolkeeper.reconcile.preview import preview_cluster
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk import fencing
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.journal import journal
from simulation.executors import EVERYTHING, Executor

MB = 1_000_000
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, 2 * MB), max_moves=2)
MOVES = topic_spec("moves", "p", partitions=2, replication_factor=2)
STAYS = topic_spec("stays", "p", partitions=1, replication_factor=2)
WANTED = desired(pool_spec("p", 3, 4, cluster="c"), MOVES, STAYS, name="c", execution=SLOW)


def started(kafka: str) -> SimulatedCluster:
    """A cluster with `moves` on brokers 1 and 2, where it may not stay, and `stays` where it is."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    cluster.create_topic("moves", [1, 2], [2, 1])
    cluster.create_topic("stays", [3, 4])
    for partition in range(2):
        cluster.simulation.set_size("moves", partition, 20 * MB)
    return cluster


@dataclass(slots=True)
class Course:
    """Once a request is in flight something else is declared; at pass `edited_at`."""

    executor: Executor
    edit: Callable[[Desired], Desired]
    one_run: bool = False
    edited_at: int | None = None

    def at_rest(self, outcome: Outcome) -> bool:
        executor = self.executor
        if self.edited_at is None and executor.cluster.exists(REQUEST):
            executor.desired = self.edit(executor.desired)
            self.edited_at = executor.passes
        if self.one_run and self.edited_at is not None and outcome.progress is None:
            return True
        return outcome.state is State.CONVERGED

    def passed_with_the_run(self) -> list[Outcome]:
        """Return the outcomes after the edit, up to the end of the run that was under way."""
        assert self.edited_at is not None
        after = self.executor.seen[self.edited_at :]
        ends = (
            i for i, o in enumerate(after) if any(d.kind is ActionKind.RUN_ENDED for d in o.did)
        )
        return after[: next(ends) + 1]


def course(
    edit: Callable[[Desired], Desired],
    authority: Authority = EVERYTHING,
    *,
    one_run: bool = False,
) -> Course:
    """Run a migration of `moves` from brokers 1 and 2 to 3 and 4, and edit in mid-flight.

    Ends when the cluster is as declared; `one_run`: with the run.
    """
    cluster = started("2.8.2")
    executor = Executor(cluster, WANTED, authority)
    found = Course(executor, edit, one_run)
    executor.at_rest = found.at_rest
    executor.finish()
    cluster.settle()
    return found


def with_topics(*topics: TopicSpec) -> Callable[[Desired], Desired]:
    return lambda desired: replace(desired, topics=topics)


def did(outcomes: list[Outcome]) -> list[Action]:
    return [action for outcome in outcomes for action in outcome.did]


def ended(ending: Ending) -> Action:
    return Action(ActionKind.RUN_ENDED, ending=ending)


def added(topic: str) -> Action:
    return Action(ActionKind.ADD_PARTITIONS, topic=topic, count=1)


NEW = topic_spec("new", "p", partitions=2, replication_factor=2)


def test_a_topic_declared_while_a_request_is_in_flight_is_created_at_once() -> None:
    found = course(with_topics(MOVES, NEW, STAYS))
    during = did(found.passed_with_the_run())
    assert during[0] == Action(ActionKind.CREATE_TOPIC, topic="new", pool="p", count=2)
    assert during[-1] == ended(Ending.FINISHED)
    assert len({o.plan.hash for o in found.executor.seen if o.progress and o.plan}) == 1


def test_what_was_done_beside_a_run_is_seen_within_seconds() -> None:
    during = course(with_topics(MOVES, NEW, STAYS)).passed_with_the_run()
    shown = [
        "new" in outcome.last_observation.cluster.topics if outcome.last_observation else False
        for outcome in during
    ]
    assert shown.index(True) <= 4, "a pass a second: it is looked at again soon"
    assert all(shown[shown.index(True) :])


def test_what_waits_for_a_controller_beside_a_run_is_done_soon_after_there_is_one() -> None:
    """All brokers are down for a while, and a topic is declared meanwhile."""
    cluster = started("2.8.2")
    clock, simulation, back_ms = cluster.clock, cluster.simulation, list[float]()
    for partition in range(2):
        simulation.set_size("moves", partition, 200 * MB)

    @dataclass(slots=True)
    class Watched(Executor):
        def note(self, outcome: Outcome) -> None:
            self.seen.append(outcome)
            if NEW not in self.desired.topics and cluster.exists(REQUEST):
                self.desired = replace(self.desired, topics=(MOVES, NEW, STAYS))
                for broker in simulation.brokers:
                    simulation.kill(broker)
                clock.run_until(lambda: not cluster.exists("/controller"), 60_000)
            elif NEW in self.desired.topics and not back_ms:
                assert WaitReason.NO_CONTROLLER in {wait.reason for wait in outcome.waits}
                for broker in simulation.brokers:
                    simulation.start_broker(broker)
                assert clock.run_until(lambda: cluster.exists("/controller"), 60_000)
                back_ms.append(clock.now_ms())

    executor = Watched(cluster, WANTED, at_rest=lambda _: cluster.exists("/brokers/topics/new"))
    executor.finish()
    assert clock.now_ms() - back_ms[0] < 10_000
    assert cluster.exists("/poolkeeper/run")


def test_a_harmless_config_of_a_topic_that_moves_is_set_at_once_and_stays() -> None:
    moves = replace(MOVES, config={"max.message.bytes": "2000000"})
    found = course(with_topics(moves, STAYS))
    during = did(found.passed_with_the_run())
    assert during[0] == Action(ActionKind.SET_CONFIG, topic="moves")
    assert during[-1] == ended(Ending.FINISHED)
    assert found.executor.cluster.read("/config/topics/moves") == {
        "version": 1,
        "config": {"max.message.bytes": "2000000"},
    }


def test_partitions_are_added_at_once_unless_the_topic_moves() -> None:
    grown = (replace(MOVES, partitions=3), replace(STAYS, partitions=2))
    found = course(with_topics(*grown))
    during = did(found.passed_with_the_run())
    assert during[0] == added("stays")
    assert added("moves") not in during
    assert len(found.executor.cluster.replicas("moves")) == 3


def test_a_config_that_loses_data_waits_for_approval_beside_a_run_of_an_approved_plan() -> None:
    shorter = replace(STAYS, config={"retention.ms": "60000"})
    undisturbed = course(lambda desired: desired)
    approved = {o.plan.hash for o in undisturbed.executor.seen if o.progress and o.plan}
    authority = Authority(steps=True, plans=frozenset(approved))
    found = course(with_topics(MOVES, shorter), authority, one_run=True)
    during = found.passed_with_the_run()
    config = Action(ActionKind.SET_CONFIG, topic="stays")
    assert Wait(WaitReason.APPROVAL_REQUIRED, action=config) in during[0].waits
    assert config not in did(found.executor.seen)
    assert found.executor.cluster.read("/config/topics/stays") is None


def test_what_cannot_be_done_is_told_by_every_pass_of_the_run_once_it_is_found() -> None:
    found = course(with_topics(MOVES, replace(STAYS, replication_factor=3)))
    during = found.passed_with_the_run()
    told = [any(p.topic == "stays" for p in outcome.problems) for outcome in during[:-1]]
    assert State.PROGRESSED in {outcome.state for outcome in during[1:-1]}
    assert all(told)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(
            lambda d: replace(d, pools=(replace(d.pools[0], brokers=(2, 3, 4)),)),
            id="the pool gets another broker",
        ),
        pytest.param(with_topics(replace(MOVES, paused=True), STAYS), id="the topic is paused"),
        pytest.param(
            with_topics(replace(MOVES, replication_factor=1), STAYS),
            id="the topic shall have fewer replicas",
        ),
    ],
)
def test_what_concerns_the_moves_ends_the_run_after_its_stage(
    edit: Callable[[Desired], Desired],
) -> None:
    assert did(course(edit).passed_with_the_run())[-1] == ended(Ending.REPLACED)


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(with_topics(MOVES), id="a topic that does not move is let go"),
        pytest.param(with_topics(MOVES, NEW, STAYS), id="a new topic"),
        pytest.param(
            with_topics(replace(MOVES, name="renamed", namespace="other"), STAYS),
            id="another owner",
        ),
    ],
)
def test_what_does_not_concern_the_moves_lets_the_run_finish(
    edit: Callable[[Desired], Desired],
) -> None:
    assert did(course(edit).passed_with_the_run())[-1] == ended(Ending.FINISHED)


def paused_in_mid_run() -> Executor:
    """One of two partitions arrives after the pause; the process then passes for a while."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="2.8.2"))
    cluster.start()
    cluster.create_topic("moves", [1, 2], [2, 1])
    wanted = desired(pool_spec("p", 3, 4, cluster="c"), MOVES, name="c", execution=SLOW)
    executor = Executor(cluster, wanted)
    executor.at_rest = lambda _: cluster.exists(REQUEST)
    executor.finish()
    executor.authority = Authority(paused=True)
    executor.at_rest = lambda _: executor.seen[-5:].count(executor.seen[-1]) == 5
    executor.finish()
    return executor


def test_the_end_of_a_stage_is_told_once_however_long_the_next_one_is_not_to_begin() -> None:
    finished = ActionKind.STAGE_FINISHED
    found = [action for action in did(paused_in_mid_run().seen) if action.kind is finished]
    assert found == [Action(finished, stage=1, count=1, of=1)]


def test_what_arrived_since_the_pause_is_seen() -> None:
    last = paused_in_mid_run().seen[-1].last_observation
    assert last is not None
    replicas = {p.replicas for p in last.cluster.topics["moves"].partitions}
    assert len(replicas) == 2
    assert {frozenset(each) for each in replicas} == {frozenset((3, 4)), frozenset((1, 2))}


@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1"])
def test_who_may_only_look_in_mid_run_tells_of_the_run_and_its_throttle(kafka: str) -> None:
    cluster = started(kafka)
    executor = Executor(cluster, WANTED, at_rest=lambda _: cluster.exists(REQUEST))
    executor.finish()
    cluster.clock.advance(3_000)
    session = FakeSession(cluster.server, cluster.clock)
    context = PreviewContext(ZooKeeperView(session), cluster.clock.now_ms)
    looking = replace(WANTED, cluster=replace(WANTED.cluster, mode=Mode.PLAN_ONLY))
    seen = preview_cluster(context, looking)
    because = Wait(WaitReason.PLAN_ONLY)
    assert seen.waits == (Wait(WaitReason.RUN_RECORDED, count=2 * MB, cause=because),)
    assert (seen.state, seen.recorded) == (State.WAITING, True)
    assert seen.progress is not None
    assert (seen.progress.stage, seen.progress.moves_done, seen.progress.moves_total) == (1, 0, 2)
    assert seen.plan is not None
    assert seen.plan.hash == seen.progress.plan
    assert seen.fresh is not None


def test_who_may_only_look_beside_an_executor_names_it() -> None:
    cluster = started("3.9.2")
    executor = Executor(cluster, WANTED, at_rest=lambda _: cluster.exists(REQUEST))
    executor.finish()
    looking = replace(WANTED, cluster=replace(WANTED.cluster, mode=Mode.PLAN_ONLY))
    with journal.hold(FakeSession(cluster.server, cluster.clock), "apply", 0, patience_s=1):
        session = FakeSession(cluster.server, cluster.clock)
        context = PreviewContext(ZooKeeperView(session), cluster.clock.now_ms)
        seen = preview_cluster(context, looking)
        (wait,) = seen.waits
        assert wait == Wait(WaitReason.EXECUTOR_ACTIVE, detail=str(fencing.who_holds(session)))
