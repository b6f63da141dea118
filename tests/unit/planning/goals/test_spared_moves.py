"""Moves that balance does without: cheaper, and nothing is worse by that."""

import random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

from laws import examples
from odd_clusters import odd_cluster
from poolkeeper.model.specs import Capacity, Goal, GoalKind
from poolkeeper.planning.goals import optimizer
from poolkeeper.planning.goals.replica_swaps import REPLICA_MIB
from poolkeeper.planning.goals.spared_moves import spare_moves
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import after, instances
from unit.planning.test_goals import COUNTS, cluster, desired, lawful

BYTES = Goal(GoalKind.BYTES, percent=10.0)
TOPICS = Goal(GoalKind.TOPIC_REPLICAS, count=1)
GOALS = {
    "after counts": (*COUNTS, BYTES),
    "before counts": (BYTES, Goal(GoalKind.REPLICAS, percent=10.0)),
    "after topics": (*COUNTS, TOPICS, BYTES),
    "rates": (*COUNTS, Goal(GoalKind.BYTES_IN, percent=10.0)),
    "topics": (*COUNTS, TOPICS),
}


def cost_of(problem, lists) -> int:
    added = (lists[:, :, None] != problem.lists[:, None, :]).all(axis=2) & (lists >= 0)
    price = np.where(problem.fresh, 0, problem.mib + REPLICA_MIB)
    return int((added * price[:, None]).sum())


class Watched:
    """`spare_moves`, of which each answer is looked at."""

    def __init__(self) -> None:
        self.saved = 0

    def __call__(self, problem, opened, lists, guards, topics=None):
        before = None if topics is None else topics.copy()
        found = spare_moves(problem, opened, lists, guards, topics)
        saved = cost_of(problem, lists) - cost_of(problem, found)
        assert saved > 0 or (found == lists).all()
        self.saved += saved
        self.keep_bounds(problem, opened, lists, found, guards)
        if before is not None:
            assert (topics.replicas == topics.counted_in(problem, found).replicas).all()
            for sign in (1, -1):
                was, now = (
                    np.maximum(sign * (each.replicas - (each.high if sign > 0 else each.low)), 0)
                    for each in (before, topics)
                )
                assert (now <= was).all()
        return found

    def keep_bounds(self, problem, opened, lists, found, guards) -> None:
        for guard in guards:
            was, now = (guard.band.outside(guard.measure.load(each)) for each in (lists, found))
            assert (np.abs(now) <= np.abs(was))[problem.eligible].all()
            assert (now * was >= 0).all()
        for row in np.flatnonzero(opened.stays.any(axis=1)).tolist():
            assert {*opened.lists[row][opened.stays[row]]} <= {*found[row].tolist()}
        assert ((found >= 0) == (lists >= 0)).all()
        assert problem.eligible[found[(found != lists) & (found >= 0)]].all()
        for held in found[(found != lists).any(axis=1)].tolist():
            assert len(set(held) - {-1}) == sum(broker >= 0 for broker in held)


@pytest.mark.slow
@examples(40)
@given(instances())
def test_whatever_is_spared_leaves_every_broker_inside_its_bands(instance) -> None:
    wanted, seen, gone = instance
    with patch.object(optimizer, "spare_moves", Watched()):
        make_plan(wanted, seen, gone=gone)


@pytest.mark.parametrize("goals", GOALS.values(), ids=GOALS)
@pytest.mark.parametrize("racks", [0, 3])
@pytest.mark.slow
def test_plans_of_many_sizes_spare_moves_and_are_final(goals, racks) -> None:
    watched = Watched()
    with patch.object(optimizer, "spare_moves", watched):
        for seed in range(3):
            lists = placed(random.Random(seed), racks)
            seen = cluster(9, *lists, racks=racks)
            weights = {broker: Capacity(weight=1.0 + broker % 2) for broker in range(1, 10)}
            lawful(desired(seen, goals, capacity_of=weights), seen)
    assert watched.saved > 0


def test_where_bytes_are_even_the_small_replicas_of_topics_move() -> None:
    # Each topic is on three of six brokers; of all topics brokers have as much.
    dice = random.Random(5)
    sizes = [int(dice.paretovariate(1.2) * 50) for _ in range(60)]
    lists = [
        [
            (tuple(1 + (topic + p + r) % 3 + 3 * (topic % 2) for r in range(2)), size)
            for p, size in enumerate(sizes)
        ]
        for topic in range(12)
    ]
    seen = cluster(6, *lists)
    copied = []
    for goals in ((*COUNTS, TOPICS), (*COUNTS, TOPICS, BYTES)):
        plan, _ = lawful(desired(seen, goals), seen)
        copied.append(sum(proof.bytes for proof in plan.certificates))
    assert copied[1] <= 1.2 * copied[0]


def placed(dice: random.Random, racks: int) -> list[list[tuple[tuple[int, ...], int]]]:
    """Four topics on nine brokers; sizes with a long tail."""
    found = []
    for _ in range(4):
        some = []
        for _ in range(12):
            held = dice.sample(range(1, 10), 3)
            while racks and len({broker % racks for broker in held}) < 3:
                held = dice.sample(range(1, 10), 3)
            some.append((tuple(held), int(dice.paretovariate(1.5) * 50)))
        found.append(some)
    return found


@pytest.mark.slow
def test_goals_that_cannot_be_met_end_in_a_final_plan() -> None:
    # Each time that moves were spared the search found some more to do.
    wanted, seen = odd_cluster(5077, 200, (3, 6, 10))
    plan = make_plan(wanted, seen)
    assert plan.moves
    assert not make_plan(wanted, after(plan, seen)).moves
