"""Plans made of parts: some of a plan's parts alone, and parts that a plan has left.

A plan of some parts has their moves and steps in the order of the whole, their hashes, and a hash
of its own: for one part it is the part's, for all parts the whole plan's.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Part,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals import identity
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.move_progress import (
    NOT_BEGUN,
    MoveState,
    classify,
    classify_lazily,
)
from poolkeeper.planning.run_state.progress.step_progress import StepState

_KINDS = (CreateTopic, AddPartitions, SetConfig, MoveLogDir, ElectLeaders, DeleteTopic)
_ENDED = (MoveState.DONE, MoveState.GONE, MoveState.DIVERGED)
_OVER = (StepState.DONE, StepState.STALE)


def moves_of(plan: Plan, part: Part) -> list[Move]:
    """The moves of a part."""
    return [plan.moves[index] for index in part.moves]


def steps_of(plan: Plan, part: Part) -> list[Step]:
    """The steps of a part."""
    return [plan.steps[index] for index in part.steps]


def is_free(step: Step) -> bool:
    """Whether the step needs no approval, and so belongs to no part."""
    return not isinstance(step, MoveLogDir) and not identity.is_destructive(step)


def plan_of(plan: Plan, names: Collection[str], free: Iterable[Step] = ()) -> Plan:
    """A plan of these parts alone, with these steps that need no approval."""
    chosen = [part for part in plan.parts if part.name in names]
    at = sorted(index for part in chosen for index in part.moves)
    new_at = {index: number for number, index in enumerate(at)}
    wanted = {index for part in chosen for index in part.steps}
    steps = steps_in_order([*free, *(plan.steps[index] for index in sorted(wanted))])
    step_at = {id(step): number for number, step in enumerate(steps)}
    moves = tuple(plan.moves[index] for index in at)
    parts = tuple(
        replace(
            part,
            moves=tuple(new_at[index] for index in part.moves),
            steps=tuple(step_at[id(step)] for step in steps_of(plan, part)),
        )
        for part in chosen
    )
    return replace(
        plan,
        hash=identity.plan_hash(moves, steps),
        moves=moves,
        steps=steps,
        parts=parts,
        stages=(),
        makespan=None,
    )


def steps_in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Steps in the order of a plan: by their kinds."""
    return tuple(sorted(steps, key=lambda step: _KINDS.index(type(step))))


def is_over(plan: Plan, part: Part, cluster: Cluster) -> bool:
    """Whether nothing of the part is left to do."""
    moves = moves_of(plan, part)
    return all(p.state in _ENDED for p in classify_lazily(moves, cluster)) and all(
        step_progress.progress_of(step, cluster).state in _OVER for step in steps_of(plan, part)
    )


def without_done_parts(plan: Plan, cluster: Cluster) -> Plan:
    """The plan without the parts of which nothing is left to do."""
    over = {part.name for part in plan.parts if is_over(plan, part, cluster)}
    if not over:
        return plan
    left = [part.name for part in plan.parts if part.name not in over]
    return plan_of(plan, left, filter(is_free, plan.steps))


def rest_of(plan: Plan, cluster: Cluster) -> Plan:
    """What is left of a plan: moves from where they are, and steps that are still to do.

    A plan of which nothing has begun is returned as it is.
    """
    states = classify(plan.moves, cluster)
    to_do = StepState.TO_DO
    left = tuple(s for s in plan.steps if step_progress.progress_of(s, cluster).state is to_do)
    if len(left) == len(plan.steps) and all(p == NOT_BEGUN for p in states):
        return plan
    moves = tuple(
        move._replace(path=move.path[p.at :])
        for move, p in zip(plan.moves, states, strict=True)
        if p.state in (MoveState.PENDING, MoveState.IN_FLIGHT)
    )
    named = identity.plan_hash(moves, left)
    return replace(plan, moves=moves, steps=left, stages=(), parts=(), hash=named)
