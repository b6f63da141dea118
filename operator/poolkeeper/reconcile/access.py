"""Everything that a pass reads from a cluster, and everything that it writes to it.

`zk.cluster_access` implements it for a cluster on ZooKeeper. Every write is fenced. It raises
`Fenced` if another executor has taken the cluster over, and `Stale` if what it was based on has
changed; then nothing was written. No write claims that Kafka did what was requested: the next
observation tells.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from poolkeeper.errors import WhyUnwritten
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.records import BalanceRecord, Records, RequestRecord, TopicRecord
from poolkeeper.model.execution.runs import (
    Run,
    RunDocument,
    Saved,
    StopRequest,
    StoredRun,
    ThrottleConflicts,
    UnreadableConfig,
)
from poolkeeper.model.execution.throttles import LeftThrottles, Throttled, ThrottleReading
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan, SetConfig
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import Cluster, ReassignmentEntry, TopicPartition

Enrich = Callable[[Cluster], Cluster]
"""Adds what only the brokers' protocol tells (sizes, log directories), where it is available."""


class ClusterView(Protocol):
    """Reads of a cluster, allowed to any process."""

    def observe(
        self,
        name: str,
        *,
        topics: Collection[str] | None = None,
        want_configs: bool = True,
        restart_lock: str | None = None,
    ) -> ClusterReading:
        """Observe the cluster; `name` is our name for it, `topics` restricts the topics."""

    def read_records(self) -> Records:
        """Return the recorded topic owners and brokers."""

    def read_balance(self) -> BalanceRecord | None:
        """Return when the last run began that evened something out."""

    def read_request_record(self) -> RequestRecord | None:
        """Return what a run requested last; None if it has ended."""

    def read_throttle_records(self) -> ThrottleReading:
        """Return which throttles are recorded as ours, and those of all brokers."""

    def read_stored_run(self) -> StoredRun:
        """Return the recorded run with its document, as far as both can be read."""

    def is_migrating(self) -> bool:
        """Whether a KRaft controller leads the cluster: then nothing of Kafka's is written."""

    def read_run(self) -> Run | None:
        """Return the recorded run, or None."""

    def read_document(self, run: Run) -> RunDocument | None:
        """Return the run's document, or None if it was not written completely."""

    def read_stop(self) -> StopRequest | None:
        """Return a person's request that the run ends, if there is one."""

    def read_stopped(self) -> str | None:
        """Return the fingerprint of the plan that a person stopped."""

    def name_other_executor(self) -> str:
        """Name the other process that works on the cluster; "" if there is none."""

    def read_pending_plan(self) -> Plan | None:
        """Return the plan that waits for a person's approval."""

    def read_finished_plans(self) -> frozenset[str]:
        """Return the hashes of the plans of the last runs that ended."""


class ClusterAccess(ClusterView, Protocol):
    """Reads and writes of the one executor that holds the cluster's journal."""

    # The journal

    def confirm_holder(self) -> None:
        """Raise `Fenced` if another executor has taken the cluster over."""

    def begin_run(self, run: Run, document: RunDocument) -> Run:
        """Record a new run and then its document; return the run as recorded."""

    def resume_lost_run(self, run: Run, document: RunDocument) -> Run:
        """Record a run with its document at once; return it as recorded."""

    def forget_request(self) -> None:
        """Remove the record of a request of which nothing goes on."""

    def rewrite_run(self, before: Run, after: Run, balance: BalanceRecord | None = None) -> Run:
        """Replace the recorded run, and record when balance began if it is given.

        Returns the run as recorded.
        """

    def end_run(self, run: Run, finished: FinishedRun | None = None) -> None:
        """Remove the recorded run, and add it to the history if it is given."""

    def remember_stopped(self, fingerprint: str | None) -> None:
        """Record which plan a person stopped; None removes the record."""

    def remember_pending_plan(self, plan: Plan | None) -> None:
        """Record which plan waits for approval; None removes the record."""

    def forget_approvals(self) -> None:
        """Remove the approvals left by `poolkeeper apply`: their plans have been executed."""

    def remember_brokers(self, records: Records) -> None:
        """Record the brokers' racks and absences and the cluster's id, if they changed."""

    def remember_owners(self, owners: Mapping[str, TopicRecord | None]) -> None:
        """Record the owners of topics; `None` removes a record."""

    # Steps of a plan

    def write_topics(
        self, steps: Sequence[tuple[CreateTopic | SetConfig, TopicRecord | None]]
    ) -> list[WhyUnwritten | None]:
        """Create topics with their configs, set configs, and record the owners: each by itself.

        Returns of each why nothing of it was written, or None.
        """

    def add_partitions(self, step: AddPartitions) -> None:
        """Append partitions to a topic."""

    def delete_topic(self, step: DeleteTopic, cluster: Cluster) -> None:
        """Request the deletion of a topic, if it is still the one that was observed."""

    # Requests to the controller

    def request_stage(self, before: Run, after: Run, plan: Plan, cluster: Cluster) -> Run:
        """Request what `after` names, and record it with the run; no other request is there."""

    def replace_request(self, before: Run, after: Run, plan: Plan, reading: ClusterReading) -> Run:
        """Put what `after` names in the place of the request that was read, if there is one.

        In the same transaction the run is recorded and the controller made to resign: the next one
        takes the new request up. Raises `Stale` without a controller.
        """

    def request_moves(self, entries: Sequence[ReassignmentEntry], cluster: Cluster) -> None:
        """Request moves that belong to no run; no other request is there."""

    def withdraw_request(self, reading: ClusterReading) -> None:
        """Remove the reassignment request that was read."""

    def request_election(self, partitions: Sequence[TopicPartition]) -> None:
        """Request the election of preferred leaders."""

    def request_election_of_run(
        self, before: Run, after: Run, partitions: Sequence[TopicPartition]
    ) -> Run:
        """Request the election of preferred leaders, and record it with the run."""

    def elect_controller(self, cluster: Cluster, withdrawn: ClusterReading | None = None) -> bool:
        """Trigger the election of another controller; false if there is none to replace.

        `withdrawn`: the request that was read is removed in the same transaction.
        """

    # Throttles

    def read_throttles(self, topics: Iterable[str], brokers: Mapping[int, Sequence[str]]) -> Saved:
        """Return the present values of throttle keys: of topics, and those given of brokers."""

    def check_throttles(
        self, document: RunDocument, rates: Sequence[int], topics: Collection[str]
    ) -> ThrottleConflicts:
        """Return how live throttles differ from the run's; of topics, those of `topics`."""

    def write_throttles(
        self,
        document: RunDocument,
        rates: Sequence[int],
        topics: Collection[str] | None = None,
    ) -> ThrottleConflicts:
        """Write the run's throttles where they are not yet set; `topics` restricts the topics.

        Returns the topics and brokers whose throttles somebody else has set.
        """

    def restore_throttles(
        self,
        document: RunDocument,
        rates: Sequence[int],
        topics: Collection[str] | None = None,
    ) -> Throttled:
        """Restore the saved throttle values wherever the live ones are still ours.

        `topics`: those of these topics alone; else of all, and of brokers.

        Returns whose config cannot be read or written.
        """

    def take_off_throttles(self, left: LeftThrottles) -> Throttled:
        """Restore what was before the throttles that runs of ours left; return what stays."""

    def unlimited(
        self, topics: Sequence[str], brokers: Sequence[int]
    ) -> dict[str | int, UnreadableConfig]:
        """Return which of these cannot be throttled, and why; nothing is written."""

    def takes(self, size: int) -> bool:
        """Ask whether a node of a topic may have so many bytes; nothing is written."""
