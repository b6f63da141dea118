"""Orders of copies onto full disks, against every order of tiny instances."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.planning.staging.disks.disk_order import CopyStep, order, tight
from poolkeeper.planning.staging.disks.disk_reserve import Guard

MOST = 1_000
"""Steps of the large instances."""


def copy(move: int, source: int, target: int, size: int, step: int = 1) -> CopyStep:
    return CopyStep(move, step, (target,), (source,), size, size)


def alone(*steps: CopyStep) -> list[tuple[CopyStep, ...]]:
    return [(step,) for step in steps]


def moves(steps) -> list[int]:
    return [step.move for step in steps]


def after(step: CopyStep, free: dict[int, int]) -> dict[int, int]:
    left = dict(free)
    for broker in step.into:
        left[broker] -= step.size
    for broker in step.out_of:
        left[broker] += step.freed
    return left


def fits(step: CopyStep, free: dict[int, int]) -> bool:
    return all(free[broker] >= step.size for broker in step.into)


def can_end(chains, free: dict[int, int]) -> bool:
    """Whether any order has room for all: every one is tried, with what heals first."""
    seen: set[tuple[int, ...]] = set()

    def ends(at: tuple[int, ...], free: dict[int, int]) -> bool:
        if all(place == len(chain) for place, chain in zip(at, chains, strict=True)):
            return True
        if at in seen:
            return False
        seen.add(at)
        heads = [(i, c[p]) for i, (p, c) in enumerate(zip(at, chains, strict=True)) if p < len(c)]
        possible = [(i, step) for i, step in heads if fits(step, free)]
        healing = [(i, step) for i, step in possible if step.heals]
        return any(
            ends((*at[:i], at[i] + 1, *at[i + 1 :]), after(step, free))
            for i, step in healing or possible
        )

    return ends((0,) * len(chains), free)


LENGTHS, SIZES = st.sampled_from([1, 1, 1, 2, 3]), st.sampled_from([1, 2, 3, 5])
SOME, ROOM = st.lists(st.integers(1, 3), max_size=2, unique=True), st.integers(-1, 8)


@st.composite
def instances(draw: st.DrawFn, most: int = 7):
    """Up to `most` steps between four brokers, the fourth of which nobody knows the disk of."""
    chains, number = [], draw(st.integers(1, most))
    while sum(map(len, chains)) < number:
        chain = []
        for step in range(1, draw(LENGTHS) + 1):
            into, out_of, size = draw(SOME), draw(SOME), draw(SIZES)
            out_of = tuple(broker for broker in out_of if broker not in into)
            chain.append(CopyStep(len(chains), step, tuple(into), out_of, size, size))
        chains.append(chain)
    free = {broker: draw(ROOM) for broker in (1, 2, 3)}
    return chains, free


# Orders


def test_what_leaves_a_full_broker_goes_before_what_comes_to_the_brokers_beyond() -> None:
    """Move 0 would fill broker 2, and then 1 and 2 would have no room for good."""
    chains = alone(copy(0, 4, 2, 10), copy(1, 3, 2, 10), copy(2, 2, 3, 10))
    found = order(chains, {2: 10, 3: 0, 4: 0})
    assert (moves(found.steps), found.blocked) == ([1, 2, 0], ())


def test_two_that_change_places_on_full_disks_block_each_other() -> None:
    chains = alone(copy(0, 1, 2, 10), copy(1, 2, 1, 10), copy(2, 1, 3, 5))
    found = order(chains, {1: 4, 2: 0, 3: 5})
    assert (moves(found.steps), moves(found.blocked)) == ([2], [0, 1])
    assert found.free == {1: 9, 2: 0, 3: 0}
    assert moves(order(chains, {1: 5, 2: 0, 3: 5}).steps) == [2, 1, 0]


def test_what_heals_takes_the_room_that_there_is() -> None:
    """With the last first, 0 and 1 could have changed places; but it heals."""
    healing = CopyStep(2, 1, (1,), (), 10, 10, heals=True)
    chains = [*alone(copy(0, 1, 2, 10), copy(1, 2, 1, 10)), (healing,)]
    found = order(chains, {1: 10, 2: 0})
    assert (moves(found.steps), moves(found.blocked)) == ([2], [0, 1])


@examples(120)
@given(instances())
def test_an_order_is_found_if_there_is_one(instance) -> None:
    chains, free = instance
    found = order(chains, free)
    assert bool(found.blocked) != can_end(chains, free)


@examples(80)
@given(instances(most=12))
def test_every_step_of_an_order_has_room_and_follows_the_one_before(instance) -> None:
    chains, free = instance
    found = order(chains, free)
    gone: Counter[int] = Counter()
    for step in found.steps:
        assert fits(step, free)
        assert step == chains[step.move][gone[step.move]]
        gone[step.move] += 1
        free = after(step, free)
    assert found.free == free
    left = [step for i, chain in enumerate(chains) for step in chain[gone[i] :]]
    assert sorted(found.blocked) == sorted(left)
    heads = (chain[gone[i]] for i, chain in enumerate(chains) if gone[i] < len(chain))
    assert not any(fits(step, free) for step in heads)


def test_a_large_ring_of_nearly_full_brokers_is_put_in_order() -> None:
    ring = [copy(n, n % 20, (n + 1) % 20, 1 + n % 7) for n in range(MOST)]
    found = order(alone(*ring), dict.fromkeys(range(20), 7))
    assert (len(found.steps), found.blocked) == (MOST, ())


# Guards


@examples(120)
@given(instances(most=9), st.data())
def test_a_guard_never_lets_go_what_spoils_the_order(instance, data) -> None:
    """Whatever part of what may go is taken, in stages: in the end, all of it went."""
    chains, free = instance
    if order(chains, free).blocked:
        return
    guard, at = Guard(chains), [0] * len(chains)
    while guard.left:
        guard.begin(free)
        heads = [c[place] for c, place in zip(chains, at, strict=True) if place < len(c)]
        may = [s for s in heads if guard.admits(s.move, s.step, s.into)]
        assert may
        taken = data.draw(st.lists(st.sampled_from(may), min_size=1, unique=True))
        together = Counter({broker: 0 for broker in free})
        for step in taken:
            together.update(dict.fromkeys(step.into, step.size))
            guard.go(step.move, step.step, step.into)
            at[step.move] += 1
        assert all(size <= free[broker] for broker, size in together.items() if size)
        for step in taken:
            free = after(step, free)


def test_a_guard_that_was_passed_by_looks_again() -> None:
    chains = alone(copy(0, 4, 2, 10), copy(1, 3, 2, 10), copy(2, 2, 3, 10))
    guard, free = Guard(chains), {2: 10, 3: 10, 4: 0}
    guard.begin(free)
    assert [guard.admits(n, 1, (2,)) for n in (0, 1)] == [False, True]
    guard.go(0, 1, (2,))
    guard.begin(after(chains[0][0], free))
    assert moves(step for chain in guard.left for step in chain) == [1, 2]
    assert guard.admits(2, 1, (3,))
    assert not guard.admits(1, 1, (2,))


@pytest.mark.parametrize(
    ("free", "expected"),
    [
        pytest.param({1: 0, 2: 30}, {}, id="room-for-all-that-is-to-come"),
        pytest.param({1: 0, 2: 29}, {2: 1}, id="one-byte-is-lacking"),
        pytest.param({1: 0, 2: -1}, {2: 31}, id="too-full-already"),
        pytest.param({1: 0}, {}, id="nobody-knows-the-disk"),
    ],
)
def test_a_broker_is_loose_with_room_for_all_that_is_to_come(free, expected) -> None:
    into = (2,) if 2 in free else ()
    assert tight(
        [(CopyStep(0, 1, into, (1,), 10, 10), CopyStep(0, 2, into, (1,), 20, 20))], free
    ) == (expected)
