"""The adaptive rate: what is measured, and what follows from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import move, partition, topic
from poolkeeper.model.execution.runs import RateReason
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.throttling import adaptive_rate
from poolkeeper.planning.run_state.throttling.adaptive_rate import (
    CHANGES_MAX,
    LAG_BYTES_MIN,
    NextRate,
    RateSignals,
    SizeLook,
    next_rate,
)
from poolkeeper.planning.run_state.throttling.throttles import ADAPTIVE_RISE_MAX

MIB = 1 << 20
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SICK = frozenset({T0})
R = RateReason


@pytest.mark.parametrize(
    ("rate", "signals", "expected"),
    [
        pytest.param(100, RateSignals(), NextRate(125 * MIB, R.KEEPING_UP), id="a-step-up"),
        pytest.param(
            100, RateSignals(out_of_sync=SICK), NextRate(50 * MIB, R.OUT_OF_SYNC), id="isr-shrank"
        ),
        pytest.param(
            100, RateSignals(behind=SICK), NextRate(50 * MIB, R.FALLING_BEHIND), id="lag-grows"
        ),
        pytest.param(
            100,
            RateSignals(behind=SICK, ingest_bytes_per_s=64 * MIB),
            NextRate(80 * MIB, R.FALLING_BEHIND),
            id="not-below-what-comes-in",
        ),
        pytest.param(
            100,
            RateSignals(ingest_bytes_per_s=160 * MIB),
            NextRate(200 * MIB, R.INGEST),
            id="up-to-what-comes-in",
        ),
        pytest.param(
            100,
            RateSignals(ingest_bytes_per_s=16_000 * MIB),
            NextRate(1600 * MIB, R.INGEST),
            id="as-far-as-it-may",
        ),
        pytest.param(
            100,
            RateSignals(copied_bytes_per_s=49 * MIB),
            NextRate(100 * MIB, R.NOT_LIMITING),
            id="it-is-not-what-limits",
        ),
        pytest.param(
            100,
            RateSignals(copied_bytes_per_s=51 * MIB),
            NextRate(125 * MIB, R.KEEPING_UP),
            id="it-is-used",
        ),
        pytest.param(1600, RateSignals(), NextRate(1600 * MIB, R.HIGHEST), id="the-highest"),
    ],
)
def test_the_next_rate(rate, signals, expected):
    assert next_rate(rate * MIB, 100 * MIB, signals) == expected


def test_a_rate_that_was_changed_often_is_not_raised_any_more():
    last = next_rate(100 * MIB, 100 * MIB, RateSignals(), CHANGES_MAX)
    assert last == NextRate(100 * MIB, R.HIGHEST)
    hurt = RateSignals(out_of_sync=SICK)
    assert next_rate(100 * MIB, 100 * MIB, hurt, CHANGES_MAX).bytes_per_s == 50 * MIB


SIGNALS = st.builds(
    RateSignals,
    st.sampled_from([frozenset(), SICK]),
    st.sampled_from([frozenset(), SICK]),
    st.none() | st.floats(0, 1e12),
    st.none() | st.floats(0, 1e12),
)


@given(st.integers(1, 1 << 40), st.lists(SIGNALS, max_size=200))
def test_the_rate_stays_within_its_bounds_and_changes_a_bounded_number_of_times(start, course):
    rate, changes = start, 0
    for signals in course:
        after = next_rate(rate, start, signals, changes).bytes_per_s
        assert min(start, MIB) <= after <= ADAPTIVE_RISE_MAX * start
        rising_at_last = after > rate and changes >= CHANGES_MAX
        assert not rising_at_last or signals.ingest_bytes_per_s
        changes += after != rate
        rate = after


def cluster(*partitions, live=(1, 2, 3, 4)):
    return builders.cluster(live, topic("t", *partitions))


@pytest.mark.parametrize(
    ("seen", "reassigned", "before", "expected"),
    [
        pytest.param(cluster(partition(0, 1, 2)), {}, (), set(), id="in-sync"),
        pytest.param(cluster(partition(0, 1, 2, isr=(1,))), {}, (), {T0}, id="one-fell-out"),
        pytest.param(cluster(partition(0, 1, 2, isr=(1,))), {}, {T0}, set(), id="as-before"),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,)), live=(1, 3)),
            {},
            (),
            set(),
            id="it-is-dead",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, isr=(3,), leader=3)), {}, (), set(), id="others-brokers"
        ),
        pytest.param(
            cluster(partition(0, 3, 1, 2, isr=(3, 2), leader=3, adding=(3,), removing=(1,))),
            {},
            (),
            set(),
            id="one-leaves-as-others-arrived-by-somebody-elses-request",
        ),
        pytest.param(
            cluster(partition(0, 3, 1, 2, isr=(1, 2), leader=1)),
            {T0: ((1, 2), (3, 2))},
            (),
            set(),
            id="a-new-replica-is-not-yet-in-sync",
        ),
        pytest.param(
            cluster(partition(0, 3, 1, 2, isr=(1,), leader=1)),
            {T0: ((1, 2), (3, 2))},
            (),
            {T0},
            id="a-moving-partition-lost-an-old-one",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, leader=3)),
            {T0: ((1, 2), (3, 4))},
            (),
            set(),
            id="it-arrived",
        ),
        pytest.param(
            cluster(partition(0, 3, 2, leader=2)),
            {T0: ((1, 2), (3, 2))},
            (),
            set(),
            id="it-arrived-beside-one-that-stays",
        ),
        pytest.param(
            cluster(partition(0, 3, 4, 1, 2, isr=(3, 4), leader=3)),
            {T0: ((1, 2), (3, 4))},
            (),
            set(),
            id="it-arrived-and-the-old-ones-are-about-to-go",
        ),
        pytest.param(
            cluster(partition(0, 1, 3, isr=(1,), leader=1)),
            {T0: ((2, 4), (1, 3))},
            (),
            {T0},
            id="it-arrived-and-lost-a-new-one",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, 3, isr=(1, 2), leader=1)),
            {T0: ((1, 2, 3), (1, 2))},
            (),
            set(),
            id="one-that-goes-left",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, 3, isr=(1, 3), leader=1)),
            {T0: ((1, 2, 3), (1, 2))},
            (),
            {T0},
            id="one-that-stays-fell-out-while-another-goes",
        ),
    ],
)
def test_partitions_that_lost_a_live_replica(seen, reassigned, before, expected):
    assert adaptive_rate.out_of_sync(seen, reassigned, before, (1, 2)) == expected


def looks(*lags, leaders=(1, 1, 1)):
    return [
        SizeLook(1000 * n, {T0: {1: 10**12, 2: 10**12 - lag * LAG_BYTES_MIN}}, {T0: leader})
        for n, (lag, leader) in enumerate(zip(lags, leaders, strict=True))
    ]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(looks(0, 1, 2), {T0}, id="further-and-further"),
        pytest.param(looks(0, 2, leaders=(1, 1)), set(), id="too-few-looks"),
        pytest.param(looks(5, 5, 5), set(), id="a-constant-difference"),
        pytest.param(looks(0, 9, 9), set(), id="a-segment-was-deleted"),
        pytest.param(looks(3, 2, 1), set(), id="catching-up"),
        pytest.param(looks(0, 0.2, 0.4), set(), id="a-little"),
        pytest.param(looks(0, 1, 2, leaders=(1, 2, 1)), set(), id="another-leader-meanwhile"),
        pytest.param(looks(9, 0, 1, 2, leaders=(1,) * 4), {T0}, id="the-last-looks-count"),
    ],
)
def test_replicas_that_fall_further_behind(seen, expected):
    assert adaptive_rate.fallen_behind(seen, cluster(partition(0, 1, 2))) == expected


def test_a_replica_that_is_still_being_copied_does_not_count_as_behind():
    copying = cluster(partition(0, 2, 1, isr=(1,), leader=1))
    assert adaptive_rate.fallen_behind(looks(0, 1, 2), copying) == set()


def test_what_the_busiest_broker_receives():
    first = SizeLook(1000, {T0: {1: 100, 3: 10}, T1: {1: 100}}, {})
    then = SizeLook(3000, {T0: {1: 100, 3: 30, 4: 8}, T1: {1: 100, 3: 50}}, {})
    arriving = {T0: {3, 4}, T1: {3}}
    assert adaptive_rate.copied_rate([first, then], arriving) == (20 + 50) * 1000 / 2000
    assert adaptive_rate.copied_rate([then], arriving) is None
    assert adaptive_rate.copied_rate([first, then], {T0: {9}}) is None


def test_what_the_copies_must_keep_up_with():
    seen = cluster(
        partition(0, 1, 2, isr=(1, 2), leader=1, in_bytes_per_s=10.0),
        partition(1, 2, 1, isr=(2, 1), leader=2, in_bytes_per_s=3.0),
    )
    both = [(move("t", 0, (1, 2), (3, 4)), 1), (move("t", 1, (2, 1), (2, 3)), 1)]
    assert adaptive_rate.ingest(both, seen) == 20.0
    assert adaptive_rate.ingest(both[1:], seen) == 3.0
    arrived = cluster(
        partition(0, 3, 4, leader=3, in_bytes_per_s=10.0),
        partition(1, 2, 1, 3, leader=2, in_bytes_per_s=3.0),
    )
    assert adaptive_rate.ingest(both, arrived) == 10.0
    both[1] = (move("t", 1, (2, 1), (2, 4)), 1)
    assert adaptive_rate.ingest(both, arrived) == 13.0
    assert adaptive_rate.ingest(both, cluster(partition(0, 1, 2), partition(1, 2, 1))) is None
