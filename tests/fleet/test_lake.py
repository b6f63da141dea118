"""What counts is published at once; what does not count is never seen, and swept."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import cluster_spec
from fleet.conftest import lake_at
from fleet.lake_runs import DAY, FILE, begun, entry, file_of, later, written
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake import entries, manifests
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.fleet.lake.versions import RowVersions
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.model.desired import Desired


def test_what_is_published_comes_back_whole(lake: Lake) -> None:
    run = begun(lake)
    files = (file_of(run), file_of(run))
    wanted = ClusterEntry("a", run.id, "i", "failed", "why", {"hash": "h"}, {"plans": "1"}, files)
    lake.publish(run, [entry("b", run), wanted])
    assert lake.current("plan", DAY) == {"a": wanted, "b": entry("b", run)}
    assert (lake.days("plan"), lake.current("plan", "2026-03-02")) == ((DAY,), {})
    assert lake.objects.children("runs") == []


def test_a_day_on_which_nothing_counts_is_none_of_the_latest(lake: Lake) -> None:
    run = begun(lake)
    lake.publish(run, [entry("a", run)])
    for day in ("2026-02-27", "2026-02-28", "2026-03-02"):
        other = lake.begin("plan", day, (schemas.PLANS,))
        lake.publish(other, [entry("a", other)])
    lake.drop("plan", "2026-03-02", ["a"], (schemas.PLANS,))
    folder = local_path(lake.root) / "current" / "step=plan"
    for name in ("2026-03-03", "2026-03-04", "x"):
        (folder / f"day={name}").mkdir()
    part = folder / "day=2026-03-04" / ".000001772582400000.parquet.17.part"
    part.write_bytes(b"PAR1")  # of a process that was killed
    (folder / "day=2026-03-05").write_bytes(b"")
    (damaged,) = (folder / "day=2026-02-28").iterdir()
    damaged.write_bytes(b"PAR1")
    assert list(lake.latest_days("plan")) == [DAY, "2026-02-28", "2026-02-27"]
    assert list(lake.latest_days("plan", before=DAY)) == ["2026-02-28", "2026-02-27"]


def test_the_last_one_published_counts_even_if_the_clock_went_back(lake: Lake) -> None:
    first, second = begun(lake), begun(lake)
    later(lake, 5).publish(first, [entry("a", first)])
    lake.publish(second, [entry("a", second)])
    assert lake.current("plan", DAY) == {"a": entry("a", second)}


def test_a_killed_run_is_not_seen_and_swept_after_the_grace_time(lake: Lake) -> None:
    whole = begun(lake)
    lake.publish(whole, [entry("a", whole)])
    killed = begun(lake)
    assert lake.current("plan", DAY) == {"a": entry("a", whole)}
    assert later(lake, 23).sweep() == ()
    assert written(lake, killed)
    assert later(lake, 25).sweep() == (killed.id,)
    assert (written(lake, killed), written(lake, whole)) == (False, True)
    assert lake.objects.children("runs") == []


def test_a_run_that_works_is_not_swept(lake: Lake) -> None:
    working = begun(lake)
    now = replace(lake, grace_s=-1.0)  # whatever is there is old
    lake.touch(working)
    assert lake.sweep() == ()
    assert now.sweep() == (working.id,)


def test_a_run_that_was_swept_while_it_stood_still_hides_nothing(lake: Lake) -> None:
    """A machine that sleeps over night; another one has done the work meanwhile."""
    slow, quick = begun(lake), begun(lake)
    counting = {"a": entry("a", quick, files=(file_of(quick),))}
    lake.publish(quick, counting.values())
    assert later(lake, 25).sweep() == (slow.id,)
    lake.touch(slow)
    made = [entry(name, slow, files=(file_of(slow),)) for name in ("a", "b")]
    with pytest.raises(Unavailable, match="what this run has written of a, b is gone"):
        lake.publish(slow, made)
    assert lake.current("plan", DAY) == counting
    assert later(lake, 50).sweep() == (slow.id,)


def test_what_a_task_puts_down_after_its_run_is_over_is_swept(lake: Lake) -> None:
    published, working = begun(lake), begun(lake)
    lake.publish(published, [entry("a", published)])
    for run in (published, working):
        lake.objects.put(f"attempts/{run.id}/moves/00000-x.arrow", b"abc")
    assert later(lake, 23).sweep() == ()
    assert len(lake.objects.files("attempts")) == 2
    assert later(lake, 25).sweep() == (working.id,)
    assert lake.objects.files("attempts") == []
    assert written(lake, published)


def test_what_other_tools_leave_among_attempts_stays_and_stops_nobody(lake: Lake) -> None:
    """A Mac that has looked into the folder, a file server's own, a person's note."""
    left = [f"attempts/{name}" for name in (".DS_Store", ".snapshot/x", "README.txt", "old/x")]
    for path in left:
        lake.objects.put(path, b"")
    assert later(lake, 25).sweep() == ()
    assert [file.path for file in lake.objects.files("attempts")] == sorted(left)


def test_attempts_of_a_run_that_works_are_not_swept(lake: Lake) -> None:
    working = begun(lake)
    lake.objects.put(f"attempts/{working.id}/moves/00000-x.arrow", b"abc")
    old = replace(lake, grace_s=-1.0)  # whatever is there is old
    late = lake.objects.read(f"runs/{working.id}.json")
    lake.objects.delete(f"runs/{working.id}.json")
    assert lake.sweep() == ()
    assert lake.objects.files("attempts"), "without a mark, but new"
    lake.objects.put(f"runs/{working.id}.json", late or b"")
    assert old.sweep() == (working.id,)


def test_a_run_that_is_replaced_altogether_is_swept_and_one_in_part_is_not(lake: Lake) -> None:
    first, second, third = begun(lake), begun(lake), begun(lake)
    lake.publish(first, [entry("a", first), entry("b", first)])
    lake.publish(second, [entry("a", second), entry("b", first)])
    assert later(lake, 25).sweep() == (third.id,)
    assert written(lake, first)
    fourth = begun(lake)
    lake.publish(fourth, [entry("a", fourth), entry("b", second)])
    assert later(lake, 25).sweep() == (first.id,)
    assert [written(lake, run) for run in (first, second, fourth)] == [False, True, True]


def test_the_driver_dies_between_the_mark_of_a_replaced_run_and_the_publication(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = begun(lake), begun(lake)
    lake.publish(first, [entry("a", first)])
    with monkeypatch.context() as patched:
        patched.setattr(RowVersions, "_put", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            lake.publish(second, [entry("a", second)])
    assert lake.current("plan", DAY) == {"a": entry("a", first)}
    assert later(lake, 25).sweep() == (second.id,)
    assert written(lake, first)
    assert lake.objects.children("runs") == []


@pytest.mark.parametrize("is_there", [True, False], ids=["damaged", "deleted"])
def test_runs_that_only_a_damaged_or_deleted_current_named_are_swept(
    is_there: bool, lake: Lake
) -> None:
    first, second = begun(lake), begun(lake)
    lake.publish(first, [entry("a", first)])
    lake.publish(second, [entry("a", second), entry("b", second)])
    (_, last) = lake.objects.children(f"current/step=plan/day={DAY}")
    if is_there:
        place = local_path(lake.root) / last.path
        place.write_bytes(b"no parquet")
    else:
        lake.objects.delete(last.path)
    assert later(lake, 25).sweep() == ()
    assert written(lake, first), "the version before counts for the next run"
    elsewhere = lake.begin("plan", "2026-03-02", (schemas.PLANS,))
    lake.objects.put(f"{elsewhere.folder(schemas.PLANS)}/part-00000-x.parquet", b"abc")
    working, third = begun(lake), begun(lake)
    lake.publish(third, [entry("a", third), entry("b", third)])
    assert set(later(lake, 23).sweep()) == set()
    lake.touch(elsewhere)
    swept = {first.id, second.id, working.id, elsewhere.id}
    assert set(later(lake, 25).sweep()) == swept
    runs = (first, second, working, elsewhere, third)
    assert [run for run in runs if written(lake, run)] == [third]
    assert lake.objects.children("runs") == []


def test_a_run_whose_mark_nobody_can_read_is_swept_too(lake: Lake) -> None:
    killed, next_one = begun(lake), begun(lake)
    (local_path(lake.root) / f"runs/{killed.id}.json").write_bytes(b"{")
    assert later(lake, 25).sweep() == (next_one.id,)
    last = begun(lake)
    lake.publish(last, [entry("a", last)])
    assert later(lake, 25).sweep() == (killed.id,)
    assert [written(lake, run) for run in (killed, last)] == [False, True]


def test_what_is_half_written_is_swept(lake: Lake) -> None:
    run = begun(lake)
    lake.publish(run, [entry("a", run)])
    folders = ("runs", f"current/step=plan/day={DAY}", "manifests")
    parts = [local_path(lake.root) / folder / ".x.json.17.part" for folder in folders]
    for part in parts:
        part.parent.mkdir(exist_ok=True)
        part.write_bytes(b"{")

    def publish(at: Lake, run: StepRun) -> None:
        at.sweep()
        at.publish(run, [entry("a", run)])
        manifests.write(at, [Desired(cluster_spec(f"c-{run.id[-6:]}"))])

    publish(lake, begun(lake))
    assert all(part.exists() for part in parts), "whoever writes it may be at it"
    publish(later(lake, 25), begun(lake))
    assert not any(part.exists() for part in parts)


def test_entries_of_files_that_are_gone_or_shorter_are_not_whole(lake: Lake) -> None:
    run = begun(lake)
    path = f"{run.folder(schemas.PLANS)}/part-00000-x.parquet"
    found = {
        name: entry(name, run, files=(TableFile("plans", at, size),))
        for name, at, size in (("a", path, 3), ("b", path, 4), ("c", f"{path}.gone", 3))
    }
    assert lake.whole({**found, "d": entry("d", run)}).keys() == {"a", "d"}


def test_what_a_damaged_file_holds_is_made_again(lake: Lake) -> None:
    run = begun(lake)
    file = file_of(run)
    lake.publish(run, [entry("a", run, files=(file,)), entry("b", run)])
    assert lake.distrust("plan", DAY, [file.path]) == ("a",)
    assert {name: e.input for name, e in lake.current("plan", DAY).items()} == {
        "a": "",
        "b": "sha256:1",
    }


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(("plan", "2026-02-28", "plans"), id="another-day"),
        pytest.param(("budget", DAY, "budgets"), id="another-step"),
        pytest.param(("plan", DAY, "budgets"), id="a-table-that-the-step-does-not-write"),
    ],
)
def test_current_rows_that_were_copied_from_elsewhere_do_not_count(
    of: tuple[str, str, str], lake: Lake
) -> None:
    """They would be that day's plans, or a budget of nothing; the version before counts on."""
    step, day, table = of
    run, other = begun(lake), StepRun("other", step, day, (table,))
    lake.publish(run, [entry("a", run, files=(file_of(run),))])
    file = TableFile(table, f"{other.folder(table)}/part-00000-x.parquet", 3)
    body = entries.to_bytes([entry("a", other, files=(file,))], 0)
    lake.objects.put(f"current/step=plan/day={DAY}/{10**14}.parquet", body)
    with pytest.raises(DamagedFile, match=re.escape(f"{file.path} is none of a")):
        lake.current("plan", DAY)
    assert lake.readable("plan", DAY).keys() == {"a"}
    lake.publish(run, [entry("b", run)])
    assert lake.current("plan", DAY) == {
        "a": entry("a", run, files=(file_of(run),)),
        "b": entry("b", run),
    }


