"""A missing broker is lost by what was seen of its absence, not by its age."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.execution.records import BrokerRecord, Looks
from poolkeeper.reconcile.observe.absences import (
    GAPS,
    WRITES_PER_CLOSE_S,
    Counting,
    close_s,
    is_lost,
    seen_missing,
)

AFTER_S = 1800
CLOSE_S = close_s(AFTER_S)
HOUR_S = 3600
T0 = 1_000_000
LIVE = BrokerRecord("a")
SECONDS = st.integers(0, AFTER_S * 3)
AFTERS = st.sampled_from([1, 60, 600, AFTER_S, 6 * HOUR_S])


def looked(
    times: Iterable[int], known: BrokerRecord = LIVE, after_s: int = AFTER_S, outage: bool = False
) -> Iterator[tuple[int, BrokerRecord, bool]]:
    """Yield each look's time, the record after it, and whether the broker is lost."""
    for now_s in times:
        known = seen_missing(known, now_s, Counting(after_s, outage))
        yield now_s, known, is_lost(known, now_s, after_s)


def series(began_s: int, lasts_s: int, every_s: int = 30) -> range:
    """The looks of a loop."""
    return range(began_s, began_s + lasts_s + 1, every_s)


@pytest.mark.parametrize(
    ("times", "lost_at"),
    [
        pytest.param(series(0, 2 * AFTER_S), AFTER_S, id="a-loop-that-runs"),
        pytest.param([0, HOUR_S, 2 * HOUR_S, 3 * HOUR_S], 2 * HOUR_S, id="a-command-each-hour"),
        pytest.param(range(0, HOUR_S, 360), AFTER_S, id="a-command-every-six-minutes"),
        pytest.param(range(0, HOUR_S, 240), 1920, id="a-command-every-four-minutes"),
        pytest.param([*series(0, 60), *series(7200, 1770)], None, id="started-while-it-boots"),
        pytest.param(
            [*series(0, 60), *series(7200, 3600)], 7200 + AFTER_S, id="started-and-it-stays-away"
        ),
        pytest.param(
            [*series(0, 1770), *series(7200, 1770), *series(14400, 1770)],
            None,
            id="a-loop-that-was-stopped-twice",
        ),
        pytest.param(
            [*series(0, 900), *series(900 + 240, 1800)], 1800, id="a-restart-of-four-minutes"
        ),
    ],
)
def test_when_a_broker_is_lost(times: Iterable[int], lost_at: int | None) -> None:
    found = [t - T0 for t, _, lost in looked(T0 + t for t in times) if lost]
    assert (found[0] if found else None) == lost_at


@pytest.mark.parametrize(
    ("outage_s", "lost_after_s"),
    [
        pytest.param(CLOSE_S - 60, AFTER_S - 900, id="a-short-one-stops-the-count"),
        pytest.param(HOUR_S, AFTER_S, id="a-long-one-starts-it-over"),
    ],
)
def test_the_last_to_return_from_an_outage_is_waited_for(outage_s: int, lost_after_s: int) -> None:
    """It was missing for half of `heal.after` before the others were."""
    *_, (_, known, _) = looked(series(T0, 900))
    began_s = T0 + 900
    *_, (_, known, lost) = looked(series(began_s, outage_s), known, outage=True)
    assert not lost
    after = began_s + outage_s
    found = [t - after for t, _, lost in looked(series(after, HOUR_S), known) if lost]
    assert 0 <= found[0] - lost_after_s <= CLOSE_S // WRITES_PER_CLOSE_S


def test_an_outage_alone_makes_none_lost_and_is_written_once() -> None:
    found = list(looked(series(T0, 3 * HOUR_S), outage=True))
    assert not any(lost for _, _, lost in found)
    assert len({record.looks for _, record, _ in found}) == 1


@pytest.mark.parametrize(("age_s", "lost"), [(AFTER_S - 1, False), (AFTER_S, True)])
@pytest.mark.parametrize("outage", [False, True])
def test_an_absence_of_an_earlier_release_counts_by_its_age(
    age_s: int, lost: bool, outage: bool
) -> None:
    known = BrokerRecord("a", T0)
    assert is_lost(known, T0 + age_s, AFTER_S) == lost
    ((_, _, found),) = looked([T0 + age_s], known, outage=outage)
    assert found == (lost and not outage)


