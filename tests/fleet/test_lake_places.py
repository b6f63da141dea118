"""Where a lake may be: days, folders, URIs, and what a store opens."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import poolkeeper
from fleet import cases
from fleet.conftest import DAY, NAMES
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.filesystems import Storage, local_path, open_filesystem, root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects, replace_object
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.storage import schemas
from s3_server import REGION, Bucket


@pytest.mark.parametrize("day", ["today", "2026-3-1", "", "٢٠٢٦-٠٣-٠١"])
def test_no_day(day: str, lake: Lake) -> None:
    with pytest.raises(Refused, match="cannot be a folder of tables"):
        lake.current("plan", day)


@pytest.mark.parametrize(
    ("where", "root"),
    [
        pytest.param("/a/b/", "file:///a/b", id="folder"),
        pytest.param("file:/a/b", "file:///a/b", id="one-slash"),
        pytest.param("file:///a b", "file:///a b", id="three-slashes"),
        pytest.param("file://localhost/a", "file:///a", id="this-host"),
        pytest.param("/a:b", "file:///a:b", id="colon"),
        pytest.param("s3a://bucket/a/", "s3a://bucket/a", id="s3a"),
        pytest.param("hdfs:///a", "hdfs:///a", id="hdfs"),
        pytest.param("s3a://bucket//a//b/./c/../d", "s3a://bucket/a/b/d", id="dots-of-a-uri"),
        pytest.param("s3a://bucket/../..", "s3a://bucket", id="never-out-of-the-bucket"),
        pytest.param("hdfs://host:1//a/.", "hdfs://host:1/a", id="dots-of-hdfs"),
        pytest.param("file:///a//b/.", "file:///a/b", id="dots-of-a-folder"),
    ],
)
def test_folders_and_uris(where: str, root: str) -> None:
    assert root_of(where) == root


def test_a_folder_without_a_scheme_is_below_the_current_one(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert local_path(root_of("out")) == tmp_path / "out"
    assert local_path("s3a://bucket/a") is None


def test_a_folder_above_a_linked_one_is_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "far" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "below")
    for where in (f"{tmp_path}/link/../out", f"file://{tmp_path}/link/../out"):
        assert local_path(root_of(where)) == tmp_path / "far" / "out"
    assert local_path(root_of(tmp_path / "link" / "out")) == tmp_path / "link" / "out"


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("s3a:///a", "names no bucket"),
        ("s3a://my bucket/a", "names no bucket"),
        ("s3a:bucket/a", "is no whole URI (expected s3a://BUCKET/FOLDER)"),
        ("gs:/bucket", "is no whole URI"),
        ("file:a", "names no folder of this machine (expected file:///FOLDER)"),
        ("file://host/a", "names no folder of this machine"),
        ("", "is empty"),
        (" ", "is empty"),
        ("/", "/: is the root of the file system (expected a folder below it)"),
        ("file:///..", "is the root of the file system"),
    ],
)
def test_slips_in_a_uri(where: str, message: str) -> None:
    with pytest.raises(Refused, match=re.escape(message)):
        root_of(where)


def test_a_scheme_that_tasks_cannot_open_is_named() -> None:
    with pytest.raises(Refused, match=r"ftp://host/a: tasks cannot open ftp: \(expected one of"):
        root_of("ftp://host/a")
    with pytest.raises(Refused, match=r"cannot open ftp: \(expected one of file, s3a,"):
        open_filesystem("ftp://host/a", Storage())


def test_why_a_scheme_cannot_be_opened_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow tells of every place where it has looked for Java."""

    def fail(*_: object) -> None:
        raise OSError("Unable to load libjvm\nnot in a\nnot in b")

    monkeypatch.setattr("pyarrow.fs.HadoopFileSystem", fail)
    with pytest.raises(Refused) as refused:
        open_filesystem("hdfs://host/a", Storage())
    assert refused.value.line == "hdfs://host/a: tasks cannot open hdfs: Unable to load libjvm"


def test_credentials_are_never_shown() -> None:
    storage = Storage.of({"fs.s3a.secret.key": "hidden", "fs.s3a.bucket.b.access.key": "too"})
    assert len(storage.settings) == 2
    assert "hidden" not in repr(storage)
    assert Storage.of({"fs.s3a.threads.max": "3"}) == Storage()


