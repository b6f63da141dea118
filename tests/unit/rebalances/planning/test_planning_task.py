"""What is asked, whom, and when it is asked again."""

from dataclasses import dataclass, field

import pytest

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.engines.engines import SPARK_FROM_PARTITIONS
from poolkeeper.model.plans import Plan
from poolkeeper.model.rebalances import (
    EngineChoice,
    RebalanceSpec,
    RebalanceState,
    RebalanceStep,
    ResourceSelection,
)
from poolkeeper.rebalances.planning import planning_task
from poolkeeper.rebalances.planning.engines import LOCAL, SPARK, choose_engine
from poolkeeper.rebalances.planning.planning_task import RETRY_S, PlanningTask
from poolkeeper.rebalances.planning.response import ClusterPlan, RebalanceResponse
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.status.conditions import ReadyStatus
from unit.resources.bodies import kafka_cluster, pool

SPEC = RebalanceSpec("r")
OBJECTS = (kafka_cluster("main"), pool("p", 1, 2))
MORE = (*OBJECTS, pool("q", 3))


@dataclass
class Asked:
    """An engine that answers what it is told to, and remembers what it was asked."""

    answers: list = field(default_factory=list)
    questions: list = field(default_factory=list)
    forgotten: int = 0

    def request_plans(self, name, question):
        self.questions.append(question)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pending_reason(self, name, question):
        return "two pods are pending"

    def forget(self, name):
        self.forgotten += 1


@dataclass
class Ground:
    engine: Asked = field(default_factory=Asked)
    now_s: float = 1000.0
    course: RebalanceState = field(default_factory=RebalanceState)

    def __post_init__(self):
        self.planning = PlanningTask("r", {LOCAL: self.engine}, lambda: self.now_s)

    def look(self, objects=OBJECTS, settling=(), **spec):
        wanted = RebalanceSpec("r", **spec)
        found = self.planning.poll(
            wanted, self.course, assemble(objects), settling, round(self.now_s * 1000)
        )
        self.course = found.state
        return found


@pytest.fixture
def ground():
    return Ground()


ANSWER = RebalanceResponse("q", (ClusterPlan("main", Plan("main", "sha256:x", "f")),))


def test_it_asks_once_and_then_for_the_answer(ground):
    found = ground.look()
    assert (found.condition.reason, found.record) == ("Planning", None)
    assert found.condition.message == (
        "the operator reads and plans 1 cluster; two pods are pending"
    )
    assert found.state == RebalanceState(
        RebalanceStep.PLANNING, 1_000_000, found.state.scope, "Local"
    )
    ground.now_s += 60
    ground.engine.answers = [ANSWER]
    found = ground.look()
    assert found.record is not None
    assert found.record.answer == ANSWER
    first, second = ground.engine.questions
    assert first is second
    assert first.now_ms == 1_000_000


def test_a_new_leader_asks_the_same(ground):
    ground.look()
    later = Ground(Asked(), 2000.0, ground.course)
    later.look()
    assert later.engine.questions[0].digest == ground.engine.questions[0].digest


def test_another_scope_is_another_question(ground):
    ground.look()
    ground.now_s += 5
    ground.look(MORE)
    first, second = ground.engine.questions
    assert (first.asked[0].pools, second.asked[0].pools) == (("p",), ("p", "q"))
    assert second.now_ms == 1_005_000


def test_what_arrives_piece_by_piece_is_waited_for(ground):
    for _ in range(5):
        assert ground.look(settling=("main", "other")).condition.message.endswith(
            "for the settle time"
        )
        ground.now_s += 5
    assert ground.engine.questions == []
    ground.look(settling=("other",))
    assert len(ground.engine.questions) == 1


@pytest.mark.parametrize("passed_s", [31, -3600], ids=["for-long", "since-an-hour-from-now"])
def test_what_never_settles_is_not_waited_for(ground, passed_s):
    """The leader before may have had a clock that was ahead."""
    ground.look(settling=("main",))
    ground.now_s += passed_s
    ground.look(settling=("main",))
    assert len(ground.engine.questions) == 1


@pytest.mark.parametrize(
    ("answer", "mood", "reason"),
    [
        pytest.param(Unavailable("no pod"), ReadyStatus.UNKNOWN, "Unreachable", id="no-engine"),
        pytest.param(Refused("too large"), ReadyStatus.STALLED, "Impossible", id="refused"),
        pytest.param(
            RebalanceResponse("q", (ClusterPlan("main", problem="no answer from zk"),)),
            ReadyStatus.UNKNOWN,
            "Unreachable",
            id="no-cluster-at-all",
        ),
    ],
)
def test_what_failed_is_tried_again_after_a_while(ground, answer, mood, reason):
    ground.engine.answers = [answer]
    found = ground.look()
    assert (found.condition.status, found.condition.reason) == (mood, reason)
    ground.now_s += RETRY_S - 1
    assert ground.look().condition == found.condition
    assert len(ground.engine.questions) == 1
    ground.now_s += 2
    assert ground.look().condition.reason == "Planning"
    assert len(ground.engine.questions) == 2


@pytest.mark.parametrize(
    ("objects", "spec", "reason"),
    [
        pytest.param((), {}, "NoSuchCluster", id="no-cluster"),
        pytest.param(
            OBJECTS, {"clusters": ResourceSelection(("x",))}, "NoSuchCluster", id="not-this-one"
        ),
        pytest.param(
            OBJECTS, {"pools": ResourceSelection(("x",))}, "NoSuchPool", id="no-such-pool"
        ),
        pytest.param(OBJECTS, {"engine": EngineChoice.SPARK}, "Impossible", id="no-spark"),
    ],
)
def test_a_person_must_act(ground, objects, spec, reason):
    found = ground.look(objects, **spec)
    assert (found.condition.status, found.condition.reason) == (ReadyStatus.STALLED, reason)
    assert ground.engine.questions == []


def test_a_status_has_room_for_so_many_clusters(ground, monkeypatch):
    few = 10
    monkeypatch.setattr(planning_task, "CLUSTERS_MAX", few)
    fleet = [
        each
        for number in range(few + 1)
        for each in (
            kafka_cluster(f"c{number}", f"zk{number}:2181"),
            pool(f"p{number}", 1, cluster=f"c{number}"),
        )
    ]
    assert ground.look(fleet[:-2]).condition.reason == "Planning"
    assert ground.look(fleet).condition.reason == "Impossible"


LARGE, SMALL = SPARK_FROM_PARTITIONS, SPARK_FROM_PARTITIONS - 1
BOTH = {LOCAL: Asked(), SPARK: Asked()}
ONE = {LOCAL: Asked()}


@pytest.mark.parametrize(
    ("wanted", "engines", "partitions", "name", "remark"),
    [
        pytest.param(EngineChoice.AUTO, BOTH, SMALL, LOCAL, "", id="auto-small"),
        pytest.param(EngineChoice.AUTO, BOTH, LARGE, SPARK, "", id="auto-large"),
        pytest.param(
            EngineChoice.AUTO,
            ONE,
            LARGE,
            LOCAL,
            "2000000 partitions are planned here: no image for planning is configured",
            id="auto-large-without-an-image",
        ),
        pytest.param(EngineChoice.LOCAL, BOTH, LARGE, LOCAL, "", id="local"),
        pytest.param(EngineChoice.SPARK, BOTH, SMALL, SPARK, "", id="spark"),
    ],
)
def test_who_plans(wanted, engines, partitions, name, remark):
    found = choose_engine(wanted, engines, partitions)
    assert (found.name, found.engine, found.remark) == (name, engines[name], remark)
