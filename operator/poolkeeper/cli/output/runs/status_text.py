"""A status as text and as JSON values."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from poolkeeper import wording
from poolkeeper.cli.output import hints, left_undone
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.cli.output.runs.status_values import RunStatus, Status
from poolkeeper.model.execution.punctuality import Punctuality
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, blocks, in_order
from poolkeeper.model.plans import Move
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.readings import NodeNote
from poolkeeper.text import count, cut, few, moment, more, size
from poolkeeper.zk import znodes

NAMED_MAX = 10
NAMES_WIDTH = 12
_TOLD_BY_WAITS = (
    (WaitReason.NO_CONTROLLER, ProblemReason.NO_CONTROLLER),
    (WaitReason.CONTROLLER_EPOCH_BEHIND, ProblemReason.CONTROLLER_EPOCH_BEHIND),
)
"""What keeps a run from going on and is wrong with the cluster as well."""


def render(status: Status, ink: Ink = PLAIN) -> str:
    """The status for people: what blocks first, a line per fact, moves in flight, other waits."""
    return "\n".join(ink.facts(facts_of(status), NAMES_WIDTH))


def facts_of(status: Status) -> list[tuple[str, str]]:
    """The lines of the status, each with its name; empty for one that goes on with the last.

    They name commands with the options that tell the cluster: a terminal may break a line.
    """
    return [(name, hints.complete_commands(fact, status.cluster)) for name, fact in _facts(status)]


def _facts(status: Status) -> list[tuple[str, str]]:
    counts = (
        count(status.brokers, "live broker"),
        count(status.topics, "topic"),
        count(status.partitions, "partition"),
    )
    damage = cut(map(str, status.damage), NAMED_MAX, grouped=False)
    left = cut(wording.sentences(status.throttles_left), NAMED_MAX, grouped=False)
    waits = in_order(status.waits)
    blocking = wording.sentences(wait for wait in waits if blocks(wait))
    facts = [
        *(("damaged", each) for each in damage),
        *(("blocked by", each) for each in cut(blocking, NAMED_MAX, grouped=False)),
        ("cluster", f"{status.cluster}{_versions(status)}"),
        *(("throttles", each) for each in left),
        ("controller", _controller(status)),
        ("topology", ", ".join(counts)),
        ("health", _health(status)),
        *(("unhealthy", each) for each in cut(_troubles(status), NAMED_MAX, grouped=False)),
        ("executor", _executor(status)),
    ]
    if status.run is None:
        unknown = any(damage.path == znodes.RUN for damage in status.damage)
        told = (
            "cannot be read: nothing is written to the cluster" if unknown else "none is recorded"
        )
        facts.append(("run", told))
    else:
        facts += _run(status.run)
    facts += [("approved", f"{each}, which is not begun yet") for each in status.approved]
    if status.stopped:
        again = "the last run was stopped or rolled back; a loop does not repeat it by itself"
        facts.append(("stopped", again))
    if status.balance_waits_until_ms is not None:
        until = moment(status.balance_waits_until_ms)
        facts.append(("balance", f"alone starts no plan before {until}"))
    others = wording.sentences(wait for wait in waits if not blocks(wait))
    facts += [("waits for", each) for each in cut(others, NAMED_MAX, grouped=False)]
    facts += [("warning", each) for each in cut(_warnings(status), NAMED_MAX, grouped=False)]
    return facts


def as_data(status: Status) -> dict[str, object]:
    """Return a status as JSON values."""
    until_ms, waits = status.balance_waits_until_ms, in_order(status.waits)
    return {
        "cluster": status.cluster,
        "id": status.id,
        "kafkaVersion": status.kafka_version,
        "controller": status.controller,
        "brokers": status.brokers,
        "topics": status.topics,
        "partitions": status.partitions,
        "underReplicated": [list(name) for name in status.under_replicated],
        "arriving": [list(name) for name in status.arriving],
        "offline": [list(name) for name in status.offline],
        "stateUnknown": [list(name) for name in status.state_unknown],
        "holder": status.holder,
        "run": None if status.run is None else _run_data(status.run),
        "approved": list(status.approved),
        "stopped": status.stopped,
        "balanceWaitsUntil": None if until_ms is None else moment(until_ms),
        "throttlesLeft": throttles_data(status.throttles_left),
        "waits": list(wording.sentences(waits)),
        "waitsFor": left_undone.as_data(left_undone.of_waits(waits)),
        "blocked": left_undone.as_data(left_undone.of_waits(w for w in waits if blocks(w))),
        "warnings": [*status.warnings, *map(str, status.notes)],
        "problems": left_undone.as_data(left_undone.of_problems(status.troubles)),
        "damaged": [
            {"path": each.path, "laterVersion": each.later_version or None, "message": str(each)}
            for each in status.damage
        ],
    }


def throttles_data(left: Sequence[Wait]) -> list[dict[str, object]]:
    """Return the throttles that no run accounts for as JSON values."""
    return [
        {
            "reason": wait.reason.value,
            "topics": list(wait.topics),
            "brokers": list(wait.brokers),
            "path": wait.path or None,
            "message": wording.sentence(wait),
        }
        for wait in left
    ]


def _versions(status: Status) -> str:
    facts = [f"Kafka {status.kafka_version}" if status.kafka_version else "", status.id or ""]
    known = ", ".join(fact for fact in facts if fact)
    return f" ({known})" if known else ""


def _controller(status: Status) -> str:
    if status.controller is None:
        return "none is elected"
    migrating = [wait for wait in status.waits if wait.reason is WaitReason.KRAFT_MIGRATION]
    is_kraft = any(not wait.brokers for wait in migrating)
    return f"{'KRaft controller' if is_kraft else 'broker'} {status.controller}"


def _executor(status: Status) -> str:
    unknown = any(damage.path == znodes.HOLDER for damage in status.damage)
    return status.holder or ("cannot be told" if unknown else "none is active")


def _health(status: Status) -> str:
    sick = []
    if status.offline:
        sick.append(f"{count(len(status.offline), 'partition')} without a leader")
    if status.under_replicated:
        named = few(status.under_replicated, NAMED_MAX, grouped=False)
        under = count(len(status.under_replicated), "partition")
        sick.append(f"{under} under-replicated: {named}")
    if status.state_unknown:
        named = few(status.state_unknown, NAMED_MAX, grouped=False)
        unknown = count(len(status.state_unknown), "partition")
        sick.append(f"state of {unknown} is not known: {named}")
    if status.arriving:
        arriving = count(len(status.arriving), "partition")
        rest = "" if sick else "all other replicas are in sync; "
        named = few(status.arriving, NAMED_MAX, grouped=False)
        sick.append(f"{rest}new replicas of {arriving} are not in sync yet: {named}")
    return "; ".join(sick) or "all replicas are in sync"


def _troubles(status: Status) -> list[str]:
    """What is wrong beside what `health` and the waits tell."""
    awaited = {wait.reason for wait in status.waits}
    told = {
        ProblemReason.PARTITIONS_OFFLINE,
        ProblemReason.ELECTION_PENDING,
        ProblemReason.UNDER_REPLICATED,
        *(problem for wait, problem in _TOLD_BY_WAITS if wait in awaited),
    }
    return [
        ": ".join(
            part
            for part in (
                f"pool {each.pool}" if each.pool and not each.topic else "",
                f"topic {each.topic}" if each.topic else "",
                each.message,
            )
            if part
        )
        for each in status.troubles
        if each.reason not in told
    ]


def _warnings(status: Status) -> list[str]:
    """What is odd, but for nodes whose damage a wait or a throttle tells with what comes of it."""
    told = {
        NodeNote(wait.path or znodes.REASSIGNMENT, wait.detail)
        for wait in (*status.waits, *status.throttles_left)
    }
    return [*status.warnings, *(str(note) for note in status.notes if note not in told)]


def _run(run: RunStatus) -> list[tuple[str, str]]:
    started = datetime.fromtimestamp(run.started_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    done = run.moves.get("done", 0)
    stopping = ", stops after this stage" if run.stopping else ""
    stopping = ", returns to where it began" if run.rolling_back else stopping
    facts = [
        ("run", run.plan),
        ("", f"{run.phase}, stage {run.stage}{stopping}, began {started}"),
        ("moves", f"{done} of {run.moves_total} done{_others(run)}"),
        *_copies(run),
        ("bytes", f"{size(run.bytes_done)} of {size(run.bytes_total)}"),
    ]
    if run.throttle_bytes_per_s is not None:
        why = wording.rate_text(run.throttle_reason)
        rate = f"{size(run.throttle_bytes_per_s)}/s a broker"
        facts.append(("throttle", f"{rate} ({why})" if why else rate))
    if run.punctuality is not None:
        facts.append(("time", wording.punctuality_text(run.punctuality)))
    facts += [("moving", _move(move)) for move in run.in_flight[:NAMED_MAX]]
    if rest := more(len(run.in_flight) - NAMED_MAX, grouped=False):
        facts.append(("", rest))
    return facts


def _copies(run: RunStatus) -> list[tuple[str, str]]:
    """The moves between log directories, if the run has any."""
    total = sum(run.copies.values())
    told = f"{run.copies.get('done', 0)} of {total} done{_by_state(run.copies)}"
    return [("directories", told)] if total else []


def _others(run: RunStatus) -> str:
    return _by_state(run.moves)


def _by_state(counts: Mapping[str, int]) -> str:
    known = {state: n for state, n in counts.items() if state != "done"}
    return "".join(f", {n} {state}" for state, n in sorted(known.items()))


def _move(move: Move) -> str:
    source, target = (",".join(map(str, ids)) for ids in (move.source, move.target))
    return f"{move.topic}-{move.partition}  {source} -> {target}  {size(move.bytes)}"


def _punctuality_data(found: Punctuality | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "seconds": round(found.predicted_s, 1),
        "elapsedSeconds": round(found.elapsed_s, 1),
        "lateSeconds": round(found.late_s, 1),
        "assumedBytesPerSecond": found.assumed_rate,
        "reason": found.reason,
    }


def _run_data(run: RunStatus) -> dict[str, object]:
    return {
        "plan": run.plan,
        "phase": run.phase,
        "stage": run.stage,
        "startedMs": run.started_ms,
        "moves": run.moves,
        "movesTotal": run.moves_total,
        "logDirMoves": run.copies,
        "bytesDone": run.bytes_done,
        "bytesTotal": run.bytes_total,
        "throttleBytesPerSecond": run.throttle_bytes_per_s,
        "throttleReason": run.throttle_reason,
        "predicted": _punctuality_data(run.punctuality),
        "stopping": run.stopping,
        "rollingBack": run.rolling_back,
        "inFlight": [
            {
                "topic": move.topic,
                "partition": move.partition,
                "from": list(move.source),
                "to": list(move.target),
                "bytes": move.bytes,
                "reason": move.reason,
            }
            for move in run.in_flight
        ],
    }
