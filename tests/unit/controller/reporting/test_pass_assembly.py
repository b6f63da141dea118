"""What a pass reports on if resources were edited, or went, while it worked."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from poolkeeper.controller.reporting.pass_assembly import assembly_of_pass, unchanged_resources
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import kafka_cluster, pool, topic

CLUSTER = kafka_cluster(mode="Apply")
POOL = pool("fast", 1, 2, 3)
TOPIC = topic("orders", "fast", partitions=2, replicationFactor=2)
OBJECTS = (CLUSTER, POOL, TOPIC)
DRAINED = replace(pool("fast", 1, 2, 3, drain=[3]), generation=2)
ASTRAY = topic("orders", "fast", partitions=2, replicationFactor=2, config={"no.such": "1"})
TOLD = {"observedGeneration": 1}


def main(*objects: CustomResource) -> Assembly:
    return assemble(objects)["main"]


BEGAN_WITH = main(*OBJECTS)


def test_an_edit_is_part_of_the_next_pass() -> None:
    now = main(CLUSTER, replace(DRAINED, status=TOLD), TOPIC)
    found = assembly_of_pass(BEGAN_WITH, now)
    assert found == replace(
        BEGAN_WITH, objects={**BEGAN_WITH.objects, POOL.key: replace(POOL, status=TOLD)}
    )


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(main(CLUSTER, replace(POOL, status=TOLD), TOPIC), id="a-status-was-written"),
        pytest.param(replace(main(CLUSTER), desired=None, hold="no"), id="nothing-may-be-done"),
    ],
)
def test_now_counts_where(now: Assembly) -> None:
    assert assembly_of_pass(BEGAN_WITH, now) is now


@pytest.mark.parametrize(
    ("later", "told_of"),
    [
        pytest.param((DRAINED, TOPIC), {"main", "orders"}, id="is-edited"),
        pytest.param((POOL, ASTRAY), {"main", "fast"}, id="has-a-fault"),
        pytest.param((DRAINED,), {"main"}, id="is-gone"),
        pytest.param((DRAINED, replace(TOPIC, deleting=True)), {"main"}, id="is-being-deleted"),
        pytest.param((DRAINED, replace(TOPIC, uid="another")), {"main"}, id="has-a-new-name-sake"),
        pytest.param((POOL, TOPIC, topic("new", "fast")), {"main", "fast", "orders"}, id="is-new"),
    ],
)
def test_nothing_is_told_of_what(later: Sequence[CustomResource], told_of: set[str]) -> None:
    now = main(CLUSTER, *later)
    found = assembly_of_pass(BEGAN_WITH, now)
    assert {key.name for key in unchanged_resources(found, now)} == told_of


def test_a_pool_is_kept_for_a_topic_that_went_in_mid_pass() -> None:
    """Whether the pool is needed any longer is for the next pass to say."""
    found = assembly_of_pass(BEGAN_WITH, main(CLUSTER, DRAINED))
    assert TOPIC.key in found.objects
