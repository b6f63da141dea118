"""The changes of a plan in words: as one sentence, and topic by topic."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import MoveColumns, brokers_not_in, columns_of_moves
from poolkeeper.model.columns.partition_columns import UNKNOWN, Bools, columns_of
from poolkeeper.model.columns.replica_lists import NOBODY, Ints
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    MoveLogDir,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.problems import is_left_undone
from poolkeeper.model.topology import Cluster
from poolkeeper.report.document import Cell, Row, number
from poolkeeper.text import count, first, partitions_times, size


@dataclass(frozen=True, slots=True, eq=False)
class PlannedMoves:
    """A plan's moves by column.

    By move: `added`, `removed`: how many brokers its last list has that its first has not, and the
    other way round; `shorter`: whether its last list is.
    """

    columns: MoveColumns
    added: Ints
    removed: Ints
    shorter: Bools

    @classmethod
    def of(cls, plan: Plan) -> "PlannedMoves":
        """The moves of this plan."""
        columns = columns_of_moves(plan.moves)
        sources, targets = columns.sources, columns.targets
        olds, news = sources.wide(), targets.wide()
        return cls(
            columns,
            (brokers_not_in(news, olds) != NOBODY).sum(axis=1),
            (brokers_not_in(olds, news) != NOBODY).sum(axis=1),
            targets.lengths < sources.lengths,
        )

    @property
    def bytes(self) -> int:
        """What all of them copy."""
        return int(self.columns.bytes.sum())

    def shrunk(self) -> Mapping[str, int]:
        """By topic, how many of its partitions lose replicas."""
        rows = np.flatnonzero(self.shorter)
        return Counter(self.columns.topics[each][0] for each in self.columns.topic[rows].tolist())


@frozen
class ReplicaChanges:
    """What moves do to replicas: each partition counts once, as the most that is done to it.

    `added`: replicas that come, in `gaining` partitions; `replaced`: those that leave these.
    `fewer`: replicas that leave `losing` partitions, to which none comes. `reordered`: partitions
    whose replicas stay.
    """

    added: int
    gaining: int
    replaced: int
    fewer: int
    losing: int
    reordered: int

    @classmethod
    def of(cls, changes: Iterable[tuple[int, int]]) -> "ReplicaChanges":
        """The changes of moves, each given as how many replicas it adds and removes."""
        added = gaining = replaced = fewer = losing = reordered = 0
        for new, gone in changes:
            if new:
                added, gaining, replaced = added + new, gaining + 1, replaced + gone
            elif gone:
                fewer, losing = fewer + gone, losing + 1
            else:
                reordered += 1
        return cls(added, gaining, replaced, fewer, losing, reordered)

    def without_copies(self) -> Iterator[str]:
        """What is done without a copy, as parts of a sentence."""
        if self.losing:
            yield f"{count(self.fewer, 'replica')} fewer of {count(self.losing, 'partition')}"
        if self.reordered:
            yield f"another order of replicas in {count(self.reordered, 'partition')}"


@frozen
class UnknownSizes:
    """How many partitions a plan copies, and of how many of them the size is unknown.

    Both are 0 for a cluster of which all sizes are known.
    """

    unknown: int
    copied: int

    @classmethod
    def of(cls, plan: Plan, cluster: Cluster, moved: PlannedMoves | None = None) -> "UnknownSizes":
        """The copies of a plan of this cluster; `moved`: its moves, if the caller has them."""
        sizes = columns_of([topic.partitions for topic in cluster.topics.values()]).bytes
        if not plan.moves or not (sizes == UNKNOWN).any():
            return cls(0, 0)
        moved = moved or PlannedMoves.of(plan)
        columns, copied = moved.columns, np.flatnonzero(moved.added > 0)
        topics = [cluster.topics.get(name) for name, _ in columns.topics]
        pairs = zip(columns.topic[copied].tolist(), columns.partition[copied].tolist(), strict=True)
        found = [each and each.partition(n) for each, n in ((topics[t], n) for t, n in pairs)]
        return cls(sum(each is None or each.size_bytes is None for each in found), len(found))

    def __str__(self) -> str:
        whose = f"{self.unknown:,} of {count(self.copied, 'partition')}"
        return (
            f"The sizes of {whose} to copy are unknown: each counts as its topic's median, else as"
            " 1 MiB, so bytes and times are guesses."
        )


def summary(plan: Plan, moved: PlannedMoves | None = None) -> str:
    """All changes of the plan in one sentence; `moved`: its moves, if the caller has them."""
    if plan.empty:
        undone = sum(is_left_undone(problem.reason) for problem in plan.problems)
        if undone:
            return f"No changes. {count(undone, 'thing')} left undone."
        return "No changes. The cluster is as declared."
    parts = counts(plan, moved=moved)
    deleted = sum(isinstance(step, DeleteTopic) for step in plan.steps)
    parts.append(f"{count(deleted, 'topic')} to delete" if deleted else "nothing to delete")
    return f"{', '.join(parts)}."


def counts(plan: Plan, *, sized: bool = False, moved: PlannedMoves | None = None) -> list[str]:
    """All changes but deletions, as parts of a sentence.

    `sized`: with the bytes that move between log directories. `moved`: as in `summary`.
    """
    return [*_step_counts(plan.steps, sized), *_move_counts(moved or PlannedMoves.of(plan))]


_COUNTED_STEPS: tuple[tuple[type[Step], str, str], ...] = (
    (CreateTopic, "topic", "to create"),
    (AddPartitions, "partition", "to add"),
    (SetConfig, "config", "to change"),
    (MoveLogDir, "replica", "to move between log directories"),
    (ElectLeaders, "leader", "to elect"),
)


def step_counts(steps: Sequence[Step]) -> list[str]:
    """All steps, deletions as well, as parts of a sentence."""
    deleted = sum(isinstance(step, DeleteTopic) for step in steps)
    told = [f"{count(deleted, 'topic')} to delete"] if deleted else []
    return [*_step_counts(steps, sized=True), *told]


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


def _move_counts(moved: PlannedMoves) -> Iterator[str]:
    new = moved.added > 0
    shrunk = int(moved.shorter.sum())
    reordered = int((~new & (moved.removed == 0)).sum())
    if new.any():
        what = f"{count(int(moved.added.sum()), 'replica')} of {count(int(new.sum()), 'partition')}"
        yield f"{what} to move ({size(moved.bytes)})"
    if shrunk:
        yield f"{count(shrunk, 'partition')} to lose replicas"
    if reordered:
        yield f"{count(reordered, 'partition')} to reorder"


class TopicChanges:
    """The changes of each topic; elections belong to no topic."""

    def __init__(self, plan: Plan, cluster: Cluster, moved: PlannedMoves) -> None:
        self._cluster, self._moved = cluster, moved
        self._steps: dict[str, list[Step]] = defaultdict(list)
        for step in plan.steps:
            if not isinstance(step, ElectLeaders):
                self._steps[step.topic].append(step)
        rank = moved.columns.ranks
        names = dict(zip(rank.tolist(), (name for name, _ in moved.columns.topics), strict=True))
        of = rank[moved.columns.topic]
        self._order = np.argsort(of, kind="stable")
        ends = np.cumsum(np.bincount(of, minlength=len(names))).tolist()
        bounds = zip([0, *ends], ends, strict=False)
        self._rows = {names[at]: bound for at, bound in enumerate(bounds) if bound[0] < bound[1]}

    @property
    def topics(self) -> Set[str]:
        """The names of the topics."""
        return self._steps.keys() | self._rows.keys()

    def row(self, topic: str) -> Row:
        """What changes of a topic, why, and how many bytes that copies."""
        steps = self._steps.get(topic, [])
        rows = self._order[slice(*self._rows.get(topic, (0, 0)))]
        columns = self._moved.columns
        what = [*_step_words(steps, self._cluster), *self._move_words(rows)]
        total = int(columns.bytes[rows].sum())
        total += sum(step.bytes for step in steps if isinstance(step, MoveLogDir))
        told = [columns.reasons[reason] for reason in columns.reason[rows].tolist()]
        why = _reasons([*(getattr(step, "reason", "") for step in steps), *told])
        return Cell("; ".join(what)), Cell(why), number(size(total) if total else "")

    def _move_words(self, rows: Ints) -> Iterator[str]:
        added, removed = self._moved.added[rows], self._moved.removed[rows]
        found = ReplicaChanges.of(zip(added.tolist(), removed.tolist(), strict=True))
        if found.gaining:
            verb = "move" if found.replaced else "are new"
            replicas = count(found.added, "replica")
            yield f"{replicas} of {count(found.gaining, 'partition')} {verb}"
        yield from found.without_copies()


def _reasons(told: Iterable[str], shown_max: int = 3) -> str:
    reasons = dict.fromkeys(told)
    reasons.pop("", None)
    return first(reasons, shown_max, "; ")


def _step_words(steps: Sequence[Step], cluster: Cluster) -> Iterator[str]:
    log_dirs = sum(isinstance(step, MoveLogDir) for step in steps)
    for step in steps:
        match step:
            case CreateTopic():
                yield f"created: {partitions_times(len(step.replicas), map(len, step.replicas))}"
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
