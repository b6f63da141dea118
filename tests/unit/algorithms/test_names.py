"""Topic names: legal, colliding, Kafka's own."""

import pytest

from poolkeeper.algorithms.names import (
    collides,
    collision_problem,
    is_internal,
    ownership_problem,
    topic_name_problem,
)
from poolkeeper.model.versions import SUPPORTED, KafkaVersion, VersionRange

OLD = KafkaVersion.parse("0.9")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("orders", id="letters"),
        pytest.param("Valid-123_.name", id="all-kinds-of-characters"),
        pytest.param("...", id="three-dots"),
        pytest.param("-", id="a-dash"),
        pytest.param("x" * 249, id="the-longest"),
        pytest.param("__consumer_offsets", id="an-internal-one-is-well-formed"),
    ],
)
def test_legal_names(name):
    assert topic_name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param("", "is empty (expected a topic name)", id="empty"),
        pytest.param(".", "is no topic name (expected anything but . and ..)", id="one-dot"),
        pytest.param("..", "is no topic name (expected anything but . and ..)", id="two-dots"),
        pytest.param("x" * 250, "has 250 characters (expected at most 249)", id="too-long"),
        pytest.param("a b", "contains ' ' (expected letters, digits, '.', '_', '-')", id="blank"),
        pytest.param("a/b", "contains '/' (expected letters, digits, '.', '_', '-')", id="slash"),
        pytest.param(
            "ab\n", "contains '\\n' (expected letters, digits, '.', '_', '-')", id="newline-at-end"
        ),
        pytest.param(
            "naïve", "contains 'ï' (expected letters, digits, '.', '_', '-')", id="accent"
        ),
        pytest.param(
            "a\u0663", "contains '٣' (expected letters, digits, '.', '_', '-')", id="foreign-digit"
        ),
        pytest.param(
            "a:b,a", "contains ',', ':' (expected letters, digits, '.', '_', '-')", id="several"
        ),
    ],
)
def test_illegal_names(name, problem):
    assert topic_name_problem(name) == problem


@pytest.mark.parametrize(
    ("version", "longest"),
    [
        pytest.param(OLD, 255, id="before-0.10.0"),
        pytest.param(KafkaVersion.parse("0.10.0"), 249, id="from-0.10.0"),
        pytest.param(
            VersionRange(OLD, KafkaVersion.parse("0.10.0")), 249, id="a-range-takes-the-shorter"
        ),
        pytest.param(SUPPORTED, 249, id="all-supported"),
    ],
)
def test_longest_name(version, longest):
    assert topic_name_problem("x" * longest, version) is None
    assert topic_name_problem("x" * (longest + 1), version) is not None


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        ("a.b", "a_b", True),
        ("a_b.c", "a.b_c", True),
        ("topic", "topic", True),
        ("topic", "topic2", False),
        ("a.b", "a-b", False),
        (".", "_", True),
    ],
)
def test_collision_of_two(a, b, answer):
    assert collides(a, b) is answer
    assert collides(b, a) is answer


@pytest.mark.parametrize(
    ("name", "existing", "problem"),
    [
        pytest.param("plain", ["plain", "other"], None, id="without-the-characters"),
        pytest.param("a.b", ["a.b", "a-b"], None, id="itself-does-not-count"),
        pytest.param(
            "a.b",
            ["z", "a_b"],
            "collides with topic 'a_b' (expected another difference than '.' for '_')",
            id="names-the-other",
        ),
    ],
)
def test_collision_among_topics(name, existing, problem):
    assert collision_problem(name, existing) == problem


@pytest.mark.parametrize(
    "name", ["__consumer_offsets", "__transaction_state", "__share_group_state"]
)
def test_internal_topics(name):
    assert is_internal(name)
    assert ownership_problem(name) == (
        "is an internal topic of Kafka (expected a name of your own)"
    )


def test_reserved_and_own_names():
    assert ownership_problem("__cluster_metadata") == (
        "is reserved by Kafka (expected a name of your own)"
    )
    assert not is_internal("__cluster_metadata")
    assert ownership_problem("orders") is None
