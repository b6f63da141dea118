"""Partitions that are too large for the brokers that they need, whatever else moves.

A broker has at most the room of its disk without what cannot leave it. A partition that more
replicas are wanted of than there are brokers with that much room fits in no layout.
"""

from collections.abc import Iterator

import numpy as np

from poolkeeper.planning import mebibytes
from poolkeeper.planning.columns import Ints, count_slots
from poolkeeper.planning.layouts import Layout
from poolkeeper.planning.routing import UNLIMITED_MIB
from poolkeeper.planning.seating import held_mib

_HELP = "What helps: brokers with larger disks, or a topic that retains less"


def messages(layout: Layout, arrived_mib: Ints) -> Iterator[tuple[str, str]]:
    """(topic, sentence about its largest such partition); `arrived_mib` could go elsewhere too."""
    unit = layout.unit
    brokers = np.flatnonzero(unit.eligible)
    if not len(brokers) or (layout.room.mib[brokers] >= UNLIMITED_MIB).any():
        return
    staying = held_mib(unit, np.where(unit.blocked[:, None], unit.lists, -1))
    free = layout.room.mib - (unit.fixed_mib - arrived_mib) - staying
    brokers = brokers[np.argsort(-free[brokers], kind="stable")]
    wanted = count_slots((layout.lists >= 0) & unit.eligible[layout.lists])
    found = np.searchsorted(-free[brokers], -unit.mib, side="right")
    misfit = (found < wanted) & unit.placed & ~unit.blocked & (unit.mib > 0)
    for topic in np.unique(unit.topic[misfit]).tolist():
        rows = np.flatnonzero(misfit & (unit.topic == topic))
        row = int(rows[np.argmax(unit.mib[rows])])
        fitting = int(found[row])
        name = f"{unit.topics[topic]}-{unit.number[row]}"
        at = brokers[fitting]
        size, room = mebibytes.texts(int(unit.mib[row]), max(0, int(free[at])))
        largest = f"{room} (broker {unit.brokers.ids[at]})"
        if fitting:
            ids = ", ".join(str(unit.brokers.ids[b]) for b in brokers[:fitting])
            said = (
                f"partition {name} of {size} needs {wanted[row]} brokers of pool {unit.pool.name}"
                f" and fits {fitting} of them ({ids}): the next free disk has {largest}"
            )
        else:
            said = (
                f"partition {name} of {size} fits no broker of pool {unit.pool.name}:"
                f" the largest free disk has {largest}"
            )
        more = len(rows) - 1
        also = f"; so for {more} partition{'' if more == 1 else 's'} more of it" if more else ""
        yield unit.topics[topic], f"{said}{also}. {_HELP}"
