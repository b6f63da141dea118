"""The one way to a cluster: all that a pass reads of it, and all that it writes.

`zk.cluster_access` is this for a cluster that runs on ZooKeeper. Every write is fenced: it raises
`Fenced` if another executor has taken the cluster over, and `Stale` if what it was based on has
changed; nothing was written then. Nothing here claims that Kafka did what was asked: the next
observation tells.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Plan, SetConfig
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.records import BalanceRecord, Records, TopicRecord
from poolkeeper.model.runs import Run, RunDocument, Saved, ThrottleConflicts
from poolkeeper.model.topology import Cluster, TopicPartition


class ClusterView(Protocol):
    """What may be read, by anybody."""

    def observe(
        self,
        name: str,
        *,
        topics: Collection[str] | None = None,
        want_configs: bool = True,
        restart_lock: str | None = None,
    ) -> ClusterReading:
        """Observe the cluster; `name` is ours for it, `topics` restricts it to these."""

    def read_records(self) -> Records:
        """Return what is remembered of owners and brokers."""

    def read_balance(self) -> BalanceRecord | None:
        """Return when the last run began that evened something out."""

    def read_run(self) -> Run | None:
        """Return the run that is recorded."""

    def read_document(self, run: Run) -> RunDocument | None:
        """Return the run's document, or None if it was not written to its end."""

    def is_stop_requested(self) -> bool:
        """Whether somebody asked the run to end after its stage."""

    def read_stopped(self) -> str | None:
        """Return the fingerprint of the plan that a person stopped."""

    def read_pending_plan(self) -> Plan | None:
        """Return the plan that waits for a person's approval."""


class ClusterAccess(ClusterView, Protocol):
    """What may be written as well, by the one executor that holds the cluster."""

    # The journal

    def confirm_holder(self) -> None:
        """Raise `Fenced` if another executor has taken the cluster over."""

    def begin_run(self, run: Run, document: RunDocument) -> Run:
        """Record a new run and then its document; return it as it is recorded."""

    def rewrite_run(self, before: Run, after: Run, balance: BalanceRecord | None = None) -> Run:
        """Record the run anew, and with it what is to be remembered of balance, if anything is.

        Returns the run as it is recorded.
        """

    def end_run(self, run: Run) -> None:
        """Remove the run."""

    def remember_stopped(self, fingerprint: str | None) -> None:
        """Record, or forget, which plan a person stopped."""

    def remember_pending_plan(self, plan: Plan | None) -> None:
        """Record which plan waits for approval, if any."""

    def forget_approvals(self) -> None:
        """Drop the approvals that were handed over: what they approved is done."""

    def remember_brokers(self, records: Records) -> None:
        """Record brokers' racks and absences, and the cluster's id, where they changed."""

    def remember_owners(self, owners: Mapping[str, TopicRecord | None]) -> None:
        """Record the owners of topics; `None` forgets one."""

    # Steps of a plan

    def create_topic(self, step: CreateTopic, record: TopicRecord | None) -> None:
        """Create a topic with its config, and record its owner."""

    def add_partitions(self, step: AddPartitions) -> None:
        """Append partitions to a topic."""

    def set_config(self, step: SetConfig, record: TopicRecord | None) -> None:
        """Set and unset config of a topic, and record its owner."""

    def delete_topic(self, step: DeleteTopic, cluster: Cluster) -> None:
        """Ask Kafka to delete a topic, if it is still the one that was observed."""

    # Requests to the controller

    def request_stage(self, before: Run, after: Run, plan: Plan, cluster: Cluster) -> Run:
        """Request the reassignment of `after.step`, and record it with the run."""

    def withdraw_request(self, reading: ClusterReading) -> None:
        """Remove the reassignment request that was read."""

    def request_election(self, partitions: Sequence[TopicPartition]) -> None:
        """Request the election of preferred leaders."""

    def request_election_of_run(
        self, before: Run, after: Run, partitions: Sequence[TopicPartition]
    ) -> Run:
        """Request the election of preferred leaders, and record it with the run."""

    def elect_controller(self, cluster: Cluster) -> bool:
        """Have another controller elected; false if there is none to replace."""

    # Throttles

    def read_throttles(self, topics: Iterable[str], brokers: Iterable[int]) -> Saved:
        """Return the throttle values as they are now."""

    def write_throttles(self, document: RunDocument, rates: Sequence[int]) -> ThrottleConflicts:
        """Write the run's throttles where they are not in force yet; name those of others."""

    def restore_throttles(self, document: RunDocument, rates: Sequence[int]) -> None:
        """Put the saved throttle values back wherever the live ones are still ours."""
