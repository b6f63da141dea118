"""Whatever file of the lake is damaged, and however: who reads it says so, and it is made again.

A reader never ends without a word: it has a row, a gap of the report, or one line of an error that
names the file and the command that makes it again. That command, or `fleet run`, gives what was
there.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fleet import cases
from fleet.conftest import lake_at
from fleet.damages import (
    DAMAGES,
    Damage,
    a_folder,
    cut_off,
    emptied,
    garbled,
    gone,
    of_another_schema,
    spoil,
)
from fleet.in_process import InProcess
from fleet.whole_fleet import CODE, DAY, contents, made, whole, words
from matrices import soak
from poolkeeper.cli import main
from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake import entries, manifests
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.lake.steps import STEP_OF, TABLES_OF
from poolkeeper.fleet.stages import waves
from poolkeeper.fleet.storage import schemas

__all__ = ["made", "whole"]

ABSENT = {"samples"}
"""Written and read within one step, for clusters with a Prometheus (`test_fleet_prometheus`)."""
UNREAD = ("broker_features", *(table.name for table in TABLES_OF["report"]), "current/step=report")
"""For SQL alone."""


@pytest.fixture
def out(whole: Path, tmp_path: Path) -> Path:
    """The same, to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "out", copy_function=os.link))


def told_of_damage(err: str) -> str:
    """The lines that do not merely say that the budget leaves something out."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if "the budget has no time" not in line)


def files_of(lake: Lake, table: str) -> list[str]:
    """The files of that table that count."""
    if table == schemas.MANIFESTS.name:
        return [each.path for each in lake.objects.children(table)]
    if table.startswith(f"{schemas.CURRENT.name}/"):
        return [each.path for each in lake.objects.files(table)][-1:]
    found = lake.current(STEP_OF[table], DAY).values()
    return sorted({file.path for e in found for file in e.of_table(schemas.TABLES[table])})


READERS = {
    "snapshot": ("features --again", "plan --again", "report"),
    "features": ("plan --again", "report"),
    "plan": ("show", "report", "budget --clusters-at-once 1"),
    "budget": ("report", "budget"),
    "report": ("report",),
    "manifests": ("features", "plan", "report", "budget"),
}
"""By the step that writes tables, the commands that read them."""
TABLES = {
    **{table.name: step for step, tables in TABLES_OF.items() for table in tables},
    **{f"{schemas.CURRENT.name}/step={step}/day={DAY}": step for step in TABLES_OF},
    schemas.MANIFESTS.name: "manifests",
}
MATRIX = [
    (table, DAMAGES[number % len(DAMAGES)])
    for number, table in enumerate(sorted(TABLES.keys() - ABSENT))
    if number % 2 or table == schemas.MANIFESTS.name
]
REST = [
    (table, damage)
    for table in sorted(TABLES.keys() - ABSENT)
    for damage in DAMAGES
    if (table, damage) not in MATRIX
]


def test_every_table_has_rows(whole: Path) -> None:
    lake = lake_at(whole)
    assert [table for table in sorted(TABLES.keys() - ABSENT) if not files_of(lake, table)] == []


@pytest.mark.parametrize(("table", "damage"), [*MATRIX, *soak(*REST)])
def test_a_damaged_file_is_told_and_made_again(
    table: str, damage: Damage, made: Path, whole: Path, out: Path, capsys, without_spark
) -> None:
    lake = lake_at(out)
    wanted = contents(lake)
    path = files_of(lake, table)[0]
    spoil(out / path, damage)
    told = ""
    for reader in READERS[TABLES[table]]:
        step, *again = reader.split()
        code = main.main([*words(made, out, step), *again])
        captured = capsys.readouterr()
        assert code in (0, 1, 4), captured.err
        assert "internal error" not in captured.err
        assert (code == 0) == (not captured.err), captured.err
        assert damage is gone or code or path not in captured.err
        told += told_of_damage(captured.err)
    if table.startswith(UNREAD):
        assert not told
        # Nobody has noticed; who has, by SQL, says so.
        assert main.main([*words(made, out, "features"), "--again"]) == 0
    elif damage not in (gone, a_folder) or "run=" in path:  # else there is one version less
        assert path in told
        assert f"poolkeeper fleet {TABLES[table].replace('manifests', 'snapshot')}" in told
    for _ in range(2):
        code = main.main(words(made, out, "run"))
        told = told_of_damage(capsys.readouterr().err)
        if not told:
            break
    assert (code, told) == (4, "")
    assert contents(lake) == wanted


def changed_file(out: Path, path: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Write a file anew, with the length that what counts of its table says."""
    table = change(pq.read_table(pa.BufferReader((out / path).read_bytes())))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    body = sink.getvalue().to_pybytes()
    spoil(out / path, lambda _: body)
    lake = lake_at(out)
    (current,) = files_of(lake, f"{schemas.CURRENT.name}/step={STEP_OF[path.split('/')[0]]}")
    said = lake.current(STEP_OF[path.split("/")[0]], DAY).values()
    sized = [
        replace(
            e, files=tuple(f._replace(bytes=len(body)) if f.path == path else f for f in e.files)
        )
        for e in said
    ]
    spoil(out / current, lambda _: entries.to_bytes(sized, int(Path(current).stem)))


