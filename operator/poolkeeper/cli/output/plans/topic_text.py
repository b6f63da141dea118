"""Why a topic is where it is: its replicas now, where the plan puts them, what they wait for. Pure.

The answer is a table with a line a partition. Partitions of which there is nothing to say but where
they are come last, and are counted where they are many.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from poolkeeper import near_names, wording
from poolkeeper.cli.output import left_undone, printing
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.cli.output.plans import plan_lines
from poolkeeper.cli.output.plans.plan_page import PlanSeen, PlanState
from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.waits import Wait, blocks, in_order
from poolkeeper.model.plans import ElectLeaders, Move, Plan, PlanProblem, Step
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Partition
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.run_state.progress.move_progress import GIVEN_UP_STATES, classify
from poolkeeper.text import count, cut, listed, more, named, size

NAMES_WIDTH = 12
PARTITIONS_MAX = 50
NAMED_MAX = 10
HEADING = ("partition", "replicas", "leader", "in sync", "should be", "state", "why")


class PlacementState(StrEnum):
    """What the plan has of a partition."""

    MOVING = "moving"
    TO_MOVE = "to move"
    TO_REORDER = "to reorder"
    IN_PLACE = "in place"
    NOT_PLANNED = "not planned"
    """The plan leaves the topic out, or leaves a replica on a broker that the pool does not use."""
    NOT_KNOWN = "not known"
    """No plan is stored, and none can be made without manifests."""


@frozen
class PartitionAnswer:
    """A partition now, and what the plan makes of it; `target` and `reason` where it does."""

    partition: Partition
    state: PlacementState
    target: tuple[int, ...] = ()
    bytes: int = 0
    reason: str = ""


@frozen
class TopicAnswer:
    """Why a topic is where it is.

    `declared`: `None` where no manifest has it. `pool`: where it should live, empty for none.
    """

    topic: str
    exists: bool
    declared: TopicSpec | None
    pool: str
    seen: PlanSeen
    partitions: tuple[PartitionAnswer, ...]
    steps: tuple[Step, ...]
    problems: tuple[PlanProblem, ...]
    waits: tuple[Wait, ...]


def require_known(topic: str, existing: Iterable[str], desired: Desired | None) -> None:
    """Raise Refused for a topic that neither exists nor is declared, with names that are near."""
    declared = () if desired is None else (spec.topic for spec in desired.topics)
    known = {*existing, *declared}
    if topic not in known:
        close = near_names.nearest(topic, sorted(known), 3)
        meant = f" (is it {listed(close, 'or')}?)" if close else ""
        raise Refused(f"topic {topic} is neither in the cluster nor declared{meant}")


def answer(
    topic: str, seen: PlanSeen, waits: Sequence[Wait], in_flight: Sequence[Move]
) -> TopicAnswer:
    """Gather what is known of a topic; raises Refused for one that nobody knows.

    `waits`: all of the cluster; those of other topics are left out. `in_flight`: the moves of the
    request under way.
    """
    live = seen.cluster.topics.get(topic)
    declared = next((spec for spec in seen.desired.topics if spec.topic == topic), None)
    if live is None and declared is None:
        if topic in seen.cluster.damaged:
            raise Refused(f"topic {topic} cannot be read: {seen.cluster.damaged[topic]}")
        require_known(topic, seen.cluster.topics, seen.desired)
    moves = {move.partition: move for move in _moves_to_come(topic, seen)}
    moving = {move.partition for move in in_flight if move.topic == topic}
    pool = declared.pool if declared else _home(topic, seen)
    usable, left_out = _usable(seen, pool), _is_left_out(topic, seen)
    return TopicAnswer(
        topic,
        live is not None or topic in seen.cluster.damaged,
        declared,
        pool,
        seen,
        tuple(
            _partition(
                each,
                moves.get(each.partition),
                each.partition in moving,
                _unmoved(each, seen, usable, left_out),
            )
            for each in (live.partitions if live else ())
        ),
        tuple(_steps_of(topic, seen.plan.steps)),
        tuple(
            each
            for each in seen.plan.problems
            if each.topic == topic or (pool and not each.topic and each.pool == pool)
        ),
        tuple(wait for wait in in_order(waits) if _of_topic(wait, topic)),
    )


def _home(topic: str, seen: PlanSeen) -> str:
    """The pool of a topic that no manifest declares: the one that claims it, or the default."""
    rules = Rules(seen.desired, seen.cluster, frozenset(), seen.records)
    return rules.home(topic).pool or ""


def _moves_to_come(topic: str, seen: PlanSeen) -> Iterator[Move]:
    """The moves of the topic, without those that are given up.

    Their topic was made again, or somebody else moved the partition.
    """
    moves = [move for move in seen.plan.moves if move.topic == topic]
    for move, progress in zip(moves, classify(moves, seen.cluster), strict=True):
        if progress.state not in GIVEN_UP_STATES:
            yield move


def _usable(seen: PlanSeen, pool: str) -> frozenset[int] | None:
    """Return the brokers of the pool that are not drained; `None` where no manifest declares it."""
    spec = next((each for each in seen.desired.pools if each.name == pool), None)
    return None if spec is None else frozenset(spec.brokers) - spec.drain


def _is_left_out(topic: str, seen: PlanSeen) -> bool:
    return any(
        each.topic == topic and each.reason in _LEFT_OUT_REASONS for each in seen.plan.problems
    )


_LEFT_OUT_REASONS = frozenset(
    (
        ProblemReason.LEFT_OUT,
        ProblemReason.UNTOUCHED,
        ProblemReason.TOPIC_HELD,
        ProblemReason.POOL_UNAVAILABLE,
        ProblemReason.NAMESPACE_NOT_WATCHED,
    )
)


def _unmoved(
    partition: Partition, seen: PlanSeen, usable: frozenset[int] | None, left_out: bool
) -> PlacementState:
    """Return the state of a partition that the plan does not move."""
    if seen.state is PlanState.UNKNOWN:
        return PlacementState.NOT_KNOWN
    if left_out or (usable is not None and not usable.issuperset(partition.replicas)):
        return PlacementState.NOT_PLANNED
    return PlacementState.IN_PLACE


def _steps_of(topic: str, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps of the topic; of an election its partitions alone."""
    for step in steps:
        if not isinstance(step, ElectLeaders):
            if step.topic == topic:
                yield step
        elif own := tuple(each for each in step.partitions if each[0] == topic):
            yield replace(step, partitions=own)


