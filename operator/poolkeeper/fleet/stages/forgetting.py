"""A cluster that is gone for good: declared no more, and none of the latest day.

What is published of earlier days stays: it is history. Nothing but an explicit word makes a cluster
undeclared, as manifests of a part of the fleet would else undeclare the rest.
"""

from collections.abc import Collection

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.steps import BUDGET, FEATURES, PLAN, REPORT, SNAPSHOT, TABLES_OF
from poolkeeper.frozen import frozen
from poolkeeper.text import few, listed

STEPS = (SNAPSHOT, FEATURES, PLAN)
"""The steps with rows of clusters; budgets and reports are made again without them."""


@frozen
class Forgotten:
    """What was taken away: clusters that were declared, and those with rows of a day.

    `outdated`: steps of that day whose tables are of the whole fleet, and were made before.
    """

    declared: tuple[str, ...]
    day: str
    found: tuple[str, ...]
    outdated: tuple[str, ...] = ()


def forget(lake: Lake, names: Collection[str], day: str, *, undeclare: bool) -> Forgotten:
    """Take the clusters from a day, and with `undeclare` from what is declared.

    `day`: empty where there is none. Raises `Refused`, before anything is changed, for names that
    are nowhere.
    """
    declared = set(manifests.read(lake)) if undeclare else set()
    current = {step: lake.current(step, day) for step in STEPS} if day else {}
    found = {name for entries in current.values() for name in entries}
    if unknown := sorted(set(names) - declared - found):
        known = few(sorted(declared | found)) or "none"
        what = "declared or found" if undeclare else "found"
        of_day = f" of {day}" if day else ""
        raise Refused(f"{listed(unknown)}: no such cluster is {what}{of_day} (expected {known})")
    if undeclare:
        manifests.remove(lake, names)
    for step in current:
        lake.drop(step, day, names, TABLES_OF[step])
    gone = tuple(sorted(found & set(names)))
    # Of a day without any cluster neither can be made.
    is_left = bool(gone) and any(lake.current(step, day) for step in (SNAPSHOT, PLAN))
    outdated = tuple(step for step in (BUDGET, REPORT) if is_left and lake.current(step, day))
    return Forgotten(tuple(sorted(declared & set(names))), day, gone, outdated)
