"""What a pass reports on if resources were edited, or went, while it worked."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from poolkeeper.controller.reporting.pass_assembly import assembly_of_pass, unchanged
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import kafka_cluster, pool, topic

CLUSTER = kafka_cluster(mode="Apply")
POOL = pool("fast", 1, 2, 3)
TOPIC = topic("orders", "fast", partitions=2, replicationFactor=2)
OBJECTS = (CLUSTER, POOL, TOPIC)
DRAINED = replace(pool("fast", 1, 2, 3, drain=[3]), generation=2)
TOLD = {"observedGeneration": 1}


def main(*objects: CustomResource) -> Assembly:
    return assemble(objects)["main"]


BEGAN_WITH = main(*OBJECTS)


def generations(assembly: Assembly) -> dict[str, int]:
    return {each.name: each.generation for each in assembly.objects.values()}


def test_an_edit_is_part_of_the_next_pass() -> None:
    now = main(CLUSTER, replace(DRAINED, status=TOLD), TOPIC)
    found = assembly_of_pass(BEGAN_WITH, now)
    assert generations(found) == {"main": 1, "fast": 1, "orders": 1}
    assert found.desired == BEGAN_WITH.desired
    assert found.objects[POOL.key] == replace(POOL, status=TOLD), "the status is that of now"
    assert {key.name for key in unchanged(found, now)} == {"main", "orders"}


def test_what_is_new_is_part_of_the_next_pass() -> None:
    now = main(*OBJECTS, topic("new", "fast"))
    assert generations(assembly_of_pass(BEGAN_WITH, now)) == {"main": 1, "fast": 1, "orders": 1}


@pytest.mark.parametrize(
    "later",
    [
        pytest.param((), id="is-gone"),
        pytest.param((replace(TOPIC, deleting=True),), id="is-being-deleted"),
        pytest.param((replace(TOPIC, uid="another"),), id="is-another-of-its-name"),
    ],
)
def test_nothing_is_told_of_what(later: Sequence[CustomResource]) -> None:
    now = main(CLUSTER, DRAINED, *later)
    assert generations(assembly_of_pass(BEGAN_WITH, now)) == {"main": 1, "fast": 1}


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(main(CLUSTER, replace(POOL, status=TOLD), TOPIC), id="a-status-was-written"),
        pytest.param(replace(main(CLUSTER), desired=None, hold="no"), id="nothing-may-be-done"),
    ],
)
def test_now_counts_where(now: Assembly) -> None:
    assert assembly_of_pass(BEGAN_WITH, now) is now


def test_what_has_a_fault_since_is_not_unchanged() -> None:
    astray = topic("orders", "fast", partitions=2, replicationFactor=2, config={"no.such": "1"})
    found = unchanged(BEGAN_WITH, main(CLUSTER, POOL, astray))
    assert {key.name for key in found} == {"main", "fast"}
