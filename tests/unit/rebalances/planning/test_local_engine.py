"""The operator as planner: one cluster that fails is a problem, and nothing hangs for ever."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from threading import Event

import pytest

from builders import desired, pool_spec
from conditions import until
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.errors import Unavailable
from poolkeeper.planning.planner import make_plan
from poolkeeper.rebalances.planning.local_engine import LocalEngine
from poolkeeper.rebalances.planning.request import (
    ClusterRequest,
    PlanningDeadlines,
    RebalanceRequest,
)
from poolkeeper.rebalances.planning.response import ClusterPlan, RebalanceResponse
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread


def asked(name):
    pool = pool_spec("p", 1, 2, 3, cluster=name, claims=("t",))
    return ClusterRequest(desired(pool, name=name, connect=f"{name}:2181"), ("p",))


@dataclass
class Silent:
    """A session of which nothing comes back until it is closed."""

    closed: Event = field(default_factory=Event)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.closed.set()

    def __getattr__(self, name):
        def call(*_, **__):
            assert self.closed.wait(30)
            raise Unavailable("the session is closed")

        return call


def refuses():
    raise Unavailable("no server of it answers")


def breaks():
    raise ValueError("a defect")


@pytest.fixture
def uneven():
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="2.8.2"))
    cluster.start()
    cluster.create_topic("t", *[[1, 2]] * 6)
    cluster.settle()
    return cluster


def answered(engine, question, name="r"):
    return until(lambda: engine.request_plans(name, question), "there is an answer", 30)


@pytest.mark.slow
def test_each_cluster_is_planned_or_says_why_not(uneven):
    ways = {
        "even": lambda: FakeSession(uneven.server, uneven.clock),
        "away": refuses,
        "broken": breaks,
        "silent": Silent,
    }
    engine = LocalEngine(lambda spec: ClusterConnections(ways[spec.name]), make_plan)
    names = ("away", "broken", "even", "silent")
    question = RebalanceRequest(
        tuple(map(asked, names)), 7, patience=PlanningDeadlines(deadline_s=2.5)
    )
    answer = answered(engine, question)
    plans = {each.cluster: each.plan for each in answer.clusters}
    assert plans["even"] is not None
    assert {move.topic for move in plans["even"].moves} == {"t"}
    assert [each for each in answer.clusters if each.plan is None] == [
        ClusterPlan("away", problem="no server of it answers"),
        ClusterPlan("broken", problem="internal error: ValueError('a defect')"),
        ClusterPlan("silent", problem="not read within 2.5 s"),
    ]
    assert answer == RebalanceResponse.from_json(answer.to_json())


@dataclass
class Counted:
    """Ways to clusters that are away; each question asks for one cluster of its own name."""

    tried: list = field(default_factory=list)

    def __call__(self, spec):
        self.tried.append(spec.name)
        return ClusterConnections(refuses)


def test_a_question_is_worked_on_once():
    ways = Counted()
    engine = LocalEngine(ways, make_plan)
    first = answered(engine, RebalanceRequest((asked("a"),), 7))
    again = answered(engine, RebalanceRequest((asked("a"),), 7))
    assert (first is again, ways.tried) == (True, ["a"])
    answered(engine, RebalanceRequest((asked("a"),), 8))
    assert ways.tried == ["a", "a"]
    engine.forget("r")
    answered(engine, RebalanceRequest((asked("a"),), 8))
    assert ways.tried == ["a", "a", "a"]


def test_another_question_takes_its_place_and_whoever_waits_is_woken():
    silent, woken = Silent(), Event()
    ways = {"a": lambda: silent, "b": refuses}
    engine = LocalEngine(lambda spec: ClusterConnections(ways[spec.name]), make_plan, woken.set)
    assert engine.request_plans("r", RebalanceRequest((asked("a"),), 7)) is None
    answer = answered(engine, RebalanceRequest((asked("b"),), 7))
    assert [each.cluster for each in answer.clusters] == ["b"]
    assert woken.wait(30)
    silent.close()


def test_nobody_reads_for_a_question_that_was_dropped():
    silent = Silent()
    tried = []

    def ways(spec):
        tried.append(spec.name)
        return ClusterConnections(lambda: silent)

    done = Event()
    engine = LocalEngine(ways, make_plan, done.set, at_a_time=1)
    engine.request_plans("r", RebalanceRequest((asked("a"), asked("b")), 7))
    until(lambda: tried == ["a"], "the first is being read", 30)
    engine.forget("r")
    silent.close()
    assert done.wait(30)
    assert tried == ["a"]


ENDS = """
from threading import Event

from poolkeeper.planning.planner import make_plan
from poolkeeper.rebalances.planning.local_engine import LocalEngine
from poolkeeper.rebalances.planning.request import RebalanceRequest
from unit.rebalances.planning.test_local_engine import asked

begun = Event()

def hangs(spec):
    begun.set()
    Event().wait(300)

engine = LocalEngine(hangs, make_plan, at_a_time=1)
engine.request_plans("r", RebalanceRequest((asked("a"), asked("b")), 7))
assert begun.wait(10)
print("ends")
"""


@pytest.mark.slow
def test_the_process_ends_whatever_is_being_planned():
    ended = subprocess.run(
        (sys.executable, "-c", ENDS),
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
    )
    assert ended.stdout == b"ends\n"


def test_nothing_is_kept_of_what_was_handed_over():
    engine = LocalEngine(Counted(), make_plan)
    answered(engine, RebalanceRequest((asked("a"),), 7))
    assert set(engine._plannings) == {"r"}
    engine.hand_over("r")
    assert not engine._plannings
