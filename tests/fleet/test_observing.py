"""Snapshots of many clusters: from a real ZooKeeper, from files, and where there is neither."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench import clusters
from builders import desired, pool_spec, topic_spec
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.stages import pipeline, snapshot
from poolkeeper.fleet.storage import schemas, snapshot_file
from poolkeeper.model import snapshots
from poolkeeper.model.desired import Desired
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.reading import observe
from real.bare import bare_cluster, put_topic
from real.support import kazoo

ALONE = InProcess()


def declared(name: str, connect: str) -> Desired:
    pool = pool_spec(f"{name}-pool", 1, 2, 3, cluster=name)
    topic = topic_spec("t", f"{name}-pool", replication_factor=3)
    return desired(pool, topic, name=name, connect=connect)


def task(lake: Lake, name: str, folder: Path | None = None) -> snapshot.SnapshotTask:
    """A task that reads the cluster's ZooKeeper, or its file in a folder."""
    manifest, root, file = manifests.read(lake)[name], "", None
    if folder is not None:
        root = root_of(folder)
        (file,) = snapshot.files_by_day(ArrowObjects(root), root)[""][name]
    return snapshot.SnapshotTask(
        name,
        manifest.text,
        cases.NOW_MS,
        folder=root,
        file=file.name if file else "",
        bytes=file.bytes if file else 0,
        input=snapshot.input_of_snapshot(manifest.digest, root, file),
        timeout_s=3.0,
        deadline_s=30.0,
    )


