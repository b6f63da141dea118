"""Kafka versions: reading, order, releases, ranges and what each release can do."""

import pytest

from poolkeeper.errors import Refused
from poolkeeper.model.versions import (
    RELEASES,
    SUPPORTED,
    KafkaVersion,
    VersionRange,
    observed_problem,
    releases,
    support_problem,
)

V = KafkaVersion.parse


def between(low, high):
    return VersionRange(V(low), V(high))


@pytest.mark.parametrize(
    ("text", "shown", "release"),
    [
        pytest.param("2.8", "2.8", "2.8", id="a-release"),
        pytest.param("3.9.2", "3.9.2", "3.9", id="with-a-patch"),
        pytest.param("0.10.2.2", "0.10.2.2", "0.10.2", id="old-style-with-a-patch"),
        pytest.param("0.10.1", "0.10.1", "0.10.1", id="old-style-release"),
        pytest.param("0.11", "0.11.0", "0.11.0", id="the-only-0.11-there-is"),
        pytest.param("0.9", "0.9.0", "0.9.0", id="the-only-0.9-there-is"),
        pytest.param("4.0.0", "4.0.0", "4.0", id="a-version-that-is-not-supported-still-reads"),
    ],
)
def test_reading(text, shown, release):
    assert str(V(text)) == shown
    assert V(text).release == V(release)
    assert V(str(V(text))) == V(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "'' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("3", "'3' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("2.8.x", "'2.8.x' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("v2.8", "'v2.8' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("2.8\n", "'2.8\\n' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("2.8-IV1", "'2.8-IV1' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("1.2.3.4.5", "'1.2.3.4.5' is not a Kafka version (expected such as 2.8 or 3.9.2)"),
        ("0.10", "'0.10' names no single Kafka release (expected one of: 0.10.0, 0.10.1, 0.10.2)"),
        ("0.7", "'0.7' names no single Kafka release (expected one of: none)"),
    ],
)
def test_reading_refused(text, problem):
    with pytest.raises(Refused) as refused:
        V(text)
    assert str(refused.value) == problem


def test_order_is_by_number_not_by_text():
    ordered = ["0.9", "0.10.1", "0.10.2", "0.10.2.2", "0.11", "1.0", "2.0", "2.8", "2.8.2", "3.9"]
    assert sorted(map(V, reversed(ordered))) == [V(text) for text in ordered]
    assert list(RELEASES) == sorted(RELEASES)
    assert V("2.10") > V("2.9")


def test_a_version_is_its_own_range():
    assert (V("2.8.2").low, V("2.8.2").high) == (V("2.8.2"), V("2.8.2"))
    assert releases(V("2.8.2")) == (V("2.8"),)


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("2.3.1", False),
        ("2.4", True),
        ("2.4.1", True),
        ("2.7.2", True),
        ("2.8", False),
    ],
)
def test_a_range_includes_both_ends_with_their_patches(version, inside):
    assert (V(version) in between("2.4", "2.7")) is inside


def test_releases_of_a_range():
    assert releases(between("2.6", "3.1")) == tuple(map(V, ["2.6", "2.7", "2.8", "3.0", "3.1"]))
    assert len(releases(SUPPORTED)) == 24
    assert str(between("2.6", "3.1")) == "2.6 to 3.1"


def test_an_upside_down_range_is_refused():
    with pytest.raises(Refused) as refused:
        between("3.1", "2.6")
    assert str(refused.value) == "3.1 to 2.6 is no range of versions (expected low first)"


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("0.10.1", None),
        ("0.10.1.1", None),
        ("2.8.2", None),
        ("3.9.2", None),
        ("0.10.0.1", "Kafka 0.10.0.1 is too old (expected 0.10.1 to 3.9)"),
        ("0.8.2", "Kafka 0.8.2 is too old (expected 0.10.1 to 3.9)"),
        ("2.9", "there is no Kafka 2.9 (expected 0.10.1 to 3.9)"),
        ("3.10", "there is no Kafka 3.10 (expected 0.10.1 to 3.9)"),
        ("4.0", "Kafka 4.0 has no ZooKeeper mode (expected 0.10.1 to 3.9)"),
    ],
)
def test_support(version, problem):
    assert support_problem(V(version)) == problem


@pytest.mark.parametrize(
    ("observed", "problem"),
    [
        (None, None),
        ("2.8", None),
        ("0.10.1 to 3.9", None),
        ("0.9", "Kafka 0.9.0 is too old (expected 0.10.1 to 3.9)"),
        ("0.10.0 to 2.3", "Kafka 0.10.0 is too old (expected 0.10.1 to 3.9)"),
        ("3.9 to 4.0", "Kafka 4.0 has no ZooKeeper mode (expected 0.10.1 to 3.9)"),
        ("latest", "'latest' is no Kafka version (expected 0.10.1 to 3.9)"),
    ],
)
def test_what_is_observed_may_not_be_supported(observed, problem):
    assert observed_problem(observed) == problem


def test_a_feature_comes_with_one_release_and_stays():
    having = [release for release in RELEASES if release.has_adding_removing]
    assert having == [release for release in RELEASES if release >= V("2.4")]


def test_names_of_topics_became_shorter():
    names = ["0.9", "0.10.0", "2.3.1", "3.0"]
    assert [V(name).topic_name_length_max for name in names] == [255] + [249] * 3


def test_certain_and_possible_features_of_a_range():
    inferred = between("2.3", "2.8")
    assert (inferred.low.has_adding_removing, inferred.high.has_adding_removing) == (False, True)
    assert between("2.4", "2.8").low.has_adding_removing
