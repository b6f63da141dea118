"""What is said of a resource after an edit that the operator has not looked at."""

from typing import Any

import pytest

from poolkeeper.cli.kubectl import tables
from poolkeeper.cli.kubectl.readiness import Readiness, readiness
from poolkeeper.cli.output.ink import Ink


def topic(generation: int, seen: int | None) -> dict[str, Any]:
    metadata = {"name": "orders", "namespace": "shop", "generation": generation}
    if seen is None:
        return {"metadata": metadata, "status": {"observedGeneration": -1}}
    ready = {"type": "Ready", "status": "True", "reason": "InPlace", "message": "in place"}
    status = {"observedGeneration": seen, "conditions": [{**ready, "observedGeneration": seen}]}
    return {"metadata": metadata, "status": status}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(topic(2, 2), Readiness("True", "InPlace", "in place"), id="of-what-is-there"),
        pytest.param(
            topic(2, 1),
            Readiness(
                "Unknown",
                "Edited",
                "the operator has not looked at the edit yet; of what was declared before: InPlace:"
                " in place",
            ),
            id="of-what-was-there",
        ),
        pytest.param(
            topic(1, None),
            Readiness("Unknown", "", "the operator has not said anything about it yet"),
            id="nothing",
        ),
    ],
)
def test_it_is_said(body: dict[str, Any], said: Readiness) -> None:
    assert readiness(body) == said


def test_a_topic_that_is_edited_is_among_those_that_are_not_as_declared() -> None:
    heading, row = tables.topics([topic(2, 1)], Ink())
    assert row.split() == ["shop", "orders", "Unknown", "Edited"], heading
