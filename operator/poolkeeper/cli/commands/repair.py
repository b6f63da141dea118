"""`poolkeeper repair`: show what is wrong with nodes in ZooKeeper, ask, mend.

A topic node or a request that is mended is mended for good only under a controller that was
elected later (`zk.repair.next_controller`). Without one the command says so, and ends with 4.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from poolkeeper import output_files, wording
from poolkeeper.cli.input import confirmation, options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.output import printing
from poolkeeper.controller.loops.audit_notes import note_commits
from poolkeeper.errors import Forbidden, HolderActive, Refused, TooLarge, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.telemetry.audit import AuditTrail, Emit
from poolkeeper.text import count
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal.journal import Journal
from poolkeeper.zk.reading import observe
from poolkeeper.zk.repair import mend, next_controller, throttle_findings
from poolkeeper.zk.repair.next_controller import InCharge
from poolkeeper.zk.repair.values import FAILOVER_FLAG, Examined, Finding, Remedy

TO_MEND = 2
LEFT = 4
PATIENCE_S = 30.0


@frozen
class RepairOptions:
    """The options of the command."""

    target: Target
    yes: bool
    allow_failover: bool
    unset_throttles: bool
    backup: Path | None
    output: str
    trail: AuditTrail


@frozen
class Mended:
    """What was written or removed, and what was not.

    `forbidden`: why a node may not be written, by path. `waits`: why not all that was written
    counts as mended yet.
    """

    done: tuple[Finding, ...]
    forbidden: Mapping[str, str]
    waits: tuple[str, ...]


@click.command(
    epilog="""\b
    Examples:
      poolkeeper repair main -f manifests/
      poolkeeper repair zk-1:2181,zk-2:2181/kafka --yes --backup nodes.json
    """
)
@options.by_address
@click.option("--yes", is_flag=True, help="Mend what can be mended, without a question.")
@click.option(
    FAILOVER_FLAG,
    "allow_failover",
    is_flag=True,
    help="Elect another controller where the present one may write the damage back.",
)
@click.option(
    throttle_findings.FLAG,
    "unset_throttles",
    is_flag=True,
    help="Unset the throttles that no run accounts for as well; a person may have set them.",
)
@click.option(
    "--backup",
    cls=OutputOption,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the old nodes are written. [default: repair-CLUSTER-TIME.json]",
)
@options.audit_log()
@options.output()
def repair(
    address: ClusterSelection,
    yes: bool,
    allow_failover: bool,
    unset_throttles: bool,
    backup: Path | None,
    audit_log: Emit,
    output: str,
) -> int:
    """Show what is wrong with Poolkeeper's nodes and with Kafka's, and mend what can be mended.

    Throttles that a run of Poolkeeper's left are set back to what was before it.

    Shows everything first, and writes only with consent: each node in one transaction, if it is
    still as it was shown. A node that may not be written keeps no other from being mended, and is
    named with the reason. The old nodes are written to a file before. Refuses while an executor is
    active: end it, or let the operator let go by `spec.mode: PlanOnly`. CLUSTER as for `status`.

    Exit code 0: nothing is wrong any more. 2: something can be mended, and was only shown. 4:
    something is left that cannot be mended here.
    """
    target = targets.target(address)
    trail = AuditTrail(audit_log, target.name, "repair")
    command = RepairOptions(target, yes, allow_failover, unset_throttles, backup, output, trail)
    with cluster_reading.session(command.target) as session:
        try:
            return _repair(command, session)
        except HolderActive as active:
            way = "end it first; an operator lets go under spec.mode: PlanOnly"
            raise HolderActive(f"{active.holder}: {way}") from None


def _repair(command: RepairOptions, session: Session) -> int:
    found = mend.find(_examined(command, session))
    mendable = [finding for finding in found if finding.mendable]
    if command.output == printing.TEXT:
        printing.emit("\n".join(_lines(found)))
    if not mendable or not _has_consent(command):
        if command.output == printing.JSON:
            printing.emit_json({"findings": [_data(finding) for finding in found]})
        return (TO_MEND if mendable else LEFT) if found else 0
    command.trail.begins()
    file = _write_backup(command, session, mendable)
    came = _mend(command, session, mendable)
    waits = [*came.waits, *came.forbidden.values()]
    left = mend.find(_examined(command, session))
    paths = [finding.path for finding in left]
    mended = [f.path for f in came.done if f.path not in paths and not (came.waits and f.in_memory)]
    if command.output == printing.JSON:
        rest = [_data(finding) for finding in left]
        facts = {"backup": str(file), "mended": mended, "left": rest, "waits": waits}
        printing.emit_json({"findings": [_data(finding) for finding in found], **facts})
    else:
        printing.emit(f"\nThe old nodes are in {file}.")
        printing.emit("\n".join([*(f"mended  {path}" for path in mended), *_left(left, waits)]))
    return LEFT if left or waits else 0


def _examined(command: RepairOptions, session: Session) -> Examined:
    target = command.target
    reading = observe.cluster(session, target.name)
    cluster, desired = reading.cluster, target.desired
    if wrong := cluster_reading.other_cluster(target, cluster.id):
        raise wrong
    if migrating := gates.kraft_migration(cluster):
        raise Refused("; ".join(wording.sentences(migrating)))
    now_ms = time.time_ns() // 1_000_000
    unset, failover = command.unset_throttles, command.allow_failover
    return Examined(session, reading, desired, now_ms, unset, failover)


def _has_consent(command: RepairOptions) -> bool:
    if not command.yes and (sys.stdin is None or not sys.stdin.isatty()):
        return False
    try:
        confirmation.confirm("Type yes to mend what can be mended", yes=command.yes)
    except Refused:
        return False
    return True


def _write_backup(command: RepairOptions, session: Session, findings: Iterable[Finding]) -> Path:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    file = command.backup or Path(f"repair-{command.target.name}-{now}.json")
    body = json.dumps(mend.backup(session, findings), indent=1) + "\n"
    # Configs of brokers may hold what is not for everybody.
    output_files.write(file, body, mode=0o600)
    return file


def _mend(command: RepairOptions, session: Session, findings: Iterable[Finding]) -> Mended:
    wanted, note = list(findings), note_commits(command.trail)
    if any(finding.remedy is Remedy.TAKE_OVER for finding in wanted):
        note(mend.take_over(session), True)
    now_ms = time.time_ns() // 1_000_000
    with journal.hold(session, "repair", now_ms, patience_s=PATIENCE_S) as held:
        held.on_commit = note
        kept = any(finding.in_memory for finding in wanted)
        mended_at = next_controller.epoch_in_charge(session, _look(session)) if kept else 0
        done, forbidden = _mend_each(held, wanted)
        done += [finding for finding in wanted if finding.remedy is Remedy.TAKE_OVER]
        waits: list[str] = []
        try:
            for finding in wanted:
                if finding.remedy is Remedy.ELECT and finding.data is not None:
                    mended_at = int(finding.data)
                    hazards = next_controller.elect_above(held, command.target.name, mended_at)
                    if hazards:
                        return Mended(tuple(done), forbidden, (_unsafe(hazards),))
                    done.append(finding)
            in_memory = [finding.path for finding in done if finding.in_memory]
            waits = _under_a_later_controller(command, held, in_memory, mended_at)
        except Forbidden as why:
            waits = [f"no other controller is elected: {_to_allow(why)}"]
        return Mended(tuple(done), forbidden, tuple(waits))


def _mend_each(
    journal: Journal, findings: Iterable[Finding]
) -> tuple[list[Finding], dict[str, str]]:
    """Mend what is a node's own matter; return what was, and why others may not be, by path."""
    done: list[Finding] = []
    forbidden: dict[str, str] = {}
    for finding in findings:
        if finding.remedy in (Remedy.ELECT, Remedy.TAKE_OVER):
            continue
        try:
            if mend.carry_out(journal, finding):
                done.append(finding)
        except TooLarge as why:
            forbidden[finding.path] = f"{finding.path} is not mended: {why}, and repair again"
        except Forbidden as why:
            forbidden[finding.path] = f"{finding.path} is not mended: {_to_allow(why)}"
    return done, forbidden