@pytest.mark.parametrize("rows", [1, 3, 4, 100])
def test_the_rows_of_a_cluster_among_others(rows: int, lake: Lake) -> None:
    long = "x" * 80
    names = ["a", "a", "b", "b", "b", long, long + "2"]
    content = pa.concat_tables(
        parquet.with_cluster(
            schemas.REQUESTS, name, parquet.from_rows(schemas.REQUESTS, [("t", n, (n,))])
        )
        for n, name in enumerate(names)
    )
    path = local_path(lake.root) / "requests" / "part-00000-x.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(content, path, row_group_size=rows)
    file = TableFile("requests", "requests/part-00000-x.parquet", path.stat().st_size)
    reader = Reader(lake.root, Storage())
    for name in (*names, "aa"):
        found = reader.rows(
            ClusterEntry(name, "r", "i", versions={"requests": "1"}, files=(file,)),
            schemas.REQUESTS,
        )
        numbers = [n for n, other in enumerate(names) if other == name]
        assert found.column("partition").to_pylist() == numbers
        assert found.column_names == [column.name for column in schemas.REQUESTS.columns]


def test_a_table_of_another_version_is_refused() -> None:
    other = ClusterEntry("a", "r", "i", versions={"plans": "7"}, files=(FILE,))
    with pytest.raises(Refused, match=r"version 7 \(expected version 1\)"):
        other.of_table(schemas.PLANS)
    assert other.of_table(schemas.MOVES) == ()


