"""Several troubles at once, drawn from seeds: see `campaign`.

So many seeds as there are groups of troubles draw each pair of them. `make test` plays a fifth of
these; `make soak` plays the others, and 100,000 others on all processors.
What fails is printed by seed. One seed alone, with all that happened:

    PYTHONPATH=tests .venv/bin/python -m simulation.campaign SEED
"""

from itertools import combinations

import pytest

from matrices import soak
from simulation.campaign.chunks import Tally, play_all, play_some
from simulation.campaign.groups import KINDS, groups, pairs

SEEDS, CHUNKS = len(groups()), 5
CHUNK = -(-SEEDS // CHUNKS)
SOAK_SEEDS = 100_000
PAIRS_MIN = 600
"""Most of the pairs that a chunk draws are reached together."""
MISSED_MAX = 2
"""Kinds that a chunk need not reach: some seldom find what they need."""


@pytest.mark.parametrize("first", [0, *soak(CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK)])
def test_a_cluster_lives_through_several_troubles_at_once(first: int) -> None:
    tally = play_some(range(first, min(first + CHUNK, SEEDS)))
    assert_lawful(tally, MISSED_MAX)
    assert len(tally.pairs) >= PAIRS_MIN, tally.text()


def test_each_pair_of_troubles_is_drawn() -> None:
    drawn = {frozenset(pair) for group in groups() for pair in combinations(group, 2)}
    assert drawn == {*pairs()}


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_at_length() -> None:
    tally = play_all(range(SEEDS, SEEDS + SOAK_SEEDS))
    print(tally.text())
    assert_lawful(tally)


def assert_lawful(tally: Tally, missed_max: int = 0) -> None:
    assert not tally.failures, tally.text()
    assert sum(not tally.kinds[kind] for kind in KINDS) <= missed_max, tally.text()