def test_where_heal_has_nothing_to_do_with_it_looks_are_not_kept() -> None:
    known = BrokerRecord("a", T0, looks=Looks(T0))
    assert seen_missing(known, T0 + 500, None) == BrokerRecord("a", T0)


def test_a_time_ahead_is_that_of_a_wrong_clock() -> None:
    known = BrokerRecord("a", T0 + HOUR_S, looks=Looks(T0 + HOUR_S, 60))
    ((_, found, lost),) = looked([T0], known)
    assert (found, lost) == (BrokerRecord("a", T0, looks=Looks(T0, 60)), False)


@given(AFTERS, st.lists(SECONDS, min_size=1, max_size=40), st.data())
def test_what_is_lost_stays_lost(after_s: int, steps: list[int], data: st.DataObject) -> None:
    known = BrokerRecord("a", T0, looks=Looks(T0, lost=True))
    now_s = T0 + after_s
    for step_s in steps:
        now_s += step_s
        found = seen_missing(known, now_s, Counting(after_s, data.draw(st.booleans())))
        assert found == known
        assert is_lost(found, now_s, after_s)


@given(AFTERS, st.lists(SECONDS, max_size=40))
def test_none_is_lost_before_its_time(after_s: int, steps: list[int]) -> None:
    """Nor by two looks alone that are far apart, whatever lies between."""
    times = [T0, *(T0 + sum(steps[: n + 1]) for n in range(len(steps)))]
    far = 0
    for n, (now_s, _, lost) in enumerate(looked(times, after_s=after_s)):
        far += n > 0 and now_s - times[n - 1] > close_s(after_s)
        if lost:
            assert now_s - T0 >= after_s
            assert far != 1 or now_s - _began_s(times[: n + 1], after_s) >= after_s
            return


def _began_s(times: list[int], after_s: int) -> int:
    """When the looks began that followed each other closely."""
    began_s = times[-1]
    for earlier_s in reversed(times[:-1]):
        if began_s - earlier_s > close_s(after_s) * (1 + 1 / WRITES_PER_CLOSE_S):
            break
        began_s = earlier_s
    return began_s


@given(AFTERS, st.integers(1, 20), st.integers(0, 10**7))
def test_a_loop_that_looks_on_finds_it_lost_at_the_first_look_after_its_time(
    after_s: int, every_s: int, first_s: int
) -> None:
    times = series(T0 + first_s, after_s + every_s, every_s)
    found = [now_s for now_s, _, lost in looked(times, after_s=after_s) if lost]
    assert 0 <= found[0] - times[0] - after_s < every_s


@given(st.lists(st.tuples(st.integers(CLOSE_S + 1, 10**6), st.integers(430, 1770))))
def test_a_loop_is_never_surprised_by_what_it_did_not_see(pauses: list[tuple[int, int]]) -> None:
    """However often and long it was stopped: it watches for `heal.after` first."""
    times, end_s = [*series(T0, 500)], T0 + 500
    for pause_s, lasts_s in pauses:
        times += series(end_s + pause_s, lasts_s)
        end_s += pause_s + lasts_s
    assert not any(lost for _, _, lost in looked(times))


@given(AFTERS, st.lists(st.integers(1, 10**6), min_size=1, max_size=10))
def test_commands_far_apart_count_their_looks(after_s: int, more_s: list[int]) -> None:
    times = [T0]
    for each_s in more_s:
        times.append(times[-1] + close_s(after_s) + each_s)
    for n, (now_s, _, lost) in enumerate(looked(times, after_s=after_s)):
        assert lost == (n >= GAPS and now_s - T0 >= after_s)


@given(AFTERS, st.integers(1, 60))
def test_few_looks_are_written(after_s: int, every_s: int) -> None:
    times = series(T0, min(after_s * 2, HOUR_S), every_s)
    records = [record for _, record, _ in looked(times, after_s=after_s)]
    written = sum(now != before for before, now in pairwise(records))
    assert written <= (times[-1] - T0) * WRITES_PER_CLOSE_S / close_s(after_s) + 1


def test_a_broker_that_was_seen_is_a_new_case() -> None:
    lost = BrokerRecord("a", T0, looks=Looks(T0, lost=True))
    seen = replace(lost, missing_since_s=None, looks=None)
    times = [T0 + 9 * HOUR_S, T0 + 9 * HOUR_S + 60]
    assert not any(lost for _, _, lost in looked(times, seen))