def test_a_folder_of_an_earlier_layout_is_refused(tmp_path: Path) -> None:
    (tmp_path / "clusters" / "cluster=main").mkdir(parents=True)
    with pytest.raises(Refused, match="an earlier layout"):
        lake_at(tmp_path).check()


def test_marks_that_nobody_can_read_are_left_alone(lake: Lake) -> None:
    lake.objects.put("runs/x.json", json.dumps({"id": 1}).encode())
    assert later(lake, 99).sweep() == ()


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("manifests/1.parquet", "fleet snapshot -f DIR --out URI` writes it again"),
        ("plans/day=2026-03-01/run=x/a.parquet", "fleet plan --out URI --day 2026-03-01` makes it"),
        (
            "partitions/day=2026-03-01/run=x/a.parquet",
            "fleet snapshot -f DIR --out URI --day 2026-03-01` makes it again, of a past day with"
            " `--snapshots URI`",
        ),
    ],
)
def test_a_damaged_file_names_the_command_with_the_options_that_it_needs(
    path: str, command: str
) -> None:
    assert f"`poolkeeper {command}" in str(DamagedFile(path, "gone"))


MARK = {"id": "b", "step": "plan", "day": DAY, "tables": ["plans"]}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps(MARK | {"day": 5}), id="day-is-a-number"),
        pytest.param(json.dumps(MARK | {"day": "foo"}), id="no-day"),
        pytest.param(json.dumps(MARK | {"id": ["x"]}), id="id-is-a-list"),
        pytest.param(json.dumps(MARK | {"id": "r"}), id="id-of-another-run"),
        pytest.param(json.dumps(MARK | {"step": "fly"}), id="no-step"),
        pytest.param(json.dumps(MARK | {"step": ["plan"]}), id="step-is-a-list"),
        pytest.param(json.dumps(MARK | {"tables": ["../elsewhere"]}), id="no-table"),
        pytest.param(json.dumps(MARK | {"tables": [["plans"]]}), id="table-is-a-list"),
        pytest.param(json.dumps([MARK]), id="a-list"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("\udcff", id="no-text"),
    ],
)
def test_marks_of_somebody_else_are_left_alone(body: str, lake: Lake) -> None:
    run = begun(lake)
    lake.publish(run, [entry("a", run)])
    lake.objects.put("runs/b.json", body.encode(errors="surrogateescape"))
    lake.objects.put("runs/old/b.json", b"{}")
    assert later(lake, 99).sweep() == ()
    assert [each.name for each in lake.objects.children("runs")] == ["b.json", "old"]
    assert written(lake, run)
