"""`poolkeeper run -f DIR`: keeps the clusters of a folder of manifests, without Kubernetes.

The folder is read if it changed, once it has not changed for one look, nor while it was read, and
git does not write it: neither a checkout nor a file that is being written is read by half. While a
git command of several steps has not ended, as a rebase at a conflict, it is not read at all.
Invalid manifests are reported and ignored: the clusters are kept as last validly declared. So is a
folder without any cluster: a checkout that failed lets nothing go. Each cluster has one thread. A
cluster that appears in the folder gets a thread. The thread of a cluster that disappears is ended,
once the run that is under way has ended after its stage in flight; both are said.
"""

import contextlib
import logging
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from poolkeeper.cli import timing
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import left_alone, printing
from poolkeeper.cli.output.runs import progress
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.errors import BrokersUnreachable, PoolkeeperError, Problem, Refused
from poolkeeper.load.refresh import LoadHistory
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import Mode
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import files
from poolkeeper.resources.parse.files import Stamp
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import Emit
from poolkeeper.text import count, few

if TYPE_CHECKING:  # the clients of brokers take long to import, and not every cluster has them
    from poolkeeper.brokers.requests import BrokerClient

_RUN_ENDS_FIRST = (
    "a run is under way, which ends after its stage in flight; then the cluster is let go"
)
_RUN_STAYS = (
    "a run is recorded, which stays with its throttles, as the mode is PlanOnly: to end it, run"
    " `poolkeeper stop --zookeeper {}`, and then apply with manifests that declare it"
)
CLUSTERS_MAX = 5
CHANGING_LOOKS_MAX = 15
"""A folder that changes from look to look is read after so many, in whatever state it is."""
PROBLEMS_MAX = 10
"""Of the problems with one field so many are printed: a lost pool is one of all its Topics."""


def watch_folder(address: ClusterSelection, output: str, emit: Emit, ended: Event) -> None:
    """Keep the clusters of a folder until `ended` is set.

    Raises InvalidInput and Refused at the start only. Raises BrokenPipeError when nobody reads
    standard output any more.
    """
    folder_watch = FolderWatch(address, output, emit)
    with _print_failures():
        while not folder_watch.read() and not ended.wait(timing.FOLLOW_EVERY_S):
            pass
        try:
            while not ended.wait(timing.FOLLOW_EVERY_S):
                folder_watch.reconcile()
        finally:
            folder_watch.close()


