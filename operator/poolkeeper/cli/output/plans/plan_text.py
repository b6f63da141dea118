"""A plan as text, read like a diff: what changes, why, how much data; then what stays undone.

    Cluster main

    Pool fast
      + topic orders: 12 partitions × 3 replicas           + is created
      ~ topic invoices: 1 config                           ~ changes in place
      → topic t1: 9 replicas of 9 partitions, 12 MiB       → moves
      - topic old                                          - is deleted with its data
      ! marks a line that a person must confirm, because it loses data or safety

Where more than a few topics of a pool move, their moves are grouped by reason instead of by topic.
Long lists are cut, and the rest is counted. `--output json` shows everything. Lines fold at the
given width. Every colour repeats a sign, so that output without colours loses nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter

from poolkeeper import wording
from poolkeeper.cli.output import left_undone
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.cli.output.plans.brokers_table import brokers_table
from poolkeeper.cli.output.plans.capacity_table import capacity_table
from poolkeeper.cli.output.plans.plan_lines import reason_lines, topic_lines
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import (
    DeleteTopic,
    ElectLeaders,
    Makespan,
    Move,
    MoveLogDir,
    Part,
    Plan,
    PlanProblem,
    PoolCertificate,
    Step,
)
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.diagnosis.remaining_capacity import RemainingCapacity
from poolkeeper.planning.rules import Rules
from poolkeeper.report import changes
from poolkeeper.text import count, duration, few, first, listed, more, percent, size

_TOPICS_MAX = 40
_MOVING_TOPICS_MAX = 10
_PROBLEMS_MAX = 20
_NAMED_MAX = 8
_TOPICS_NAMED_MAX = 4
_CLAUSES_MAX = 3
_TABLE_BROKERS_MAX = 40
_PARTS_MAX = 20
_UNOWNED = "Topics that no pool owns"

Changes = dict[str, tuple[list[Step], list[Move]]]
"""Steps and moves by topic."""


def render(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    rooms: Sequence[RemainingCapacity] = (),
    ink: Ink = PLAIN,
    notes: Sequence[str] = (),
    records: Records = NOTHING_RECORDED,
) -> str:
    """The whole plan as text, without a final line feed.

    `records` tell which Topic each Kafka topic follows. `notes` are sentences about the cluster
    that come before the plan.

    `cluster` is the one that the plan was made from: it gives the old values of what changes.
    `rooms` is the remaining capacity of the pools after the plan.
    """
    parts = [
        [ink.bold(f"Cluster {plan.cluster}")],
        [line for sentence in notes for line in ink.fold(f"! {sentence}")],
        *_pools(plan, Rules(desired, cluster, frozenset(), records), ink),
        _elections(plan, ink),
        _not_done(plan.problems, ink),
        *_figures(plan, desired, cluster, ink),
        _room(rooms, ink),
        [ink.bold(line) for line in ink.fold(summary(plan, noted=bool(notes)))],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def summary(plan: Plan, *, noted: bool = False) -> str:
    """The closing line: the whole plan in one sentence; `noted`: something was said before it."""
    if plan.empty:
        if undone := left_undone.of_plan(plan):
            return f"No changes. {count(len(undone), 'thing')} left undone, see above."
        if noted:
            return "No changes. The topology is as declared; see the notes above."
        return "No changes. The cluster is as declared."
    deleted = sum(isinstance(step, DeleteTopic) for step in plan.steps)
    done = changes.counts(plan, sized=True)
    done.append(f"{count(deleted, 'topic')} to DELETE" if deleted else "nothing to delete")
    return f"Plan: {', '.join(done)}."


def blocked_text(waits: Sequence[Wait], ink: Ink = PLAIN) -> str:
    """What keeps moves from starting, shown before everything else.

    A line each, which is not folded: people copy from it what they have to set or run.
    """
    told = (ink.yellow(f"  • {each}") for each in wording.sentences(waits))
    return "\n".join((ink.bold("Blocked"), *told))


def _pools(plan: Plan, rules: Rules, ink: Ink) -> Iterator[list[str]]:
    """One part per pool with changes; pools and topics by name; topics without a pool last."""
    by_pool = _by_pool(plan, rules)
    for pool, topics in sorted(by_pool.items(), key=lambda item: (not item[0], item[0])):
        title = ink.bold(f"Pool {pool}" if pool else _UNOWNED)
        yield [title, *_topics_lines(topics, rules.cluster, ink)]


def _by_pool(plan: Plan, rules: Rules) -> Mapping[str, Changes]:
    """The changes by the pool declared for their topic; "" for topics without a pool."""
    by_pool: dict[str, Changes] = {}

    def place(topic: str) -> tuple[list[Step], list[Move]]:
        pool = rules.home(topic).pool or ""
        return by_pool.setdefault(pool, {}).setdefault(topic, ([], []))

    for step in plan.steps:
        if not isinstance(step, ElectLeaders):
            place(step.topic)[0].append(step)
    for topic, moves in groupby(plan.moves, key=attrgetter("topic")):
        place(topic)[1].extend(moves)
    return by_pool


def _topics_lines(topics: Changes, cluster: Cluster, ink: Ink) -> list[str]:
    """The topics of one pool; where many move, their moves are grouped by reason."""
    moving = [moves for _, moves in topics.values() if moves]
    many = len(moving) > _MOVING_TOPICS_MAX
    shown = sorted(name for name, (steps, _) in topics.items() if steps or not many)
    lines: list[str] = []
    for topic in shown[:_TOPICS_MAX]:
        steps, own = topics[topic]
        lines += topic_lines(topic, steps, () if many else own, cluster, ink)
    lines += _more(len(shown) - _TOPICS_MAX, "topic")
    return lines + (reason_lines(list(chain(*moving)), ink) if many else [])


def _elections(plan: Plan, ink: Ink) -> list[str]:
    pairs = [
        pair for step in plan.steps if isinstance(step, ElectLeaders) for pair in step.partitions
    ]
    if not pairs:
        return []
    names = few((f"{topic}-{partition}" for topic, partition in sorted(pairs)), _NAMED_MAX)
    reasons = dict.fromkeys(
        s.reason for s in plan.steps if isinstance(s, ElectLeaders) and s.reason
    )
    why = f" ({'; '.join(reasons)})" if reasons else ""
    text = f"preferred replicas lead {count(len(pairs), 'partition')}{why}: {names}"
    return [ink.bold("Leaders"), *ink.fold(f"  ~ {text}", 4)]


def _not_done(problems: Sequence[PlanProblem], ink: Ink) -> list[str]:
    """What the plan cannot do and why, pool by pool; topics with one reason share a line."""
    if not problems:
        return []
    alike: dict[tuple[str, str, str], list[str]] = {}
    for problem in problems:
        topics = alike.setdefault((problem.pool, problem.message, problem.law), [])
        topics += [problem.topic] if problem.topic else []
    lines = [ink.bold("Not done, and why")]
    for (pool, message, law), topics in list(alike.items())[:_PROBLEMS_MAX]:
        names = (_topics(topics), f"pool {pool}" if pool else "")
        place = ", ".join(name for name in names if name)
        told = f"{place}: {message}" if place else message
        told += f" [{law}]" if law else ""
        lines += [ink.yellow(line) for line in ink.fold(f"  • {told}", 4)]
    return lines + _more(len(alike) - _PROBLEMS_MAX, "problem")


def _topics(names: Sequence[str]) -> str:
    """`topic a`, or `12 topics (a, b, c, d, … )` with the first few names."""
    if len(names) < 2:
        return "".join(f"topic {name}" for name in names)
    return f"{count(len(names), 'topic')} ({first(names, _TOPICS_NAMED_MAX)})"


def _figures(plan: Plan, desired: Desired, cluster: Cluster, ink: Ink) -> Iterator[list[str]]:
    """Brokers before and after, lower bounds, duration and hash, for a plan with moves."""
    if plan.moves and len(cluster.brokers) <= _TABLE_BROKERS_MAX:
        yield [ink.bold("Brokers"), *brokers_table(cluster, desired, plan, ink)]
    yield _proof(plan.certificates, ink)
    told = [] if plan.empty else [f"Hash    {plan.hash}"]
    yield [*_duration(plan, ink), *told]
    yield _parts(plan, ink)


def _parts(plan: Plan, ink: Ink) -> list[str]:
    """The parts that can be approved by themselves, where there are several.

    A line each, which is not folded: people copy hashes from it.
    """
    if len(plan.parts) < 2:
        return []
    shown = plan.parts[:_PARTS_MAX]
    wide = max(len(part.name) for part in shown)
    lines = [f"  {part.name:<{wide}}  {part.hash}  {_part(plan, part)}" for part in shown]
    title = ink.bold("Parts that can be approved by themselves")
    return [title, *lines, *_more(len(plan.parts) - len(shown), "part")]


def _part(plan: Plan, part: Part) -> str:
    """What a part does, and what it comes after."""
    moved = sum(plan.moves[index].bytes for index in part.moves)
    copied = [s for s in map(plan.steps.__getitem__, part.steps) if isinstance(s, MoveLogDir)]
    told = [count(len(part.moves), "move")] if part.moves else []
    told += [f"{count(len(copied), 'move')} between log directories"] if copied else []
    if part.moves or copied:
        told.append(size(moved + sum(step.bytes for step in copied)))
    else:
        told.append("loses data or safety")
    if part.after:
        told.append(f"after {listed(part.after)}")
    return ", ".join(told)


def _room(rooms: Sequence[RemainingCapacity], ink: Ink) -> list[str]:
    lines = capacity_table(rooms, ink)
    return [ink.bold("Capacity after this plan"), *lines] if lines else []


def _proof(certificates: Iterable[PoolCertificate], ink: Ink) -> list[str]:
    """The number of moves of each pool beside its lower bound."""
    lines = [
        line
        for pool in certificates
        if pool.replica_moves or pool.bytes
        for line in ink.fold(f"  {_certificate(pool)}", 4)
    ]
    return [ink.bold("Proof"), *lines] if lines else []


def _certificate(pool: PoolCertificate) -> str:
    fewest = pool.replica_moves_lower_bound
    if pool.replica_moves <= fewest:
        replicas = f"{count(pool.replica_moves, 'replica')} to move, as few as possible"
    else:
        replicas = f"{count(pool.replica_moves, 'replica')} to move, at least {fewest:,} must"
    needed = f"{size(pool.bytes)}, at least {size(pool.bytes_lower_bound)} must"
    exact = pool.bytes <= pool.bytes_lower_bound
    carried = f"{size(pool.bytes)}, as little as possible" if exact else needed
    gap = f"; gap {percent(pool.gap_percent)}" if pool.gap_percent else ""
    clauses = pool.witness.split("; ") if pool.witness else []
    told = first(clauses, _CLAUSES_MAX, "; ")
    return f"pool {pool.pool}: {replicas}; {carried}{gap}" + (f" ({told})" if told else "")


def _duration(plan: Plan, ink: Ink) -> list[str]:
    if not plan.stages:
        return []
    carried = size(sum(stage.bytes for stage in plan.stages))
    text = f"Stages  {count(len(plan.stages), 'stage')}, {carried}"
    if plan.makespan is None:
        steps = sum(len(move.path) - 1 for move in plan.moves)
        going = sum(len(stage.moves) for stage in plan.stages)
        text += f"; {steps - going:,} of {count(steps, 'step')} cannot go yet"
    else:
        text += f", {_time(plan.makespan)}"
    return ink.fold(text, 8)


def _time(makespan: Makespan) -> str:
    rate = f"{size(makespan.bytes_per_second_per_broker)}/s per broker"
    least = duration(makespan.lower_bound_seconds)
    return f"about {duration(makespan.seconds)} at {rate} (at least {least} at that rate)"


def _more(number: int, noun: str) -> list[str]:
    rest = more(number, noun)
    return [f"  … {rest}; --output json shows all"] if rest else []
