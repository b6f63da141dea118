"""The interface `reconcile.access`, for a cluster that runs on ZooKeeper."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

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
from poolkeeper.zk import apply, fencing, kraft, throttling, znodes
from poolkeeper.zk.client.operations import Check, Delete, Operation
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import history, journal, pending_plan, throttle_records
from poolkeeper.zk.journal import records as zk_records
from poolkeeper.zk.journal.journal import Journal, topic_record
from poolkeeper.zk.journal.runs import digest_of, encode_document
from poolkeeper.zk.reading import observe
from poolkeeper.zk.reading.reading_cache import DecodedTopics, ReadingCache


class ZooKeeperView:
    """Reads of a cluster, allowed to any process; `decoded`: topics as they were decoded before."""

    def __init__(self, session: Session, decoded: DecodedTopics | None = None) -> None:
        self._session = session
        self._kept = ReadingCache(session)
        self._decoded = decoded

    def observe(
        self,
        name: str,
        *,
        topics: Collection[str] | None = None,
        want_configs: bool = True,
        restart_lock: str | None = None,
    ) -> ClusterReading:
        """Observe the cluster; see `observe.cluster`."""

        def read() -> ClusterReading:
            return observe.cluster(
                self._session,
                name,
                topics=topics,
                want_configs=want_configs,
                restart_lock=restart_lock,
                decoded=self._decoded,
            )

        if topics is not None or not want_configs:
            return read()
        return self._kept.read(("cluster", name, restart_lock), read)

    def read_records(self) -> Records:
        """Return the recorded topic owners and brokers."""
        return self._kept.read("records", lambda: zk_records.read(self._session))

    def read_balance(self) -> BalanceRecord | None:
        """Return when the last run began that evened something out."""
        return zk_records.read_balance(self._session)

    def read_request_record(self) -> RequestRecord | None:
        """Return what a run requested last; None if it has ended."""
        return zk_records.read_request(self._session)

    def read_throttle_records(self) -> ThrottleReading:
        """Return which throttles are recorded as ours, and those of all brokers."""
        return self._kept.read("throttles", lambda: throttle_records.read(self._session))

    def read_stored_run(self) -> StoredRun:
        """Return the recorded run with its document, as far as both can be read."""
        return journal.read_stored_run(self._session)

    def is_migrating(self) -> bool:
        """Whether a KRaft controller leads the cluster: then nothing of Kafka's is written."""
        return kraft.is_migrating(self._session)

    def read_run(self) -> Run | None:
        """Return the recorded run, or None."""
        return journal.read_run(self._session)

    def read_document(self, run: Run) -> RunDocument | None:
        """Return the run's document, or None if it is still being stored."""
        return journal.read_document(self._session, run)

    def read_stop(self) -> StopRequest | None:
        """Return a person's request that the run ends, if there is one."""
        return journal.read_stop(self._session)

    def read_stopped(self) -> str | None:
        """Return the fingerprint of the plan that a person stopped."""
        return journal.read_stopped(self._session)

    def name_other_executor(self) -> str:
        """Name the other process that works on the cluster; "" if there is none."""
        holder = fencing.who_holds(self._session)
        own = holder is not None and holder.session == self._session.session_id
        return "" if holder is None or own else str(holder)

    def read_pending_plan(self) -> Plan | None:
        """Return the plan that waits for a person's approval; None also for a damaged one."""
        return pending_plan.read_if_whole(self._session)

    def read_finished_plans(self) -> frozenset[str]:
        """Return the hashes of the plans of the last runs that ended; those that can be read."""
        return frozenset(run.plan for run in history.read(self._session).runs)


