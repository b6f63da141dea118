"""The law that migrations are held to: nothing but a fault costs a partition a replica in sync."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from real.migrated_topic import ORIGIN, TOPIC
from real.support import Change

REACTION_MS = 20_000
"""How long a controller may take to act on the begin or the end of a broker's session."""


@dataclass(frozen=True)
class Faults:
    """What may have cost a replica its place in the ISR.

    `touched`: brokers that lose it while they are not registered, or have not been for long: a
    controller acts on a session's end when it gets to it. `failing`: those that lose it at any
    time. `lagging`: from when to when any may (milliseconds since 1970).
    """

    touched: Set[int] = frozenset()
    failing: Set[int] = frozenset()
    lagging: tuple[tuple[int, int], ...] = ()

    def excuse(self, lost: Set[int], there: Set[int], at_ms: int) -> Set[int]:
        """Return those of the lost replicas that the faults cost; `there` are registered."""
        if any(since <= at_ms <= until_ for since, until_ in self.lagging):
            return lost
        return lost & (self.failing | (self.touched - there))


def reasonless(
    changes: Sequence[Change], registered: set[int], faults: Faults, size: int = 2
) -> list[str]:
    """Return where a partition had fewer replicas in sync than its faults alone cost.

    A replica is missing for a reason if the faults excuse its broker when it left the ISR, until it
    is in it again. All others that a partition had before a move, or has after it, are in sync at
    any time. `size` is the replication factor: longer lists are those of moves
    under way.
    """
    found: list[str] = []
    there = dict.fromkeys(registered, -REACTION_MS)
    before = {str(p): set(replicas) for p, replicas in enumerate(ORIGIN)}
    isrs, hurt = dict(before), {p: set[int]() for p in before}
    for at, change in enumerate(changes):
        match change.path.split("/"):
            case ["", "brokers", "ids", broker]:
                there.pop(int(broker), None)
                if change.kind != "DELETE":
                    there[int(broker)] = change.time_ms
            case ["", "brokers", "topics", topic] if topic == TOPIC:
                before |= _lists(change, size)
            case ["", "brokers", "topics", topic, "partitions", p, "state"] if topic == TOPIC:
                isr = set(change.body["isr"])
                settled = {b for b, at_ms in there.items() if change.time_ms - at_ms >= REACTION_MS}
                lost = faults.excuse(isrs[p] - isr, settled, change.time_ms)
                hurt[p] = (hurt[p] | lost) - isr
                isrs[p] = isr
                later = (_lists(each, size).get(p) for each in changes[at:])
                after = next((lists for lists in later if lists), before[p])
                if not any(lists <= isr | hurt[p] for lists in (before[p], after)):
                    found.append(f"{p}: isr {sorted(isr)}, {sorted(there)} registered")
    return found


def _lists(change: Change, size: int) -> dict[str, set[int]]:
    """The lists of the partitions that rest, if this is a change of the topic's node."""
    if change.path != f"/brokers/topics/{TOPIC}" or not change.data:
        return {}
    lists = change.body["partitions"].items()
    return {p: set(replicas) for p, replicas in lists if len(replicas) == size}
