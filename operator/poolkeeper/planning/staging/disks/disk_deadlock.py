"""Why stages cannot continue where disks are full, and how much space would be enough.

The wait names the steps that lack space, the space that they need and the space that is free. What
helps is found by trying: the least space on one broker with which all steps can go in some order.
If no single broker is enough, it names space on several brokers, none of which can have less.
"""

from collections.abc import Mapping, Sequence

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, RoomShortage, Wait
from poolkeeper.planning.staging.disks.disk_order import Chains, order, tight

_MIB = 1024**2
_NAMED_MAX = 3
_BROKERS_MAX = 8
_STEPS_MAX = 100
_TRIES_MAX = 50
"""What is tried: amounts on so many brokers, for so many steps, in so many orders."""


def standstill(waiting: Sequence[RoomNeed], chains: Chains, free: Mapping[int, int]) -> Wait:
    """The steps that lack space, and the space with which all remaining steps could go.

    `waiting`: what does not fit on a disk, the most urgent first.
    `chains`: all steps that are left.
    """
    needs = tuple(waiting[:_NAMED_MAX])
    room = RoomShortage(needs, len(waiting) - len(needs), tuple(_ways(chains, free)))
    return Wait(WaitReason.NO_ROOM_ON_DISKS, room=room)


def _ways(chains: Chains, free: Mapping[int, int]) -> list[tuple[tuple[int, int], ...]]:
    """Amounts of space, each of which is enough by itself."""
    lacking = tight(chains, free)
    if sum(map(len, chains)) <= _STEPS_MAX and len(lacking) <= _BROKERS_MAX:
        enough = {
            broker: _least(chains, free, broker, {broker: n}) for broker, n in lacking.items()
        }
        ways = [_way({broker: n}) for broker, n in enough.items() if n is not None]
        if ways:
            return ways
        for broker in lacking:
            lacking[broker] = _least(chains, free, broker, lacking) or 0
    return [_way(lacking)] if lacking else []


def _least(
    chains: Chains, free: Mapping[int, int], broker: int, more: Mapping[int, int]
) -> int | None:
    """The least space on that broker that is enough, in whole MiB, beside what others have more.

    `None` if the space that it is given is too little.
    """
    low, high = -1, -(-more[broker] // _MIB)
    if not _is_enough(chains, free, more):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _is_enough(chains, free, {**more, broker: middle * _MIB}):
            high = middle
        else:
            low = middle
    return high * _MIB


def _is_enough(chains: Chains, free: Mapping[int, int], more: Mapping[int, int]) -> bool:
    room = {broker: size + more.get(broker, 0) for broker, size in free.items()}
    return not order(chains, room, tries_max=_TRIES_MAX).blocked


def _way(room: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple((broker, size_bytes) for broker, size_bytes in room.items() if size_bytes)
