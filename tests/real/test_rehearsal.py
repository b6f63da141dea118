"""A rehearsal foretells what real brokers do: stages in their order, bytes by broker, and when."""

from collections import Counter

import pytest

from matrices import soak
from truth import BROKER_SETTINGS, Truth, compare

ERROR_MAX = 0.2


def assert_same_course(found: Truth) -> None:
    """The stages requested are those rehearsed, and each broker copied what was foretold."""
    rehearsed, real = found.rehearsed, found.real
    assert real.entries == [list(stage.entries) for stage in rehearsed.stages]
    stages = [stage.number for stage in rehearsed.stages]
    assert [number for number, _ in real.requested] == stages
    assert [number for number, _ in real.finished] == stages
    planned = Counter({b.broker: b.copied_in for b in rehearsed.brokers if b.copied_in})
    copied = Counter({b: size for b, size in real.seen[-1][1].items() if size})
    assert copied == planned


def test_stages_and_bytes_are_those_of_real_brokers(kafka, topic_name) -> None:
    sandbox = kafka(brokers=4, racks="", settings=BROKER_SETTINGS)
    found = compare(sandbox, topic_name, partitions=12, mib=4, rate_mib=8, at_a_time=2)
    assert len(found.rehearsed.stages) > 1
    assert_same_course(found)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", soak("3.9.2", "2.8.2"))
def test_a_run_of_minutes_takes_as_long_as_it_was_rehearsed(fresh_kafka, topic_name, version):
    sandbox = fresh_kafka(version, brokers=6, racks="", settings=BROKER_SETTINGS)
    found = compare(sandbox, topic_name, partitions=20, mib=32, rate_mib=2, at_a_time=2)
    assert_same_course(found)
    assert found.real.seconds > 60
    assert found.makespan_error < ERROR_MAX
    assert max(found.stage_errors) < ERROR_MAX
    assert max(found.bytes_errors) < ERROR_MAX
