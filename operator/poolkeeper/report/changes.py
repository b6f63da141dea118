"""The changes of a plan in words: as one sentence, and topic by topic."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.problems import is_left_undone
from poolkeeper.model.topology import Cluster
from poolkeeper.report.document import Cell, Row, number
from poolkeeper.text import count, first, size


def summary(plan: Plan) -> str:
    """All changes of the plan in one sentence."""
    if plan.empty:
        undone = sum(is_left_undone(problem.reason) for problem in plan.problems)
        if undone:
            return f"No changes. {count(undone, 'thing')} left undone."
        return "No changes. The cluster is as declared."
    parts = counts(plan)
    deleted = sum(isinstance(step, DeleteTopic) for step in plan.steps)
    parts.append(f"{count(deleted, 'topic')} to delete" if deleted else "nothing to delete")
    return f"{', '.join(parts)}."


def counts(plan: Plan, *, sized: bool = False) -> list[str]:
    """All changes but deletions, as parts of a sentence.

    `sized`: with the bytes that move between log directories.
    """
    return [*_step_counts(plan.steps, sized), *_move_counts(plan.moves)]


_COUNTED_STEPS: tuple[tuple[type[Step], str, str], ...] = (
    (CreateTopic, "topic", "to create"),
    (AddPartitions, "partition", "to add"),
    (SetConfig, "config", "to change"),
    (MoveLogDir, "replica", "to move between log directories"),
    (ElectLeaders, "leader", "to elect"),
)


def _step_counts(steps: Sequence[Step], sized: bool) -> Iterator[str]:
    amounts: Counter[type[Step]] = Counter()
    for step in steps:
        amounts[type(step)] += _amount(step)
    copied = sum(step.bytes for step in steps if isinstance(step, MoveLogDir))
    for kind, noun, verb in _COUNTED_STEPS:
        if amounts[kind]:
            of_bytes = f" ({size(copied)})" if sized and kind is MoveLogDir else ""
            yield f"{count(amounts[kind], noun)} {verb}{of_bytes}"


def _amount(step: Step) -> int:
    """The partitions, configs or leaders that a step changes; 1 for other steps."""
    match step:
        case AddPartitions():
            return len(step.replicas)
        case SetConfig():
            return len(step.set) + len(step.unset)
        case ElectLeaders():
            return len(step.partitions)
        case _:
            return 1


def _move_counts(moves: Sequence[Move]) -> Iterator[str]:
    if not moves:
        return
    added = carried = copied = shrunk = reordered = 0
    for _, _, _, path, size_bytes, *_ in moves:
        source, target = path[0], path[-1]
        new = len({*target}.difference(source))
        added += new
        carried += new > 0
        copied += size_bytes
        shrunk += len(target) < len(source)
        reordered += not new and not {*source}.difference(target)
    if added:
        what = f"{count(added, 'replica')} of {count(carried, 'partition')}"
        yield f"{what} to move ({size(copied)})"
    if shrunk:
        yield f"{count(shrunk, 'partition')} to lose replicas"
    if reordered:
        yield f"{count(reordered, 'partition')} to reorder"


def topic_rows(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, Row]]:
    """The changes of each topic, one row per topic."""
    for topic, (steps, moves) in _by_topic(plan).items():
        what = [*_step_words(steps, cluster), *_move_words(moves)]
        total = sum(move.bytes for move in moves)
        total += sum(step.bytes for step in steps if isinstance(step, MoveLogDir))
        cells = Cell("; ".join(what)), Cell(_reasons((*steps, *moves)))
        yield topic, (*cells, number(size(total) if total else ""))


def _by_topic(plan: Plan) -> Mapping[str, tuple[list[Step], list[Move]]]:
    """The steps and moves of each topic; elections belong to no topic."""
    of_topic: dict[str, tuple[list[Step], list[Move]]] = defaultdict(lambda: ([], []))
    for step in plan.steps:
        if not isinstance(step, ElectLeaders):
            of_topic[step.topic][0].append(step)
    for move in plan.moves:
        of_topic[move.topic][1].append(move)
    return of_topic


def _reasons(changes: Sequence[Step | Move], shown_max: int = 3) -> str:
    reasons = dict.fromkeys([getattr(each, "reason", "") for each in changes])
    reasons.pop("", None)
    return first(reasons, shown_max, "; ")


def _step_words(steps: Sequence[Step], cluster: Cluster) -> Iterator[str]:
    log_dirs = sum(isinstance(step, MoveLogDir) for step in steps)
    for step in steps:
        match step:
            case CreateTopic():
                factors = "/".join(map(str, sorted({len(r) for r in step.replicas})))
                partitions = count(len(step.replicas), "partition")
                yield f"created: {partitions} × {factors} replicas"
            case AddPartitions():
                yield f"{count(len(step.replicas), 'partition')} more"
            case SetConfig():
                yield from _config_words(step, cluster)
            case DeleteTopic():
                yield "deleted with all of its data"
            case _:
                pass
    if log_dirs:
        yield f"{count(log_dirs, 'replica')} between log directories"


def _config_words(step: SetConfig, cluster: Cluster) -> Iterator[str]:
    topic = cluster.topics.get(step.topic)
    old: Mapping[str, str] = (topic.config or {}) if topic else {}
    for key in sorted({*step.set, *step.unset}):
        yield f"{key}: {old.get(key, '(default)')} → {step.set.get(key, '(default)')}"


def _move_words(moves: Sequence[Move]) -> Iterator[str]:
    if not moves:
        return
    added = removed = 0
    for _, _, _, path, *_ in moves:
        source, target = path[0], path[-1]
        added += len({*target}.difference(source))
        removed += len({*source}.difference(target))
    partitions = count(len(moves), "partition")
    if added:
        verb = "move" if removed else "are new"
        yield f"{count(added, 'replica')} of {partitions} {verb}"
    elif removed:
        yield f"{count(removed, 'replica')} fewer of {partitions}"
    else:
        yield f"another order of replicas in {partitions}"