def test_objects_are_there_whole_or_not_at_all(tmp_path: Path) -> None:
    objects = ArrowObjects(root_of(tmp_path / "new"))
    assert (objects.read("a/b"), objects.children("a"), objects.files("")) == (None, [], [])
    objects.put("a/b", b"body")
    assert objects.read("a/b") == b"body"
    assert [(o.path, o.is_folder, o.bytes) for o in objects.children("")] == [("a", True, 0)]
    assert [(o.path, o.name, o.bytes) for o in objects.files("")] == [("a/b", "b", 4)]
    for path in ("a/b", "a", "a"):
        objects.delete(path)
    assert objects.files("") == []


def test_a_name_that_is_no_utf_8_is_none_of_ours(tmp_path: Path) -> None:
    """Whoever put it there: everything else in the folder is found."""
    objects = ArrowObjects(root_of(tmp_path))
    objects.put("a/b.json", b"1")
    Path(os.fsdecode(os.fsencode(tmp_path / "a") + b"/caf\xe9.json")).write_text("2")
    for listed in (objects.children("a"), objects.files("")):
        assert [found.path for found in listed] == ["a/b.json"]


@pytest.mark.timeout(300)
def test_a_folder_whose_name_the_locale_does_not_have(fleet: Path, java_options: str) -> None:
    """As of a service: what Java reads and writes has the same name as what Python does."""
    out = fleet / "läke höme"
    words = ["-f", fleet / "manifests", "--snapshots", fleet / "snapshots", "--out", out, *DAY]
    conf = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": java_options}
    given = [f"--conf={name}={value}" for name, value in conf.items()]
    ran = subprocess.run(
        [sys.executable, "-m", "poolkeeper", "fleet", "snapshot", *map(str, words), *given],
        env={**os.environ, "LC_ALL": "C", "PYTHONPATH": str(Path(poolkeeper.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    lake = Lake(ArrowObjects(root_of(out)))
    found = lake.current("snapshot", cases.DAY)
    assert (sorted(found), lake.whole(found)) == (list(NAMES), found)


class Full(ArrowObjects):
    """A store that deletes, and takes nothing."""

    def put(self, path: str, body: bytes) -> None:
        raise Unavailable(f"{self.root}/{path}: cannot be written: it is full")


@pytest.mark.parametrize("where", ["a-folder", "a-bucket"])
def test_what_cannot_be_replaced_stays(where: str, tmp_path: Path, s3: Bucket) -> None:
    root, storage = root_of(tmp_path), Storage()
    if where == "a-bucket":
        root, storage = s3.uri("lake"), Storage.of(s3.hadoop())
    objects = ArrowObjects(root, storage)
    replace_object(objects, "report.html", b"of the morning")
    with pytest.raises(Unavailable, match="it is full"):
        replace_object(Full(root, storage), "report.html", b"of the evening")
    assert objects.read("report.html") == b"of the morning"
    replace_object(objects, "report.html", b"of the evening")
    assert objects.read("report.html") == b"of the evening"


def test_what_a_store_does_not_open_is_no_damage(s3: Bucket) -> None:
    path = "plans/day=2026-03-01/run=r/part-00000-x.parquet"
    versions = {"plans": str(schemas.PLANS.version)}
    entry = ClusterEntry("a", "r", "", versions=versions, files=(TableFile("plans", path, 3),))
    for body in (None, b"abc"):
        if body:
            ArrowObjects(s3.uri("lake"), Storage.of(s3.hadoop())).put(path, body)
        with pytest.raises(DamagedFile, match=re.escape(path)):
            Reader(s3.uri("lake"), Storage.of(s3.hadoop())).rows(entry, schemas.PLANS)
    stranger = Storage.of(replace(s3, secret="another-one").hadoop())
    with pytest.raises(Unavailable, match=re.escape(f"{path}: cannot be read: ")):
        Reader(s3.uri("lake"), stranger).rows(entry, schemas.PLANS)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_a_store_is_reached_by_the_environment_alone(
    variable: str, s3: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    ArrowObjects(s3.uri("lake"), Storage.of(s3.hadoop())).put("a", b"body")
    monkeypatch.setenv(variable, f"http://{s3.server.address}/")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.access)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.secret)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    assert ArrowObjects(s3.uri("lake")).read("a") == b"body"
