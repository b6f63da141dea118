"""`poolkeeper stop` and `poolkeeper rollback`, which is `stop --now`."""

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.options import ClusterSelection, Decorator
from poolkeeper.cli.output import printing
from poolkeeper.controller.loops.audit_notes import note_commits
from poolkeeper.errors import Forbidden
from poolkeeper.model.execution.runs import Run, StopRequest
from poolkeeper.telemetry.audit import AuditTrail, Emit
from poolkeeper.zk import fencing, kraft, znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.fencing import Holder, UnknownHolder
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe


def _allow_failover() -> Decorator:
    return click.option(
        "--allow-controller-failover",
        "allow_failover",
        is_flag=True,
        help="Let another controller be elected, where the brokers' API cannot cancel moves.",
    )


@click.command()
@options.by_address
@click.option("--now", is_flag=True, help="Cancel what is in flight: the same as `rollback`.")
@_allow_failover()
@options.audit_log()
@options.output()
def stop(
    address: ClusterSelection, now: bool, allow_failover: bool, audit_log: Emit, output: str
) -> None:
    """End the run under way after its current stage, whichever process executes it.

    Sets a flag in the cluster's journal, which the active executor obeys, or the next one. What has
    moved stays moved; throttles are restored once it is in sync. CLUSTER as for `status`.

    A loop begins the same plan again after `apply` (on Kubernetes `kubectl poolkeeper resume`), or
    once something else is declared.
    """
    if allow_failover and not now:
        raise click.UsageError("--allow-controller-failover is for --now")
    _request(address, StopRequest(now, allow_failover), output, audit_log)


@click.command()
@options.by_address
@_allow_failover()
@options.audit_log()
@options.output()
def rollback(address: ClusterSelection, allow_failover: bool, audit_log: Emit, output: str) -> None:
    """Cancel the moves in flight and end the run, whichever process executes it.

    Sets a flag in the cluster's journal, which the active executor obeys, or the next one. The
    partitions in flight return to the replicas that they had, in their order; what has moved
    before stays moved; throttles are restored. CLUSTER as for `status`.

    From Kafka 2.4 on the brokers cancel moves themselves, if the executor knows their address
    (spec.brokers). Otherwise it takes a controller failover, which this command or
    spec.execution.remedies must allow.
    """
    _request(address, StopRequest(at_once=True, allow_failover=allow_failover), output, audit_log)


def _request(address: ClusterSelection, request: StopRequest, output: str, emit: Emit) -> None:
    target = targets.reachable_target(address)
    with cluster_reading.session(target) as session:
        if wrong := cluster_reading.other_cluster(target, observe.cluster_id(session)):
            raise wrong
        before = journal.read_run_to_stop(session)
        trail = AuditTrail(emit, target.name, "rollback" if request.at_once else "stop")
        if before.run is not None:
            trail.concern(before.run.plan, before.run.stage)
            trail.begins()
        run = journal.request_stop(session, request, note_commits(trail))
        holder, migrating = _who_holds(session), kraft.is_migrating(session)
        never_was = run is None and before.run is None
        is_lost = never_was and session.exists(znodes.RECORD_OF_REQUEST)
    request = request.added_to(before.stop)
    if run is not None:
        trail.note_decision("StopRequested", _sentence(run, holder, request, migrating=migrating))
    if output == printing.JSON:
        printing.emit_json(
            {"plan": run.plan if run else None, "holder": str(holder) if holder else None}
        )
    elif is_lost:
        printing.emit(_LOST)
    elif run is None:
        printing.emit("no run is recorded: nothing to stop")
    else:
        printing.emit(_sentence(run, holder, request, migrating=migrating))


def _who_holds(session: Session) -> Holder | None:
    """Return the active process; that the run shall end is asked for already, whoever it is."""
    try:
        return fencing.who_holds(session)
    except Forbidden as hidden:
        return UnknownHolder("", 0, "", 0, 0, str(hidden))


_LOST = (
    "no run is recorded, but what a run requested whose record is lost (`poolkeeper status` says"
    " what goes on of it): `poolkeeper apply` takes it up, and then it can be stopped"
)


def _sentence(run: Run, holder: Holder | None, request: StopRequest, *, migrating: bool) -> str:
    if migrating:
        by = "the next executor (`poolkeeper apply`)" if holder is None else str(holder)
        return (
            f"run {run.plan} is ended by {by}; the cluster is migrating to KRaft, so its moves in"
            " flight go on and its throttles stay"
        )
    if holder is None:
        ended = "rolled back" if request.at_once else "ended"
        return (
            f"run {run.plan} is {ended} by the next executor; none is active now: start"
            " `poolkeeper apply`"
        )
    if request.at_once:
        return (
            f"run {run.plan}: what is in flight is cancelled by {holder}; see `poolkeeper status`"
        )
    return f"run {run.plan} stops after stage {run.stage}; it is executed by {holder}"
