"""A plan in parts, each of which a person can approve by itself.

| part | what belongs to it | comes after |
|---|---|---|
| heal | moves off brokers and log directories that are gone for good | |
| drain | moves off drained brokers, copies out of drained log directories | heal |
| pool/NAME | moves into that pool | heal, drain |
| replication-factor | moves to declared factors, and evenly over racks | all of these |
| balance | all other moves and copies | all of these |
| topic/NAME | deletion and lossy config of one topic | |

What needs no approval belongs to no part. A move belongs to the most urgent part that needs it:
that is its own purpose, unless the moves of a more urgent part would overfill brokers without it.
So carrying out the parts in their order leaves no pool worse off at any point, and each part is
lawful once those are done that it comes after.

The *fingerprint* of a part is narrower than the plan's: cluster, pools and the placement that its
own topics declare; for a part of a topic, what that topic declares. It changes with nothing that
other topics declare.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import (
    MoveColumns,
    columns_of_moves,
    moves_at,
    topics_moved,
)
from poolkeeper.model.columns.wide_lists import is_in_row
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Move, MoveLogDir, Part, PartKind, Plan, Step, Urgency
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.incremental import MovesInTurn
from poolkeeper.planning.problem.arrays import Bools, Ints, any_slot
from poolkeeper.planning.problem.grouping import number_groups
from poolkeeper.planning.proposals import identity
from poolkeeper.planning.rules import Rules

_KINDS = {
    Urgency.HEAL: PartKind.HEAL,
    Urgency.DRAIN: PartKind.DRAIN,
    Urgency.FACTOR: PartKind.FACTOR,
    Urgency.BALANCE: PartKind.BALANCE,
}
_FIRST = (PartKind.HEAL.value, PartKind.DRAIN.value)
"""The parts that every other part with moves comes after."""
_ORDER = list(PartKind)
_TOPIC = PartKind.TOPIC.of("")

Known = Mapping[tuple[str, int], str]
"""By topic and partition: the part that a move belongs to, where that was shown before."""
_NOTHING_KNOWN: Known = MappingProxyType({})


@frozen
class Circumstances:
    """What a plan was made from; `gone`: brokers that count as lost for good."""

    desired: Desired
    cluster: Cluster
    records: Records
    gone: frozenset[int]

    @property
    def rules(self) -> Rules:
        """The laws of this cluster."""
        return Rules(self.desired, self.cluster, self.gone, self.records)

    def fingerprint_of(self, name: str, moves: Sequence[Move], steps: Iterable[Step]) -> str:
        """What the part of that name depends on, if it has these moves and steps."""
        if name.startswith(_TOPIC):
            topic = name.removeprefix(_TOPIC)
            return identity.topic_fingerprint(self.desired, topic, self.cluster.id)
        topics = topics_moved(moves) | set(map(_topic, steps))
        lost = identity.lost_log_dirs(self.cluster)
        return identity.placement_fingerprint(
            self.desired, topics, self.cluster.id, self.gone, lost
        )


@frozen
class _Group:
    """A part with moves, before it is named by its hash: positions of its moves."""

    name: str
    moves: tuple[int, ...]


def with_parts(plan: Plan, given: Circumstances, known: Known = _NOTHING_KNOWN) -> Plan:
    """The plan with its parts in the order in which they are planned."""
    copies = _copies(plan, given.desired)
    groups = _groups(plan, given.rules, copies.keys(), known)
    turn = MovesInTurn.of(given.rules, plan.moves)
    groups = [g for g in _lawful_in_turn(groups, turn, plan.moves) if g.moves or g.name in copies]
    moving = tuple(_parts(groups, plan, given, copies))
    return replace(plan, parts=(*moving, *_of_topics(plan, given)))


def known_parts(plan: Plan) -> Known:
    """The part of each move of a plan that has parts."""
    return {
        (move.topic, move.partition): part.name
        for part in plan.parts
        for move in map(plan.moves.__getitem__, part.moves)
    }


def _groups(plan: Plan, rules: Rules, also: Collection[str], known: Known) -> list[_Group]:
    """The moves by their own purpose, in order; `also`: parts that have other steps."""
    moves = columns_of_moves(plan.moves)
    names: dict[str, int] = {name: number for number, name in enumerate(also)}
    part = _purposes(moves, rules, names)
    for kind, leaves in _leaving(moves, rules):
        part[leaves] = names.setdefault(kind.value, len(names))
    if known:
        places = zip(moves.names, moves.partition.tolist(), strict=True)
        for index, place in enumerate(places):
            if place in known:
                part[index] = names.setdefault(known[place], len(names))
    found = {name: np.flatnonzero(part == number).tolist() for name, number in names.items()}
    groups = sorted(found.items(), key=_rank)
    return [_Group(name, tuple(at)) for name, at in groups if at or name in also]


def _purposes(moves: MoveColumns, rules: Rules, names: dict[str, int]) -> Ints:
    """By move, the number of the part to which it belongs by its own purpose; `names` grows."""
    number, first = number_groups([moves.urgency, moves.topic])
    kinds = zip(moves.urgency[first].tolist(), moves.topic[first].tolist(), strict=True)
    own = (_purpose(Urgency(kind), moves.topics[topic][0], rules) for kind, topic in kinds)
    found: Ints = np.array([names.setdefault(name, len(names)) for name in own], dtype=np.int64)
    return found[number]


def _leaving(moves: MoveColumns, rules: Rules) -> Iterator[tuple[PartKind, Bools]]:
    """The parts for which moves are needed because they leave brokers that shall be empty.

    A move may have another purpose as well: its topic leaves a drained broker of another pool.
    """
    if not rules.to_empty:
        return
    sources = moves.sources.wide()
    leaves = ~is_in_row(sources, moves.targets.wide()) & (moves.urgency > Urgency.DRAIN)[:, None]
    for kind, brokers in ((PartKind.DRAIN, rules.to_empty), (PartKind.HEAL, rules.gone)):
        goes: Bools = any_slot(leaves & np.isin(sources, list(brokers)))
        yield kind, goes


def _purpose(urgency: Urgency, topic: str, rules: Rules) -> str:
    """The name of the part to which a move of this urgency belongs by its own purpose."""
    if urgency is Urgency.POOL:
        return PartKind.POOL.of(rules.home(topic).pool or "")
    return _KINDS[urgency].value


def _rank(named: tuple[str, object]) -> tuple[int, str]:
    name = named[0]
    return _ORDER.index(PartKind(name.partition("/")[0])), name


def _lawful_in_turn(
    groups: Sequence[_Group], turn: MovesInTurn, moves: Sequence[Move]
) -> Iterator[_Group]:
    """The groups with the later moves that they need; no pool is worse off after any of them."""
    later = list(groups)
    while later:
        own, later = later[0], later[1:]
        group = moves_at(moves, own.moves)
        while any(other.moves for other in later) and turn.leave_worse(group):
            own, later = _with_needed(own, later, turn, moves)
            group = moves_at(moves, own.moves)
        turn = turn.after(group)
        yield own


def _with_needed(
    own: _Group, later: Sequence[_Group], turn: MovesInTurn, moves: Sequence[Move]
) -> tuple[_Group, list[_Group]]:
    """The group with the fewest later moves that make room for it, else with the next group."""
    filled = {b for move in moves_at(moves, own.moves) for b in set(move.target) - set(move.source)}
    useful = [
        index
        for group in later
        for index in group.moves
        if filled.intersection(moves[index].source).difference(moves[index].target)
    ]

    def lawful(count: int) -> bool:
        return not turn.leave_worse(moves_at(moves, (*own.moves, *useful[:count])))

    needed = bisect_left(range(len(useful) + 1), True, key=lawful)
    following = next(group.moves for group in later if group.moves)
    taken = set(following if needed > len(useful) else useful[:needed])
    rest = [
        replace(group, moves=tuple(index for index in group.moves if index not in taken))
        for group in later
    ]
    return replace(own, moves=tuple(sorted((*own.moves, *taken)))), rest


def _parts(
    groups: Sequence[_Group], plan: Plan, given: Circumstances, copies: dict[str, tuple[int, ...]]
) -> Iterator[Part]:
    """The parts with moves, and what each of them comes after."""
    names: list[str] = []
    turn = MovesInTurn.of(given.rules, plan.moves)
    pools = [group for group in groups if group.name.startswith(PartKind.POOL.of(""))]
    for group in groups:
        moves, steps = moves_at(plan.moves, group.moves), copies.get(group.name, ())
        after = [name for name in names if name in _FIRST]
        if group not in pools or (group != pools[0] and turn.leave_worse(moves)):
            after = names
        if group.name in _FIRST:
            turn = turn.after(moves)
        copied = [plan.steps[index] for index in steps]
        yield Part(
            name=group.name,
            hash=identity.plan_hash(moves, copied),
            fingerprint=given.fingerprint_of(group.name, moves, copied),
            after=tuple(after),
            moves=group.moves,
            steps=steps,
        )
        names.append(group.name)


def _copies(plan: Plan, desired: Desired) -> dict[str, tuple[int, ...]]:
    """The positions of moves between log directories, by the name of their part."""
    drained = {(each.broker, each.path) for p in desired.pools for each in p.drain_log_dirs}
    found: dict[str, list[int]] = {}
    for index, step in enumerate(plan.steps):
        if isinstance(step, MoveLogDir):
            leaves = (step.broker, step.source) in drained
            kind = PartKind.DRAIN if leaves else PartKind.BALANCE
            found.setdefault(kind.value, []).append(index)
    return {name: tuple(steps) for name, steps in found.items()}


def _of_topics(plan: Plan, given: Circumstances) -> Iterator[Part]:
    """The destructive steps, a part for each topic."""
    found: dict[str, list[int]] = {}
    for index, step in enumerate(plan.steps):
        if identity.is_destructive(step):
            found.setdefault(_topic(step), []).append(index)
    for topic, at in sorted(found.items()):
        name, steps = PartKind.TOPIC.of(topic), [plan.steps[index] for index in at]
        named = identity.plan_hash((), steps)
        yield Part(name, named, given.fingerprint_of(name, (), steps), steps=tuple(at))


def _topic(step: Step) -> str:
    topic: str = getattr(step, "topic", "")
    return topic
