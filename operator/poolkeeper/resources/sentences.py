"""Words and numbers of a status: rounded so that it is not written again for nothing.

Numbers of a run advance in steps of some percent, sizes have two digits at most, durations are
"about". The last step is exact: all is all.
"""

from collections.abc import Iterable

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    MoveLogDir,
    Plan,
    SetConfig,
)
from poolkeeper.planning.identities import is_destructive

STEPS = 40
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LADDER_S = ((90, 10), (600, 60), (3600, 300), (6 * 3600, 1800), (float("inf"), 3600))


def coarse(done: int, total: int, steps: int = STEPS) -> int:
    """`done` rounded down to a step of `total`. 37 of 1000 in 40 steps is 25; 1000 of it 1000."""
    if done >= total or total <= steps:
        return max(0, min(done, total))
    return total * (max(0, done) * steps // total) // steps


def coarse_seconds(seconds: float) -> int:
    """A duration to the next ten seconds, minute, five minutes, half hour or hour."""
    unit = next(unit for limit, unit in _LADDER_S if seconds < limit)
    return max(unit, int(-(-seconds // unit)) * unit)


def size(size_bytes: int) -> str:
    """Two digits: 40 GiB, 1.5 MiB, 120 GiB."""
    value, unit = float(size_bytes), 0
    while value >= 1000 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    if value >= 100:
        return f"{round(value / 10) * 10} {_SIZES[unit]}"
    digits = 0 if value >= 10 or unit == 0 else 1
    return f"{value:.{digits}f}".removesuffix(".0") + f" {_SIZES[unit]}"


def about(seconds: int) -> str:
    """A coarse duration: about 40 s, about 12 min, about 1 h 30 min."""
    if seconds < 90:
        return f"about {seconds} s"
    hours, minutes = divmod(-(-seconds // 60), 60)
    if not hours:
        return f"about {minutes} min"
    return f"about {hours} h" + (f" {minutes} min" if minutes else "")


def count(number: int, noun: str) -> str:
    """1 topic, 2 topics."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def few(names: Iterable[str], shown_max: int = 5) -> str:
    """The first of some names, and how many more."""
    listed = list(names)
    more = len(listed) - shown_max
    return ", ".join(listed[:shown_max]) + (f" and {more} more" if more > 0 else "")


def approval_line(cluster: str, plan: str) -> str:
    """The command that approves a plan; it replaces the plans that were approved before."""
    patch = f'{{"spec":{{"approval":{{"plans":["{plan}"]}}}}}}'
    return f"kubectl patch kafkacluster {cluster} --type=merge -p '{patch}'"


def summary(plan: Plan, size_bytes: int) -> str:
    """What a plan does: "create 2 topics, move 12 partitions (40 GiB)"."""
    kinds = (
        (CreateTopic, "create", "topic"),
        (AddPartitions, "add partitions to", "topic"),
        (SetConfig, "configure", "topic"),
        (DeleteTopic, "delete", "topic"),
        (MoveLogDir, "move between log directories", "replica"),
    )
    parts = []
    for kind, verb, noun in kinds:
        found = [step for step in plan.steps if isinstance(step, kind)]
        if found:
            risky = kind is SetConfig and any(map(is_destructive, found))
            parts.append(f"{verb} {count(len(found), noun)}{' (with loss)' if risky else ''}")
    if plan.moves:
        copied = f" ({size(size_bytes)})" if size_bytes else ""
        parts.append(f"move {count(len(plan.moves), 'partition')}{copied}")
    return ", ".join(parts)
