"""The whole path of a fleet on a real object store: the same plans as on a folder, to the byte."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from fleet import cases
from fleet.conftest import DAY
from fleet.in_process import InProcess
from fleet.test_s3 import session, use
from matrices import soak
from poolkeeper.cli import main
from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from s3_server import Bucket

__all__ = ["session"]

DAMAGES: dict[tuple[str, str], Callable[[bytes], bytes | None]] = {
    ("snapshot", "partitions"): lambda body: body[: len(body) // 2],
    ("features", "features"): lambda body: bytes(len(body)),
    ("plan", "stages"): lambda _: b"",
    ("plan", "moves"): lambda _: None,
}
STEPS = ("snapshot", "features", "plan", "budget", "report")


@pytest.fixture
def run(capsys, session: SparkSession):
    """Commands as people give them, with the session of these tests."""

    def call(folder: Path, out: str, *words: object) -> tuple[int, dict, str]:
        given = ("-f", folder / "manifests", "--snapshots", folder / "snapshots", "--out", out)
        code = main.main([str(w) for w in ("fleet", "run", *given, *DAY, "-o", "json", *words)])
        captured = capsys.readouterr()
        steps = json.loads(captured.out).get("steps", ()) if captured.out else ()
        return code, {each["step"]: each for each in steps}, captured.err or captured.out

    return call


def plans(steps: dict) -> dict[str, str]:
    return {each["cluster"]: each["hash"] for each in steps["plan"]["clusters"]}


@pytest.mark.parametrize("mended", [False, *soak(True)], ids=["whole-or-refused", "and-mended"])
def test_all_steps_on_an_object_store(
    fleet: Path,
    run,
    session: SparkSession,
    s3: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    mended: bool,
) -> None:
    use(session, s3)
    with monkeypatch.context() as in_process:
        in_process.setattr(engines, "open_engine", InProcess.opened)
        code, here, _ = run(fleet, str(fleet / "out"))
    assert code == 0
    code, there, err = run(fleet, s3.uri("lake"))
    assert (code, tuple(there)) == (0, STEPS), err
    assert plans(there) == plans(here)
    assert {**there["budget"], "out": ""} == {**here["budget"], "out": ""}
    code, again, err = run(fleet, s3.uri("lake"))
    assert code == 0, err
    assert not any(each["made"] for step in STEPS[:3] for each in again[step]["clusters"])
    with s3.files().open_input_file(s3.path("lake", f"report-{cases.DAY}.html")) as page:
        assert b"east" in page.read()
    partitions = ds.dataset(
        s3.path("lake", "partitions"), filesystem=s3.files(), partitioning="hive"
    ).to_table(columns=["cluster", "day"])
    assert partitions.group_by(["cluster", "day"]).aggregate([([], "count_all")]).num_rows == 2
    # What is half written, and a store that takes nothing in mid-run.
    lake = Lake(ArrowObjects(s3.uri("lake"), Storage.of(s3.hadoop())))
    spoil(lake, s3)
    published = {step: lake.objects.children(f"current/step={step}") for step in STEPS}
    with refusing(s3):
        code, steps, err = run(fleet, s3.uri("lake"))
        assert (code, steps) == (Unavailable.exit_code, {}), err
        assert (err.count("\n"), s3.uri("lake") in err) == (1, True), err
    assert {step: lake.objects.children(f"current/step={step}") for step in STEPS} == published
    if mended:
        code, again, err = run(fleet, s3.uri("lake"))
        assert code == 0, err
        assert plans(again) == plans(there)
        assert {**again["budget"], "out": ""} == {**there["budget"], "out": ""}


def spoil(lake: Lake, s3: Bucket) -> None:
    """Tables that are cut off, garbled, empty or gone, as their objects' files."""
    spoilt = set()
    for (step, table), damage in DAMAGES.items():
        for file in cases.entry(lake, step, "east").files:
            if file.table == table:
                spoilt.add((step, table))
                place = s3.folder / "lake" / file.path
                body = damage(place.read_bytes())
                place.unlink()
                if body is not None:
                    place.write_bytes(body)
    assert spoilt == DAMAGES.keys()


@contextmanager
def refusing(s3: Bucket) -> Iterator[None]:
    """The store takes nothing for the time of the block."""
    s3.server.stop()
    s3.server.start(read_only=True)
    try:
        yield
    finally:
        s3.server.stop()
        s3.server.start()


def test_a_wrong_secret_or_bucket_is_one_clear_error(
    fleet: Path, run, session: SparkSession, s3: Bucket
) -> None:
    for bucket in (s3.wrong_secret(), s3.wrong_bucket()):
        use(session, bucket)
        code, steps, err = run(fleet, bucket.uri("lake"))
        assert (code, steps) == (3, {})
        assert err.count("\n") <= 2
        assert bucket.uri("lake") in err
        assert "Traceback" not in err
        assert "secret" not in err.lower()
