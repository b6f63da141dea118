"""The lines of one topic in a plan: created, changed, moved, deleted."""

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from poolkeeper.cli.output.ink import Ink
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    Move,
    MoveLogDir,
    SetConfig,
    Step,
)
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.report.changes import ReplicaChanges
from poolkeeper.text import count, more, partitions_times, size

_LISTED_MAX = 4
_MOVES_MAX = 5
_REASONS_MAX = 12
_EXAMPLES_MAX = 2


def topic_lines(
    topic: str, steps: Sequence[Step], moves: Sequence[Move], cluster: Cluster, ink: Ink
) -> list[str]:
    """All changes of one topic."""
    lines: list[str] = []
    for step in steps:
        match step:
            case CreateTopic():
                lines += _creation_lines(step, ink)
            case AddPartitions():
                lines += _addition_lines(step, ink)
            case SetConfig():
                lines += _config_lines(step, cluster, ink)
            case DeleteTopic():
                lines += _deletion_lines(step, cluster, ink)
            case _:
                pass
    between = [step for step in steps if isinstance(step, MoveLogDir)]
    return lines + _move_lines(topic, moves, ink) + _log_dir_lines(topic, between, ink)


def _head(sign: str, text: str, why: str, ink: Ink) -> list[str]:
    """`  + topic t: …`, with the reason on the same line if there is room."""
    head = f"  {sign} {text}"
    reason = f"  # {why}" if why else ""
    if len(head) + len(reason) <= ink.width:
        return [ink.sign(sign, head) + reason]
    return [ink.sign(sign, line) for line in ink.fold(head, 6)] + (
        ink.fold(f"      # {why}", 8) if why else []
    )


def _creation_lines(step: CreateTopic, ink: Ink) -> list[str]:
    what = partitions_times(len(step.replicas), map(len, step.replicas))
    lines = _head("+", f"topic {step.topic}: {what}", step.reason, ink)
    lines += _assignment_lines(step.replicas, 0, ink)
    for key, value in sorted(step.config.items()):
        lines += ink.fold(f"      {key} = {_quoted(value)}", 10)
    return lines


def _addition_lines(step: AddPartitions, ink: Ink) -> list[str]:
    total = step.first + len(step.replicas)
    text = f"topic {step.topic}: {count(len(step.replicas), 'partition')} more, {total} in all"
    return _head("+", text, step.reason, ink) + _assignment_lines(step.replicas, step.first, ink)


def _assignment_lines(lists: Sequence[Replicas], first: int, ink: Ink) -> list[str]:
    """The first few replica lists of new partitions: `0: 1 2 3 · 1: 2 3 4 · …`."""
    shown = [
        f"{number}: {_ids(replicas)}" for number, replicas in enumerate(lists[:_LISTED_MAX], first)
    ]
    left = len(lists) - _LISTED_MAX
    shown += [f"… {left} more"] if left > 0 else []
    return ink.fold(f"      replicas {' · '.join(shown)}", 15)


def _config_lines(step: SetConfig, cluster: Cluster, ink: Ink) -> list[str]:
    topic = cluster.topics.get(step.topic)
    old = (topic.config or {}) if topic is not None else {}
    sign = "!" if step.destructive else "~"
    changed = count(len(step.set) + len(step.unset), "config")
    lines = _head(sign, f"topic {step.topic}: {changed}", step.reason, ink)
    for key in sorted({*step.set, *step.unset}):
        before = _quoted(old[key]) if key in old else "(default)"
        after = _quoted(step.set[key]) if key in step.set else "(default)"
        lines += ink.fold(f"      {key}: {before} → {after}", 10)
    for effect in step.destructive:
        lines += [ink.sign("!", line) for line in ink.fold(f"    ! {effect}", 6)]
    return lines


def _deletion_lines(step: DeleteTopic, cluster: Cluster, ink: Ink) -> list[str]:
    topic = cluster.topics.get(step.topic)
    held = ""
    if topic is not None:
        known = [
            p.size_bytes * len(p.replicas) for p in topic.partitions if p.size_bytes is not None
        ]
        held = f", {count(len(topic.partitions), 'partition')}"
        held += f", {size(sum(known))}" if known else ""
    text = f"topic {step.topic} and all of its data{held}"
    return [*_head("-", text, step.reason, ink), ink.sign("!", "    ! this cannot be undone")]


