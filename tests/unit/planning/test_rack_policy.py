"""`rackPolicy: AsFound`: what is uneven over racks stays so, and nothing becomes uneven."""

from dataclasses import replace

import pytest
from hypothesis import given

from builders import cluster, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import ProblemReason, is_left_undone
from poolkeeper.model.specs import RackPolicy, ResourcePoolSpec, Strategy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan, state_after
from poolkeeper.planning.audit.excess import live_state, partition_excess
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.rules import Rules
from unit.planning.instances import instances

NINE = {1: "a", 2: "a", 3: "a", 4: "b", 5: "b", 6: "b", 7: "c", 8: "c", 9: "c"}
LATE = ((1, 2, 3), (4, 5, 6), (1, 2, 4), (7, 8, 9), (1, 4, 7))
"""Made before brokers had racks."""


def pool(**fields: object) -> ResourcePoolSpec:
    said = {"goals": (), "rack_policy": RackPolicy.AS_FOUND, **fields}
    return pool_spec("p", *NINE, **said)


def planned(spec: ResourcePoolSpec, *lists: tuple[int, ...], **wanted: object) -> Plan:
    seen = cluster(NINE, topic("t", *(lists or LATE)))
    asked = desired(spec, topic_spec("t", **wanted))
    made = make_plan(asked, seen)
    assert check_plan(made, asked, seen, Records()) == ()
    return made


def test_what_was_made_before_there_were_racks_stays_where_it_is() -> None:
    assert len(planned(pool(rack_policy=RackPolicy.SPREAD)).moves) == 4
    found = planned(pool())
    assert (found.moves, found.steps) == ((), ())
    assert [(p.reason, p.message) for p in found.problems] == [
        (
            ProblemReason.RACKS_AS_FOUND,
            "4 partitions are not spread evenly over racks, and stay so (spec.rackPolicy: AsFound)",
        )
    ]


@pytest.mark.parametrize(
    ("found", "fields", "racks"),
    [
        pytest.param((1, 2, 3), {"drain": frozenset({3})}, {"aab", "aac"}, id="one-leaves"),
        pytest.param((1, 2, 3), {"drain": frozenset({2, 3})}, {"abc"}, id="two-leave"),
        pytest.param((1, 2, 4), {"drain": frozenset({4})}, {"aab", "aac"}, id="not-the-crowd"),
        pytest.param((1, 2, 4), {"drain": frozenset({1})}, {"abc"}, id="one-of-the-crowd"),
        pytest.param((1, 4, 7), {"drain": frozenset({7})}, {"abc"}, id="one-that-was-even"),
    ],
)
def test_who_leaves_for_another_reason_is_spread(
    found: tuple[int, ...], fields: dict[str, object], racks: set[str]
) -> None:
    moves = planned(pool(**fields), found).moves
    assert len(moves) == 1
    added = set(moves[0].target) - set(found)
    assert len(added) == len(set(found) & set(fields["drain"])), "nobody else leaves"
    assert "".join(sorted(NINE[b] for b in moves[0].target)) in racks


@pytest.mark.parametrize(
    ("found", "factor", "racks"),
    [
        pytest.param((1, 2), 3, {"aab", "aac"}, id="grown"),
        pytest.param((1, 2, 4), 2, {"ab"}, id="shrunk"),
    ],
)
def test_another_factor_makes_nothing_worse(
    found: tuple[int, ...], factor: int, racks: set[str]
) -> None:
    (move,) = planned(pool(), found, replication_factor=factor).moves
    assert "".join(sorted(NINE[b] for b in move.target)) in racks
    assert len(set(move.target) - set(found)) == max(0, factor - len(found))


def test_new_topics_and_partitions_are_spread() -> None:
    made = planned(pool(), (1, 2, 3), partitions=4)
    (step,) = made.steps
    assert all(len({NINE[b] for b in replicas}) == 3 for replicas in step.replicas)


def as_found(instance: tuple[Desired, Cluster, frozenset[int]]) -> Desired:
    wanted = instance[0]
    pools = tuple(replace(each, rack_policy=RackPolicy.AS_FOUND) for each in wanted.pools)
    return replace(wanted, pools=pools)


@pytest.mark.slow
@examples(24)
@given(instances())
def test_as_found_is_lawful_and_adds_no_more_than_spread(
    instance: tuple[Desired, Cluster, frozenset[int]],
) -> None:
    wanted, (_, seen, gone) = as_found(instance), instance
    made = make_plan(wanted, seen, Records(), gone)
    assert check_plan(made, wanted, seen, Records(), gone) == ()
    rules, before = Rules(wanted, seen, gone), live_state(seen)
    after = state_after(made, before)
    for place, was in before.items():
        home = rules.home(place[0])
        becomes = after.get(place, was)
        old, new = (partition_excess(rules, home, each) for each in (was, becomes))
        grown = len(becomes) > len(was)
        assert grown or new <= old, "no law above racks may be given up for them either"
        if old[:3] == new[:3] and not grown:
            assert new[3] <= old[3]


@examples(18)
@given(instances())
def test_a_pool_that_keeps_everything_moves_nothing(
    instance: tuple[Desired, Cluster, frozenset[int]],
) -> None:
    """What `import` writes is still: one pool of all brokers, no goals, topics as they are."""
    _, seen, _ = instance
    held = {b for t in seen.topics.values() for p in t.partitions for b in p.replicas}
    everyone = pool_spec(
        "all", *sorted(held | seen.brokers.keys()), goals=(), rack_policy=RackPolicy.AS_FOUND
    )
    topics = [topic_spec(name, "all", strategy=Strategy.BALANCED) for name in seen.topics]
    made = make_plan(desired(everyone, *topics), seen)
    moved = {move.topic: move.path for move in made.moves}
    assert all(set(path[0]) == set(path[-1]) for path in moved.values()), moved


def test_a_rack_that_a_broker_registers_counts_and_the_contradiction_is_told() -> None:
    named = {1: "zz", 4: "b", 5: "x"}
    found = planned(pool(racks=named), (1, 4, 7))
    assert found.moves == ()
    assert [(p.pool, p.reason, p.message) for p in found.problems] == [
        (
            "p",
            ProblemReason.RACKS_CONTRADICTED,
            "spec.racks names other racks than brokers 1 (a, not zz), 5 (b, not x) register; what"
            " is registered counts. Take them out of spec.racks, or change broker.rack there",
        )
    ]
    assert not any(is_left_undone(each.reason) for each in found.problems)


def test_a_pool_without_topics_tells_of_its_racks_as_well() -> None:
    seen = cluster(NINE)
    (told,) = make_plan(desired(pool(racks={1: "zz"})), seen).problems
    assert told.message.startswith("spec.racks names another rack than broker 1 (a, not zz) regis")


def test_racks_of_brokers_that_register_none_or_are_dead_contradict_nothing() -> None:
    seen = cluster({1: None, 2: "b"}, topic("t", (2,)))
    spec = pool_spec("p", 1, 2, 3, racks={1: "a", 3: "c"}, goals=())
    known = Records(brokers={3: BrokerRecord("c", 1)})
    assert make_plan(desired(spec, topic_spec("t")), seen, known).problems == ()