def _of_topic(wait: Wait, topic: str) -> bool:
    """Whether a wait is one of the topic or of the whole cluster."""
    topics = {wait.topic, *wait.topics, *(name.topic for name in wait.partitions)} - {""}
    return not topics or topic in topics


def _partition(
    partition: Partition, move: Move | None, moving: bool, other: PlacementState
) -> PartitionAnswer:
    """Return the answer for a partition; `other`: the state of one that the plan does not move."""
    if move is None or partition.replicas == move.target:
        return PartitionAnswer(partition, other)
    same = set(partition.replicas) == set(move.target)
    state = PlacementState.TO_REORDER if same else PlacementState.TO_MOVE
    state = PlacementState.MOVING if moving else state
    return PartitionAnswer(partition, state, move.target, move.bytes, move.reason)


def render(found: TopicAnswer, ink: Ink = PLAIN) -> str:
    """Return the answer for people: facts, then a line a partition."""
    lines = ink.facts(list(_facts(found)), NAMES_WIDTH)
    if steps := plan_lines.topic_lines(found.topic, found.steps, (), found.seen.cluster, ink):
        lines += ["", *steps]
    if found.partitions:
        first = sorted(found.partitions, key=lambda each: not each.target)
        rows: list[tuple[str, ...]] = [HEADING]
        rows += [_row(each) for each in first[:PARTITIONS_MAX]]
        lines += ["", *ink.table(rows, len(rows[0]))]
        if rest := more(len(first) - PARTITIONS_MAX, "partition"):
            lines.append(f"  {rest}")
    return "\n".join(lines)


