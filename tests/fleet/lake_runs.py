"""Runs of a lake's steps, by hand: what they write and publish, and a lake some hours later."""

from dataclasses import replace

from poolkeeper.fleet.lake.entries import ClusterEntry, TableFile
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.storage import schemas

DAY = "2026-03-01"
HOUR_MS = 3_600_000
FILE = TableFile("plans", f"plans/day={DAY}/run=r/part-00000-x.parquet", 3)


def entry(cluster: str, run: StepRun, **more: object) -> ClusterEntry:
    return ClusterEntry(cluster, run.id, "sha256:1", **more)


def begun(lake: Lake) -> StepRun:
    """A run that has written something."""
    run = lake.begin("plan", DAY, (schemas.PLANS, schemas.MOVES))
    for table in (schemas.PLANS, schemas.MOVES):
        lake.objects.put(f"{run.folder(table)}/part-00000-x.parquet", b"abc")
    lake.objects.put(f"{run.folder(schemas.PLANS)}/_temporary/0/part-00001-y.parquet", b"ab")
    return run


def file_of(run: StepRun) -> TableFile:
    return TableFile("plans", f"{run.folder(schemas.PLANS)}/part-00000-x.parquet", 3)


def later(lake: Lake, hours: float) -> Lake:
    return replace(lake, now_ms=lambda: Lake(lake.objects).now_ms() + round(hours * HOUR_MS))


def written(lake: Lake, run: StepRun) -> bool:
    return any(lake.objects.files(run.folder(table)) for table in run.tables)
