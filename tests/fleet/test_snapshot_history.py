"""Sizes in snapshots of earlier days are a history: what of it cannot be read is left out."""

from pathlib import Path

import pytest

from fleet import cases
from fleet.histories import GIB, HOUR_MS, begun, case, put_samples, rows_of, sample
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.filesystems import local_path
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import SNAPSHOT
from poolkeeper.fleet.storage import schemas


def test_sizes_in_snapshots_are_a_history_of_their_own(lake: Lake) -> None:
    for hour, day in enumerate(("2026-02-26", "2026-02-27", "2026-02-28")):
        grown = case(size=(hour + 1) * GIB)
        cases.put(lake, grown, day, cases.NOW_MS - (3 - hour) * 24 * HOUR_MS)
    cases.put(lake, case(size=4 * GIB))
    days = HistoryOptions(window_s=5 * 86_400, step_s=86_400)
    assert begun(lake, options=days).failed == ()
    first, second = rows_of(lake)
    assert (first["buckets"], first["p50"], first["growth_per_day"]) == (4, 2.0 * GIB, 1.0 * GIB)
    assert second["partition"] == 1


def test_a_snapshot_a_day_is_enough_with_the_options_that_nobody_gives(lake: Lake) -> None:
    """In steps of an hour, which samples have, the growth of a fleet would never be known."""
    days = [f"2026-02-{number}" for number in range(22, 29)]
    for number, day in enumerate(days):
        # Not always at the same time of the day.
        at_ms = cases.NOW_MS - (7 - number) * 24 * HOUR_MS + number % 3 * HOUR_MS // 6
        cases.put(lake, case(size=(number + 1) * GIB), day, at_ms)
        made = begun(lake, options=HistoryOptions(), day=day)
        assert made.failed == ()
        growths = {row["growth_per_day"] for row in rows_of(lake, day=day)}
        known = number >= 3
        assert all((growth is not None) == known for growth in growths), day
        assert not known or all(abs(growth / GIB - 1) < 0.02 for growth in growths), growths


DAYS = HistoryOptions(window_s=5 * 86_400, step_s=86_400)
EARLIER = "2026-02-27"
REMEDY = (
    f": `poolkeeper fleet snapshot -f DIR --out URI --day {EARLIER}` makes it again, of a past day"
    " with `--snapshots URI`"
)


def put_days(lake: Lake) -> None:
    """Four days of a topic that grows, `EARLIER` among them."""
    for hour, day in enumerate(("2026-02-26", EARLIER, "2026-02-28", cases.DAY)):
        at_ms = cases.NOW_MS - (3 - hour) * 24 * HOUR_MS
        cases.put(lake, case(size=(hour + 1) * GIB), day, at_ms)


def garble(lake: Lake, path: str) -> None:
    file = local_path(lake.root) / path
    file.write_bytes(bytes(file.stat().st_size))


def test_a_day_of_the_history_that_cannot_be_read_is_left_out(lake: Lake) -> None:
    put_days(lake)
    (version,) = lake.objects.children(f"current/step=snapshot/day={EARLIER}")
    garble(lake, version.path)
    made = begun(lake, options=DAYS)
    assert [(line.status, line.reason) for line in made.lines] == [("ok", "")]
    (warning,) = made.warnings
    assert warning.startswith(f"left out of the history: {version.path} is damaged (")
    assert warning.endswith(REMEDY)
    assert [row["buckets"] for row in rows_of(lake)] == [3, 3]
    cases.put(lake, case(size=2 * GIB), EARLIER, cases.NOW_MS - 48 * HOUR_MS)
    again = begun(lake, options=DAYS)
    assert (len(again.made), again.warnings) == (1, ())
    assert [row["buckets"] for row in rows_of(lake)] == [4, 4]


def test_this_day_s_snapshots_that_cannot_be_read_are_an_error(lake: Lake) -> None:
    put_days(lake)
    (version,) = lake.objects.children(f"current/step=snapshot/day={cases.DAY}")
    garble(lake, version.path)
    with pytest.raises(DamagedFile):
        begun(lake, options=DAYS)


@pytest.mark.parametrize("as_rows", [False, True], ids=["held", "rows"])
def test_a_snapshot_of_the_history_that_cannot_be_read_is_left_out(
    as_rows: bool, lake: Lake, history: Path
) -> None:
    put_days(lake)
    if as_rows:
        put_samples(history, sample(1, 5.0, 1))
    (file,) = cases.entry(lake, SNAPSHOT, day=EARLIER).of_table(schemas.PARTITIONS)
    garble(lake, file.path)
    for count in (1, 0):
        found = begun(lake, history if as_rows else "", DAYS)
        (line,) = found.lines
        assert (line.status, len(found.made)) == ("ok", count)
        assert line.reason.startswith(f"left out of the history: {file.path} is damaged (")
        assert line.reason.endswith(REMEDY)
    assert [row["buckets"] for row in rows_of(lake)] == [3, 3]
    assert cases.entry(lake, SNAPSHOT, day=EARLIER).input == "", "the command makes it again"
    cases.put(lake, case(size=2 * GIB), EARLIER, cases.NOW_MS - 48 * HOUR_MS)
    (line,) = begun(lake, history if as_rows else "", DAYS).lines
    assert (line.made, line.reason) == (True, "")
    assert [row["buckets"] for row in rows_of(lake)] == [4, 4]
