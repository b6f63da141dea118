"""Words and numbers of a status, rounded so that it is rewritten only for real changes.

A run's numbers advance in steps of some percent, and only 100 % is shown as complete. Sizes have
two digits at most. Durations are "about". Counts have no thousands separators.
"""

from collections.abc import Sequence
from functools import partial

from poolkeeper import text
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    MoveLogDir,
    Plan,
    SetConfig,
)
from poolkeeper.planning.proposals.identity import is_destructive

STEPS = 40
_LADDER_S = ((90, 10), (600, 60), (3600, 300), (6 * 3600, 1800), (float("inf"), 3600))

count = partial(text.count, grouped=False)
few = partial(text.few, grouped=False)
few_others = partial(text.few_others, grouped=False)
size = text.coarse_size
about = text.about


def coarse(done: int, total: int, steps: int = STEPS) -> int:
    """`done` rounded down to a step of `total`. 37 of 1000 in 40 steps is 25; 1000 of it 1000."""
    if done >= total or total <= steps:
        return max(0, min(done, total))
    return total * (max(0, done) * steps // total) // steps


def coarse_seconds(seconds: float) -> int:
    """A duration to the next ten seconds, minute, five minutes, half hour or hour."""
    unit = next(unit for limit, unit in _LADDER_S if seconds < limit)
    return max(unit, int(-(-seconds // unit)) * unit)


_WHO = """'"$(kubectl auth whoami -o jsonpath={.status.userInfo.username})"'"""


def foreign_finalizers_phrase(finalizers: Sequence[str]) -> str:
    """What is appended to the message of a resource that only finalizers of others keep."""
    if not finalizers:
        return ""
    noun = "finalizers" if finalizers[1:] else "finalizer"
    return (
        f"; {noun} {few(finalizers)} of somebody else still keep{'' if finalizers[1:] else 's'} it"
    )


APPROVED_MAX = 50
"""So many approvals are of plans that are long gone, and the API takes no more than a hundred."""


def approval_line(cluster: str, plan: str, approved: int, *, named: bool = False) -> str:
    """The command that approves a plan beside whatever is approved, also after it was printed.

    Of very many that are `approved` none stays. `named`: whoever approves has to say who that is.
    """
    if approved >= APPROVED_MAX:
        by = f',"by":{{"{plan}":"{_WHO}"}}' if named else ""
        patch = f'{{"spec":{{"approval":{{"plans":["{plan}"]{by}}}}}}}'
        return f"kubectl patch kafkacluster {cluster} --type=merge -p '{patch}'"
    added = [_added("plans/-", plan), *([_added(f"by/{plan}", _WHO)] if named else [])]
    return f"kubectl patch kafkacluster {cluster} --type=json -p '[{','.join(added)}]'"


def _added(path: str, value: str) -> str:
    return f'{{"op":"add","path":"/spec/approval/{path}","value":"{value}"}}'


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
