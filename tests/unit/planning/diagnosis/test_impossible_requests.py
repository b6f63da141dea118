"""Requests that only the live cluster shows to be wrong, by number and by list alike."""

from typing import Any

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Strategy
from poolkeeper.planning.diagnosis import impossible_requests

ONE, THREE = ((1, 2),), ((1, 2), (2, 1), (1, 2))


def manual(*lists: tuple[int, ...], **fields: Any) -> dict[str, Any]:
    return {"strategy": Strategy.MANUAL, "assignment": lists, **fields}


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param({}, [], id="no number"),
        pytest.param({"partitions": 2}, [], id="as it is"),
        pytest.param({"partitions": 3}, [], id="more"),
        pytest.param(
            {"partitions": 1},
            [
                "spec.partitions: is 1 (expected at least 2: topic t has them, and partitions"
                " never shrink)"
            ],
            id="fewer",
        ),
        pytest.param(
            {"partitions": 3, "keyed": True, "accept_key_remap_to": 4},
            [
                "spec.partitions: is 3 (expected 2, or acceptKeyRemapTo: 3: the topic is keyed,"
                " 66.7 % of its keys would change partition)"
            ],
            id="more of a keyed one",
        ),
        pytest.param(
            {"partitions": 3, "keyed": True, "accept_key_remap_to": 3}, [], id="as was consented to"
        ),
        pytest.param(manual(*THREE), [], id="more lists"),
        pytest.param(
            manual(*ONE),
            [
                "spec.placement.assignment: has 1 list (expected at least 2: topic t has as many"
                " partitions, and partitions never shrink)"
            ],
            id="fewer lists",
        ),
        pytest.param(
            manual(*THREE, keyed=True),
            [
                "spec.placement.assignment: has 3 lists (expected 2, or acceptKeyRemapTo: 3: the"
                " topic is keyed, 66.7 % of its keys would change partition)"
            ],
            id="more lists of a keyed one",
        ),
        pytest.param(manual(*THREE, keyed=True, accept_key_remap_to=3), [], id="consented lists"),
        pytest.param(
            {"strategy": Strategy.KAFKA, "assignment": ONE, "partitions": 2},
            [],
            id="lists that do not count",
        ),
    ],
)
def test_partitions_are_added_and_never_removed(wanted: dict[str, Any], said: list[str]) -> None:
    asked = desired(pool_spec("p", 1, 2), topic_spec("t", **wanted))
    seen = cluster((1, 2), topic("t", (1, 2), (2, 1)))
    found = impossible_requests.problems(asked, seen, Records())
    assert [f"{each.field}: {each.message}" for each in found] == said
    assert impossible_requests.of_pools(asked, seen, Records()) == ()


def test_a_topic_that_is_deleted_or_not_there_has_no_partitions_to_lose() -> None:
    asked = desired(pool_spec("p", 1, 2), topic_spec("t", partitions=1), topic_spec("new"))
    seen = cluster((1, 2), topic("t", (1, 2), (2, 1)), deleting={"t"})
    assert impossible_requests.problems(asked, seen, Records()) == ()
