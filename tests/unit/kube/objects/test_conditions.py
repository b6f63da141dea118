"""Laws of transition times."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.kube.objects.conditions import status_bytes, timestamp, with_transitions

EARLY = datetime(2026, 1, 31, 9, tzinfo=UTC)
LATE = EARLY + timedelta(hours=1)

TYPES = ("Ready", "Reconciling", "Stalled")
STATES = st.sampled_from(["True", "False", "Unknown"])
CONDITIONS = st.fixed_dictionaries(
    {}, optional={kind: st.tuples(STATES, st.sampled_from(["A", "B"])) for kind in TYPES}
).map(lambda found: [condition(kind, *said) for kind, said in found.items()])
STATUSES = st.fixed_dictionaries(
    {"conditions": CONDITIONS}, optional={"partitions": st.integers(0, 3)}
)


def condition(kind, status, reason="InPlace", since=None):
    found = {"type": kind, "status": status, "reason": reason}
    return found | ({"lastTransitionTime": timestamp(since)} if since else {})


@pytest.mark.parametrize(
    ("new", "live", "since"),
    [
        pytest.param("True", condition("Ready", "True", since=EARLY), EARLY, id="kept-if-same"),
        pytest.param("False", condition("Ready", "True", since=EARLY), LATE, id="now-if-flipped"),
        pytest.param("True", None, LATE, id="now-if-new"),
        pytest.param("True", condition("Ready", "True"), LATE, id="now-if-the-live-one-has-none"),
        pytest.param(
            "True",
            condition("Ready", "True", "Other", EARLY),
            EARLY,
            id="kept-if-the-reason-changed",
        ),
        pytest.param("True", condition("Stalled", "True", since=EARLY), LATE, id="types-are-apart"),
    ],
)
def test_a_transition_is_a_change_of_status(new, live, since):
    known = None if live is None else {"conditions": [live]}
    said = with_transitions({"partitions": 3, "conditions": [condition("Ready", new)]}, known, LATE)
    assert said == {"partitions": 3, "conditions": [condition("Ready", new, since=since)]}


def test_a_status_without_conditions_gets_none():
    assert with_transitions({"partitions": 3}, {"conditions": []}, LATE) == {"partitions": 3}


@given(STATUSES, STATUSES)
def test_saying_the_same_again_changes_nothing(first, second):
    live = with_transitions(second, with_transitions(first, None, EARLY), EARLY)
    assert with_transitions(second, live, LATE) == live


@given(STATUSES, STATUSES)
def test_only_times_are_added(new, live):
    said = with_transitions(new, with_transitions(live, None, EARLY), LATE)
    for found in said["conditions"]:
        found.pop("lastTransitionTime")
    assert said == new


@given(STATUSES, STATUSES)
def test_each_time_is_that_of_the_last_flip(first, second):
    live = with_transitions(first, None, EARLY)
    states = {found["type"]: found["status"] for found in first["conditions"]}
    for found in with_transitions(second, live, LATE)["conditions"]:
        flipped = states.get(found["type"]) != found["status"]
        assert found["lastTransitionTime"] == timestamp(LATE if flipped else EARLY)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        pytest.param({"a": 1, "b": None}, {"a": 1}, True, id="null-is-absent"),
        pytest.param(
            {"conditions": [condition("A", "True"), condition("B", "True")]},
            {"conditions": [condition("B", "True"), condition("A", "True")]},
            True,
            id="conditions-are-a-map",
        ),
        pytest.param({"drained": [1, 2]}, {"drained": [2, 1]}, False, id="other-lists-are-lists"),
        pytest.param({"drained": []}, {}, False, id="an-empty-list-is-said"),
        pytest.param({"a": 1}, {"a": "1"}, False, id="types-count"),
        pytest.param(None, {}, True, id="no-status-is-an-empty-one"),
    ],
)
def test_equal_to_a_reader(one, other, equal):
    assert (status_bytes(one or {}) == status_bytes(other or {})) is equal


def test_what_is_no_json_is_an_error():
    with pytest.raises(TypeError):
        status_bytes({"drained": {1, 2}})
