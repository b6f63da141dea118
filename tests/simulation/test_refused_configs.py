"""Brokers that can be asked check configs before they are written; what they refuse is not."""

from dataclasses import replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.planner import make_plan
from poolkeeper.reconcile import config_checks
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.reading import observe
from simulation.asked import AskedBrokers
from simulation.executors import Executor

REFUSED, FINE = {"retention.ms": "13"}, {"retention.ms": "12"}


def simulated(*topics: str) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="3.9.2"))
    cluster.start(first=1)
    for name in topics:
        cluster.create_topic(name, (1, 2))
    cluster.settle()
    return cluster


def wanted(**configs: dict[str, str]) -> Desired:
    topics = [
        topic_spec(name, partitions=1, replication_factor=2, config=config)
        for name, config in configs.items()
    ]
    return desired(pool_spec("p", 1, 2, 3, cluster="c", goals=()), *topics, name="c")


def config_of(cluster: SimulatedCluster, topic: str) -> dict[str, str] | None:
    found = cluster.read(f"/config/topics/{topic}")
    return None if found is None else found["config"]


def quiet(outcome: Outcome) -> bool:
    return outcome.state is not State.PROGRESSED and not outcome.waits


@pytest.mark.parametrize("existing", [(), ("bad", "good")], ids=["created", "changed"])
def test_a_refused_config_is_its_topics_problem_and_is_asked_about_once(existing):
    cluster = simulated(*existing)
    brokers = AskedBrokers(cluster)
    executor = Executor(cluster, wanted(bad=REFUSED, good=FINE), at_rest=quiet, brokers=brokers)
    executor.finish(passes_max=20)
    assert config_of(cluster, "good") == FINE
    assert config_of(cluster, "bad") is None
    first = [wait for outcome in executor.seen for wait in outcome.waits]
    assert {(w.reason, w.topic, w.detail) for w in first if w.topic == "bad"} == {
        (WaitReason.CONFIG_REFUSED, "bad", "no 13 here")
    }
    (problem,) = executor.seen[-1].plan.problems
    assert (problem.reason, problem.topic) == (ProblemReason.CONFIG_REFUSED, "bad")
    assert "no 13 here" in problem.message
    assert sum(each.topic == "bad" for asked in brokers.checks for each in asked) == 1


def test_what_was_refused_long_ago_is_asked_about_again_and_written_once_it_is_taken():
    cluster = simulated()
    brokers = AskedBrokers(cluster)
    passes = []

    def until_written(outcome: Outcome) -> bool:
        passes.append(cluster.clock.now_ms())
        if passes[-1] - passes[0] > config_checks.ASK_AGAIN_MS // 2:
            object.__setattr__(brokers, "refused_configs", lambda checks, deadline_s=10: {})
        return config_of(cluster, "bad") == REFUSED

    executor = Executor(
        cluster, wanted(bad=REFUSED), at_rest=until_written, brokers=brokers, pause_s=lambda: 60.0
    )
    executor.finish(passes_max=40)
    assert passes[-1] - passes[0] >= config_checks.ASK_AGAIN_MS


def test_brokers_that_do_not_answer_leave_it_to_the_table():
    cluster = simulated()
    brokers = AskedBrokers(cluster, checks_are_lost=True)
    Executor(cluster, wanted(bad=REFUSED), brokers=brokers).finish(passes_max=20)
    assert config_of(cluster, "bad") == REFUSED


def test_a_persons_plan_does_the_rest_and_says_what_was_refused():
    cluster = simulated("old")
    brokers = AskedBrokers(cluster)
    topics = wanted(bad=REFUSED, old=REFUSED, good=FINE)
    session = FakeSession(cluster.server, cluster.clock)
    seen = observe.cluster(session, "c").cluster
    plan = make_plan(topics, seen)
    executor = Executor(cluster, topics, brokers=brokers, agreed=plan)
    executor.finish(passes_max=20)
    assert config_of(cluster, "good") == FINE
    assert (config_of(cluster, "bad"), config_of(cluster, "old")) == (None, None)
    given_up = [a for a in executor.seen[-1].did if a.kind is ActionKind.CONFIG_REFUSED]
    assert {action.topic for action in given_up} == {"bad", "old"}


def test_a_persons_plan_made_when_less_was_known_writes_nothing_that_stops_brokers():
    """It was made for a release that the znodes contradict."""
    cluster = simulated("old")
    topics = wanted(old={"retention.ms": "-5"})
    session = FakeSession(cluster.server, cluster.clock)
    seen = observe.cluster(session, "c").cluster
    plan = make_plan(topics, replace(seen, traced_version=None, kafka_version="2.0"))
    assert plan.steps
    executor = Executor(cluster, topics, agreed=plan)
    executor.finish(passes_max=20)
    assert config_of(cluster, "old") is None
    assert [action.kind for action in executor.seen[-1].did] == [ActionKind.CONFIG_REFUSED]


def test_of_many_configs_some_are_asked_about_in_one_pass(monkeypatch):
    monkeypatch.setattr(config_checks, "ASKED_MAX", 5)
    cluster = simulated()
    brokers = AskedBrokers(cluster)
    configs = {f"t{n}": REFUSED if n < 7 else FINE for n in range(17)}
    executor = Executor(cluster, wanted(**configs), at_rest=quiet, brokers=brokers)
    executor.finish(passes_max=30)
    assert [config_of(cluster, name) for name in configs] == [
        None if config is REFUSED else config for config in configs.values()
    ]
    assert max(map(len, brokers.checks)) == 5
    assert sum(map(len, brokers.checks)) == 17


def test_where_nobody_can_be_asked_all_are_written_in_one_pass(monkeypatch):
    monkeypatch.setattr(config_checks, "ASKED_MAX", 5)
    cluster = simulated()
    executor = Executor(cluster, wanted(**{f"t{n}": FINE for n in range(17)}), at_rest=quiet)
    executor.finish(passes_max=10)
    created = [
        sum(action.kind is ActionKind.CREATE_TOPIC for action in outcome.did)
        for outcome in executor.seen
    ]
    assert [count for count in created if count] == [17]
