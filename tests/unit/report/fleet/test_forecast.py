"""When pools are full, and the brokers they need until a day."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model.specs import FailureDomain, Headroom
from poolkeeper.report.fleet import forecast
from poolkeeper.report.values import BrokerLoad, Coverage, Measured, PoolForecast, Skew

GIB = 2**30
NO_HEADROOM = Headroom()


def load(broker: int, held: float, growth: float | None = 0.0, **more: object) -> BrokerLoad:
    """A broker of 100 GiB; `held` and `growth` in GiB."""
    made = BrokerLoad(
        *("main", "fast", broker, "abc"[broker % 3], 1.0, 10, 5, 10, round(held * GIB)),
        *(0 if growth is None else round(held * GIB), None if growth is None else growth * GIB),
        *(100 * GIB, None),
    )
    return made._replace(**more)


def of(*loads: BrokerLoad, headroom: Headroom = NO_HEADROOM, days: float = 30.0) -> PoolForecast:
    return forecast.pool_forecast(loads, headroom, days)


def test_a_whole_forecast():
    found = of(load(1, 60, 1.0), load(2, 30, 0.5), load(3, 50), headroom=Headroom(failures=1))
    assert found == PoolForecast(
        "main",
        "fast",
        brokers=3,
        bytes=140 * GIB,
        capacity=300 * GIB,
        limit=200 * GIB,
        growth=1.5 * GIB,
        coverage=Coverage(1.0, 1.0),
        days_to_full=pytest.approx(160 / 1.5),
        days_to_limit=40.0,
        first_broker_days=40.0,
        horizon_days=30.0,
        brokers_to_add=0,
    )


ADDED = [
    pytest.param([load(1, 60, 1.0), load(2, 30)], {}, 0, id="none"),
    pytest.param([load(1, 90, 3.0), load(2, 60)], {}, 1, id="one"),
    pytest.param([load(1, 90), load(2, 190)], {}, 1, id="it is above its limit now"),
    pytest.param([load(1, 99), load(2, 99, -9.0)], {}, 0, id="shrinking is not counted on"),
    pytest.param(
        [load(1, 90), load(2, 60, weight=0.0)], {}, 1, id="what a drained broker holds needs room"
    ),
    pytest.param(
        [load(1, 50), load(2, 60)], {"headroom": Headroom(failures=1)}, 1, id="room for a failure"
    ),
    pytest.param(
        [load(1, 90), load(2, 90), load(3, 90)],
        {"headroom": Headroom(FailureDomain.RACK, 1)},
        2,
        id="a rack may fail, so that more than one must be raised",
    ),
    pytest.param([load(1, 90, 3.0), load(2, 60, None)], {}, 1, id="growth as far as it is known"),
    pytest.param([load(1, 90, None)], {}, None, id="growth is unknown"),
    pytest.param([load(1, 0, None, replicas=0)], {}, 0, id="what holds nothing does not grow"),
    pytest.param([load(1, 90), load(2, 9, capacity=None)], {}, None, id="a capacity is unknown"),
    pytest.param([load(1, 90, weight=0.0)], {}, None, id="no broker takes replicas"),
    pytest.param([load(1, 1, 1e6)], {}, None, id="more than anybody adds"),
    pytest.param(
        [load(1, 1, capacity=0)], {"headroom": Headroom()}, None, id="brokers without disks"
    ),
]


@pytest.mark.parametrize(("loads", "options", "added"), ADDED)
def test_brokers_to_add(loads, options, added):
    assert of(*loads, **options).brokers_to_add == added


FULL = [
    pytest.param(load(1, 60, 2.0), 20.0, id="at its growth"),
    pytest.param(load(1, 100, None), 0.0, id="now"),
    pytest.param(load(1, 60, -2.0), None, id="never"),
    pytest.param(load(1, 60, None), None, id="growth unknown"),
    pytest.param(load(1, 60, 2.0, capacity=None), None, id="capacity unknown"),
]


@pytest.mark.parametrize(("broker", "days"), FULL)
def test_days_to_full_of_a_broker(broker, days):
    assert forecast.broker_forecast(broker).days_to_full == days


def test_coverage_is_of_replicas_and_of_bytes():
    half = load(1, 30, 1.0, sized=5)
    assert forecast.coverage([half, load(2, 10, None)]) == Coverage(0.75, 0.75)
    assert forecast.coverage([load(1, 0, None, replicas=0, sized=0)]) == Coverage(1.0, 1.0)
    assert forecast.coverage([load(1, 0, None, sized=0)]) == Coverage(0.0, 0.0)


def test_the_skew_is_of_the_broker_that_is_furthest_above_its_share():
    loads = [load(1, 60), load(2, 30, weight=2.0), load(3, 30, weight=0.0), load(4, 0, pool="")]
    found = {each.measured: each for each in forecast.skews_of(loads)}
    assert found.keys() == {Measured.REPLICAS, Measured.LEADERS, Measured.BYTES}
    assert found[Measured.BYTES] == Skew("main", "fast", Measured.BYTES, 1, 60 * GIB, 40 * GIB)
    assert found[Measured.BYTES].ratio == 1.5


BROKERS = st.lists(
    st.builds(
        load,
        st.integers(1, 9),
        st.floats(0, 200),
        st.floats(-1, 20) | st.none(),
        weight=st.sampled_from([0.0, 1.0, 2.0]),
        capacity=st.sampled_from([50 * GIB, 100 * GIB, 400 * GIB]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda each: each.broker,
)
HEADROOMS = st.builds(Headroom, st.sampled_from(FailureDomain), st.integers(0, 3))


def needs(found: PoolForecast) -> float:
    """The brokers to add; what no number serves is more than any."""
    return float("inf") if found.brokers_to_add is None else found.brokers_to_add


def limit(found: PoolForecast) -> float:
    return float("inf") if found.days_to_limit is None else found.days_to_limit


@examples(30)
@given(BROKERS, HEADROOMS, st.floats(0, 400), st.floats(0, 400))
def test_a_later_day_never_needs_fewer(brokers, headroom, days, more):
    sooner, later = (of(*brokers, headroom=headroom, days=each) for each in (days, days + more))
    assert needs(sooner) <= needs(later)
    assert replace(later, horizon_days=days, brokers_to_add=sooner.brokers_to_add) == sooner


@examples(30)
@given(BROKERS, HEADROOMS, st.floats(0, 400), st.floats(0, 20))
def test_more_growth_never_needs_fewer_and_is_never_later(brokers, headroom, days, more):
    brokers = [each if each.growth is not None else each._replace(growth=0.0) for each in brokers]
    grown = [each._replace(growth=each.growth + more * GIB) for each in brokers]
    less, greater = (of(*each, headroom=headroom, days=days) for each in (brokers, grown))
    assert needs(less) <= needs(greater)
    assert limit(less) >= limit(greater)


@examples(30)
@given(BROKERS, HEADROOMS, st.floats(0, 400))
def test_the_brokers_to_add_suffice_and_one_fewer_does_not(brokers, headroom, days):
    found = of(*brokers, headroom=headroom, days=days)
    if not found.brokers_to_add:
        return
    taking = [each for each in brokers if each.weight > 0]
    usual = sorted(each.capacity for each in taking)[(len(taking) - 1) // 2]
    racks = sorted({each.rack for each in taking})
    wanted = found.bytes + max(found.growth, 0.0) * days

    def holds(added: int) -> float:
        """By the definition: brokers one by one into the rack that has least, then the failures."""
        placed = [(str(each.broker), each.rack, each.capacity) for each in taking]
        for number in range(added):
            held = {r: sum(size for _, rack, size in placed if rack == r) for r in racks}
            placed.append((f"new {number}", min(racks, key=lambda r: (held[r], r)), usual))
        domain = 1 if headroom.domain is FailureDomain.RACK else 0
        domains = {each[domain] for each in placed}
        sizes = [sum(each[2] for each in placed if each[domain] == d) for d in domains]
        return sum(sorted(sizes)[: max(0, len(sizes) - headroom.failures)])

    assert holds(found.brokers_to_add) >= wanted
    assert holds(found.brokers_to_add - 1) < wanted
