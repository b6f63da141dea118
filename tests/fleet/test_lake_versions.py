"""Which version of an object counts: by its number, whatever lies beside it or goes meanwhile."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from builders import cluster_spec
from fleet.lake_runs import DAY, begun, entry, later
from poolkeeper.errors import Refused
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.storage import schemas
from poolkeeper.model.desired import Desired


def test_names_of_somebody_else_are_no_versions(lake: Lake) -> None:
    run, desired = begun(lake), [Desired(cluster_spec(name)) for name in ("a", "b")]
    lake.publish(run, [entry("a", run)])
    manifests.write(lake, desired[:1])
    places = ("manifests", f"current/step=plan/day={DAY}")
    names = [
        f"{place}/{name}.parquet" for place in places for name in ("backup", "copy of it", "9")
    ]
    for name in names:
        lake.objects.put(name, b"of somebody else")
    lake.objects.put(f"{places[0]}/999999999999999.parquet/a", b"in a folder")
    assert (list(manifests.read(lake)), list(lake.current("plan", DAY))) == (["a"], ["a"])
    old = later(lake, 25)
    manifests.write(old, desired)
    old.publish(run, [entry("b", run)])
    assert (sorted(manifests.read(lake)), sorted(lake.current("plan", DAY))) == (["a", "b"],) * 2
    assert [name for name in names if lake.objects.read(name) is None] == []


def test_the_last_number_is_refused_as_the_next_one_would_not_be_seen(lake: Lake) -> None:
    run = begun(lake)
    lake.publish(run, [entry("a", run)])
    (first,) = lake.objects.children(f"current/step=plan/day={DAY}")
    last = f"{first.path.rpartition('/')[0]}/999999999999999.parquet"
    lake.objects.put(last, lake.objects.read(first.path) or b"")
    with pytest.raises(Refused, match=f"{last}: no version can come after it .*: delete it"):
        lake.publish(run, [entry("b", run)])
    assert [each.path for each in lake.objects.children(first.path.rpartition("/")[0])] == [
        first.path,
        last,
    ]
    lake.objects.delete(last)
    lake.publish(run, [entry("b", run)])
    assert sorted(lake.current("plan", DAY)) == ["a", "b"]


def test_a_damaged_version_goes_with_the_next_one_as_sql_reads_nothing_beside_it(
    lake: Lake,
) -> None:
    run, desired = begun(lake), [Desired(cluster_spec(name)) for name in ("a", "b", "c")]
    places = (f"current/step=plan/day={DAY}", "manifests")
    for number, each in enumerate(desired):
        lake.publish(run, [entry(each.cluster.name, run)])
        manifests.write(lake, [each])
        for place in places:
            versions = lake.objects.children(place)
            root = local_path(lake.root)
            assert root is not None
            assert all(pq.read_table(root / each.path).num_rows for each in versions), number
            lake.objects.put(versions[-1].path, b"damaged")
    lake.publish(run, [entry("d", run)])
    assert sorted(lake.current("plan", DAY)) == ["d"]


def test_a_version_without_rows_takes_those_before_it_away(lake: Lake) -> None:
    """Who asks by SQL sees a version by its rows alone, and would take the one before for it."""
    folder = f"current/step=plan/day={DAY}"
    run, desired = begun(lake), [Desired(cluster_spec(name)) for name in ("a", "b")]
    for each in desired:
        manifests.write(lake, [each])
    for name in ("a", "b"):
        lake.publish(run, [entry(name, run)])
    assert len(lake.objects.children(folder)) == 2
    lake.drop("plan", DAY, ["b"], (schemas.PLANS,))
    assert len(lake.objects.children(folder)) == 3
    lake.drop("plan", DAY, ["a"], (schemas.PLANS,))
    manifests.remove(lake, ["a", "b"])
    for place in (folder, "manifests"):
        (last,) = lake.objects.children(place)
        assert pq.read_table(local_path(lake.root) / last.path).num_rows == 0
    assert (lake.current("plan", DAY), manifests.read(lake)) == ({}, {})


class SweptMeanwhile(ArrowObjects):
    """Others publish and sweep, so many times, between a listing and the reading after it."""

    def __init__(self, lake: Lake, times: int) -> None:
        super().__init__(lake.root)
        self.lake, self.times = lake, times

    def read(self, path: str) -> bytes | None:
        if path.startswith("manifests/") and self.times:
            self.times -= 1
            for name in (f"first-{self.times}", f"second-{self.times}"):
                manifests.write(self.lake, [Desired(cluster_spec(name))])
        return super().read(path)


def test_a_version_that_is_swept_between_listing_and_reading_is_no_damage(lake: Lake) -> None:
    manifests.write(lake, [Desired(cluster_spec("a"))])
    read = manifests.read(replace(lake, objects=SweptMeanwhile(lake, times=3)))
    assert sorted(read) == sorted(
        ["a", *(f"{which}-{number}" for which in ("first", "second") for number in range(3))]
    )
