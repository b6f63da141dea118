"""What a broker holds, kept current by single moves, against what it holds if looked at anew."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.planning.goals.held_replicas import HeldReplicas, ReplicaPlaces

BROKERS, SLOTS = 5, 3
RACK = np.array([0, 1, 0, 1, 2, -1], dtype=np.int32)
"""By broker; the last for slots without a replica."""


@dataclass
class Partitions:
    """Lists by slot and row, and what each broker holds of them."""

    lists: np.ndarray
    found: np.ndarray
    stays: np.ndarray
    value: np.ndarray

    def columns(self, row: np.ndarray, slot: np.ndarray) -> tuple[list, list]:
        lists = self.lists.take(row, axis=1)
        numbers = [row, slot, row % 3, row * 0, row * 7, row % 2, *self.value.take(row, axis=1)]
        return numbers, [lists, RACK[lists], self.found.take(row, axis=1)]

    def held(self, broker: int) -> HeldReplicas:
        row, slot = ReplicaPlaces(self.lists.T, BROKERS).of(broker)
        free = ~self.stays[slot, row]
        least = np.array([1, 0, 0])[RACK[broker]][None]
        return HeldReplicas(broker, int(RACK[broker]), least, *self.columns(row[free], slot[free]))


@st.composite
def partitions(draw: st.DrawFn) -> Partitions:
    lists = draw(
        st.lists(
            st.lists(st.sampled_from(range(BROKERS)), unique=True, min_size=1, max_size=SLOTS),
            min_size=1,
            max_size=8,
        )
    )
    wide = np.array([own + [-1] * (SLOTS - len(own)) for own in lists], dtype=np.int32).T
    dice = np.random.default_rng(draw(st.integers(0, 99)))
    stays = dice.random(wide.shape) < 0.2
    return Partitions(wide, np.roll(wide, 1, axis=1), stays, dice.integers(9, size=(2, len(lists))))


def told(held: HeldReplicas) -> list[list]:
    """Every column of what is there still."""
    columns = (held.row, held.slot, held.topic, held.spread, held.cost, held.new)
    wide = (*held.value, *held.lists, *held.racks, *held.found)
    return [c[held.there].tolist() for c in (*columns, *wide, held.leaves_rack, held.moved)]


@pytest.mark.slow
@given(partitions(), st.data())
@examples(100)
def test_moves_leave_what_a_look_at_the_lists_finds(seen: Partitions, data: st.DataObject) -> None:
    held = {broker: seen.held(broker) for broker in range(BROKERS)}
    for _ in range(data.draw(st.integers(1, 6))):
        movable = np.argwhere((seen.lists >= 0) & ~seen.stays).tolist()
        free = [
            (slot, row, target)
            for slot, row in movable
            for target in range(BROKERS)
            if target not in seen.lists[:, row]
        ]
        if not free:
            break
        slot, row, target = data.draw(st.sampled_from(free))
        source = int(seen.lists[slot, row])
        for broker in seen.lists[:, row].tolist():
            if broker not in (-1, source):
                held[broker].replace(row, slot, target, int(RACK[target]))
        seen.lists[slot, row] = target
        held[source].remove(row)
        held[target].insert(*seen.columns(np.array([row]), np.array([slot])))
    assert [told(each) for each in held.values()] == [told(seen.held(b)) for b in range(BROKERS)]
