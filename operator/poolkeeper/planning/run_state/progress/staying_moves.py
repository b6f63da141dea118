"""Moves that a run ends without, each with why it stays: what that comes from may be mended.

No throttle can limit them, no broker can begin them, or their topic's node is too large for any
move. That is a matter of those moves alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, MoveLogDir, Plan
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of

_OF_TOPIC = {
    WaitReason.CONFIG_UNLOADABLE: ActionKind.CONFIG_UNLOADABLE,
    WaitReason.TOPIC_NODE_TOO_LARGE: ActionKind.TOPIC_NODE_TOO_LARGE,
}
"""What tells of moves that stay for something of their topic."""

STAYING_ACTIONS = frozenset((ActionKind.MOVES_UNLIMITED, *_OF_TOPIC.values()))
"""What tells that a run ended without moves."""


@frozen
class StayingMoves:
    """Why moves between brokers, and those between log directories, stay; by index."""

    moves: Mapping[int, Wait] = field(default_factory=dict)
    copies: Mapping[int, Wait] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.moves) + len(self.copies)

    @property
    def waits(self) -> tuple[Wait, ...]:
        """Why they stay, each reason once."""
        return tuple(dict.fromkeys((*self.moves.values(), *self.copies.values())))

    def given_up(self, plan: Plan) -> tuple[Action, ...]:
        """What says that they were not made, one for each reason."""
        return (
            *actions_of_staying(plan.moves, self.moves),
            *actions_of_staying(copies_of(plan), self.copies),
        )


def actions_of_staying(
    moves: Sequence[Move] | Sequence[MoveLogDir], staying: Mapping[int, Wait]
) -> tuple[Action, ...]:
    """Return one action for each reason for which moves stay: it tells that they were not made."""
    named: dict[Wait, list[TopicPartition]] = {}
    for m, wait in staying.items():
        named.setdefault(wait, []).append(moves[m].name)
    return tuple(
        Action(
            _OF_TOPIC.get(wait.reason, ActionKind.MOVES_UNLIMITED),
            topic=wait.topic,
            broker=wait.brokers[0] if wait.brokers else None,
            partitions=tuple(names),
        )
        for wait, names in named.items()
    )
