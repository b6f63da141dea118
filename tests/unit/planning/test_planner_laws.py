"""Laws of every plan, attacked with small random clusters."""

import random
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Strategy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.facts.new_partitions import (
    AwaitsMoves,
    AwaitsRoom,
    CrowdedOut,
    NotExtended,
)
from poolkeeper.planning.facts.pools import AwaitsPartitions
from poolkeeper.planning.facts.topics import PinnedBeyondCapacity
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after, instances

WAITING = (PinnedBeyondCapacity, AwaitsRoom, AwaitsMoves, AwaitsPartitions, CrowdedOut, NotExtended)
Instance = tuple[Desired, Cluster, frozenset[int]]


@examples(4)
@given(instances())
def test_every_plan_passes_the_independent_audit(instance: Instance) -> None:
    desired, cluster, gone = instance
    plan = make_plan(desired, cluster, gone=gone)
    assert check_plan(plan, desired, cluster, Records(), gone) == ()


@examples(4)
@given(instances(strategies=(Strategy.BALANCED, Strategy.MANUAL)))  # Kafka's lists are uneven
def test_a_plan_for_the_outcome_of_a_plan_has_no_moves(instance: Instance) -> None:
    desired, cluster, gone = instance
    first = make_plan(desired, cluster, gone=gone)
    # What had to wait for this plan is new work for the next one.
    assume(not any(isinstance(problem.facts, WAITING) for problem in first.problems))
    reached = after(first, cluster)
    assert make_plan(desired, reached, gone=gone).moves == ()


@examples(4)
@given(instances(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(instance: Instance, dice: random.Random) -> None:
    desired, cluster, gone = instance

    def shuffled(items):
        return dice.sample(list(items), len(items))

    other = replace(
        desired, pools=tuple(shuffled(desired.pools)), topics=tuple(shuffled(desired.topics))
    )
    mixed = replace(
        cluster,
        brokers=dict(shuffled(cluster.brokers.items())),
        topics=dict(shuffled(cluster.topics.items())),
    )
    assert make_plan(other, mixed, gone=gone) == make_plan(desired, cluster, gone=gone)


@examples(4)
@given(instances())
def test_a_plan_never_moves_less_than_its_lower_bound(instance: Instance) -> None:
    desired, cluster, gone = instance
    for proof in make_plan(desired, cluster, gone=gone).certificates:
        assert proof.replica_moves_lower_bound <= proof.replica_moves
        assert proof.bytes_lower_bound <= proof.bytes
