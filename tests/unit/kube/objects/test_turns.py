"""Keys that become ready, whose groups take turns; the group of a key is its first letter."""

import pytest

from poolkeeper.kube.objects.turns import ReadyKey, Turns


@pytest.fixture
def turns() -> Turns[str]:
    return Turns(lambda key: key[0])


def push(turns: Turns[str], *keys: str, ready_s: float = 0.0, number: int = 0) -> None:
    for count, key in enumerate(keys, number):
        turns.push(ReadyKey(ready_s, count, key))


def popped(turns: Turns[str], now_s: float = 0.0) -> list[str]:
    """Return what is ready, in order."""
    found = []
    while (taken := turns.pop(now_s)) is not None:
        found.append(taken.key)
    return found


def test_groups_take_turns_and_keys_of_a_group_keep_their_order(turns: Turns[str]) -> None:
    push(turns, "m0", "m1", "m2", "f0", "f1", "g0")
    assert popped(turns) == ["m0", "f0", "g0", "m1", "f1", "m2"]


def test_what_is_ready_later_waits_whatever_its_group(turns: Turns[str]) -> None:
    push(turns, "m0", "m1")
    push(turns, "f0", ready_s=5, number=2)
    assert popped(turns, 4) == ["m0", "m1"]
    assert turns.ready_s(4) == 5
    assert popped(turns, 5) == ["f0"]
    assert turns.ready_s(5) is None


def test_the_next_turn_goes_on_after_the_last(turns: Turns[str]) -> None:
    push(turns, "m0", "m1", "m2")
    assert turns.pop(0) == ReadyKey(0, 0, "m0")
    push(turns, "f0", number=3)
    assert popped(turns) == ["m1", "f0", "m2"]


def test_all_is_taken_out_at_once(turns: Turns[str]) -> None:
    push(turns, "m0", "m1")
    turns.pop(0)
    push(turns, "f0", ready_s=5, number=2)
    assert sorted(turns.drain()) == [ReadyKey(0, 1, "m1"), ReadyKey(5, 2, "f0")]
    assert turns.ready_s(9) is None