def _move_lines(topic: str, moves: Sequence[Move], ink: Ink) -> list[str]:
    """Moves of one topic, grouped by their reason."""
    if not moves:
        return []
    by_reason: dict[str, list[Move]] = defaultdict(list)
    for move in moves:
        by_reason[move.reason].append(move)
    lines: list[str] = []
    for reason, group in by_reason.items():
        sign = "!" if _shrinks(group) else "→"
        lines += _head(sign, f"topic {topic}: {_amount(group)}", reason, ink)
        digits = max(len(str(move.partition)) for move in group[:_MOVES_MAX])
        for move in group[:_MOVES_MAX]:
            path = " → ".join(map(_ids, move.path))
            line = f"      {move.partition:>{digits}}: {path}{_difference(move)}"
            lines += ink.fold(line, 8 + digits)
        if rest := more(len(group) - _MOVES_MAX):
            lines.append(f"      … {rest}; --output json shows all")
    return lines


def reason_lines(moves: Sequence[Move], ink: Ink) -> list[str]:
    """Many moves, grouped by their main reason; urgent and large groups first."""
    groups: dict[tuple[int, str], list[Move]] = defaultdict(list)
    for (urgency, reasons), alike in groupby(moves, key=attrgetter("urgency", "reason")):
        groups[urgency, reasons.split("; ")[0]].extend(alike)
    ordered = sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1]))
    lines: list[str] = []
    for (_, reason), group in ordered[:_REASONS_MAX]:
        topics = count(len({move.topic for move in group}), "topic")
        sign = "!" if _shrinks(group) else "→"
        lines += _head(sign, f"{_amount(group)}, in {topics}", reason, ink)
        for move in group[:_EXAMPLES_MAX]:
            path = " → ".join(map(_ids, move.path))
            line = f"      {move.topic}-{move.partition}: {path}{_difference(move)}"
            lines += ink.fold(line, 8)
        if left := more(len(group) - _EXAMPLES_MAX):
            lines.append(f"      … {left}")
    rest = [move for _, group in ordered[_REASONS_MAX:] for move in group]
    if rest:
        reasons = count(len(ordered) - _REASONS_MAX, "more reason")
        lines += ink.fold(f"  … and {_amount(rest)}, for {reasons}", 4)
    return [*lines, "  --output json shows every move with its reason"]


def _shrinks(moves: Sequence[Move]) -> bool:
    """Whether any partition has fewer replicas afterwards."""
    return any([len(path[-1]) < len(path[0]) for _, _, _, path, *_ in moves])


def _amount(moves: Sequence[Move]) -> str:
    """The replicas that are added with their bytes, those removed, and what is only reordered."""
    ends = (({*path[0]}, {*path[-1]}) for _, _, _, path, *_ in moves)
    found = ReplicaChanges.of((len(after - before), len(before - after)) for before, after in ends)
    parts = []
    if found.gaining:
        noun = "replica" if found.replaced else "new replica"
        copied = size(sum(move.bytes for move in moves))
        parts.append(f"{count(found.added, noun)} of {count(found.gaining, 'partition')}, {copied}")
    return ", and ".join((*parts, *found.without_copies()))


def _difference(move: Move) -> str:
    """`   -1 +4`: the brokers that lose and gain a replica."""
    removed = [f"-{broker}" for broker in move.source if broker not in move.target]
    added = [f"+{broker}" for broker in move.target if broker not in move.source]
    return "   " + " ".join([*removed, *added]) if removed or added else ""


def _log_dir_lines(topic: str, steps: Sequence[MoveLogDir], ink: Ink) -> list[str]:
    if not steps:
        return []
    total = size(sum(step.bytes for step in steps))
    what = f"{count(len(steps), 'replica')} between log directories, {total}"
    lines = _head("→", f"topic {topic}: {what}", steps[0].reason, ink)
    for step in steps[:_MOVES_MAX]:
        text = f"      {step.partition} on broker {step.broker}: {step.source} → {step.target}"
        lines += ink.fold(text, 10)
    if rest := more(len(steps) - _MOVES_MAX):
        lines.append(f"      … {rest}; --output json shows all")
    return lines


def _ids(replicas: Replicas) -> str:
    return "[" + ",".join(map(str, replicas)) + "]"


def _quoted(value: str) -> str:
    plain = value and value == value.strip() and value.isprintable()
    return value if plain else json.dumps(value)
