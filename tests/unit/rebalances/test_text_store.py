"""Long texts in a store, here a folder; on a real S3 server in tests/kubernetes."""

import os
import secrets
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from poolkeeper.errors import Refused, Unavailable
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings
from poolkeeper.rebalances import text_store
from poolkeeper.rebalances.planning import text_chunks
from poolkeeper.rebalances.text_store import GRACE_MS, STORED_FROM_BYTES, TextStore

HOME = "/api/v1/namespaces/ours/configmaps"
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u1"}
LONG = secrets.token_urlsafe(STORED_FROM_BYTES + 2**16)  # three quarters when compressed
SHORT = secrets.token_hex(STORED_FROM_BYTES // 2)
DAY_MS = 24 * 3_600_000


IDENTITY = f"{HOME}/poolkeeper-storage"


class Maps:
    """ConfigMaps by path, of one API server."""

    def __init__(self, server="u"):
        self.server, self.made, self.found = server, 0, {}

    def get(self, path):
        return self.found.get(path)

    def apply(self, path, body, manager):
        before = self.found.get(path)
        self.made += before is None
        uid = before["metadata"]["uid"] if before else f"{self.server}{self.made}"
        self.found[path] = {**body, "metadata": {**body["metadata"], "uid": uid}}
        return self.found[path]

    def texts(self):
        return [body for path, body in self.found.items() if path != IDENTITY]


@pytest.fixture
def maps():
    return Maps()


@pytest.fixture
def store(maps, tmp_path):
    return text_store.of_pods(maps, "ours", pods(tmp_path))


def pods(folder, **more):
    return PlannerPodSettings("planner:1", storage=f"file://{folder}/store", **more)


@cache  # to compress the long one takes half a second
def text_of(content):
    digest = text_chunks.digest_of(content)
    return text_store.Text(text_chunks.chunks_of(content), digest, {"a.json": "{}"})


def written(store, content, name="j-answer"):
    text = text_of(content)
    store.write(name, OWNER, text, {})
    return text


def files(store):
    return [each.path for each in store.open_storage().files("")]


@pytest.mark.slow
def test_a_long_text_is_one_object_and_one_config_map_without_a_piece(store, maps, tmp_path):
    text = written(store, LONG)
    assert files(store) == [f"ours/u1/j-answer/{text.digest.removeprefix('sha256:')}.gz"]
    (body,) = maps.texts()
    assert body["metadata"]["name"] == "j-answer-0"
    assert body["metadata"]["annotations"] == {
        "poolkeeper.dev/digest": text.digest,
        "poolkeeper.dev/chunks": "0",
        "poolkeeper.dev/stored-at": f"file://{tmp_path}/store/ours/u1",
    }
    assert body["data"] == {"a.json": "{}"}
    assert "binaryData" not in body
    read = store.read("j-answer")
    assert text_chunks.join_chunks(read.chunks, read.digest) == LONG


@pytest.mark.slow
def test_a_short_text_is_in_config_maps(store, maps):
    written(store, SHORT)
    assert (files(store), len(maps.found)) == ([], len(text_of(SHORT).chunks))
    assert text_chunks.join_chunks(store.read("j-answer").chunks, text_of(SHORT).digest) == SHORT


@pytest.mark.slow
def test_without_a_store_all_is_in_config_maps(maps):
    plain = TextStore(maps, "ours")
    text = written(plain, LONG)
    assert len(maps.found) == len(text.chunks) > 16
    assert text_chunks.join_chunks(plain.read("j-answer").chunks, text.digest) == LONG
    assert (plain.stored("j-answer"), plain.sweep(0)) == (None, ())
    plain.check("j-answer")


@pytest.mark.slow
def test_writing_again_completes_what_was_written_in_part(store, maps):
    written(store, LONG)
    del maps.found[f"{HOME}/j-answer-0"]
    assert store.read("j-answer") is None, "the driver died before the ConfigMap"
    written(store, LONG)
    assert store.read("j-answer").chunks
    assert len(files(store)) == 1


@pytest.mark.parametrize("spoil", [Path.unlink, lambda file: file.write_bytes(b"x")])
def test_an_object_that_is_gone_or_another_one_is_no_text(spoil, store, tmp_path):
    written(store, LONG)
    spoil(tmp_path / "store" / files(store)[0])
    read = store.read("j-answer")
    if read is not None:
        with pytest.raises(Refused, match="do not make a text"):
            text_chunks.join_chunks(read.chunks, read.digest)


def test_an_object_that_is_too_long_is_not_read(store, tmp_path):
    written(store, LONG)
    os.truncate(tmp_path / "store" / files(store)[0], text_chunks.TEXT_BYTES_MAX + 1)
    with pytest.raises(Refused, match="is no text of ours"):
        store.read("j-answer")


def test_what_lies_in_another_store_than_is_set(store, maps, tmp_path):
    written(store, LONG)
    other = text_store.of_pods(maps, "ours", pods(tmp_path / "other"))
    with pytest.raises(Unavailable, match=r"plans lie in file://\S+, and planner.storage is file:"):
        other.read("j-answer")
    with pytest.raises(Unavailable, match=r"plans lie in file://\S+: set planner.storage"):
        TextStore(maps, "ours").read("j-answer")


@pytest.mark.slow
def test_what_belongs_to_nobody_is_swept_after_a_day(store, maps, tmp_path):
    written(store, LONG)
    written(store, LONG + "0", "gone-answer")
    written(store, LONG + "1", "j-answer")  # in the place of the first
    gone, first, last = files(store)
    del maps.found[f"{HOME}/gone-answer-0"]
    (tmp_path / "store" / "ours" / "u1" / "notes.txt").write_text("of somebody else")
    probe = tmp_path / "store" / "ours" / "u1" / "killed-answer" / "probe"
    probe.parent.mkdir()
    probe.touch()
    assert last.endswith(f"{text_of(LONG + '1').digest.removeprefix('sha256:')}.gz") != (
        first.endswith(f"{text_of(LONG + '1').digest.removeprefix('sha256:')}.gz")
    )
    kept = next(p for p in (first, last) if text_of(LONG + "1").digest.endswith(p[-67:-3]))
    now_ms = int((tmp_path / "store" / gone).stat().st_mtime * 1000)
    assert store.sweep(now_ms + GRACE_MS - 60_000) == ()
    swept = store.sweep(now_ms + GRACE_MS + 60_000)
    assert set(swept) == {gone, first, last, "ours/u1/killed-answer/probe"} - {kept}
    assert files(store) == [kept, "ours/u1/notes.txt"]


def test_clusters_that_share_a_store_and_a_namespace_leave_each_others_texts_alone(store, tmp_path):
    other = text_store.of_pods(Maps("v"), "ours", pods(tmp_path))
    written(store, LONG)
    written(other, LONG)
    (ours, theirs) = files(store)
    late_ms = int((tmp_path / "store" / ours).stat().st_mtime * 1000) + 2 * GRACE_MS
    assert (store.sweep(late_ms), other.sweep(late_ms)) == ((), ())
    other.delete_stored("j-answer", other.stored("j-answer"))
    assert files(other) == [ours]
    assert ours.split("/")[:2] == ["ours", "u1"]
    assert theirs.split("/")[:2] == ["ours", "v1"]
    assert store.read("j-answer").chunks


@pytest.mark.slow
def test_texts_are_found_where_the_clusters_own_folder_has_another_name_now(store, maps):
    written(store, LONG)
    del maps.found[IDENTITY]
    written(store, SHORT + LONG, "k-answer")
    assert len({path.split("/")[1] for path in files(store)}) == 2
    assert store.read("j-answer").chunks
    assert store.read("k-answer").chunks


def test_what_is_needed_no_more_is_deleted_at_once(store, maps):
    written(store, LONG)
    stored = store.stored("j-answer")
    maps.found.clear()
    store.delete_stored("j-answer", stored)
    store.delete_stored("j-answer", None)
    assert files(store) == []


def test_what_cannot_be_deleted_now_is_left_to_be_swept(store, maps, tmp_path):
    written(store, LONG)
    stored = replace(store.stored("j-answer"), stored_at="file:///elsewhere")
    store.delete_stored("j-answer", stored)
    assert len(files(store)) == 1


def test_a_store_that_takes_nothing_is_told_before_anything_is_planned(maps, tmp_path):
    (tmp_path / "store").write_text("a file")
    store = text_store.of_pods(maps, "ours", pods(tmp_path))
    with pytest.raises(
        Unavailable, match=r"file://\S+/store/ours/u1/j-answer/probe: cannot be writ"
    ):
        store.check("j-answer")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3a:///plans", "names no bucket"),
        ("ftp://host/plans", "cannot open ftp"),
        ("http://host/plans", "cannot open http"),
    ],
)
def test_a_uri_that_is_wrong_is_refused_when_the_operator_starts(uri, said, maps):
    with pytest.raises(Refused, match=said):
        text_store.of_pods(maps, "ours", PlannerPodSettings("planner:1", storage=uri))


def test_settings_are_those_of_spark_and_of_the_secret(maps, tmp_path):
    settings = pods(tmp_path, storage_secret="keys", conf={"spark.hadoop.fs.s3a.endpoint": "x"})
    folder = tmp_path / "keys"
    store = text_store.of_pods(maps, "ours", settings, folder)
    with pytest.raises(Unavailable, match=r"there is no Secret of the name in planner\.storageSec"):
        store.open_storage()
    folder.mkdir()
    with pytest.raises(Unavailable, match="or it is empty"):
        store.open_storage()
    (folder / "fs.s3a.secret.key").write_text("hidden\n")
    (folder / "..data").mkdir()
    assert "hidden" not in repr(store.open_storage())
    (folder / "fs.s3a.secret.key").write_bytes(b"\xff")
    with pytest.raises(Unavailable, match="settings of storage cannot be read"):
        store.open_storage()


def test_an_image_without_arrow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "poolkeeper.fleet.lake.filesystems", None)
    with pytest.raises(Refused, match=r"planner.storage needs \S+ \(expected pip install"):
        text_store.opener("s3a://bucket/plans", {})
