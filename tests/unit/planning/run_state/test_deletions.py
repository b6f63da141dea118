"""Deletions that were asked for: which of them were taken back."""

from dataclasses import replace

import pytest

import builders
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.deletions import (
    ASK_AGAIN_MS,
    AskedDeletion,
    is_taken_back,
    with_asked,
)

ASKED = {"t": AskedDeletion(1000, 7)}


def with_topic(created_zxid: int) -> Cluster:
    topic = builders.topic("t", (1,))
    return builders.cluster([1], replace(topic, created_zxid=created_zxid))


@pytest.mark.parametrize(
    ("created_zxid", "now_ms", "expected"),
    [
        pytest.param(7, 1000, True, id="at-once"),
        pytest.param(7, 1000 + ASK_AGAIN_MS - 1, True, id="not-long-ago"),
        pytest.param(7, 1000 + ASK_AGAIN_MS, False, id="long-ago"),
        pytest.param(8, 2000, False, id="made-again"),
    ],
)
def test_a_topic_that_is_still_there(created_zxid: int, now_ms: int, expected: bool) -> None:
    assert is_taken_back(ASKED, with_topic(created_zxid), "t", now_ms) is expected


def test_what_is_not_there_or_was_not_asked_for() -> None:
    assert not is_taken_back(ASKED, builders.cluster([1]), "t", 1000)
    assert not is_taken_back({}, with_topic(7), "t", 1000)


def test_what_does_not_count_any_more_is_forgotten() -> None:
    found = with_asked(ASKED, "u", 8, 2000)
    assert found == {**ASKED, "u": AskedDeletion(2000, 8)}
    assert with_asked(found, "v", 9, 1000 + ASK_AGAIN_MS) == {
        "u": AskedDeletion(2000, 8),
        "v": AskedDeletion(1000 + ASK_AGAIN_MS, 9),
    }
