"""Rows between tasks and tables: what is put down, what is taken back, what shares a file."""

from pathlib import Path

import pyarrow as pa
import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import results
from poolkeeper.fleet.engines.results import ClusterOutcome
from poolkeeper.fleet.lake import attempts
from poolkeeper.fleet.lake.attempts import AttemptFiles, Destination, rows_of_attempt
from poolkeeper.fleet.lake.entries import TableFile
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import StoredObject
from poolkeeper.fleet.storage import parquet, schemas


def rows(count: int) -> pa.Table:
    return parquet.from_rows(schemas.REQUESTS, [("t", n, (n, n + 1)) for n in range(count)])


def destination(lake: Lake, run: str = "r") -> Destination:
    return Destination(lake.root, Storage(), run, "2026-03-01")


def test_rows_of_small_clusters_share_batches_and_come_back_in_order(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "BATCH_ROWS", 8)
    files, into = AttemptFiles(destination(lake), 7), destination(lake)
    for name, count in (("a", 3), ("b", 0), ("c", 5), ("d", 1), ("e", 20), ("f", 1)):
        files.add(name, {"requests": rows(count)})
    attempt = files.close()
    assert attempt.startswith("00007-")
    (there,) = lake.objects.files("")
    assert there.path == f"attempts/r/requests/{attempt}.arrow"
    batches = list(rows_of_attempt(into, "requests", attempt))
    assert all(each.num_rows <= 16 for each in batches)
    assert batches[0].column("cluster").to_pylist() == ["a"] * 3 + ["c"] * 5
    found = pa.Table.from_batches(batches)
    assert found.schema == parquet.stored_schema(schemas.REQUESTS)
    assert found.select(rows(0).column_names).slice(9, 20) == rows(20)


def test_tables_without_rows_have_no_file(lake: Lake) -> None:
    files = AttemptFiles(destination(lake), 0)
    files.add("a", {"requests": rows(0)})
    files.close()
    assert not lake.objects.files("")


def test_what_an_attempt_takes_back_is_gone(lake: Lake) -> None:
    files = AttemptFiles(destination(lake), 0)
    files.add("a", {"requests": rows(attempts.BATCH_ROWS)})
    assert lake.objects.files("attempts")
    files.abandon()
    assert not lake.objects.files("attempts")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "attempts").write_text("a file where a folder should be")
    into = Destination(f"file://{tmp_path}", Storage(), "r", "2026-03-01")
    files = AttemptFiles(into, 0)
    files.add("a", {"requests": rows(1)})
    with pytest.raises(Unavailable, match=r"/attempts/r/requests/.*: cannot be written: "):
        files.close()
    files.abandon()


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_rows_that_cannot_be_read_are_named(damage: str, lake: Lake) -> None:
    files, into = AttemptFiles(destination(lake), 0), destination(lake)
    files.add("a", {"requests": rows(100)})
    attempt = files.close()
    root = local_path(lake.root)
    assert root is not None
    file = root / into.attempt("requests", attempt)
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-200])
    else:
        file.unlink()
    with pytest.raises(Unavailable, match=r"/attempts/r/requests/.*: cannot be read: "):
        list(rows_of_attempt(into, "requests", attempt))


def outcome(name: str, attempt: str, **of_tables: int) -> ClusterOutcome:
    kept = (TableFile("samples", "kept.parquet", 1),) if name == "a" else ()
    return ClusterOutcome(name, rows=of_tables, attempt=attempt, files=kept)


def test_attempts_with_few_rows_share_a_file_and_clusters_know_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results, "FILE_ROWS", 10)
    outcomes = [
        outcome("b", "00000-x", moves=100, steps=0),
        outcome("a", "00001-y", moves=3, steps=1),
        outcome("c", "00001-y", moves=2, steps=2),
        outcome("d", "00002-z", moves=4),
        outcome("e", "00003-z"),
    ]
    writes = results.table_writes(outcomes)
    assert [(each.table.name, each.attempts, each.slots) for each in writes] == [
        ("moves", ("00000-x", "00001-y", "00002-z"), (0, 1, 1)),
        ("steps", ("00001-y",), (0,)),
    ]
    written = {
        "moves": [StoredObject(f"m/part-0000{n}-id.parquet", bytes=n) for n in (1, 0)],
        "steps": [StoredObject("s/part-00000-id.parquet", bytes=7)],
    }
    found = {each.cluster: each.files for each in results.with_files(outcomes, writes, written)}
    shared, steps = TableFile("moves", "m/part-00001-id.parquet", 1), "s/part-00000-id.parquet"
    assert found == {
        "a": (shared, TableFile("steps", steps, 7), TableFile("samples", "kept.parquet", 1)),
        "b": (TableFile("moves", "m/part-00000-id.parquet", 0),),
        "c": (shared, TableFile("steps", steps, 7)),
        "d": (shared,),
        "e": (),
    }
