"""Whether the plan that waits for approval stays the one to approve.

Writes to a cluster change sizes all the time, and with them which of many equal replicas are
cheapest to move. So two plans made an hour apart for the same need seldom have the same hash, and
an approval of the first would not hold for the second. Therefore the plan shown stays the one to
approve, although a fresh one would choose a little differently, as long as

1. it was made from the same specs, and with the same brokers gone (its fingerprint);
2. nothing of it is done, and nobody else moved its partitions;
3. it moves exactly what a fresh plan moves for another reason than balance: partitions to heal, to
   drain, to bring to their pool or to give replicas do not depend on sizes;
4. it moves at most a quarter more replicas and bytes than a fresh one would, and at least half as
   many replicas; and its bytes are not twice what they were when it was shown, or were not known;
5. the other steps that need approval (deletions, configs that lose data) are the same.

Steps that need no approval come from the fresh plan, as do the problems. Elections belong to the
moves. The audit decides whether the plan is lawful today.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from poolkeeper.model.plans import DeleteTopic, ElectLeaders, Move, MoveLogDir, Plan, Step, Urgency
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals.identity import plan_hash
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.move_progress import NOT_BEGUN, classify_lazily
from poolkeeper.planning.run_state.progress.step_progress import StepState


def renew(shown: Plan, fresh: Plan, cluster: Cluster) -> Plan | None:
    """The plan shown, updated to be shown now; `None` if the fresh one replaces it."""
    if shown.fingerprint != fresh.fingerprint or shown.hash == fresh.hash:
        return None
    if necessary_moves(shown.moves) != necessary_moves(fresh.moves):
        return None
    if not costs_about_the_same(shown.moves, fresh.moves, cluster):
        return None
    if is_begun(shown, cluster) or _between_log_dirs(shown) != _between_log_dirs(fresh):
        return None
    steps = _steps(shown.steps, fresh.steps)
    if plan_hash(shown.moves, steps) != shown.hash:
        return None
    return replace(shown, steps=steps, problems=fresh.problems)


def is_begun(plan: Plan, cluster: Cluster) -> bool:
    """Whether a move of the plan, between brokers or log directories, is done or under way."""
    if any(state != NOT_BEGUN for state in classify_lazily(plan.moves, cluster)):
        return True
    copies = (step for step in plan.steps if isinstance(step, MoveLogDir))
    return any(step_progress.progress_of(s, cluster).state is not StepState.TO_DO for s in copies)


def _between_log_dirs(plan: Plan) -> bool:
    """Whether the plan moves replicas between log directories."""
    return any(isinstance(step, MoveLogDir) for step in plan.steps)


def necessary_moves(moves: Iterable[Move]) -> set[tuple[str, int, int]]:
    """The moves that have another reason than balance, by topic, partition and urgency."""
    return {
        (move.topic, move.partition, move.urgency)
        for move in moves
        if move.urgency < Urgency.BALANCE
    }


def costs_about_the_same(shown: Sequence[Move], fresh: Sequence[Move], cluster: Cluster) -> bool:
    """Whether the shown moves cost about what they did then, and what fresh ones would."""
    replicas, least = (sum(map(_replicas, moves)) for moves in (shown, fresh))
    today = sum(_bytes_today(move, cluster) for move in shown)
    return (
        replicas <= least + least // 4 + 1
        and least <= 2 * replicas
        and today <= sum(move.bytes for move in fresh) * 5 // 4
        and today <= sum(move.bytes for move in shown) * 2
    )


def _replicas(move: Move) -> int:
    """The replicas that are copied; a move that only reorders counts as one."""
    return _copies(move) or 1


def _bytes_today(move: Move, cluster: Cluster) -> int:
    """The bytes that the move copies by its partition's present size."""
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    size = 0 if partition is None else partition.size_bytes or 0
    return size * _copies(move)


def _copies(move: Move) -> int:
    return sum(len(set(after) - set(before)) for before, after in pairwise(move.path))


def _steps(shown: Iterable[Step], fresh: Iterable[Step]) -> tuple[Step, ...]:
    """The fresh steps, with elections and moves between log directories as shown, in order."""
    with_moves = tuple(step for step in shown if isinstance(step, ElectLeaders | MoveLogDir))
    others = [step for step in fresh if not isinstance(step, ElectLeaders | MoveLogDir)]
    before = tuple(step for step in others if not isinstance(step, DeleteTopic))
    return (*before, *with_moves, *(step for step in others if isinstance(step, DeleteTopic)))
