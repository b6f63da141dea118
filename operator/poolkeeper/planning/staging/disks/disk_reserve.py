"""Which steps may go in a stage so that full disks keep space for all stages after it.

`disk_order` gives an order of all steps. Stages keep to it without making steps wait for each
other: a step may go as soon as each broker that it adds has space for it and for all steps that
come before it on that broker, without counting what these free. All such steps can go at once. The
other steps find their space later, because the steps that went ahead have left as much as they
need.
"""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence

from poolkeeper.model.topology import Replicas
from poolkeeper.planning.staging.disks.disk_order import Chains, CopyOrder, CopyStep, order, tight


class Guard:
    """Which steps may go in a stage, by an order of all steps that are left."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._gone: Counter[int] = Counter()
        self._rank: dict[tuple[int, int], int] = {}
        self._coming: dict[int, list[tuple[int, CopyStep]]] = {}
        self._last: dict[int, int] = {}
        self._stale = True

    def clone(self) -> "Guard":
        """An independent copy, to try a stage with."""
        other = copy.copy(self)
        other._gone, other._rank = self._gone.copy(), self._rank.copy()
        other._coming = {broker: coming.copy() for broker, coming in self._coming.items()}
        other._last = self._last.copy()
        return other

    @property
    def left(self) -> list[Sequence[CopyStep]]:
        """The steps that have not gone, by move."""
        gone = self._gone
        return [c[gone[c[0].move] :] for c in self._chains if len(c) > gone[c[0].move]]

    def begin(self, free: Mapping[int, int]) -> None:
        """Begin a stage with these free bytes by broker."""
        if self._stale:
            self._put_in_order(free)
        self._last.clear()
        for broker, coming in self._coming.items():
            room, looked_at = free[broker], []
            while coming and room >= 0:
                rank, step = coming.pop()
                if (step.move, step.step) in self._rank:
                    looked_at.append((rank, step))
                    room -= step.size
            if room < 0:
                self._last[broker] = looked_at[-1][0] - 1 if looked_at else -1
            coming.extend(reversed(looked_at))

    def _put_in_order(self, free: Mapping[int, int]) -> None:
        left = self.left
        lacking = tight(left, free)
        found = order(left, free) if lacking else CopyOrder((), (), free)
        self._stale = False
        self._rank.clear()
        self._coming = {broker: [] for broker in lacking}
        for rank, step in enumerate((*found.steps, *found.blocked)):
            concerned = [broker for broker in step.into if broker in lacking]
            if concerned:
                self._rank[step.move, step.step] = rank
            for broker in concerned:
                self._coming[broker].append((rank, step))
        for coming in self._coming.values():
            coming.reverse()

    def admits(self, move: int, step: int, into: Replicas) -> bool:
        """Whether that step may go in this stage."""
        rank = self._rank.get((move, step)) if self._rank else None
        return rank is None or all(rank <= self._last.get(broker, rank) for broker in into)

    def go(self, move: int, step: int, into: Replicas) -> None:
        """Count that step as part of the stage, in its turn or not."""
        self._stale = self._stale or not self.admits(move, step, into)
        self._gone[move] += 1
        self._rank.pop((move, step), None)
