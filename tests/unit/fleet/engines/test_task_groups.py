import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.fleet.engines.task_groups import makespan, order, runs


@pytest.mark.parametrize(
    ("weights", "at_most", "placed"),
    [
        pytest.param([], 4, [], id="nothing"),
        pytest.param([5], 4, [0], id="one"),
        pytest.param([1, 9, 1, 1], 2, [1, 0, 1, 1], id="a-giant-is-alone-and-first"),
        pytest.param([3, 3, 3, 3], 4, [0, 1, 2, 3], id="equals-in-their-order"),
        pytest.param([0, 0, 0, 0], 2, [0, 0, 1, 1], id="empty-clusters-count-as-something"),
    ],
)
def test_runs(weights, at_most, placed):
    assert runs(weights, at_most) == placed


WEIGHTS = st.lists(st.integers(0, 10_000), min_size=1, max_size=60)


@given(WEIGHTS, st.integers(1, 40))
def test_runs_are_numbered_without_gaps_and_no_heavy_task_starts_late(weights, at_most):
    placed = runs(weights, at_most)
    assert sorted(set(placed)) == list(range(max(placed) + 1))
    heaviest = [max(w for w, p in zip(weights, placed, strict=True) if p == run)
                for run in range(max(placed) + 1)]  # fmt: skip
    assert heaviest == sorted(heaviest, reverse=True)


@given(WEIGHTS, st.integers(1, 8))
def test_the_last_slot_ends_at_most_one_run_after_an_even_share(weights, slots):
    placed = runs(weights, 16 * slots)
    share = sum(weights) / slots
    longest = max(max(weights), 2 * (sum(weights) + len(weights)) / (16 * slots) + 1)
    assert makespan(weights, placed, slots) <= share + longest


def test_a_giant_among_thousands_of_small_ones_leaves_no_straggler():
    weights = [100] * 3000 + [100_000]
    bound = max(100_000, sum(weights) / 4)
    assert makespan(weights, runs(weights, 64), 4) <= 1.05 * bound
    # In the order of their names the giant, being last, would begin when all others are done.
    assert makespan(weights, list(range(len(weights))), 4) > 1.7 * bound


def test_the_heaviest_come_first():
    assert order([1, 3, 2, 3]) == [1, 3, 2, 0]