@contextlib.contextmanager
def _print_failures() -> Iterator[None]:
    """Print the traceback of a pass that fails by a bug: the wait names the error alone."""
    logger, handler = logging.getLogger("poolkeeper"), logging.StreamHandler()
    handler.setLevel(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@dataclass(slots=True)
class ClusterThread:
    """The thread of one cluster, and the state declared for it now.

    `passing`: whether it works, maybe towards what was declared before, and may begin a run.
    """

    desired: Desired
    config: LoopConfig
    thread: Thread
    outcome: Outcome | None = None
    leaving: bool = False
    passing: bool = False

    @property
    def in_mid_run(self) -> bool:
        """Whether the last pass left a run recorded; true before the first pass has ended."""
        return self.outcome is None or self.outcome.in_mid_run


@dataclass(slots=True)
class FolderWatch:
    """The folder as last read, and a cluster thread by cluster name."""

    address: ClusterSelection
    output: str
    emit: Emit = audit.discard
    _stamp: Stamp | None = None
    """Of the texts that were read last, right or wrong; None if some could not be read."""
    _seen: Stamp | None = None
    _changing_looks: int = 0
    _torn_reads: int = 0
    _unfinished: tuple[str, Path] | None = None
    """The git command that has not ended, and where, which was told."""
    _last_error: str = ""
    _others: tuple[str, ...] = ()
    _reader_gone: BrokenPipeError | None = None
    _output_lost: bool = False
    _threads: dict[str, ClusterThread] = field(default_factory=dict)

    def reconcile(self) -> None:
        """Read the folder again if one of its files changed; invalid manifests change nothing.

        Raises BrokenPipeError once nobody reads standard output any more.
        """
        if self._reader_gone is not None:
            raise self._reader_gone
        self._let_go()
        if self._is_changing():
            return
        try:
            if not self.read():
                return
        except PoolkeeperError as error:
            if str(error) != self._last_error:
                self._last_error = str(error)
                _report(printing.problems_of(error))
                _warn(f"these manifests are ignored until they are right: {self._kept()}")
        else:
            if self._last_error:
                _warn("the manifests are right again, and are followed")
            self._last_error = ""

    def _is_changing(self) -> bool:
        """Whether the folder changed since the last look, and has not done so for too long."""
        stamp = files.stamp(self.address.folders)
        changed, self._seen = stamp != self._seen, stamp
        self._changing_looks = self._changing_looks + 1 if changed else 0
        return 0 < self._changing_looks < CHANGING_LOOKS_MAX

    def _kept(self) -> str:
        names = few(sorted(self._threads), CLUSTERS_MAX, grouped=False)
        return f"what was declared before stays in force ({names})"

    def read(self) -> bool:
        """Read the folder if it changed, and align the threads; raises InvalidInput, Refused.

        Returns whether it was taken: it is not if it is as before, or changed while it was read, or
        if git is in the middle of a checkout, or of a command of several steps.
        """
        stamp = files.stamp(self.address.folders)
        if stamp == self._stamp:
            self._torn_reads = 0
            return False
        if self._is_unfinished():
            return False
        self._torn_reads += 1
        may_wait = self._torn_reads < CHANGING_LOOKS_MAX
        if may_wait and files.is_git_at_work(self.address.folders):
            return False
        texts, problems = files.texts(self.address.folders)
        if may_wait and files.stamp(self.address.folders) != stamp:
            return False
        self._torn_reads = 0
        self._stamp = None if problems else stamp
        manifests = folder.load_texts(texts, problems)
        if not manifests.clusters:
            again = " any more" if self._threads else ""
            raise Refused(f"the manifests hold no KafkaCluster{again} (expected one)")
        names = (
            (self.address.cluster,)
            if self.address.cluster
            else tuple(spec.name for spec in manifests.clusters)
        )
        desired = {name: manifests.desired(name) for name in names}
        self._tell_others(manifests.others)
        self._seen = stamp
        for name in sorted(set(self._threads) - set(desired)):
            self._leave(name)
        for name, declared in desired.items():
            self._update(name, declared)
        return True

    def _is_unfinished(self) -> bool:
        """Whether a git command has not ended there; told when it is first seen."""
        found = files.unfinished_git_command(self.address.folders)
        if found is not None and found != self._unfinished:
            command, path = found
            meanwhile = self._kept() if self._threads else "it is not read until then"
            where = path if path.is_dir() else path.parent
            status = f"git -C {shlex.quote(str(where))} status"
            _warn(
                f"{path}: a `{command}` has not ended there: {meanwhile};"
                f" to end it, do as `{status}` says"
            )
        self._unfinished = found
        return found is not None

    def _tell_others(self, others: tuple[str, ...]) -> None:
        """Tell which documents are another's, where they are not those of before."""
        if others != self._others:
            left_alone.tell(others)
        self._others = others

    def _leave(self, name: str) -> None:
        """Begin to let go of a cluster that is no longer declared: its run is ended first."""
        thread = self._threads[name]
        if thread.leaving:
            return
        thread.leaving = True
        only_looks = thread.desired.cluster.mode is Mode.PLAN_ONLY
        if thread.outcome is not None and thread.in_mid_run:
            connect = shlex.quote(thread.desired.cluster.zookeeper.connect)
            what = _RUN_STAYS.format(connect) if only_looks else _RUN_ENDS_FIRST
            _warn(f"cluster {name} is no longer declared: {what}")
        if only_looks:  # towards nothing, its loop would take the journal, and end the run
            self._let_go_of(name)
            return
        thread.desired = loop.desired_when_leaving(thread.desired)
        thread.config.wake.set()
        self._let_go()

    def _let_go(self) -> None:
        """End the threads of clusters that are no longer declared and have no run."""
        for name, thread in list(self._threads.items()):
            if thread.leaving and not thread.passing and not thread.in_mid_run:
                self._let_go_of(name)

    def _let_go_of(self, name: str) -> None:
        _warn(f"cluster {name} is no longer declared: it is let go")
        self._end([self._threads.pop(name)])

    def close(self) -> None:
        """End all threads; the brokers complete the requests in flight."""
        self._end(self._threads.values())

    def _update(self, name: str, desired: Desired) -> None:
        known = self._threads.get(name)
        if known is not None and not loop.needs_new_connections(known.desired, desired):
            known.desired, known.leaving = desired, False
            known.config.wake.set()
            return
        if known is not None:
            _warn(_reached_anew(name, known))
            self._end([known])
        printer = progress.news_printer(name, sys.stdout, as_json=self.output == printing.JSON)

        def begin_pass() -> Desired:
            found.passing = True  # before it is asked what is declared: see `_leave`
            return found.desired

        def report(outcome: Outcome) -> None:
            if outcome.error is None or found.outcome is None:
                found.outcome = outcome
            found.passing = False
            try:
                printer(outcome)
                self._output_lost = False
            except OSError as error:
                self._lose_output(error)

        config = LoopConfig(
            connections=ClusterConnections(
                lambda: cluster_reading.open_session(self._target(name, found.desired)),
                lambda: self._brokers(name, found.desired),
                LoadHistory(lambda: found.desired.cluster.load),
                lambda: self._target(name, found.desired).client.zookeeper,
            ),
            desired=lambda: found.desired,
            begin_pass=begin_pass,
            report=report,
            emit=self.emit,
        )
        thread = Thread(target=loop.run_loop, args=(config,), name=f"loop of {name}", daemon=True)
        found = self._threads[name] = ClusterThread(desired, config, thread)
        thread.start()

    def _lose_output(self, error: OSError) -> None:
        """Note that news could not be written: work on clusters goes on without a full disk."""
        if isinstance(error, BrokenPipeError):
            self._reader_gone = error
        elif not self._output_lost:
            self._output_lost = True
            with contextlib.suppress(OSError):
                _warn(f"standard output: cannot be written ({error.strerror}): the work goes on")

    def _target(self, name: str, desired: Desired) -> Target:
        return targets.target_of(replace(self.address, cluster=name), desired)

    def _brokers(self, name: str, desired: Desired) -> "BrokerClient | None":
        """Connect to the brokers, None if none are declared; raises `BrokersUnreachable`.

        A client configuration that is wrong for a moment costs nobody the session with ZooKeeper.
        """
        if desired.cluster.brokers is None:
            return None
        try:
            target = self._target(name, desired)
        except Refused as error:
            raise BrokersUnreachable(error.line) from error
        return cluster_reading.brokers(target)

    def _end(self, threads: Iterable[ClusterThread]) -> None:
        ending = list(threads)
        for thread in ending:
            thread.config.end()
        until_s = time.monotonic() + timing.END_S
        for thread in ending:
            thread.thread.join(max(0, until_s - time.monotonic()))


def _reached_anew(name: str, known: ClusterThread) -> str:
    """Say that a cluster is reached as declared now, and what may stay behind."""
    told = f"cluster {name} is reached as it is declared now"
    before = shlex.quote(known.desired.cluster.zookeeper.connect)
    if not known.in_mid_run:
        return told
    return (
        f"{told}; if that is another Kafka cluster than at {before}, a run may stay there with its"
        f" throttles: `poolkeeper status --zookeeper {before}` tells"
    )


def _warn(sentence: str) -> None:
    printing.warn([sentence])


def _report(problems: Iterable[Problem]) -> None:
    """Print the first problems with each field."""
    all_, told = sorted(problems), Counter[str]()
    shown = []
    for problem in all_:
        told[problem.field] += 1
        if told[problem.field] <= PROBLEMS_MAX:
            shown.append(problem)
    printing.report(shown, as_json=False)
    if rest := len(all_) - len(shown):
        printing.warn([f"{count(rest, 'more problem')}: `poolkeeper validate` names all"])