def _facts(found: TopicAnswer) -> Iterator[tuple[str, str]]:
    yield "topic", f"{found.topic}, {_existence(found)}"
    yield "pool", _pool(found)
    if found.seen.state is PlanState.UNKNOWN:
        yield "plan", "none is stored; with manifests (-f DIR) one is made"
    else:
        hash_ = found.seen.plan.hash[: printing.HASH_DIGITS]
        yield "plan", f"{hash_} {_STATES[found.seen.state]}: {_share(found)}"
    elections = [step for step in found.steps if isinstance(step, ElectLeaders)]
    if elected := sum(len(step.partitions) for step in elections):
        yield "leaders", f"preferred ones are elected for {count(elected, 'partition')}"
    for problem in cut((each.message for each in found.problems), NAMED_MAX, grouped=False):
        yield "not done", problem
    blocking = wording.sentences(wait for wait in found.waits if blocks(wait))
    for sentence in cut(blocking, NAMED_MAX, grouped=False):
        yield "blocked by", sentence
    others = wording.sentences(wait for wait in found.waits if not blocks(wait))
    for sentence in cut(others, NAMED_MAX, grouped=False):
        yield "waits for", sentence


_STATES: Mapping[PlanState, str] = {
    PlanState.UNDER_WAY: "is carried out",
    PlanState.WAITS: "waits for approval",
    PlanState.MADE_NOW: "would be made now",
    PlanState.UNKNOWN: "",
}


def _existence(found: TopicAnswer) -> str:
    if (why := found.seen.cluster.damaged.get(found.topic)) is not None:
        return f"which cannot be read: {why}"
    return count(len(found.partitions), "partition") if found.exists else "not created yet"


def _pool(found: TopicAnswer) -> str:
    pool, pools = found.pool, found.seen.desired.pools
    if not pool:
        told = "no manifest declares the topic, and no pool has it"
        return told if pools else "not known without manifests (-f DIR)"
    usable = _usable(found.seen, pool)
    held = {broker for each in found.partitions for broker in each.partition.replicas}
    if usable is None or held <= usable:
        return f"{pool}, {_whence(found)}"
    others = named("broker", sorted(held - usable))
    told = f"{pool} is declared" if found.declared else f"{pool}, {_whence(found)}"
    return f"{told}; replicas are on {others} (drained or not in it)"


def _whence(found: TopicAnswer) -> str:
    """Why the topic is one of its pool."""
    if found.declared:
        return "as declared"
    claims = next(each.claims for each in found.seen.desired.pools if each.name == found.pool)
    return "which claims it" if matches(claims, found.topic) else "the default pool"


def _share(found: TopicAnswer) -> str:
    left = [each for each in found.partitions if each.target]
    if not left:
        return "it moves nothing of this topic"
    copied = sum(each.bytes for each in left)
    return f"{count(len(left), 'partition')} of it, {size(copied)} to copy"


def _row(found: PartitionAnswer) -> tuple[str, ...]:
    partition = found.partition
    leader = "?" if partition.leader is None else str(partition.leader)
    return (
        str(partition.partition),
        _ids(partition.replicas),
        "none" if partition.leader == -1 else leader,
        "?" if partition.isr is None else _ids(partition.isr),
        _ids(found.target),
        found.state.value,
        found.reason,
    )


def _ids(replicas: Sequence[int]) -> str:
    return ",".join(map(str, replicas))


def as_data(found: TopicAnswer) -> dict[str, object]:
    """Return the answer as JSON values."""
    known = found.seen.state is not PlanState.UNKNOWN
    return {
        "topic": found.topic,
        "exists": found.exists,
        "pool": found.pool or None,
        "plan": found.seen.plan.hash if known else None,
        "planState": found.seen.state.value,
        "partitions": [
            {
                "partition": each.partition.partition,
                "replicas": list(each.partition.replicas),
                "leader": each.partition.leader,
                "isr": None if each.partition.isr is None else list(each.partition.isr),
                "state": each.state.value,
                "target": list(each.target) or None,
                "bytes": each.bytes,
                "reason": each.reason or None,
            }
            for each in found.partitions
        ],
        "steps": plan_json.to_json(Plan(found.seen.plan.cluster, "", "", steps=found.steps))[
            "steps"
        ],
        "problems": [each.message for each in found.problems],
        "undone": left_undone.as_data(left_undone.of_problems(found.problems)),
        "waits": list(wording.sentences(found.waits)),
        "waitsFor": left_undone.as_data(left_undone.of_waits(found.waits)),
        "blocked": left_undone.as_data(
            left_undone.of_waits(wait for wait in found.waits if blocks(wait))
        ),
    }