def holding(name: str, value: object) -> Callable[[pa.Table], pa.Table]:
    """All rows with that value in a column."""

    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        kind = table.schema.field(name).type
        column = pa.array([value] * table.num_rows, kind)
        return table.set_column(place, pa.field(name, kind), column)

    return change


def half(table: pa.Table) -> pa.Table:
    return table.slice(0, table.num_rows // 2)


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


@pytest.mark.parametrize(
    ("table", "change", "reader"),
    [
        pytest.param("partitions", half, "plan --again", id="half-of-the-partitions"),
        pytest.param("brokers", half, "plan --again", id="half-of-the-brokers"),
        pytest.param("brokers", twice, "plan --again", id="brokers-twice"),
        pytest.param("topics", half, "plan --again", id="half-of-the-topics"),
        pytest.param(
            "partitions", holding("replicas", [1, None]), "report", id="a-replica-that-is-null"
        ),
        pytest.param("partitions", holding("bytes", 2**63 - 1), "report", id="a-size-of-63-bits"),
        pytest.param("partitions", holding("bytes", -5), "plan --again", id="a-size-below-zero"),
        pytest.param("features", holding("p95", float("inf")), "plan --again", id="infinite"),
        pytest.param("features", holding("last", -1.0), "plan --again", id="negative"),
        pytest.param("features", holding("p95", float("nan")), "plan --again", id="no-number"),
        pytest.param("clusters", holding("read_ms", 2**63 - 1), "report", id="a-year-too-far"),
        pytest.param("plans", holding("moves", None), "report", id="a-plan-without-a-count"),
        pytest.param("moves", holding("urgency", -1), "show", id="no-urgency"),
        pytest.param("budgets", holding("begin_ms", -(2**63)), "report", id="before-all-years"),
    ],
)
@pytest.mark.usefixtures("without_spark")
def test_rows_that_no_run_writes_are_told_and_made_again(
    table: str, change: Callable[[pa.Table], pa.Table], reader: str, made: Path, out: Path, capsys
) -> None:
    lake = lake_at(out)
    wanted = contents(lake)
    path = files_of(lake, table)[0]
    changed_file(out, path, change)
    step, *again = reader.split()
    assert main.main([*words(made, out, step), *again]) in (1, 4)
    told = capsys.readouterr().err
    assert f"{STEP_OF[table]}" in told
    assert "is damaged (" in told
    assert f"({path}: " not in told
    for _ in range(2):
        main.main(words(made, out, "run"))
    assert told_of_damage(capsys.readouterr().err) == ""
    assert contents(lake) == wanted


@pytest.mark.parametrize("table", [schemas.PARTITIONS.name, schemas.BALANCES.name])
def test_another_file_of_the_table_is_not_taken_for_its_own(
    table: str, made: Path, out: Path, capsys, without_spark
) -> None:
    """As one that a backup of another day put there: nothing is wrong with it but its length."""
    path = files_of(lake_at(out), table)[0]
    own = pq.read_table(pa.BufferReader((out / path).read_bytes()))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables([own, own.slice(0, 1)]), sink, compression="none")
    spoil(out / path, lambda _: sink.getvalue().to_pybytes())
    assert main.main(words(made, out, "report")) == 4
    assert f"{path} is damaged (it has " in capsys.readouterr().err


