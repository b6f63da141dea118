"""Why a topic is where it is, as values, text and JSON."""

from dataclasses import replace

import pytest

import builders
from poolkeeper.cli.output.plans.plan_page import PlanSeen, PlanState
from poolkeeper.cli.output.plans.topic_text import PlacementState, answer, as_data, render
from poolkeeper.errors import Refused
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import CreateTopic, ElectLeaders, Plan, PlanProblem
from poolkeeper.model.specs import UnmanagedTopics
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.facts.topics import TopicLeftOut, Unsettled

MIB = 1024**2
CLUSTER = builders.cluster(
    (1, 2, 3, 4),
    builders.topic(
        "orders",
        builders.partition(0, 1, 2, isr=(1, 2), leader=1),
        builders.partition(1, 1, 2, isr=(1,), leader=-1),
        builders.partition(2, 1, 2, isr=None, leader=None),
        builders.partition(3, 3, 4, isr=(3, 4), leader=3),
        builders.partition(4, 3, 4, isr=(3, 4), leader=3),
    ),
    builders.topic("other", builders.partition(0, 1, 2)),
)
MOVES = (
    builders.move("orders", 0, (1, 2), (3, 2), bytes=MIB, reason="broker 1 is drained"),
    builders.move("orders", 1, (1, 2), (3, 2), bytes=2 * MIB, reason="broker 1 is drained"),
    builders.move("orders", 3, (3, 4), (4, 3), bytes=0, reason="broker 3 leads too many"),
    builders.move("orders", 4, (1, 4), (3, 4), bytes=MIB, reason="done before"),
    builders.move("other", 0, (1, 2), (3, 2), bytes=MIB),
)
DESIRED = builders.desired(
    builders.pool_spec("fast", 1, 2, 3, 4), builders.topic_spec("orders", "fast")
)
PLAN = Plan(
    "main",
    "sha256:0123456789abcdef0123",
    "",
    steps=(
        ElectLeaders((("orders", 1), ("other", 0))),
        CreateTopic("new", "fast", ((1, 2), (2, 3))),
    ),
    moves=MOVES,
)
SEEN = PlanSeen(PlanState.UNDER_WAY, PLAN, DESIRED, CLUSTER)
WAITS = (
    Wait(WaitReason.LEFT_ALONE, partitions=(TopicPartition("other", 0),)),
    Wait(WaitReason.LEFT_ALONE, partitions=(TopicPartition("orders", 1),)),
    Wait(WaitReason.NO_CONTROLLER),
)


def test_what_moves_comes_first_with_where_it_should_be_and_why():
    found = answer("orders", SEEN, WAITS, MOVES[:1])
    lines = render(found).splitlines()
    assert lines[0] == "topic       orders, 5 partitions"
    assert lines[1] == "pool        fast, as declared"
    assert lines[2] == (
        "plan        sha256:01234567 is carried out: 3 partitions of it, 3 MiB to copy"
    )
    assert lines[3] == "leaders     preferred ones are elected for 1 partition"
    assert lines[4].startswith("blocked by  ")
    assert lines[5].startswith("waits for   ")
    table = lines[lines.index("") + 1 :]
    assert [line.split() for line in table] == [
        ["partition", "replicas", "leader", "in", "sync", "should", "be", "state", "why"],
        ["0", "1,2", "1", "1,2", "3,2", "moving", "broker", "1", "is", "drained"],
        ["1", "1,2", "none", "1", "3,2", "to", "move", "broker", "1", "is", "drained"],
        ["3", "3,4", "3", "3,4", "4,3", "to", "reorder", "broker", "3", "leads", "too", "many"],
        ["2", "1,2", "?", "?", "in", "place"],
        ["4", "3,4", "3", "3,4", "in", "place"],
    ]


def test_a_move_of_an_empty_partition_is_no_reordering():
    empty = builders.move("orders", 0, (1, 2), (3, 2), bytes=0)
    found = answer("orders", replace(SEEN, plan=replace(PLAN, moves=(empty,))), (), ())
    assert found.partitions[0].state is PlacementState.TO_MOVE


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(("id-2", (1, 2)), id="its-topic-was-made-again"),
        pytest.param(("id-1", (1, 4)), id="somebody-else-moved-it"),
    ],
)
def test_a_move_that_the_run_gives_up_is_not_to_come(now):
    topic_id, replicas = now
    topic = builders.topic("orders", builders.partition(0, *replicas), topic_id=topic_id)
    move = MOVES[0]._replace(topic_id="id-1")
    pools = (builders.pool_spec("fast", 3),)
    seen = replace(
        SEEN,
        plan=replace(PLAN, moves=(move,)),
        cluster=builders.cluster((1, 2, 3, 4), topic),
        desired=replace(DESIRED, pools=pools),
    )
    found = answer("orders", seen, (), (move,))
    assert [each.state for each in found.partitions] == [PlacementState.NOT_PLANNED]


def test_a_topic_that_the_plan_leaves_out_is_not_in_place():
    left = TopicLeftOut(Unsettled.MOVING, "partition 3")
    plan = replace(PLAN, moves=(), problems=(PlanProblem("fast", "", left, "orders"),))
    found = answer("orders", replace(SEEN, plan=plan), (), ())
    assert {each.state for each in found.partitions} == {PlacementState.NOT_PLANNED}
    unknown = replace(SEEN, plan=plan, state=PlanState.UNKNOWN)
    assert {each.state for each in answer("orders", unknown, (), ()).partitions} == {
        PlacementState.NOT_KNOWN
    }


