"""Manual placements: taken as they are; what is in the way of one is named, with what helps."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, partition, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Capacity, FailureDomain, Headroom, Strategy
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.facts.topics import PinnedElsewhere
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import MIB, after

State = dict[int, str]
"""By broker: whether it is `drained`, `down`, `elsewhere` (not in the pool), or nothing of it."""


def refusals(states: State, assignment: tuple[int, ...]) -> list[str]:
    pool = pool_spec(
        "p",
        *(broker for broker, state in states.items() if state != "elsewhere"),
        drain=frozenset(broker for broker, state in states.items() if state == "drained"),
    )
    spec = topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=(tuple(assignment),))
    live = (broker for broker, state in states.items() if state != "down")
    seen = cluster((*live, 9), topic("t", (9,)))
    wanted = desired(pool, spec)
    return [
        problem.message
        for problem in make_plan(wanted, seen).problems
        if isinstance(problem.facts, PinnedElsewhere)
    ]


PLACEMENTS = (
    st.fixed_dictionaries(
        {broker: st.sampled_from(["", "drained", "down", "elsewhere"]) for broker in (1, 2, 3)}
    ),
    st.lists(st.sampled_from([1, 2, 3]), min_size=1, unique=True),
)


@examples(15)
@given(*PLACEMENTS)
def test_each_broker_that_is_named_is_in_the_way_by_itself(states, assignment) -> None:
    assignment = tuple(assignment)
    found = refusals({**states, 9: ""}, assignment)
    blocked = {broker for broker in assignment if states[broker]}
    assert bool(found) == bool(blocked)
    if not found:
        return
    reasons = found[0].split(". ")[0]
    assert {int(n) for n in re.findall(r"(\d+) is", reasons)} == blocked
    for broker in blocked:
        only = {other: state if other == broker else "" for other, state in states.items()}
        assert refusals({**only, 9: ""}, assignment)
    assert not refusals(dict.fromkeys([*states, 9], ""), assignment)


def test_a_refusal() -> None:
    states = {1: "drained", 2: "down", 3: "elsewhere", 9: ""}
    assert refusals(states, (1, 2, 3)) == [
        "stays as it is: spec.placement.assignment pins it, and broker 1 is drained, 2 is not"
        " live, 3 is not in pool p. Take broker 1 out of spec.drain and bring broker 2 back and"
        " add broker 3 to the pool, or change the assignment"
    ]


LISTS: dict[str, tuple[Replicas, ...]] = {
    "the same list over and over": ((1, 2),) * 3,
    "one broker alone": ((1,),) * 5,
    "lists of several lengths": ((1,), (1, 2), (3, 2, 1)),
}


@pytest.mark.parametrize("lists", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("found", [None, ((2, 3),), ((2, 3), (3, 1), (1, 3), (2, 1), (2, 1))])
def test_lists_are_taken_as_they_are_and_nobody_else_is_kept_from_anything(
    lists: tuple[Replicas, ...], found: tuple[Replicas, ...] | None
) -> None:
    mine = topic_spec("mine", strategy=Strategy.MANUAL, assignment=lists)
    other = topic_spec("other", partitions=3, replication_factor=2)
    wanted = desired(pool_spec("p", 1, 2, 3), mine, other)
    seen = cluster((1, 2, 3, 4), *(() if found is None else [topic("mine", *found)]))
    seen = replace(seen, topics={**seen.topics, "old": topic("old", (4, 1))})
    wanted = replace(wanted, topics=(*wanted.topics, topic_spec("old")))
    plan = make_plan(wanted, seen)
    assert check_plan(plan, wanted, seen, Records()) == ()
    reached = after(plan, seen)
    grown = after(make_plan(wanted, reached), reached)
    placed = [p.replicas for p in grown.topics["mine"].partitions]
    assert placed[: len(lists)] == list(lists)
    assert placed[len(lists) :] == list(found or ())[len(lists) :]
    assert "other" in reached.topics
    assert 4 not in reached.topics["old"].partitions[0].replicas


BEYOND = {
    "replicas": (
        {"capacity": Capacity(replicas=2)},
        "stays as it is: with its assignment broker 1 would hold 3 replicas and may hold 2"
        " replicas. Raise spec.capacity.replicas, or change the assignment",
    ),
    "bytes": (
        {"capacity": Capacity(disk_bytes=5 * MIB)},
        "stays as it is: with its assignment broker 1 would hold 6 MiB and may hold 5 MiB. Raise"
        " spec.capacity.disk, or change the assignment",
    ),
    "headroom": (
        {"capacity": Capacity(replicas=3), "headroom": Headroom(FailureDomain.BROKER, 1)},
        "stays as it is: with its assignment pool p would hold 6 replicas and may hold 3 replicas."
        " Lower spec.headroom, or change the assignment",
    ),
}


@pytest.mark.parametrize(("fields", "said"), BEYOND.values(), ids=BEYOND)
def test_an_assignment_that_would_overfill_its_pool_is_that_topics_problem(
    fields: dict[str, Any], said: str
) -> None:
    mine = topic_spec("mine", strategy=Strategy.MANUAL, assignment=((1, 2),) * 3)
    wanted = desired(pool_spec("p", 1, 2, **fields), mine)
    partitions = [partition(number, 2, size_bytes=2 * MIB) for number in range(3)]
    seen = cluster((1, 2), topic("mine", *partitions))
    plan = make_plan(wanted, seen)
    assert check_plan(plan, wanted, seen, Records()) == ()
    assert plan.moves == ()
    assert said in [problem.message for problem in plan.problems if problem.topic == "mine"]