@pytest.fixture
def silent() -> Iterator[str]:
    """Somebody who takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_clusters_that_cannot_be_read_do_not_end_the_job(
    zookeeper, lake: Lake, tmp_path: Path, silent: str
) -> None:
    connect = zookeeper.zookeeper
    with ExitStack() as stack, kazoo(connect) as client:
        for name in ("one", "two"):
            client.create(f"/fleet-{name}")
            bare = stack.enter_context(
                bare_cluster(zookeeper, f"{connect}/fleet-{name}", tmp_path / name)
            )
        put_topic(bare, "more", [[1, 2]])
        wanted = [
            declared("one", f"{connect}/fleet-one"),
            declared("two", f"{connect}/fleet-two"),
            declared("closed", "127.0.0.1:1"),
            declared("silent", silent),
            declared("nowhere", f"{connect}/no-such-chroot"),
        ]
        pinned = declared("other", f"{connect}/fleet-one")
        spec = replace(pinned.cluster, cluster_id="another")
        wanted.append(replace(pinned, cluster=spec))
        manifests.write(lake, wanted)
        names = [desired.cluster.name for desired in wanted]
        outcome = pipeline.snapshot(ALONE, lake, cases.DAY, [task(lake, name) for name in names])
        with Session.open(f"{connect}/fleet-two") as session:
            seen = observe.cluster(session, "two").cluster
    found = {line.cluster: (line.status, line.figures["partitions"]) for line in outcome.lines}
    assert found == {
        "closed": ("failed", 0),
        "nowhere": ("failed", 0),
        "one": ("ok", 3),
        "other": ("failed", 0),
        "silent": ("failed", 0),
        "two": ("ok", 4),
    }
    reasons = {line.cluster: line.reason for line in outcome.failed}
    assert "no ZooKeeper answers at 127.0.0.1:1" in reasons["closed"]
    assert "this is another cluster" in reasons["other"]
    read = cases.plan_input(lake, "two").cluster
    assert snapshots.to_json(read) == snapshots.to_json(seen)
    planned = pipeline.plan(ALONE, lake, cases.DAY, names)
    assert sorted(line.cluster for line in planned.failed) == sorted(reasons)
    assert {m.topic for m in cases.kept(lake, "one").moves} == {"t"}
    # A day's snapshot is kept, a failure is tried again.
    tasks = [task(lake, name) for name in ("two", "closed")]
    assert [
        (line.cluster, line.made) for line in pipeline.snapshot(ALONE, lake, cases.DAY, tasks).lines
    ] == [
        ("closed", True),
        ("two", False),
    ]


def test_a_cluster_that_takes_too_long_is_given_up(zookeeper, chroot, lake: Lake, tmp_path) -> None:
    with bare_cluster(zookeeper, chroot, tmp_path):
        manifests.write(lake, [declared("slow", chroot)])
        slow = replace(task(lake, "slow"), deadline_s=0.0)
        done = snapshot.perform(slow, InProcess.storage).outcome
    assert (done.status, done.reason) == ("failed", "not read within 0 s")


def test_of_a_cluster_that_migrates_to_kraft_it_is_said(
    zookeeper, chroot, lake: Lake, tmp_path
) -> None:
    with bare_cluster(zookeeper, chroot, tmp_path) as bare:
        bare.put("/migration", {"version": 0, "kraft_controller_id": 3000})
        manifests.write(lake, [declared("leaving", chroot)])
        done = snapshot.perform(task(lake, "leaving"), InProcess.storage).outcome
    assert done.status == "ok"
    assert done.reason.startswith("the cluster is migrating to KRaft")


CASE = cases.named((clusters.desired(24), clusters.cluster(300, brokers=24)), "main")


@pytest.mark.parametrize("suffix", snapshot_file.SUFFIXES)
def test_snapshot_files_of_every_form(suffix: str, lake: Lake, tmp_path: Path) -> None:
    desired, cluster = CASE
    manifests.write(lake, [desired])
    folder = tmp_path / "snapshots"
    folder.mkdir()
    write = snapshot_file.write if suffix == ".parquet" else snapshots.write
    write(folder / f"main{suffix}", cluster)
    for other in ("README.md", f"._main{suffix}", f".main{suffix}", f"_main{suffix}"):
        (folder / other).write_text("no snapshot")
    assert list(snapshot.files_by_day(ArrowObjects(root_of(folder)), "")[""]) == ["main"]
    outcome = pipeline.snapshot(ALONE, lake, cases.DAY, [task(lake, "main", folder)])
    assert outcome.failed == ()
    assert cases.plan_input(lake).cluster.topics == cluster.topics
    again = task(lake, "main", folder)
    assert pipeline.snapshot(ALONE, lake, cases.DAY, [again]).made == ()
    write(folder / f"main{suffix}", replace(cluster, id="changed"))
    changed = task(lake, "main", folder)
    assert len(pipeline.snapshot(ALONE, lake, cases.DAY, [changed]).made) == 1


def test_a_full_disk_of_the_task_is_not_told_as_the_store_s(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot of a store is copied to where the task runs, to be read there."""
    manifests.write(lake, [CASE[0]])
    store, full = tmp_path / "store", tmp_path / "full"
    store.mkdir()
    snapshots.write(store / "main.json", CASE[1])
    remote = task(lake, "main", store)

    @contextmanager
    def without_room() -> Iterator[Path]:
        yield full

    monkeypatch.setattr(snapshot, "local_path", lambda _: None)
    monkeypatch.setattr(snapshot, "temporary_folder", without_room)
    done = snapshot.perform(remote, InProcess.storage).outcome
    reason = f"{full}/main.json: cannot be written (No such file or directory)"
    assert (done.status, done.reason) == ("failed", reason)


def test_a_failure_leaves_what_was_there(lake: Lake, tmp_path: Path) -> None:
    cases.put(lake, CASE)
    folder = tmp_path / "snapshots"
    folder.mkdir()
    (folder / "main.json").write_text("[]")
    pipeline.snapshot(ALONE, lake, cases.DAY, [task(lake, "main", folder)])
    (head,) = cases.rows(lake, schemas.CLUSTERS).to_pylist()
    assert (head["status"], head["partitions"]) == ("ok", 300)
    assert cases.rows(lake, schemas.PARTITIONS).num_rows == 300
