"""Conditions from remarks, and times that stand."""

from typing import Any

import pytest

from poolkeeper.resources.status.conditions import (
    MESSAGE_MAX,
    ReadyCondition,
    ReadyStatus,
    condition_of,
    conditions,
)


@pytest.mark.parametrize(
    ("mood", "expected"),
    [
        (ReadyStatus.READY, {"Ready": "True"}),
        (ReadyStatus.RECONCILING, {"Ready": "False", "Reconciling": "True"}),
        (ReadyStatus.UNKNOWN, {"Ready": "Unknown", "Reconciling": "True"}),
        (ReadyStatus.STALLED, {"Ready": "False", "Stalled": "True"}),
    ],
)
def test_what_is_true_in_each_mood(mood: ReadyStatus, expected: dict[str, str]) -> None:
    found = conditions(ReadyCondition(mood, "Why", "because"), 3, None, 0)
    assert {each["type"]: each["status"] for each in found} == expected
    assert {each["observedGeneration"] for each in found} == {3}


def test_a_time_stands_while_its_status_does() -> None:
    first: dict[str, Any] = {
        "conditions": conditions(ReadyCondition(ReadyStatus.RECONCILING, "A", "a"), 1, None, 0)
    }
    later = {
        "conditions": conditions(ReadyCondition(ReadyStatus.STALLED, "B", "b"), 2, first, 60_000)
    }
    times = {each["type"]: each["lastTransitionTime"] for each in later["conditions"]}
    assert times == {"Ready": "1970-01-01T00:00:00Z", "Stalled": "1970-01-01T00:01:00Z"}
    assert condition_of(later, "Reconciling") == {}


def test_a_message_has_an_end() -> None:
    found = conditions(ReadyCondition(ReadyStatus.READY, "A", "x" * 9000), 1, None, 0)
    assert len(found[0]["message"]) == MESSAGE_MAX
    assert found[0]["message"].endswith("…")
