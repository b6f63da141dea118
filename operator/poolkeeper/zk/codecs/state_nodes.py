"""The states of partitions: most of what is read of a cluster.

Kafka writes each alike, so a thousand are decoded at once, by type, into columns. Where a thousand
hold anything else, each is read as strictly as any node, and told of by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from poolkeeper.errors import Refused
from poolkeeper.model.columns.partition_columns import UNKNOWN
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists
from poolkeeper.model.topology import Replicas
from poolkeeper.typed_json import look_up
from poolkeeper.zk.client.nodes import HIDDEN, UNREADABLE_BODY
from poolkeeper.zk.codecs import json_bodies

STATES_AT_ONCE = 1000


_Integer = Annotated[int, msgspec.Meta(ge=-json_bodies.INTEGER_MAX, le=json_bodies.INTEGER_MAX)]
_BrokerId = Annotated[int, msgspec.Meta(ge=0, le=json_bodies.INTEGER_MAX)]


class _PlainState(msgspec.Struct, gc=False):
    """A state as Kafka writes it, by type."""

    leader: _Integer
    isr: tuple[_BrokerId, ...]
    leader_epoch: _Integer
    controller_epoch: _Integer = 0


_PLAIN_STATES = msgspec.json.Decoder(look_up(list[_PlainState]))
_CONTROLLER_EPOCH = "controller_epoch"


def _plain_states(bodies: Sequence[bytes]) -> list[_PlainState]:
    """Return the states, parsed as one array; none if anything in them is not as Kafka writes it.

    Typed decoding takes a third of the time of looking at each value.
    """
    try:
        found = _PLAIN_STATES.decode(b"[%b]" % b",".join(bodies))
    except (msgspec.DecodeError, RecursionError):
        return []
    return found if len(found) == len(bodies) else []


class StateNode(NamedTuple):
    """A partition's leader (-1: none, -2: being deleted), ISR and leader epoch.

    `controller_epoch`: of the controller that wrote it, or let the leader write it; 0 if not told.
    """

    leader: int
    isr: Replicas
    leader_epoch: int
    controller_epoch: int = 0

    @classmethod
    def decode(cls, data: bytes) -> "StateNode":
        """Read a state of any version."""
        body: Any = json_bodies.parse(data)
        leader = json_bodies.integer(body, "leader")
        epoch = json_bodies.integer(body, "leader_epoch")
        written_in = json_bodies.integer({_CONTROLLER_EPOCH: 0, **body}, _CONTROLLER_EPOCH)
        return cls(leader, json_bodies.replicas("isr", body.get("isr")), epoch, written_in)


@dataclass(frozen=True, slots=True, eq=False)
class StateColumns(Sequence["StateNode | str | None"]):
    """States by row: a state, `None` where there is none, or why one makes no sense.

    `leader` and `leader_epoch` are `UNKNOWN`, `isr` empty and `controller_epoch` 0 where there is
    no state that makes sense. `damage`: by row, why it makes none.
    """

    known: npt.NDArray[np.bool_]
    leader: Ints
    isr: ReplicaLists
    leader_epoch: Ints
    controller_epoch: Ints
    damage: Mapping[int, str]

    @classmethod
    def decode(cls, found: Sequence[bytes | None]) -> "StateColumns":
        """Read states of any version; None where there is none."""
        leaders: list[int] = []
        in_sync: list[Replicas] = []
        epochs: list[int] = []
        written_in: list[int] = []
        known: list[bool] = []
        damage: dict[int, str] = {}
        for start in range(0, len(found), STATES_AT_ONCE):
            some = found[start : start + STATES_AT_ONCE]
            there = [data for data in some if data is not None]
            plain = _plain_states(there)
            states: Sequence[_PlainState | StateNode] = plain
            if len(plain) < len(some):
                states = _one_by_one(start, some, plain, damage)
            known += [data is not None for data in some]
            leaders += [each.leader for each in states]
            in_sync += [each.isr for each in states]
            epochs += [each.leader_epoch for each in states]
            written_in += [each.controller_epoch for each in states]
        known_rows = np.array(known, dtype=bool)
        known_rows[list(damage)] = False
        return cls(
            known_rows,
            np.array(leaders, dtype=np.int64),
            ReplicaLists.of(in_sync),
            np.array(epochs, dtype=np.int64),
            np.array(written_in, dtype=np.int64),
            damage,
        )

    def __len__(self) -> int:
        return len(self.known)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        if row in self.damage:
            return self.damage[row]
        if not self.known[row]:
            return None
        columns = (self.leader, self.leader_epoch, self.controller_epoch)
        leader, epoch, written_in = (int(column[row]) for column in columns)
        return StateNode(leader, self.isr[row], epoch, written_in)


_NO_STATE = StateNode(UNKNOWN, (), UNKNOWN)


def _one_by_one(
    start: int,
    found: Sequence[bytes | None],
    plain: Sequence[_PlainState],
    damage: dict[int, str],
) -> list[_PlainState | StateNode]:
    """Return a state for each, and add to `damage` those of rows from `start` on that are none."""
    states: list[_PlainState | StateNode] = []
    left = iter(plain)
    for row, data in enumerate(found, start):
        state: _PlainState | StateNode = _NO_STATE
        if data == UNREADABLE_BODY:
            damage[row] = HIDDEN
        elif data is not None:
            try:
                state = next(left) if plain else StateNode.decode(data)
            except Refused as why:
                damage[row] = str(why)
        states.append(state)
    return states
