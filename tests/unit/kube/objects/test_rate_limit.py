import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.kube.objects import rate_limit
from poolkeeper.kube.objects.rate_limit import EventRateLimit, TokenBucket


@given(
    st.integers(1, 30),
    st.floats(0.5, 300),
    st.lists(st.floats(0, 100), min_size=1, max_size=200),
)
def test_no_stretch_of_time_sees_more_than_the_burst_and_what_came_in_it(burst, refill_s, pauses):
    bucket, now_s, taken = TokenBucket.full(burst, refill_s, 0), 0.0, []
    for pause in pauses:
        now_s += pause
        bucket = bucket.refill(now_s)
        if (left := bucket.take()) is not None:
            bucket = left
            taken.append(now_s)
    for start in range(len(taken)):
        for end in range(start, len(taken)):
            assert end - start + 1 <= burst + (taken[end] - taken[start]) / refill_s + 1e-6


def test_a_clock_that_goes_back_gives_nothing():
    bucket = TokenBucket.full(1, 10, 100).take()
    assert bucket.refill(50).take() is None
    assert bucket.refill(109).take() is None
    assert bucket.refill(110).take() is not None


@pytest.mark.parametrize(
    ("said", "now_s", "admitted"),
    [
        pytest.param(("pool", "Moving"), 599, False, id="same-within-ten-minutes"),
        pytest.param(("pool", "Moving"), 600, True, id="same-later"),
        pytest.param(("pool", "InPlace"), 1, True, id="another-thing"),
        pytest.param(("topic", "Moving"), 1, True, id="of-another-object"),
    ],
)
def test_what_was_said_lately_is_not_said_again(said, now_s, admitted):
    memory = EventRateLimit(0)
    assert memory.admits("pool", "Moving", 0)
    assert memory.admits(*said, now_s) is admitted


def test_an_object_has_25_at_once_and_then_one_in_five_minutes():
    memory = EventRateLimit(0)
    assert [memory.admits("pool", number, 0) for number in range(27)] == [True] * 25 + [False] * 2
    assert [memory.admits("pool", number, 299) for number in (30,)] == [False]
    assert [memory.admits("pool", number, 300) for number in (31, 32)] == [True, False]


def admitted(memory, what, *, times, namespace="shop", now_s=0.0, warning=False):
    """Return how many of so many objects of a namespace are told of."""
    said = [
        memory.admits((namespace, n), what, now_s, namespace=namespace, warning=warning)
        for n in range(times)
    ]
    return said.count(True)


def test_all_objects_together_are_bounded_too():
    memory = EventRateLimit(0)
    some = [admitted(memory, "Moving", times=60, namespace=each) for each in "abcd"]
    assert some == [60, 60, 60, rate_limit.TOTAL_BURST - 180]
    assert admitted(memory, "Moved", times=9, namespace="e") == 0
    assert memory.admits("late", "Moving", rate_limit.TOTAL_REFILL_S)


@pytest.mark.slow
def test_a_namespace_of_many_objects_leaves_room_for_others():
    memory, minute_s = EventRateLimit(0), 60.0
    for warning in (False, True):
        many = admitted(memory, warning, times=999, warning=warning)
        assert many == rate_limit.NAMESPACE_BURST
        assert admitted(memory, warning, times=20, namespace="bank", warning=warning) == 20
        assert memory.admits("cluster", warning, 0, warning=warning)
    for minute in range(1, 20):
        now_s, what = minute * minute_s, f"edit {minute}"
        flood = admitted(memory, what, times=999, now_s=now_s)
        assert flood == pytest.approx(minute_s / rate_limit.NAMESPACE_REFILL_S, abs=1)
        assert admitted(memory, what, times=20, namespace="bank", now_s=now_s) == 20


def test_what_goes_well_leaves_room_for_warnings():
    memory = EventRateLimit(0)
    admitted(memory, "Created", times=400)
    assert admitted(memory, "Created", times=400, namespace="bank") == 50
    assert admitted(memory, "Invalid", times=400, warning=True) == rate_limit.NAMESPACE_BURST


@pytest.mark.slow
def test_memory_is_bounded():
    memory = EventRateLimit(0)
    for number in range(3 * rate_limit.OBJECTS_MAX):
        memory.admits(number, "Moving", number * rate_limit.TOTAL_REFILL_S)
        memory.admits("x", number, number, namespace=f"n{number}")
    assert len(memory._objects) <= rate_limit.OBJECTS_MAX
    assert len(memory._namespaces) <= rate_limit.OBJECTS_MAX
    assert len(memory._repeats) <= rate_limit.REPEATS_MAX
