"""A rehearsal as JSON: versioned, stable; `docs/rehearse.md` describes it.

Seconds count from the start of the rehearsal, rates are bytes per second, `null` is unknown.
"""

from typing import Any

from poolkeeper.rehearsal.results.outcomes import Rehearsed, Storm
from poolkeeper.rehearsal.values import BrokerTrace, FaultTrace, Rehearsal, StageTrace

VERSION = 1


def to_json(found: Rehearsed, storm: Storm | None = None) -> dict[str, Any]:
    """The whole document."""
    body: dict[str, Any] = {"version": VERSION, **run(found.shown)}
    if found.faulted is not None:
        body["withoutFaults"] = summary(found.plain)
    if storm is not None and storm.runs:
        body["storm"] = {
            "worstSeed": storm.worst[0],
            "runs": [
                {"seed": seed, "faults": [_fault(f) for f in each.faults], **summary(each)}
                for seed, each in storm.runs
            ],
        }
    return body


def foretelling(plain: Rehearsal, worst: Rehearsal | None) -> dict[str, Any]:
    """What `plan --rehearse` adds to a plan's document."""
    struck = None
    if worst is not None:
        struck = {**summary(worst), "faults": [_fault(each) for each in worst.faults]}
    return {"version": VERSION, **summary(plain), "worstSingleFault": struck}


def summary(found: Rehearsal) -> dict[str, Any]:
    """The figures of a rehearsal that two are compared by."""
    made = found.plan.makespan
    free = found.least_free
    return {
        "end": found.end.value,
        "reason": found.reason or None,
        "seconds": _short(found.seconds),
        "predictedSeconds": None if made is None else _short(made.seconds),
        "lowerBoundSeconds": None if made is None else _short(made.lower_bound_seconds),
        "stages": len(found.stages),
        "bytes": sum(move.bytes for move in found.plan.moves),
        "peakNetworkPercent": _short(100 * found.peak_network),
        "leastFreeDiskPercent": None if free is None else _short(100 * free),
        "leastMinIsrMargin": found.least_margin,
        "belowMinIsr": len({(b.topic, b.partition) for b in found.below_min_isr}),
        "ownBelowMinIsr": found.own_below_min_isr,
        "outOfSyncMax": found.out_of_sync_max,
        "leaderChanges": found.leader_changes,
    }


def run(found: Rehearsal) -> dict[str, Any]:
    """One rehearsal with all that happened in it."""
    hardware = found.settings.hardware
    return {
        "cluster": found.plan.cluster,
        "plan": found.plan.hash,
        "kafka": found.kafka,
        "assumed": {
            "networkBytesPerSecond": hardware.network_bytes_per_s,
            "diskBytesPerSecond": hardware.disk_bytes_per_s,
        },
        **summary(found),
        "timeline": [_stage(stage) for stage in found.stages],
        "brokers": [_broker(broker) for broker in found.brokers],
        "belowMinIsrPartitions": [
            {
                "topic": b.topic,
                "partition": b.partition,
                "begin": _short(b.begin_s),
                "seconds": _short(b.seconds),
                "cause": b.cause.value,
            }
            for b in found.below_min_isr
        ],
        "waits": [
            {
                "reason": w.reason,
                "message": w.text,
                "begin": _short(w.begin_s),
                "seconds": _short(w.seconds),
            }
            for w in found.waits
        ],
        "happenings": [
            {"at": _short(h.at_s), "kind": h.kind, "message": h.text} for h in found.happenings
        ],
        "faults": [_fault(each) for each in found.faults],
        "series": _series(found),
    }


def _stage(stage: StageTrace) -> dict[str, Any]:
    predicted = None if stage.predicted_s is None else _short(stage.predicted_s)
    return {
        "stage": stage.number,
        "begin": _short(stage.begin_s),
        "end": _short(stage.end_s),
        "predictedSeconds": predicted,
        "bytes": stage.bytes,
        "partitions": [list(each) for each in stage.entries],
    }


def _broker(broker: BrokerTrace) -> dict[str, Any]:
    return {
        "broker": broker.broker,
        "rack": broker.rack,
        "copiedIn": broker.copied_in,
        "copiedOut": broker.copied_out,
        "peakIn": round(broker.peak_in_bytes_per_s),
        "peakOut": round(broker.peak_out_bytes_per_s),
        "logDirs": [
            {
                "path": each.path,
                "before": each.before_bytes,
                "high": each.high_bytes,
                "highAt": _short(each.high_s),
                "limit": each.limit_bytes,
            }
            for each in broker.log_dirs
        ],
    }


def _fault(fault: FaultTrace) -> dict[str, Any]:
    return {
        "fault": fault.text,
        "begin": _short(fault.begin_s),
        "stopped": list(fault.stopped),
        "stoppedSeconds": _short(fault.stopped_s),
        "laterSeconds": None if fault.later_s is None else _short(fault.later_s),
        "belowMinIsr": fault.below_min_isr,
        "ownBelowMinIsr": fault.own_below_min_isr,
        "person": list(fault.person),
    }


def _series(found: Rehearsal) -> dict[str, Any]:
    series = found.series
    ids = sorted(series.copied_in)
    return {
        "binSeconds": series.width_s,
        "brokers": [
            {
                "broker": id_,
                "copiedIn": _whole(series.copied_in[id_]),
                "copiedOut": _whole(series.copied_out[id_]),
                "producersIn": _whole(series.busy_in[id_]),
                "producersOut": _whole(series.busy_out[id_]),
                "used": {
                    path: _whole(values)
                    for (owner, path), values in series.used.items()
                    if owner == id_
                },
            }
            for id_ in ids
        ],
        "outOfSync": list(series.out_of_sync),
    }


def _whole(values: tuple[float, ...]) -> list[int]:
    return [round(value) for value in values]


def _short(value: float) -> float:
    return round(value, 3)
