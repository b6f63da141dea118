"""Which moves of the request in flight shall be cancelled, and what each of them lacks for it.

A move is a candidate if a person wants its stage back, if one of its targets is dead and given up,
if nobody who holds its list in sync comes back, or if no broker can begin it with the config of its
topic. It is wanted if nothing of its origin is missing. A topic that somebody deletes has no
candidates. `cancel` tells why, and does the rest.
"""

from collections.abc import Collection

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import Mode
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.returns import ReturnState, lacks_origin, partition_of
from poolkeeper.reconcile.decide import unloadable_configs
from poolkeeper.reconcile.decide.decisions import RunSituation


def may_fail_over(at: RunSituation) -> bool:
    """Whether another controller may be elected to cancel moves."""
    stop = at.view.stop
    allowed = at.desired.cluster.execution.remedies.allow_controller_failover
    return allowed or (stop is not None and stop.allow_failover)


def can_cancel(at: RunSituation) -> bool:
    """Whether moves can be cancelled: the brokers can do it, or a failover is allowed."""
    return brokers_can(at) or may_fail_over(at)


def brokers_can(at: RunSituation) -> bool:
    """Whether the brokers can be asked to cancel moves, as far as is known."""
    return at.asks_brokers and not any(_outgrows(at, m, index) for m, index in at.run.step)


def is_taken_over(at: RunSituation) -> bool:
    """Whether the request holds a move that Kafka before 2.4 began and a later one goes on with."""
    return any(
        _outgrows(at, m, index) and not _is_unrecorded(at, m, index) for m, index in at.run.step
    )


def _outgrows(at: RunSituation, m: int, index: int) -> bool:
    """Whether more than the origin would be left if the brokers' API cancelled a move.

    It takes off what the topic node says is added. That is nothing up to 2.3, and nothing where a
    later controller took up what an earlier one had begun.
    """
    move = at.plan.moves[m]
    partition = partition_of(move, at.view.cluster)
    if partition is None:
        return False
    left = set(partition.replicas) - set(partition.adding)
    return bool(left - set(move.path[index - 1])) and (
        at.view.returns[m] in (ReturnState.OUTWARD, ReturnState.RETURNING)
    )


def _is_unrecorded(at: RunSituation, m: int, index: int) -> bool:
    """Whether a move runs without its topic node saying what is added: Kafka 2.3 and earlier."""
    partition = partition_of(at.plan.moves[m], at.view.cluster)
    return partition is not None and not partition.moving and _outgrows(at, m, index)


def rollback_ending(at: RunSituation) -> Ending | None:
    """Return how the run ends because its stage is rolled back; None if it does not end."""
    stop, execution = at.view.stop, at.desired.cluster.execution
    age_ms = at.now_ms - at.run.requested_ms
    late = execution.roll_back_on_deadline and age_ms > execution.stage_deadline_s * 1000
    return Ending.ROLLED_BACK if late or (stop is not None and stop.at_once) else None


def _rolls_back(at: RunSituation) -> bool:
    """Whether the whole stage shall return."""
    return at.desired.cluster.mode is Mode.ROLL_BACK or rollback_ending(at) is not None


def moves_to_cancel(at: RunSituation) -> list[int]:
    """Return the moves to cancel whose origin allows it."""
    return [m for m, index in candidates(at) if not missing_origin(at, m, index)]


def candidates(at: RunSituation) -> list[tuple[int, int]]:
    """Return the moves that shall be cancelled, whether that is possible or not."""
    outward = [
        (m, index)
        for m, index in at.run.step
        if at.view.returns.get(m) is ReturnState.OUTWARD and not is_doomed(at, m)
    ]
    if _rolls_back(at):
        return outward
    unloadable = unloadable_configs.never_begun(at)
    return [
        (m, index)
        for m, index in outward
        if m in at.run.returning
        or m in unloadable
        or _are_targets_given_up(at, m, index)
        or _are_sources_given_up(at, m, index)
    ]


def depends_on_gone(at: RunSituation) -> bool:
    """Whether it matters for a cancellation which brokers `heal` counts as gone."""
    return any(
        dead_targets(at, m, index) or lost_sources(at, m, index)
        for m, index in at.run.step
        if at.view.returns.get(m) is ReturnState.OUTWARD
    )


def lost_sources(at: RunSituation, m: int, index: int) -> Collection[int]:
    """Return who held the list in sync, if nobody who is live does and it can be let go."""
    if not _is_unrecorded(at, m, index):
        return ()
    return gates.lost_sources(at.view.cluster, at.plan.moves[m].name)


def _are_sources_given_up(at: RunSituation, m: int, index: int) -> bool:
    """Whether all brokers that held the list in sync are gone for good.

    A broker that was drained before it died is not given up by that.
    """
    lost = set(lost_sources(at, m, index))
    pooled = {broker for pool in at.desired.pools for broker in pool.brokers}
    return bool(lost) and not (lost & pooled) - at.view.gone


def dead_targets(at: RunSituation, m: int, index: int) -> set[int]:
    """Return the brokers of a move's target that are not live, which keep it from arriving.

    Those that it keeps are among them, unless they are sources that it lost.
    """
    origin, target = at.plan.moves[m].path[index - 1 : index + 1]
    sources = set(origin) & set(lost_sources(at, m, index))
    return set(target) - set(at.view.cluster.brokers) - sources


def _are_targets_given_up(at: RunSituation, m: int, index: int) -> bool:
    dead = dead_targets(at, m, index)
    return are_given_up(dead, at.plan.moves[m], index, at.desired, at.view.gone)


def are_given_up(
    dead: Collection[int], move: Move, index: int, desired: Desired, gone: Collection[int]
) -> bool:
    """Whether nobody wants a dead broker of a move's target any more as a home of its topic.

    One that the plan itself leaves in a later step is no home at all, and may only restart.
    `gone`: the brokers that count as gone for good.
    """
    dead, leaving = set(dead), set(move.path[index - 1]) - set(move.target)
    return bool(dead - leaving - wanted_brokers(desired, move.topic) or dead & set(gone))


def wanted_brokers(desired: Desired, topic: str) -> set[int]:
    """Return the brokers that a topic may live on: those of its pool, or else of any pool."""
    spec = next((spec for spec in desired.topics if spec.topic == topic), None)
    return {
        broker
        for pool in desired.pools
        if spec is None or spec.pool == pool.name
        for broker in set(pool.brokers) - set(pool.drain)
    }


def missing_origin(at: RunSituation, m: int, index: int) -> tuple[int, ...]:
    """Return the brokers of the origin without which a move cannot return; empty if it can.

    Also if it is let go.
    """
    if lost_sources(at, m, index):
        return ()
    dead = dead_origin(at, m, index)
    if dead and not dead_targets(at, m, index):
        return dead
    return lacks_origin(at.plan.moves[m], index, at.view.cluster)


def dead_origin(at: RunSituation, m: int, index: int) -> tuple[int, ...]:
    """Return the origin's dead brokers where these keep the list from returning.

    That is up to 2.3, and where a later controller goes on with what an earlier one began.
    """
    move = at.plan.moves[m]
    if not _outgrows(at, m, index):
        return ()
    return tuple(b for b in move.path[index - 1] if b not in at.view.cluster.brokers)


def is_doomed(at: RunSituation, m: int) -> bool:
    """Whether somebody deletes the topic: no controller moves it any more, to nowhere."""
    return at.plan.moves[m].topic in at.view.cluster.deleting
