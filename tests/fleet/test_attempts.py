"""Files that tasks write: row groups, what is taken back, what never comes into a table."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake import attempts
from poolkeeper.fleet.lake.attempts import AttemptFiles, Destination
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.storage import parquet, schemas


def rows(count: int) -> pa.Table:
    return parquet.from_rows(schemas.REQUESTS, [("t", n, (n, n + 1)) for n in range(count)])


def destination(lake: Lake, run: str = "r") -> Destination:
    return Destination(lake.root, Storage(), run)


def opened(lake: Lake, path: str) -> pq.ParquetFile:
    root = local_path(lake.root)
    assert root is not None
    return pq.ParquetFile(root / path, page_checksum_verification=True)


def test_small_clusters_share_row_groups_and_a_large_one_has_its_own(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "OWN_GROUP_ROWS", 10)
    monkeypatch.setattr(attempts, "SHARED_GROUP_ROWS", 8)
    files = AttemptFiles(destination(lake), 7)
    for name, count in (("a", 3), ("b", 0), ("c", 5), ("d", 1), ("e", 10), ("f", 1)):
        files.add(name, {"requests": rows(count)})
    found = files.close()["requests"]
    assert found.path.startswith("attempts/r/requests/00007-")
    written = opened(lake, found.path)
    groups = [written.read_row_group(n) for n in range(written.num_row_groups)]
    assert [g.column("cluster").unique().to_pylist() for g in groups] == [
        ["a", "c"],
        ["d"],
        ["e"],
        ["f"],
    ]
    assert pa.concat_tables(groups).select(rows(0).column_names).slice(9, 10) == rows(10)
    assert lake.objects.files("attempts")[0].bytes == found.bytes


def test_tables_without_rows_have_no_file(lake: Lake) -> None:
    files = AttemptFiles(destination(lake), 0)
    files.add("a", {"requests": rows(0)})
    assert files.close() == {}
    assert not lake.objects.files("")


def test_what_an_attempt_takes_back_is_gone(lake: Lake) -> None:
    files = AttemptFiles(destination(lake), 0)
    files.add("a", {"requests": rows(attempts.OWN_GROUP_ROWS)})
    assert lake.objects.files("attempts")
    files.abandon()
    assert not lake.objects.files("attempts")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "attempts").write_text("a file where a folder should be")
    files = AttemptFiles(Destination(f"file://{tmp_path}", Storage(), "r"), 0)
    files.add("a", {"requests": rows(1)})
    with pytest.raises(Unavailable, match=r"/attempts/r/requests/.*: cannot be written: "):
        files.close()
    files.abandon()


def test_files_that_are_named_come_into_the_run_and_all_others_go(lake: Lake) -> None:
    run = lake.begin("plan", "2026-03-01", (schemas.PLANS,))
    made = []
    for _ in range(2):
        files = AttemptFiles(destination(lake, run.id), 3)
        files.add("a", {"plans": rows_of_plans()})
        made.append(files.close()["plans"])
    (place,) = lake.adopt(run, [made[1], made[1]]).values()
    assert place == made[1]._replace(path=place.path)
    assert place.path.startswith(f"{run.folder(schemas.PLANS)}/part-00003-")
    assert [each.path for each in lake.objects.files("plans")] == [place.path]
    assert not lake.objects.files("attempts")
    assert lake.adopt(run, [place]) == {place: place}


def rows_of_plans() -> pa.Table:
    return parquet.table_of(schemas.PLANS, {"status": ["ok"]})
