"""`poolkeeper run`: the operator, over a folder of manifests or on Kubernetes."""

import _thread
import os
import signal
import time
from collections.abc import Callable
from threading import Event
from types import FrameType

import click

from poolkeeper.cli import timing
from poolkeeper.cli.commands.run.run_folder import watch_folder
from poolkeeper.cli.input import interrupts, operator_options, options
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import printing
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import AuditLog, Emit


@click.command()
@click.option("--kubernetes", is_flag=True, help="Be the operator of a Kubernetes cluster.")
@options.by_manifests_if_any
@options.audit_log(joins_lines=True)
@options.output()
@operator_options.options
def run(
    address: ClusterSelection,
    audit_log: Emit,
    output: str,
    kubernetes: bool,
    **operator: object,
) -> int:
    """Keep clusters as declared: in a folder of manifests, or on Kubernetes.

    What may be written follows from each KafkaCluster's `spec.mode` and `spec.approval`: nothing at
    all in `PlanOnly`, the default. Plans that wait for a person are named with their hash; approve
    them in `spec.approval.plans`, or with `poolkeeper apply` beside this command.

    With -f, a folder is followed, a git checkout for example; one line per piece of news, with
    --output json one object a line. With --kubernetes, resources of the API server are followed, by
    the pod's service account or by KUBECONFIG; several such processes elect a leader.

    On Kubernetes the audit trail goes to standard output, where --audit-log names no file. Runs
    until SIGTERM, its normal end (exit code 0), or Ctrl-C (130).
    """
    if kubernetes and (address.folders or address.cluster or address.client_config):
        raise click.UsageError("--kubernetes takes manifests from the API server alone")
    if not kubernetes and not address.folders:
        raise click.UsageError("no manifests to follow: give -f DIR, or --kubernetes")
    if output == printing.JSON:
        printing.write_lines()
    ended = StopSignal()
    if kubernetes:
        to_standard_output = AuditLog.open(audit.STANDARD_OUTPUT).emit
        emit = to_standard_output if audit_log is audit.discard else audit_log
        operator_options.operate(operator, emit, ended.event)
    else:
        operator_options.refuse_all(operator)
        watch_folder(address, output, audit_log, ended.event)
    printing.end_news()
    return ended.code


class StopSignal:
    """Set by a signal of `interrupts` to end the command; `signal` is which.

    What still goes on after `exit_after_s` seconds ends with the process: a write to a full pipe
    has no deadline, and lets no signal through.
    """

    def __init__(
        self,
        exit_after_s: float = timing.EXIT_S,
        exit_process: Callable[[int], object] = os._exit,
    ) -> None:
        self.event = Event()
        self.signal: int | None = None
        self._exit_after_s = exit_after_s
        self._exit_process = exit_process
        for number in interrupts.ending_signals():
            signal.signal(number, self._end)

    @property
    def code(self) -> int:
        """The exit code; SIGTERM is the normal end."""
        return 0 if self.signal == signal.SIGTERM else interrupts.INTERRUPTED

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        # The main thread may hold the lock of the event at which it waits, and stands still here.
        _thread.start_new_thread(self._bring_to_an_end, ())

    def _bring_to_an_end(self) -> None:
        self.event.set()
        time.sleep(self._exit_after_s)
        self._exit_process(self.code)