def changed_current(column: str, value: object) -> Damage:
    """An object of `current` or `manifests` with that value in all rows of a column."""

    def damage(body: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        pq.write_table(holding(column, value)(pq.read_table(pa.BufferReader(body))), sink)
        return sink.getvalue().to_pybytes()

    return damage


def doubled(body: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(twice(pq.read_table(pa.BufferReader(body))), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("folder", "damage"),
    [
        pytest.param("manifests", changed_current("desired", "{}"), id="another-declaration"),
        pytest.param("manifests", doubled, id="declared-twice"),
        pytest.param("current/step=plan", doubled, id="a-cluster-twice"),
        pytest.param("current/step=snapshot", changed_current("figures", []), id="without-figures"),
        pytest.param(
            "current/step=snapshot",
            changed_current("figures", [("read_ms", "y")]),
            id="figures-that-are-none",
        ),
        pytest.param(
            "current/step=plan",
            changed_current("files", [{"table": None, "path": None, "bytes": None}]),
            id="files-without-a-path",
        ),
    ],
)
def test_what_counts_is_checked_before_anything_is_made_of_it(
    folder: str, damage: Damage, made: Path, out: Path, capsys, without_spark
) -> None:
    lake = lake_at(out)
    wanted = contents(lake)
    path = [each.path for each in lake.objects.files(folder)][-1]
    spoil(out / path, damage)
    assert main.main(words(made, out, "report")) in (1, 4)
    assert f"{path} is damaged (" in capsys.readouterr().err
    for _ in range(2):
        main.main(words(made, out, "run"))
    assert told_of_damage(capsys.readouterr().err) == ""
    assert contents(lake) == wanted


@pytest.mark.parametrize("damage", [garbled, gone, *soak(cut_off, emptied, of_another_schema)])
def test_a_budget_without_the_stages_of_a_plan(
    damage: Damage, made: Path, out: Path, capsys, without_spark
) -> None:
    lake = lake_at(out)
    (file,) = cases.entry(lake, "plan", "west").of_table(schemas.STAGES)
    assert (file,) == cases.entry(lake, "plan", "east").of_table(schemas.STAGES), "small, so shared"
    spoil(out / file.path, damage)
    budget = [*words(made, out, "budget"), "--clusters-at-once", "1"]
    code = main.main([*budget, "-o", "json"])
    captured = capsys.readouterr()
    assert code == 4
    (step,) = json.loads(captured.out)["steps"]
    told = {each["cluster"]: each["message"] for each in step["missing"]}
    assert {each["reason"] for each in step["missing"]} == {"Damaged"}
    for message in told.values():
        assert message.startswith(f"a table of it cannot be read: {file.path} is damaged (")
        assert message.endswith(f"`poolkeeper fleet plan --out URI --day {DAY}` makes it again")
    lines = [f"warning: budget {name}: {told[name]}" for name in ("east", "west")]
    assert captured.err.splitlines() == lines
    assert main.main(budget) == 4  # as long as it is not made again
    assert main.main(words(made, out, "plan")) == 0
    capsys.readouterr()
    assert main.main(budget) == 4
    assert told_of_damage(capsys.readouterr().err) == ""


class ReadOnly(ArrowObjects):
    """Objects of a store in which one may not write."""

    def put(self, path: str, body: bytes) -> None:
        raise Unavailable(f"{path}: cannot be written: Permission denied")


@pytest.mark.parametrize("table", [schemas.MOVES.name, schemas.PARTITIONS.name])
def test_who_may_only_read_is_told_of_the_damage(table: str, out: Path) -> None:
    lake = Lake(ReadOnly(root_of(out)))
    path = files_of(lake, table)[0]
    spoil(out / path, garbled)
    if table == schemas.PARTITIONS.name:
        assert path in waves.plan_of(lake, InProcess.storage, DAY, "east").without
        return
    with pytest.raises(DamagedFile, match=re.escape(path)):
        waves.plan_of(lake, InProcess.storage, DAY, "east")


@pytest.mark.parametrize("table", ["current/step=snapshot", schemas.PARTITIONS.name])
def test_damage_of_an_earlier_day_stops_no_run(
    table: str, made: Path, out: Path, capsys, without_spark
) -> None:
    (path,) = files_of(lake_at(out), table)
    spoil(out / path, garbled)
    again = [*words(made, out, "run")[:-1], "2026-03-02"]
    assert main.main(again) in (0, 4)
    captured = capsys.readouterr()
    assert "features 2026-03-02: 2 of 2 clusters" in captured.out
    assert f"left out of the history: {path} is damaged (" in captured.err
    assert (
        f"`poolkeeper fleet snapshot -f DIR --out URI --day {DAY}` makes it again" in captured.err
    )


@pytest.mark.parametrize(
    "error",
    [
        pa.lib.ArrowMemoryError("malloc of size 64 failed"),
        pa.ArrowException(
            "Unknown error: Failed to launch worker thread: Resource temporarily unavailable"
        ),
    ],
    ids=["bytes", "threads"],
)
def test_too_little_memory_is_no_damage(
    error: Exception,
    made: Path,
    out: Path,
    capsys,
    monkeypatch: pytest.MonkeyPatch,
    without_spark,
) -> None:
    """Whatever is read, or how: nothing is made again but what failed."""

    def short(*_: object, **__: object) -> pa.Table:
        raise error

    lake = lake_at(out)
    before = {step: lake.current(step, DAY) for step in ("snapshot", "features")}
    with monkeypatch.context() as patched:
        patched.setattr(pq.ParquetFile, "read_row_group", short)
        assert main.main([*words(made, out, "plan"), "--again"]) == 1
    err = capsys.readouterr().err
    for name in ("east", "west"):
        assert f"plan {name}: there was not enough memory" in err
        assert not lake.current("plan", DAY)[name].input
    assert {step: lake.current(step, DAY) for step in before} == before
    with monkeypatch.context() as patched:
        patched.setattr(pq.ParquetFile, "read", short)
        for read in (lambda: lake.current("plan", DAY), lambda: manifests.read(lake)):
            with pytest.raises(MemoryError):
                read()
    assert main.main(words(made, out, "run")) == CODE
    assert contents(lake) == contents(lake_at(made / "out"))
