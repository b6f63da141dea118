"""Topics whose replicas nobody can count: what is uneven without them may be even with them."""

from dataclasses import replace

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Goal, GoalKind, ResourcePoolSpec, UnmanagedTopics
from poolkeeper.model.topology import Cluster
from unit.planning.byhand import COUNT_1, lawful

HEAVY = topic("heavy", *[[1, 2]] * 6)
HIDDEN = topic("hidden", *[[3, 4]] * 6)
OTHER = topic("other", *[[5, 6]] * 6)
WHOLE = cluster((1, 2, 3, 4, 5, 6, 7, 8), HEAVY, HIDDEN, OTHER)


def pools(**fields: object) -> tuple[ResourcePoolSpec, ...]:
    fields = {"goals": COUNT_1, **fields}
    return pool_spec("p", 1, 2, 3, 4, **fields), pool_spec("q", 5, 6, 7, 8, **fields)


def unread(seen: Cluster, name: str, state: str) -> Cluster:
    rest = {each: topic for each, topic in seen.topics.items() if each != name}
    how = {"torn": frozenset({name})} if state == "torn" else {"damaged": {name: "/x: hidden"}}
    return replace(seen, topics=rest, **how)


def declared(*specs: object, **fields: object) -> Desired:
    own = (topic_spec("heavy"), topic_spec("other", "q"))
    return desired(pools(), *own, *specs, **fields)


def moved(wanted: Desired, seen: Cluster) -> set[str]:
    return {move.topic for move in lawful(wanted, seen).moves}


def held(wanted: Desired, seen: Cluster) -> set[str]:
    problems = lawful(wanted, seen).problems
    return {p.pool for p in problems if p.reason is ProblemReason.BALANCE_HELD}


@pytest.mark.parametrize("state", ["torn", "damaged"])
@pytest.mark.parametrize(
    ("wanted", "stay"),
    [
        pytest.param(declared(topic_spec("hidden")), {"p"}, id="declared"),
        pytest.param(
            replace(declared(), pools=(replace(pools()[0], claims=("hid.*",)), pools()[1])),
            {"p"},
            id="claimed",
        ),
        pytest.param(
            declared(unmanaged_topics=UnmanagedTopics.MANAGE, default_pool="p"),
            {"p"},
            id="of-the-default-pool",
        ),
        pytest.param(declared(), {"p", "q"}, id="of-nobody"),
        pytest.param(
            declared(unmanaged_topics=UnmanagedTopics.EVACUATE_ONLY),
            {"p", "q"},
            id="to-be-evacuated",
        ),
    ],
)
def test_nothing_is_evened_out_where_it_may_have_replicas(
    wanted: Desired, stay: set[str], state: str
) -> None:
    seen = unread(WHOLE, "hidden", state)
    topics = {"p": "heavy", "q": "other"}
    assert held(wanted, seen) == stay
    assert moved(wanted, seen) == {topics[pool] for pool in topics.keys() - stay}
    alone = replace(WHOLE, topics={"heavy": HEAVY, "other": OTHER})
    assert moved(wanted, alone) == {"heavy", "other"}, "as if nobody had the other brokers"


def test_it_is_told_which_topics_and_for_each_pool_once() -> None:
    seen = unread(unread(WHOLE, "hidden", "damaged"), "other", "torn")
    wanted = declared(topic_spec("hidden"))
    assert [
        (p.pool, str(p.facts)) for p in lawful(wanted, seen).problems if p.law == "balance"
    ] == [
        ("p", "nothing is evened out while it is not known where topic hidden has its replicas"),
        ("q", "nothing is evened out while it is not known where topic other has its replicas"),
    ]


def test_what_has_to_leave_leaves() -> None:
    seen = unread(WHOLE, "hidden", "damaged")
    wanted = replace(declared(), pools=(replace(pools()[0], drain=frozenset({1})), pools()[1]))
    plan = lawful(wanted, seen)
    assert {(move.topic, move.reason) for move in plan.moves} == {("heavy", "broker 1 is drained")}


@pytest.mark.parametrize("goals", [(), (Goal(GoalKind.LOG_DIRS, count=1),)], ids=["none", "dirs"])
def test_a_pool_that_evens_nothing_out_says_nothing(goals: tuple[Goal, ...]) -> None:
    seen = unread(WHOLE, "hidden", "damaged")
    assert held(replace(declared(), pools=pools(goals=goals)), seen) == set()
