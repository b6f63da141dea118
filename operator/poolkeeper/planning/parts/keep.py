"""The parts that a person was shown, kept when what is declared of something else changes.

An approval names a hash. A tenant who creates a topic, or changes one, changes the plan that would
be made now: brokers hold more, so that other targets are as good. What the platform asks about
shall not change with that. So the first parts of the plan that was shown stay as they are, as long
as each of them

1. depends on the same (its fingerprint);
2. moves exactly what a fresh plan moves for the same purpose, and costs about the same;
3. is not begun by somebody else.

The rest is planned on top of the cluster as those parts leave it, and new partitions are placed on
top of it. A partition that they move is not moved again: where the rest would have to, a problem
says that the next plan does.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Part,
    Plan,
    PlanProblem,
    PoolCertificate,
    Step,
)
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import AwaitsOwnMoves
from poolkeeper.planning.parts.choose import moves_of, plan_of, steps_in_order, steps_of
from poolkeeper.planning.parts.split import Circumstances, known_parts, with_parts
from poolkeeper.planning.proposals import reuse
from poolkeeper.planning.proposals.identity import plan_hash
from poolkeeper.planning.proposals.lower_bounds import with_moves
from poolkeeper.planning.run_state.progress.after_plan import after_moves

Placed = CreateTopic | AddPartitions
_PLACED = (CreateTopic, AddPartitions)


def with_shown_parts(
    shown: Plan, fresh: Plan, given: Circumstances, planned: Callable[[Cluster], Plan]
) -> Plan | None:
    """The fresh plan with the first parts of the shown one, in parts; `None` if none of them stays.

    `planned` makes the plan for what is declared and another state of the cluster.
    """
    divided = with_parts(fresh, given)
    kept = list(_kept(shown, divided, given))
    if not kept:
        return None
    moves = [move for part in kept for move in moves_of(shown, part)]
    copies = [step for part in kept for step in steps_of(shown, part)]
    names = {part.name for part in kept}
    if set(moves) == set(divided.moves):
        rest = plan_of(divided, [part.name for part in divided.parts if not part.moves])
    else:
        rest = planned(after_moves(given.cluster, moves))
    both = _together(fresh, rest, moves, copies)
    again = tuple(_moved_again(rest, moves, given))
    certificates = _certificates(both, given)
    both = replace(both, certificates=certificates, problems=(*both.problems, *again))
    known = {place: name for place, name in known_parts(shown).items() if name in names}
    return with_parts(both, given, known)


def _kept(shown: Plan, fresh: Plan, given: Circumstances) -> Iterator[Part]:
    """The first parts with moves that stay as they were shown."""
    now = {part.name: part for part in fresh.parts}
    for part in shown.parts:
        if not part.moves:
            continue
        own, steps = moves_of(shown, part), steps_of(shown, part)
        if part.name not in now or part.fingerprint != given.fingerprint_of(part.name, own, steps):
            return
        again = moves_of(fresh, now[part.name])
        same = reuse.necessary_moves(own) == reuse.necessary_moves(again)
        if not same or not reuse.costs_about_the_same(own, again, given.cluster):
            return
        if reuse.is_begun(replace(shown, moves=tuple(own), steps=tuple(steps)), given.cluster):
            return
        yield part


def _together(fresh: Plan, rest: Plan, moves: list[Move], copies: list[Step]) -> Plan:
    """One plan of the moves and copies that stay, and of the rest."""
    taken = {(move.topic, move.partition) for move in moves}
    also = [move for move in rest.moves if (move.topic, move.partition) not in taken]
    both = sorted((*moves, *also), key=lambda m: (m.urgency, m.topic, m.partition))
    moving = {(move.topic, move.partition) for move in both}
    staying = {(s.topic, s.partition, s.broker) for s in copies if isinstance(s, MoveLogDir)}
    steps: list[Step] = [*copies]
    placed = {(type(step), step.topic): step for step in rest.steps if isinstance(step, _PLACED)}
    for step in fresh.steps:
        if isinstance(step, _PLACED):
            steps.append(_placed_as(placed.get((type(step), step.topic), step), step))
        elif isinstance(step, ElectLeaders):
            left = tuple(pair for pair in step.partitions if pair not in moving)
            steps += [replace(step, partitions=left)] if left else []
        elif not isinstance(step, MoveLogDir) or (
            (step.topic, step.partition) not in moving
            and (step.topic, step.partition, step.broker) not in staying
        ):
            steps.append(step)
    return replace(
        fresh,
        hash=plan_hash(both, steps),
        steps=steps_in_order(steps),
        moves=tuple(both),
        stages=(),
        makespan=None,
    )


def _placed_as(other: Placed, step: Placed) -> Placed:
    """The step with the lists of another one that makes as many replicas; else as it is."""
    alike = [*map(len, other.replicas)] == [*map(len, step.replicas)]
    return replace(step, replicas=other.replicas) if alike else step


def _moved_again(rest: Plan, moves: Iterable[Move], given: Circumstances) -> Iterator[PlanProblem]:
    """By pool, what the rest would move of the partitions that the parts move already."""
    taken = {(move.topic, move.partition) for move in moves}
    found: dict[str, list[TopicPartition]] = {}
    for move in rest.moves:
        if (move.topic, move.partition) in taken:
            found.setdefault(given.rules.home(move.topic).pool or "", []).append(move.name)
    for pool, partitions in sorted(found.items()):
        yield PlanProblem(pool, "", AwaitsOwnMoves(Names.of(partitions)))


def _certificates(plan: Plan, given: Circumstances) -> tuple[PoolCertificate, ...]:
    """The bounds of the plan laid out at once, beside what this plan moves; none without moves."""
    rules = given.rules
    replicas: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for move in plan.moves:
        pool = rules.home(move.topic).pool or ""
        replicas[pool] += sum(move.replicas_added)
        size[pool] += move.bytes
    return tuple(
        with_moves(proof, replicas[proof.pool], size[proof.pool]) for proof in plan.certificates
    )
