"""The snapshot of one cluster, from its ZooKeeper or from a file, to tables. No Spark in it.

A cluster that cannot be read becomes a row with its reason, and the job continues. An earlier
snapshot of the same day is then removed, so that no plan is made from outdated data. A snapshot of
a day is made once for the same input: of ZooKeeper for the same address and declaration, of a file
for the same content. One that failed is always tried again.
"""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from poolkeeper.brokers import enrich
from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.fleet.engines import deadlines
from poolkeeper.fleet.stages.plan import desired_of
from poolkeeper.fleet.storage import cluster_rows, codecs, parquet, schemas, snapshot_file
from poolkeeper.fleet.storage.store import FAILED, OK, Store, input_digest
from poolkeeper.model.credentials import ClientConfig
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.observation import observe_cluster
from poolkeeper.resources.parse import client_config as parse_client_config
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView

CLIENT_CONFIG = "POOLKEEPER_CLIENT_CONFIG"
"""Environment variable with the client configuration's path where executors see it elsewhere."""


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """A cluster to read: its file, or without one its ZooKeeper as declared.

    `timeout_s`: to connect, and for each answer.
    `deadline_s`: for the whole cluster.
    """

    root: str
    day: str
    cluster: str
    now_ms: int
    file: str = ""
    client_config: str = ""
    timeout_s: float = 10.0
    deadline_s: float = 300.0


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    """The result of a task; `seconds` of wall time."""

    cluster: str
    status: str
    reason: str
    partitions: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _ClusterSnapshot:
    cluster: Cluster
    records: Records | None = None
    gone: frozenset[int] = frozenset()
    remarks: tuple[str, ...] = ()


def perform(task: SnapshotTask) -> SnapshotResult:
    """Do one task; a fault of the cluster becomes its status and is never raised."""
    begin = time.monotonic()
    store = Store(Path(task.root))
    try:
        found = _of_file(task) if task.file else _of_zookeeper(store, task)
        rows = cluster_rows.rows_of_cluster(found.cluster)
        head, bodies, digest = (
            _head(task, found, dict(rows.head)),
            rows.bodies,
            input_of(store, task),
        )
        status, reason = OK, "; ".join(found.remarks)
        size = rows.head["partitions"]
    except PoolkeeperError as wrong:
        status, reason, size, digest = FAILED, str(wrong), 0, ""
        head = {"status": FAILED, "reason": reason, "read_ms": task.now_ms}
        bodies = {table.name: parquet.from_rows(table, ()) for table in cluster_rows.BODIES}
    row = parquet.table_of(schemas.CLUSTERS, {name: [value] for name, value in head.items()})
    content: dict[str, pa.Table] = {**bodies, schemas.CLUSTERS.name: row}
    store.step(schemas.CLUSTERS, task.day, task.cluster, content, digest)
    return SnapshotResult(task.cluster, status, reason, size, time.monotonic() - begin)


def is_made(store: Store, task: SnapshotTask) -> bool:
    """Whether the task was done, from the same input; who does it finds out what cannot be read."""
    try:
        digest = input_of(store, task)
    except Refused:
        return False
    return store.is_made(schemas.CLUSTERS, task.day, task.cluster, digest)


def input_of(store: Store, task: SnapshotTask) -> str:
    """The digest of what is to be read."""
    if task.file:
        return input_digest("snapshot", "file", files=(Path(task.file),))
    manifest = store.file(schemas.MANIFESTS, "", task.cluster)
    return input_digest("snapshot", "zookeeper", task.day, files=(manifest,))


def _head(task: SnapshotTask, found: _ClusterSnapshot, head: dict[str, Any]) -> dict[str, Any]:
    return {
        **head,
        "damaged": list(head["damaged"].items()),
        "status": OK,
        "reason": "; ".join(found.remarks) or None,
        "gone": sorted(found.gone),
        "records": None if found.records is None else codecs.to_text(found.records),
        "read_ms": task.now_ms,
    }


def _of_file(task: SnapshotTask) -> _ClusterSnapshot:
    return _ClusterSnapshot(replace(snapshot_file.read(Path(task.file)), name=task.cluster))


def _of_zookeeper(store: Store, task: SnapshotTask) -> _ClusterSnapshot:
    desired = desired_of(store, task.cluster)
    client = _client(task)
    session = Session.open(
        desired.cluster.zookeeper.connect,
        credentials=client.zookeeper,
        tls=client.zookeeper_tls or desired.cluster.zookeeper.tls,
        deadline_s=task.timeout_s,
    )
    with session, deadlines.close_at_deadline(session, task.deadline_s):
        return _observe(session, desired, client, task)


def _observe(
    session: Session, desired: Desired, client: ClientConfig, task: SnapshotTask
) -> _ClusterSnapshot:
    remarks: list[str] = []

    def enriched(cluster: Cluster) -> Cluster:
        spec = desired.cluster.brokers
        if spec is None:
            return cluster
        found = enrich.enrich_if_reachable(
            cluster,
            spec.bootstrap_servers,
            client.brokers,
            client.brokers_tls or spec.tls,
            task.timeout_s,
        )
        remarks.extend(found.warnings)
        return found.cluster

    observed = observe_cluster(ZooKeeperView(session), desired, task.now_ms, enriched)
    return _ClusterSnapshot(observed.cluster, observed.records, observed.gone, tuple(remarks))


def _client(task: SnapshotTask) -> ClientConfig:
    path = os.environ.get(CLIENT_CONFIG, task.client_config)
    return parse_client_config.load(Path(path)) if path else ClientConfig()
