"""The recorded run as the live cluster shows it, and what is in its way, for who may only look.

Nothing of it is written. What the run requested is its own, whoever looks, and its throttles are in
force until it ends.
"""

from collections.abc import Mapping

from poolkeeper.brokers.sizes import BrokerLogs
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Progress
from poolkeeper.model.execution.runs import Phase, Run, StoredRun, UnreadableConfig
from poolkeeper.model.execution.waits import Wait, damage_wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Remedies
from poolkeeper.model.topology import Cluster, ToldReplicas
from poolkeeper.planning.run_state.gates import disks, gates
from poolkeeper.planning.run_state.progress.log_dir_copies import classify_copies, copies_of
from poolkeeper.planning.run_state.progress.move_progress import OPEN_STATES, MoveState, classify
from poolkeeper.planning.run_state.reassignments import requests, stalls
from poolkeeper.planning.run_state.reassignments.requests import NOTHING_OWNED, Owned
from poolkeeper.planning.run_state.returns import classify_returns
from poolkeeper.reconcile.context import progress_of
from poolkeeper.reconcile.decide import held_moves
from poolkeeper.reconcile.decide.cancelling import cancel
from poolkeeper.reconcile.decide.decisions import RunSituation
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.observe.run_view import RunView, target_disks
from poolkeeper.reconcile.pass_memory import PassMemory


@frozen
class RecordedRun:
    """A recorded run; `plan` and `progress` are None if its document was not written completely."""

    run: Run
    plan: Plan | None = None
    progress: Progress | None = None
    owned: Owned = NOTHING_OWNED


def recorded_run(stored: StoredRun, cluster: Cluster) -> RecordedRun | None:
    """Return the stored run, compared with the cluster; None without one, or a damaged one."""
    run, document = stored.run, stored.document
    if run is None or stored.damage is not None:
        return None
    if document is None:
        return RecordedRun(run)
    plan, memory = document.plan, PassMemory()
    progress = classify(plan.moves, cluster)
    memory.note_all_moves(plan, progress, cluster)
    memory.note_copies(classify_copies(copies_of(plan), cluster, {}))
    memory.moves_in_flight = sum(progress[m].is_at_work for m, _ in run.step)
    at_work = {
        move.name
        for move, p in zip(plan.moves, progress, strict=True)
        if p.is_at_work or p.state is MoveState.ORPHANED
    }
    step = stalls.owned_by(plan.moves, run.step, run.returning)
    owned = Owned(at_work | set(step.partitions), step.targets)
    return RecordedRun(run, plan, progress_of(memory, run, plan), owned)


def damage_waits(stored: StoredRun) -> tuple[Wait, ...]:
    """Return the wait for a node of the run that cannot be read, if there is one."""
    return () if stored.damage is None else (damage_wait(stored.damage),)


def cancel_waits(
    stored: StoredRun,
    cluster: Cluster,
    desired: Desired,
    gone: frozenset[int],
    now_ms: int,
    logs: Mapping[int, BrokerLogs],
) -> tuple[Wait, ...]:
    """Return what stands in the way of moves that are cancelled, or should be.

    `gone`: by `heal`; `logs`: what brokers say of their directories.
    """
    run, document = stored.run, stored.document
    if run is None or document is None or run.phase is not Phase.MOVING or not run.step:
        return ()
    view = RunView(
        ClusterReading(cluster),
        tuple(classify([document.plan.moves[m] for m, _ in run.step], cluster)),
        returns=classify_returns(run, document.plan, cluster),
        stop=stored.stop,
        gone=gone,
        disks=target_disks(run, document.plan, logs, now_ms),
    )
    asks_brokers = desired.cluster.brokers is not None
    at = RunSituation(run, document, view, desired, now_ms, asks_brokers=asks_brokers)
    return cancel.waits(at)


def disk_waits(
    stored: StoredRun,
    cluster: Cluster,
    logs: Mapping[int, BrokerLogs],
    now_ms: int,
    told: ToldReplicas | None = None,
) -> tuple[Wait, ...]:
    """Return why copies of the stage in flight hang, by what brokers say.

    `logs`: of their directories; `told`: of the replicas of what they lead.
    """
    run, document = stored.run, stored.document
    if run is None or document is None or run.phase is not Phase.MOVING:
        return ()
    plan = document.plan
    step = [(plan.moves[m], index) for m, index in run.step]
    progress = classify([move for move, _ in step], cluster)
    seen = target_disks(run, plan, logs, now_ms, told)
    return disks.waits_in_flight(step, progress, cluster, seen)


def held_waits(
    stored: StoredRun,
    cluster: Cluster,
    desired: Desired,
    now_ms: int,
    unwritable: Mapping[str | int, UnreadableConfig] | None = None,
    gone: frozenset[int] = frozenset(),
) -> tuple[Wait, ...]:
    """Return why moves of the run are held while others go on; `cluster` has sizes, if known.

    A run that ends makes none of them. `unwritable`: by topic and by broker, why it cannot be
    throttled, for who has tried. `gone`: the brokers that count as gone for good.
    """
    run, document = stored.run, stored.document
    if run is None or document is None or run.phase not in (Phase.THROTTLING, Phase.MOVING):
        return ()
    if run.ending is not None or stored.stop is not None:
        return ()
    plan = document.plan
    progress = classify(plan.moves, cluster)
    view = RunView(ClusterReading(cluster), progress, gone=gone)
    at = RunSituation(run, document, view, desired, now_ms, unwritable=unwritable or {})
    places = tuple(p.at if p.state in OPEN_STATES else None for p in progress)
    return held_moves.lasting_waits(plan, held_moves.held_moves(at, places, cluster))


def leaders_to_ask(stored: StoredRun, cluster: Cluster, now_ms: int) -> dict[int, set[str]]:
    """Return the leaders that are to say what they know of the stage's replicas."""
    run, document = stored.run, stored.document
    if run is None or document is None or run.phase is not Phase.MOVING:
        return {}
    step = [(document.plan.moves[m], index) for m, index in run.step]
    return disks.leaders_to_ask(step, cluster, now_ms - run.requested_ms)


def waits_of(
    observed: Observation, recorded: RecordedRun | None, remedies: Remedies
) -> tuple[Wait, ...]:
    """Return what keeps any move from starting: no controller, what others request and move.

    Names the remedy that a stuck request waits for, if it is not allowed.
    """
    cluster = observed.cluster
    ours = observed.lost_run.owned if recorded is None else recorded.owned
    known = requests.known_brokers(cluster, observed.records.brokers)
    stall = stalls.foreign_stall_of(cluster, known) if recorded is None else None
    return (
        *gates.controller(cluster),
        *gates.isr_disagreements(cluster),
        *observed.lost_run.waits(),
        *gates.foreign(cluster, ours, known),
        *stalls.waits_for_remedy(stall, remedies),
    )
