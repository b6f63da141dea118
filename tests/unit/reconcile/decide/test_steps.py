"""Which steps of a plan are written now, which are waited for; who is recorded as owner."""

from dataclasses import replace

import pytest

import builders
from builders import topic, topic_spec
from poolkeeper.model.desired import Claim, WatchedNamespaces
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Plan,
    SetConfig,
)
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.model.topology import TopicPartition
from poolkeeper.reconcile.decide import steps
from poolkeeper.reconcile.decide.steps import WriteSteps
from poolkeeper.reconcile.observe.observation import Observation
from unit.reconcile.situations import cluster

CREATE = CreateTopic("new", "p", ((1, 2),))
CONFIG = SetConfig("t", {"a": "1"})
LOSSY = SetConfig("t", {"retention.ms": "1"}, destructive=True)
GROW, GROW_MOVING = AddPartitions("t", 2, ((1, 2),)), AddPartitions("m", 2, ((1, 2),))
ELECT = ElectLeaders((("t", 0), ("t", 1)))
DELETE = DeleteTopic("t")
NO_CONFIG = SetConfig("t", unset=("a",))
OTHERWISE = CreateTopic("t", "p", ((2, 1),))
COPY = MoveLogDir("t", 0, 1, "/a", "/b", 1)
MOVE = Move("m", None, 0, ((1,), (2,)), 1, "")
EVERYTHING = Plan("c", "h", "f", (CREATE, GROW, GROW_MOVING, CONFIG, COPY, ELECT, DELETE), (MOVE,))


def test_steps_are_early_or_late_and_moves_between_log_directories_neither():
    assert steps.early_steps(EVERYTHING) == (CREATE, GROW, CONFIG)
    assert steps.late_steps(EVERYTHING) == (GROW_MOVING, ELECT, DELETE)


def free(step):
    return None


LED_BY_OTHERS = cluster(leaders={0: 2, 1: 1})


@pytest.mark.parametrize(
    ("step", "seen", "hold", "elected", "expected"),
    [
        pytest.param(CREATE, cluster(), free, (), WriteSteps((CREATE,)), id="to-be-written"),
        pytest.param(
            CREATE,
            cluster(),
            steps.needs_approval,
            (),
            WriteSteps(waits=(steps.needs_approval(CREATE),)),
            id="not-without-approval",
        ),
        pytest.param(
            CREATE,
            cluster(deleting=frozenset({"new"})),
            steps.needs_approval,
            (),
            WriteSteps(waits=(Wait(WaitReason.TOPIC_STILL_DELETING, topic="new"),)),
            id="what-kafka-has-to-finish-first-is-told-first",
        ),
        pytest.param(DELETE, cluster(topics={}), free, (), WriteSteps(), id="done-already"),
        pytest.param(
            ELECT,
            LED_BY_OTHERS,
            free,
            (),
            WriteSteps((ElectLeaders((TopicPartition("t", 0), TopicPartition("t", 1))),)),
            id="an-election-of-those-that-are-due",
        ),
        pytest.param(
            ELECT,
            LED_BY_OTHERS,
            free,
            (TopicPartition("t", 0),),
            WriteSteps((ElectLeaders((TopicPartition("t", 1),)),)),
            id="but-not-twice",
        ),
        pytest.param(
            ELECT,
            LED_BY_OTHERS,
            free,
            (TopicPartition("t", 0), TopicPartition("t", 1)),
            WriteSteps(),
            id="and-then-no-more",
        ),
        pytest.param(
            ELECT,
            cluster(leaders={0: 2}, electing=True),
            free,
            (),
            WriteSteps(waits=(Wait(WaitReason.ELECTION_IN_PROGRESS),)),
            id="not-beside-another-election",
        ),
    ],
)
def test_which_steps_are_written(step, seen, hold, elected, expected):
    assert steps.decide([step], seen, hold, elected) == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [pytest.param(CONFIG, False, id="harmless"), pytest.param(LOSSY, True, id="lossy")],
)
def test_a_config_that_loses_something_is_told_apart(step, expected):
    assert steps.is_lossy(step) is expected


