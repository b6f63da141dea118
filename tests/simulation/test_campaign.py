"""Several troubles at once, drawn from seeds: see `campaign`.

`make test` plays 2,080 seeds, which draw each pair of troubles once; `make soak` plays 100,000
others on all processors.
What fails is printed by seed. One seed alone, with all that happened:

    PYTHONPATH=tests .venv/bin/python -m simulation.campaign SEED
"""

import pytest

from simulation.campaign.chunks import Tally, play_all, play_some
from simulation.campaign.play import KINDS, PAIRS, SPREAD

SEEDS, CHUNK = 2_080, 416
SOAK_SEEDS = 100_000
PAIRS_MIN = 500
"""A chunk draws a pair of its own for each seed, and more by chance; most are reached together."""


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_cluster_lives_through_several_troubles_at_once(first: int) -> None:
    tally = play_some(range(first, first + CHUNK))
    assert_lawful(tally)
    assert len(tally.pairs) >= PAIRS_MIN, tally.text()


def test_each_pair_of_troubles_is_drawn() -> None:
    assert {seed * SPREAD % len(PAIRS) for seed in range(SEEDS)} == {*range(len(PAIRS))}


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_at_length() -> None:
    tally = play_all(range(SEEDS, SEEDS + SOAK_SEEDS))
    print(tally.text())
    assert_lawful(tally)


def assert_lawful(tally: Tally) -> None:
    assert not tally.failures, tally.text()
    assert not [kind for kind in KINDS if not tally.kinds[kind]], tally.text()
