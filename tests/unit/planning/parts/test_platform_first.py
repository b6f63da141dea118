"""What tenants declare changes neither moves nor hash of the platform's parts."""

import random
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import CreateTopic, Plan
from poolkeeper.model.problems import awaits_next_plan
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.parts.choose import moves_of
from poolkeeper.planning.parts.platform_first import platform_first
from poolkeeper.planning.parts.split import Circumstances
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after

BROKERS = {id_: "abc"[id_ % 3] for id_ in range(1, 13)}
POOLS = (pool_spec("p", *range(1, 10), drain=frozenset({2})), pool_spec("q", 10, 11, 12))
NOBODY: frozenset[int] = frozenset()
Situation = tuple[Desired, Cluster]


def planned(wanted: Desired, found: Cluster) -> Plan:
    given = Circumstances(wanted, found, Records(), NOBODY)
    return platform_first(make_plan(wanted, found), given, make_plan)


def situation(seed: int) -> Situation:
    """Eight topics with three replicas on nine brokers; one is drained, the last is not on it."""
    dice = random.Random(seed)
    lists = [
        [tuple(dice.sample(range(1, 10), 3)) for _ in range(dice.choice([6, 12]))] for _ in range(7)
    ]
    lists.append([tuple(dice.sample([1, 3, 4, 5, 6, 7, 8, 9], 3)) for _ in range(6)])
    topics = [topic(f"t{number}", *each) for number, each in enumerate(lists)]
    specs = [topic_spec(f"t{number}") for number in range(8)]
    return desired(POOLS, *specs), cluster(BROKERS, *topics)


@lru_cache
def planned_before(seed: int) -> Plan:
    """Return the plan of a situation; each change is tried with the same seeds."""
    return planned(*situation(seed))


def with_last(wanted: Desired, **changes: object) -> Desired:
    *others, last = wanted.topics
    return replace(wanted, topics=(*others, replace(last, **changes)))


def with_new(wanted: Desired) -> Desired:
    new: TopicSpec = topic_spec("new", partitions=7, replication_factor=3)
    return replace(wanted, topics=(*wanted.topics, new))


CHANGES = {
    "a-topic-more": with_new,
    "another-config": lambda wanted: with_last(wanted, config={"retention.ms": "5"}),
    "more-partitions": lambda wanted: with_last(wanted, partitions=30),
    "fewer-replicas": lambda wanted: with_last(wanted, replication_factor=2),
    "another-pool": lambda wanted: with_last(wanted, pool="q"),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@examples(4)
@given(seed=st.integers(0, 10_000))
def test_what_a_tenant_declares_changes_no_hash_of_the_platforms_part(change, seed: int) -> None:
    wanted, found = situation(seed)
    before, after = planned_before(seed), planned(change(wanted), found)
    (drain,) = [part for part in before.parts if part.name == "drain"]
    (again,) = [part for part in after.parts if part.name == "drain"]
    assert (again.hash, again.fingerprint) == (drain.hash, drain.fingerprint)
    assert moves_of(after, again) == moves_of(before, drain)
    assert check_plan(after, change(wanted), found, Records()) == ()


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@examples(4)
@given(seed=st.integers(0, 10_000))
def test_what_the_next_plan_moves_again_is_told(change, seed: int) -> None:
    wanted, found = situation(seed)
    wanted = change(wanted)
    plan = planned(wanted, found)
    moves = planned(wanted, after(plan, found)).moves
    awaited = any(awaits_next_plan(problem.reason) for problem in plan.problems)
    assert awaited or moves == ()


def test_new_partitions_go_to_brokers_that_the_platforms_part_leaves_room_on() -> None:
    """Laid out at once, the new partition gets a broker that the drained one's replica goes to."""
    racks = {1: "a", 2: "b", 3: "c", 4: "d", 5: "e", 6: "f", 7: "g", 8: "h"}
    pool = pool_spec("p", *racks, drain=frozenset({7}))
    new = topic_spec("new", partitions=1, replication_factor=2)
    wanted = desired(pool, topic_spec("t"), new)
    found = cluster(racks, topic("t", (7,), (1, 2, 6, 4)))
    plan = planned(wanted, found)
    (move,) = plan.moves
    (created,) = [step for step in plan.steps if isinstance(step, CreateTopic)]
    assert {*move.target, *created.replicas[0]} == {3, 5, 8}
    assert planned(wanted, after(plan, found)).moves == ()


def test_everything_else_is_in_the_plan_as_well() -> None:
    wanted, found = situation(1)
    plan = planned(with_new(with_last(wanted, pool="q")), found)
    assert {"drain", "pool/q"} <= {part.name for part in plan.parts}
    assert [step.topic for step in plan.steps if isinstance(step, CreateTopic)] == ["new"]
    assert sum(proof.replica_moves for proof in plan.certificates) == sum(
        sum(move.replicas_added) for move in plan.moves
    )


def test_a_plan_without_anything_of_tenants_stays_as_it_was_laid_out() -> None:
    wanted, found = situation(1)
    found = replace(found, brokers=cluster(range(1, 13)).brokers)  # no racks to spread over
    plan = planned(wanted, found)
    assert {part.name for part in plan.parts} >= {"drain"}
    assert replace(plan, parts=()) == make_plan(wanted, found)
