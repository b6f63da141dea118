"""The snapshot of one cluster, from its ZooKeeper or from a file, to rows. No Spark in it.

A cluster that cannot be read becomes a row with its reason, whatever went wrong, and the job
continues. A snapshot of a day is made once for the same input: of ZooKeeper for the same
declaration, of a file for the same content. One that failed is always tried again.

A file counts at its own time (`readMs`), whenever it is put into the lake, so that days of the past
can be filled in. One without a time counts as read at the moment that the task names. No file is of
a day before it was read: features of that day would know what came later.

Reading a ZooKeeper is waiting: a task reads many clusters at a time. Those that do not answer wait
beside each other; those that do take turns, as the whole of a large cluster is in memory.
"""

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Semaphore
from typing import Any

import pyarrow as pa

from poolkeeper import output_files
from poolkeeper.brokers import enrich
from poolkeeper.errors import Refused, wrong_file
from poolkeeper.fleet.engines import deadlines
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult, reason_of
from poolkeeper.fleet.lake.filesystems import Storage, local_path, open_file, open_filesystem
from poolkeeper.fleet.lake.lake import DAY, digest_of_file, input_digest
from poolkeeper.fleet.lake.objects import Objects, StoredObject
from poolkeeper.fleet.storage import cluster_rows, codecs, parquet, schemas, snapshot_file
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.frozen import frozen
from poolkeeper.model.credentials import ClientConfig
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Cluster
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.resources.parse import client_config as parse_client_config
from poolkeeper.temporary_folders import temporary_folder
from poolkeeper.text import first_line, moment
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView

CLIENT_CONFIG = "POOLKEEPER_CLIENT_CONFIG"
"""Environment variable with the client configuration's path where executors see it elsewhere."""
CONNECTING_AT_A_TIME = 32
READING_AT_A_TIME = 4
_READING = Semaphore(READING_AT_A_TIME)


SnapshotFiles = dict[str, list[StoredObject]]
"""Files of one day by cluster; a cluster should have one."""


def files_by_day(objects: Objects, folder: str) -> dict[str, SnapshotFiles]:
    """Snapshot files by day, those of no day under ""; raises `Refused` where there are none.

    `main.json.gz` is of cluster `main`; files in `day=2026-03-01/` are of that day.
    """
    found: dict[str, SnapshotFiles] = {}
    for file in objects.children(""):
        day = file.name.removeprefix("day=") if file.is_folder else ""
        if file.is_folder and not DAY.fullmatch(file.name.removeprefix("day=")):
            continue
        for each in objects.children(file.path) if file.is_folder else (file,):
            suffix = next((s for s in snapshot_file.SUFFIXES if each.name.endswith(s)), None)
            if suffix is not None and not each.is_folder and not each.is_hidden:
                of_day = found.setdefault(day, {})
                of_day.setdefault(each.name.removesuffix(suffix), []).append(each)
    if not found:
        raise Refused(
            f"{folder}: holds no snapshots (expected {', '.join(snapshot_file.SUFFIXES)})"
        )
    return found


def input_of_snapshot(declared: str, folder: str, file: StoredObject | None) -> str:
    """The digest of what is to be read of a cluster; `folder`: of files, empty: its ZooKeeper.

    `declared`: the digest of what is declared of it.
    """
    if folder and file is None:
        return ""
    if file is None:
        return input_digest("snapshot", "zookeeper", declared)
    return input_digest("snapshot", "file", digest_of_file(file, folder))


@frozen
class SnapshotTask:
    """A cluster to read: its file by folder and name, or without one its ZooKeeper as declared.

    `desired`: what is declared, as canonical JSON.
    `now_ms`: when the cluster is read, or was, where its file does not say.
    `day_end_ms`: the end of the day, before which its file was read; 0: at any time.
    `bytes`: the length of the file.
    `input`: the digest of what is to be read.
    `refused`: why it is not to be read, if it is not.
    `timeout_s`: to connect, and for each answer.
    `deadline_s`: for the whole cluster.
    """

    cluster: str
    desired: str
    now_ms: int
    day_end_ms: int = 0
    folder: str = ""
    file: str = ""
    bytes: int = 0
    input: str = ""
    refused: str = ""
    client_config: str = ""
    timeout_s: float = 10.0
    deadline_s: float = 300.0