class ZooKeeperAccess(ZooKeeperView):
    """Reads and writes of the one executor that holds the cluster's journal."""

    def __init__(self, journal: Journal, decoded: DecodedTopics | None = None) -> None:
        super().__init__(journal.session, decoded)
        self._journal = journal
        self._lists = throttling.ThrottleListCache()

    # The journal

    def confirm_holder(self) -> None:
        """Raise `Fenced` if another executor has taken the cluster over."""
        self._journal.commit()

    def begin_run(self, run: Run, document: RunDocument) -> Run:
        """Record a new run and then its document; return the run as recorded."""
        chunks = encode_document(document)
        run = replace(run, digest=digest_of(chunks), chunks=len(chunks))
        return self._journal.begin(run, chunks)

    def resume_lost_run(self, run: Run, document: RunDocument) -> Run:
        """Record a run with its document at once; return it as recorded."""
        chunks = encode_document(document)
        run = replace(run, digest=digest_of(chunks), chunks=len(chunks))
        return self._journal.begin_whole(run, chunks)

    def forget_request(self) -> None:
        """Remove the record of a request of which nothing goes on."""
        self._journal.record_request(None)

    def rewrite_run(self, before: Run, after: Run, balance: BalanceRecord | None = None) -> Run:
        """Replace the recorded run, and record when balance began if it is given.

        Returns the run as recorded.
        """
        records = () if balance is None else (self._journal.balance_record(balance),)
        return self._journal.rewrite(before, after, *records)

    def end_run(self, run: Run, finished: FinishedRun | None = None) -> None:
        """Remove the recorded run, and add it to the history if it is given."""
        added = () if finished is None else history.operations_to_add(self._session, finished)
        self._journal.end(run, *added)

    def remember_stopped(self, fingerprint: str | None) -> None:
        """Record which plan a person stopped; None removes the record."""
        self._journal.remember_stopped(fingerprint)

    def remember_pending_plan(self, plan: Plan | None) -> None:
        """Record which plan waits for approval; None removes the record."""
        pending_plan.remember(self._journal, plan)

    def forget_approvals(self) -> None:
        """Remove the approvals left by `poolkeeper apply`: their plans have been executed."""
        self._journal.forget_approvals()

    def remember_brokers(self, records: Records) -> None:
        """Record the brokers' racks and absences and the cluster's id, if they changed."""
        self._journal.remember_brokers(records)

    def remember_owners(self, owners: Mapping[str, TopicRecord | None]) -> None:
        """Record the owners of topics; `None` removes a record."""
        nodes = self._session.read_many([znodes.record_of_topic(topic) for topic in sorted(owners)])
        found = (
            topic_record(topic, owners[topic], node)
            for topic, node in zip(sorted(owners), nodes, strict=True)
        )
        self._journal.commit_in_batches(each for each in found if each is not None)

    # Steps of a plan

    def write_topics(
        self, steps: Sequence[tuple[CreateTopic | SetConfig, TopicRecord | None]]
    ) -> list[WhyUnwritten | None]:
        """Create topics with their configs, set configs, and record the owners."""
        return apply.write_topics(self._journal, steps)

    def add_partitions(self, step: AddPartitions) -> None:
        """Append partitions to a topic."""
        apply.add_partitions(self._journal, step)

    def delete_topic(self, step: DeleteTopic, cluster: Cluster) -> None:
        """Request the deletion of a topic, if it is still the one that was observed."""
        apply.delete_topic(self._journal, step, cluster)

    # Requests to the controller

    def request_stage(self, before: Run, after: Run, plan: Plan, cluster: Cluster) -> Run:
        """Request what `after` names, and record it with the run; no other request is there."""
        return apply.request(self._journal, before, after, plan, cluster)

    def replace_request(self, before: Run, after: Run, plan: Plan, reading: ClusterReading) -> Run:
        """Put what `after` names in the place of the request, under another controller."""
        return apply.replace_request(self._journal, before, after, plan, reading)

    def request_moves(self, entries: Sequence[ReassignmentEntry], cluster: Cluster) -> None:
        """Request moves that belong to no run; no other request is there."""
        apply.request_moves(self._journal, entries, cluster)

    def withdraw_request(self, reading: ClusterReading) -> None:
        """Remove the reassignment request that was read."""
        version = reading.versions[znodes.REASSIGNMENT]
        self._journal.commit(Delete(znodes.REASSIGNMENT, version))

    def request_election(self, partitions: Sequence[TopicPartition]) -> None:
        """Request the election of preferred leaders."""
        self._journal.commit(apply.election(partitions))

    def request_election_of_run(
        self, before: Run, after: Run, partitions: Sequence[TopicPartition]
    ) -> Run:
        """Request the election of preferred leaders, and record it with the run."""
        return self._journal.rewrite(before, after, apply.election(partitions))

    def elect_controller(self, cluster: Cluster, withdrawn: ClusterReading | None = None) -> bool:
        """Trigger the election of another controller; false if there is none to replace.

        `withdrawn`: the request that was read is removed in the same transaction.
        """
        node = self._session.read(znodes.CONTROLLER)
        epoch_version = cluster.controller.epoch_version
        if node is None or epoch_version is None:
            return False
        operations: list[Operation] = [Check(znodes.CONTROLLER_EPOCH, epoch_version)]
        if withdrawn is not None:
            version = withdrawn.versions[znodes.REASSIGNMENT]
            operations.append(Delete(znodes.REASSIGNMENT, version))
        self._journal.commit(*operations, Delete(znodes.CONTROLLER, node.version))
        return True

    # Throttles

    def read_throttles(self, topics: Iterable[str], brokers: Mapping[int, Sequence[str]]) -> Saved:
        """Return the present values of throttle keys: of topics, and those given of brokers."""
        return throttling.save(self._journal, topics, brokers)

    def check_throttles(
        self, document: RunDocument, rates: Sequence[int], topics: Collection[str]
    ) -> ThrottleConflicts:
        """Return how live throttles differ from the run's; of topics, those of `topics`."""
        return throttling.write(
            self._journal, document, self._lists.of(document), rates, topics, dry=True
        )

    def write_throttles(
        self,
        document: RunDocument,
        rates: Sequence[int],
        topics: Collection[str] | None = None,
    ) -> ThrottleConflicts:
        """Write the run's throttles where they are not yet set; `topics` restricts the topics.

        Returns the topics and brokers whose throttles somebody else has set.
        """
        return throttling.write(self._journal, document, self._lists.of(document), rates, topics)

    def restore_throttles(
        self,
        document: RunDocument,
        rates: Sequence[int],
        topics: Collection[str] | None = None,
    ) -> Throttled:
        """Restore the saved throttle values wherever the live ones are still ours; see `access`.

        Returns whose config cannot be read or written.
        """
        return throttling.restore(self._journal, document, self._lists.of(document), rates, topics)

    def take_off_throttles(self, left: LeftThrottles) -> Throttled:
        """Restore what was before the throttles that runs of ours left; return what stays."""
        return throttling.take_off(self._journal, left)

    def unlimited(
        self, topics: Sequence[str], brokers: Sequence[int]
    ) -> dict[str | int, UnreadableConfig]:
        """Return which of these cannot be throttled, and why; nothing is written."""
        return throttling.unlimited(self._session, topics, brokers)

    def takes(self, size: int) -> bool:
        """Ask whether the servers take a node of so many bytes; nothing is written."""
        return self._session.takes(size)