def owners(recorded, plan_steps=(), watched=None, **claims):
    desired = builders.desired((), topic_spec("t", "p"), name="c", **claims)
    desired = replace(desired, watched=watched)
    seen = cluster()
    seen = replace(seen, topics={**seen.topics, "m": topic("m", (1,))})
    observed = Observation(ClusterReading(seen), seen, Records(topics=recorded), frozenset())
    return steps.owners_to_record(desired, Plan("c", "h", "f", plan_steps), observed)


MINE = TopicRecord("shop/t", (), topic_spec("t", "p").deletion_policy)
DELETED_WITH_IT = replace(MINE, declared_keys=("b",), deletion_policy=DeletionPolicy.DELETE)
ANOTHERS = replace(DELETED_WITH_IT, owner="bank/t")
MADE = CreateTopic("t", "p", tuple(p.replicas for p in cluster().topics["t"].partitions))


@pytest.mark.parametrize(
    ("recorded", "plan_steps", "expected"),
    [
        pytest.param({}, (), {"t": MINE}, id="a-new-owner"),
        pytest.param({"t": MINE}, (), {}, id="known-already"),
        pytest.param({}, (CONFIG,), {}, id="not-before-its-config-is-set"),
        pytest.param({}, (NO_CONFIG,), {"t": MINE}, id="once-its-config-is-set"),
        pytest.param({}, (MADE,), {"t": MINE}, id="once-it-is-made"),
        pytest.param({}, (OTHERWISE,), {}, id="not-what-somebody-else-made"),
        pytest.param({}, (GROW, COPY), {"t": MINE}, id="before-partitions-are-added-and-copied"),
        pytest.param(
            {"t": DELETED_WITH_IT},
            (CONFIG,),
            {"t": replace(DELETED_WITH_IT, deletion_policy=DeletionPolicy.RETAIN)},
            id="what-becomes-of-it-before-its-config-is-set",
        ),
        pytest.param({"t": ANOTHERS}, (CONFIG,), {}, id="but-not-for-another-owner"),
        pytest.param({"t": MINE, "gone": MINE}, (), {"gone": None}, id="a-topic-that-is-gone"),
    ],
)
def test_owners_are_recorded_of_topics_that_are_as_declared(recorded, plan_steps, expected):
    assert owners(recorded, plan_steps) == expected


THEIRS, LEFT = TopicRecord("bank/m", ("a",)), TopicRecord("bank/m", ("a",), released=True)
EVERYWHERE = WatchedNamespaces()


@pytest.mark.parametrize("watched", [EVERYWHERE, WatchedNamespaces(frozenset({"bank", "shop"}))])
@pytest.mark.parametrize("claim", ["held", "doomed", "astray"])
def test_a_record_notes_whether_its_owner_is_gone(watched, claim):
    assert owners({"t": MINE, "m": THEIRS}, watched=watched) == {"m": LEFT}
    assert owners({"t": MINE, "m": LEFT}, watched=watched) == {}
    there = {claim: (Claim("", "bank/m"),)}
    assert owners({"t": MINE, "m": THEIRS}, watched=watched, **there) == {}
    assert owners({"t": MINE, "m": LEFT}, watched=watched, **there) == {"m": THEIRS}
    assert owners({"t": MINE, "gone": THEIRS}, watched=watched) == {"gone": None}
    assert owners({"t": replace(MINE, released=True)}, (CONFIG,), watched) == {"t": MINE}


@pytest.mark.parametrize("watched", [None, WatchedNamespaces(frozenset({"shop"}))])
@pytest.mark.parametrize("record", [THEIRS, LEFT])
def test_of_an_owner_that_nobody_would_see_nothing_new_is_noted(watched, record):
    assert owners({"t": MINE, "m": record}, watched=watched) == {}