@pytest.mark.parametrize(
    ("claims", "default", "told"),
    [
        pytest.param((), "fast", "fast, the default pool", id="default"),
        pytest.param(("oth.*",), None, "fast, which claims it", id="claimed"),
        pytest.param(("oth.*",), "fast", "fast, which claims it", id="claimed-and-default"),
        pytest.param(
            (), None, "no manifest declares the topic, and no pool has it", id="of-no-pool"
        ),
    ],
)
def test_the_pool_of_a_topic_that_no_manifest_declares(claims, default, told):
    pool = builders.pool_spec("fast", 1, 2, 3, 4, claims=claims)
    policy = UnmanagedTopics.MANAGE if default else UnmanagedTopics.IGNORE
    spec = replace(DESIRED.cluster, unmanaged_topics=policy, default_pool=default)
    seen = replace(SEEN, desired=replace(DESIRED, cluster=spec, pools=(pool,)))
    found = answer("other", seen, (), ())
    assert render(found).splitlines()[1] == f"pool        {told}"
    assert as_data(found)["pool"] == ("fast" if "fast" in told else None)
    outside = replace(pool, brokers=(3, 4))
    moved = answer("other", replace(seen, desired=replace(seen.desired, pools=(outside,))), (), ())
    if "fast" in told:
        assert render(moved).splitlines()[1] == (
            f"pool        {told}; replicas are on brokers 1, 2 (drained or not in it)"
        )


def test_replicas_on_a_drained_broker_are_not_as_declared():
    drained = builders.pool_spec("fast", 1, 2, 3, drain=frozenset({3}))
    seen = replace(SEEN, desired=replace(DESIRED, pools=(drained,)))
    found = answer("orders", replace(seen, plan=replace(PLAN, moves=MOVES[:1])), (), ())
    assert render(found).splitlines()[1] == (
        "pool        fast is declared; replicas are on brokers 3, 4 (drained or not in it)"
    )
    assert [each.state for each in found.partitions] == [
        PlacementState.TO_MOVE,
        PlacementState.IN_PLACE,
        PlacementState.IN_PLACE,
        PlacementState.NOT_PLANNED,
        PlacementState.NOT_PLANNED,
    ]


def test_waits_are_those_of_the_topic_and_of_the_whole_cluster():
    found = answer("orders", SEEN, WAITS, ())
    assert {wait.reason for wait in found.waits} == {
        WaitReason.NO_CONTROLLER,
        WaitReason.LEFT_ALONE,
    }
    assert len(found.waits) == 2


def test_as_data():
    data = as_data(answer("orders", SEEN, (), MOVES[:1]))
    partitions = data.pop("partitions")
    assert data == {
        "topic": "orders",
        "exists": True,
        "pool": "fast",
        "plan": PLAN.hash,
        "planState": "under way",
        "steps": ({"kind": "ElectLeaders", "partitions": (("orders", 1),)},),
        "problems": [],
        "undone": [],
        "waits": [],
        "waitsFor": [],
        "blocked": [],
    }
    assert isinstance(partitions, list)
    assert partitions[1] == {
        "partition": 1,
        "replicas": [1, 2],
        "leader": -1,
        "isr": [1],
        "state": "to move",
        "target": [3, 2],
        "bytes": 2 * MIB,
        "reason": "broker 1 is drained",
    }
    assert partitions[2] == {
        "partition": 2,
        "replicas": [1, 2],
        "leader": None,
        "isr": None,
        "state": "in place",
        "target": None,
        "bytes": 0,
        "reason": None,
    }


def test_a_declared_topic_that_is_not_created_yet():
    declared = replace(DESIRED, topics=(builders.topic_spec("new", "fast"),))
    seen = replace(SEEN, desired=declared, state=PlanState.WAITS)
    assert render(answer("new", seen, (), ())).splitlines() == [
        "topic       new, not created yet",
        "pool        fast, as declared",
        "plan        sha256:01234567 waits for approval: it moves nothing of this topic",
        "",
        "  + topic new: 2 partitions × 2 replicas",
        "      replicas 0: [1,2] · 1: [2,3]",
    ]


def test_without_manifests_and_without_a_plan_it_says_what_would_make_one():
    nothing = Plan("main", "", "")
    bare = replace(DESIRED, topics=(), pools=())
    found = answer("other", PlanSeen(PlanState.UNKNOWN, nothing, bare, CLUSTER), (), ())
    assert render(found).splitlines()[1:3] == [
        "pool        not known without manifests (-f DIR)",
        "plan        none is stored; with manifests (-f DIR) one is made",
    ]
    assert (as_data(found)["plan"], as_data(found)["planState"]) == (None, "unknown")
    assert render(found).splitlines()[-1].split() == ["0", "1,2", "1", "1,2", "not", "known"]


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("ordrs", "topic ordrs is neither in the cluster nor declared (is it orders?)"),
        ("x", "topic x is neither in the cluster nor declared"),
    ],
)
def test_a_topic_that_nobody_knows_is_refused(topic, said):
    with pytest.raises(Refused) as refused:
        answer(topic, SEEN, (), ())
    assert str(refused.value) == said


def test_data_of_one_topic_takes_no_walk_through_the_plan():
    """The plan may have hundreds of thousands of moves and stages."""
    found = answer("orders", SEEN, WAITS, MOVES[:1])
    bare = replace(found, seen=replace(SEEN, plan=replace(PLAN, moves=None, stages=None)))
    assert as_data(bare) == as_data(found)