def _to_allow(why: Forbidden) -> str:
    return f"{why}; let it be written, by its ACL, and repair again"


def _under_a_later_controller(
    command: RepairOptions, held: Journal, in_memory: list[str], mended_at: int
) -> list[str]:
    """Wait for a controller that read the mended nodes, or elect one; return why there is none.

    `mended_at`: the epoch of the controller that was in charge before anything was mended.
    """
    session = held.session
    if not in_memory or (in_memory == [znodes.REASSIGNMENT] and _is_woken(command)):
        return []
    look = _look(session)
    found = next_controller.find_controller_in_charge(session, mended_at, look)
    if found is InCharge.EARLIER and command.allow_failover:
        hazards = next_controller.elect(held, command.target.name)
        if hazards:
            return [_unsafe(hazards)]
        found = next_controller.find_controller_in_charge(session, mended_at, look)
    if found is InCharge.LATER:
        return []
    if found is InCharge.NONE:
        return ["no controller stays: look at the controller's log"]
    return [
        f"the controller was elected before, and may write {', '.join(in_memory[:5])} back from"
        f" memory: elect another with {FAILOVER_FLAG}, or restart its broker"
    ]


def _unsafe(hazards: Iterable[Wait]) -> str:
    reasons = "; ".join(wording.sentences(tuple(hazards)))
    return f"no other controller is elected, as it would not start: {reasons}"


def _look(session: Session) -> Callable[[float], None]:
    """Wait for news of the controller, so that a virtual clock passes as well."""

    def look(seconds: float) -> None:
        session.wait((f"{znodes.ROOT}/nothing",), seconds)

    return look


def _is_woken(command: RepairOptions) -> bool:
    """Make the controller look for requests again, by the brokers' API; false before 2.4."""
    try:
        brokers = cluster_reading.brokers(command.target)
        if brokers is None:
            return False
        with brokers:
            brokers.wake_controller()
    except Unavailable as error:
        printing.warn([f"the brokers are not asked: {error}"])
        return False
    return True


# What is shown


def _lines(found: tuple[Finding, ...]) -> list[str]:
    if not found:
        return ["Nothing is wrong with the nodes of this cluster."]
    lines = []
    for finding in found:
        word = "mend" if finding.mendable else "left"
        lines += [finding.path, f"  wrong  {finding.found}", f"  {word}   {finding.effect}"]
    can = sum(finding.mendable for finding in found)
    total = count(len(found), "finding")
    return [*lines, "", f"{total}: {can} can be mended, {len(found) - can} cannot."]


def _left(left: Iterable[Finding], waits: Iterable[str]) -> list[str]:
    return [
        *(f"left    {finding.path}: {finding.found}; {finding.effect}" for finding in left),
        *(f"waits   {wait}" for wait in waits),
    ]


def _data(finding: Finding) -> dict[str, object]:
    return {
        "path": finding.path,
        "found": finding.found,
        "remedy": finding.remedy.value,
        "effect": finding.effect,
    }