_MIGRATING = "the cluster is migrating to KRaft: what ZooKeeper says may be behind"


@frozen
class _ClusterSnapshot:
    cluster: Cluster
    records: Records | None = None
    gone: frozenset[int] = frozenset()
    remarks: tuple[str, ...] = ()


def perform(task: SnapshotTask, storage: Storage) -> StepResult:
    """Do one task; a fault of the cluster becomes its status and is never raised."""
    try:
        if task.refused:
            raise Refused(task.refused)
        found = _of_file(task, storage) if task.file else _of_zookeeper(task)
        rows = cluster_rows.rows_of_cluster(found.cluster)
        head = _row(_head(task, found, dict(rows.head)))
        read_ms = str(_read_ms(task, found.cluster))
        figures = {"partitions": str(rows.head["partitions"]), "read_ms": read_ms}
        reason = "; ".join(found.remarks)
        outcome = ClusterOutcome(task.cluster, OK, reason, figures)
        return StepResult(outcome, {**rows.bodies, schemas.CLUSTERS.name: head})
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        reason = reason_of(wrong)
        head = _row({"status": FAILED, "reason": reason, "read_ms": task.now_ms})
        outcome = ClusterOutcome(task.cluster, FAILED, reason, {"partitions": "0"})
        return StepResult(outcome, {schemas.CLUSTERS.name: head})


def _row(head: dict[str, Any]) -> pa.Table:
    return parquet.table_of(schemas.CLUSTERS, {name: [value] for name, value in head.items()})


def _head(task: SnapshotTask, found: _ClusterSnapshot, head: dict[str, Any]) -> dict[str, Any]:
    return {
        **head,
        "damaged": list(head["damaged"].items()),
        "status": OK,
        "reason": "; ".join(found.remarks) or None,
        "gone": sorted(found.gone),
        "records": None if found.records is None else codecs.to_text(found.records),
        "read_ms": _read_ms(task, found.cluster),
    }


def _read_ms(task: SnapshotTask, cluster: Cluster) -> int:
    return task.now_ms if cluster.read_ms is None else cluster.read_ms


def _of_file(task: SnapshotTask, storage: Storage) -> _ClusterSnapshot:
    folder = local_path(task.folder)
    if folder is not None:
        file = folder / task.file
        if file.exists() and not file.is_file():  # whoever opens a pipe waits for ever
            raise wrong_file(file, "is no file that can be read (expected a regular one)")
        cluster = snapshot_file.read(file)
    else:
        with _fetched(task, storage) as file:
            cluster = snapshot_file.read(file)
    if task.day_end_ms and cluster.read_ms is not None and cluster.read_ms >= task.day_end_ms:
        raise Refused(
            f"{folder or task.folder}/{task.file}: was read at {moment(cluster.read_ms)},"
            " after the day that it is put into (expected another --day)"
        )
    return _ClusterSnapshot(replace(cluster, name=task.cluster))


@contextmanager
def _fetched(task: SnapshotTask, storage: Storage) -> Any:
    """A copy of a file of another machine."""
    files, base = open_filesystem(task.folder, storage)
    with temporary_folder() as folder:
        copy = folder / Path(task.file).name
        try:
            with open_file(files, f"{base}/{task.file}") as source:
                body = source.read()
        except OSError as failed:
            place = f"{task.folder}/{task.file}"
            raise wrong_file(place, f"cannot be read: {first_line(failed)}") from failed
        output_files.write(copy, body)
        yield copy


def _of_zookeeper(task: SnapshotTask) -> _ClusterSnapshot:
    desired = codecs.from_text(Desired, task.desired)
    client = _client(task)
    session = Session.open(
        desired.cluster.zookeeper.connect,
        credentials=client.zookeeper,
        tls=client.zookeeper_tls or desired.cluster.zookeeper.tls,
        deadline_s=task.timeout_s,
    )
    with session, _READING, deadlines.close_at_deadline(session, task.deadline_s):
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
    if observed.cluster.controller.kraft:
        remarks.append(_MIGRATING)
    return _ClusterSnapshot(observed.cluster, observed.records, observed.gone, tuple(remarks))


def _client(task: SnapshotTask) -> ClientConfig:
    path = os.environ.get(CLIENT_CONFIG, task.client_config)
    return parse_client_config.load(Path(path)) if path else ClientConfig()
