"""What waits for the log directories of brokers, as sentences."""

from collections.abc import Callable, Mapping

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.text import join, named, size
from poolkeeper.wording.pieces import are, between_log_dirs, few_of

_R = WaitReason


def _log_dir_failed(wait: Wait) -> str:
    held = f"; {few_of(wait.partitions)} cannot be copied there" if wait.partitions else ""
    return (
        f"log directory {wait.path} of broker {join(wait.brokers)} has failed"
        f" ({wait.detail}){held}: replace the disk and restart the broker, or drain it"
    )


def _larger_log(wait: Wait) -> str:
    return (
        f"broker {join(wait.brokers)} holds {size(wait.count)} of {few_of(wait.partitions)}, and"
        f" the leader {size(wait.of)}: a replica there would be cut to what the leader has."
        f" {_STRAY_LOG}"
    )


def _log_of_new_partition(wait: Wait) -> str:
    return (
        f"broker {join(wait.brokers)} holds {size(wait.count)} of {few_of(wait.partitions)},"
        f" which is to be created: what it holds would be lost. {_STRAY_LOG}"
    )


_STRAY_LOG = (
    "Was ZooKeeper restored from an old backup? Then save that log first. If nobody needs it, stop"
    " that broker, delete the partition's folder from its log directory and start it again, or set"
    " spec.execution.remedies.overwriteLargerLogs: true"
)


LOG_DIRS: Mapping[WaitReason, Callable[[Wait], str]] = {
    _R.LOG_DIR_FAILED: _log_dir_failed,
    _R.TARGET_LOG_LARGER: _larger_log,
    _R.LOG_OF_NEW_PARTITION: _log_of_new_partition,
    _R.LOGS_NOT_TOLD: lambda wait: (
        f"{named('broker', wait.brokers)} did not tell yet which logs are there: a new replica of"
        f" {few_of(wait.partitions)} would cut an old log; that is waited for, for up to a minute"
    ),
    _R.LOG_DIRS_FULL: lambda wait: (
        f"the log directories of broker {join(wait.brokers)} have {size(wait.count)} free, and"
        f" copies of {few_of(wait.partitions)} still need {size(wait.of)}: free space there"
    ),
    _R.LOG_DIRS_UNKNOWN: lambda wait: (
        f"broker {join(wait.brokers)} does not report its log directories"
    ),
    _R.REPLICA_COPYING: lambda wait: (
        f"{few_of(wait.partitions)} {are(wait.partitions)} being copied to {wait.path}"
    ),
    _R.LOG_DIR_MOVES_IN_FLIGHT: lambda wait: (
        f"{between_log_dirs(wait.count)} in flight, {wait.of} to go"
    ),
    _R.LOG_DIR_MOVES_RETURNING: lambda wait: f"{between_log_dirs(wait.count)} are being cancelled",
    _R.LOG_DIRS_BROKER_NOT_LIVE: lambda wait: (
        f"broker {join(wait.brokers)} is not live; {few_of(wait.partitions)}"
        f" {are(wait.partitions)} to move between its log directories: start it, or drain it"
    ),
    _R.LOG_DIR_MOVE_REFUSED: lambda wait: (
        f"broker {join(wait.brokers)} does not move {few_of(wait.partitions)}: {wait.detail}"
    ),
    _R.LOG_DIR_MOVE_UNDONE: lambda wait: (
        f"broker {join(wait.brokers)} was asked {wait.count} times to move"
        f" {few_of(wait.partitions)} to another log directory, and somebody takes that back each"
        " time: find out who, or take the move out of what is declared"
    ),
    _R.LOG_DIR_MOVE_STALLED: lambda wait: (
        f"broker {join(wait.brokers)} was asked {wait.count} times to move"
        f" {few_of(wait.partitions)} to another log directory, and copied nothing any more: its log"
        " tells why"
    ),
}
