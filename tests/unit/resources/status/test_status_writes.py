"""When time goes on, a status is written if it tells something else, and not else."""

from dataclasses import replace

import pytest

from poolkeeper.errors import (
    Unavailable,
)
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.all_resources import statuses
from unit.resources.bodies import GIB, kafka, kafka_topic, topic
from unit.resources.differences import changed
from unit.resources.situations import (
    AUTO,
    FAST,
    IN_FAST,
    IN_SLOW,
    MAIN,
    MANUAL,
    ORDERS,
    POOLS,
    WANTED,
)
from unit.resources.stages import (
    LATER_MS,
    NOW_MS,
    at_rest,
    running,
    seen,
    told,
    with_statuses,
)


def test_times_are_those_of_transitions() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_FAST]))
    outcome = at_rest(assemble(objects)["main"], what)
    before = told(objects, what, outcome)
    written = with_statuses(objects, before)
    assert told(written, what, outcome, LATER_MS) == before
    assert changed(assemble(written)["main"], told(written, what, outcome, LATER_MS)) == {}
    away = told(written, None, Outcome(State.WAITING, error=Unavailable("gone")), LATER_MS)
    times = {each["type"]: each["lastTransitionTime"] for each in away[ORDERS]["conditions"]}
    assert times == {
        "Ready": "2023-11-14T23:13:20Z",
        "Reconciling": "2023-11-14T23:13:20Z",
    }


def test_a_waiting_cluster_is_not_written_because_its_topics_grow() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = at_rest(assemble(objects)["main"], what)
    written = with_statuses(objects, told(objects, what, outcome))
    place = assemble(written)["main"]
    grown = seen(kafka([kafka_topic("orders", (4, 5), (5, 6), (6, 4), (5, 4), size=3 * GIB)]))
    assert changed(place, told(written, grown, at_rest(place, grown), LATER_MS)) == {}


@pytest.mark.slow
def test_a_run_is_written_in_steps_and_not_whenever_its_rate_changes() -> None:
    lists = [(4, 5)] * 100
    objects: tuple[CustomResource, ...] = (MANUAL, *POOLS, topic("orders", "fast"))
    what = seen(kafka([kafka_topic("orders", *lists)]))
    outcome = running(assemble(objects)["main"], what, 0)
    assert outcome.progress is not None
    writes: dict[ObjectKey, int] = {}
    place = assemble(objects)["main"]
    for tick in range(0, 601, 2):
        arrived = tick * len(lists) // 600
        progress = replace(
            outcome.progress,
            moves_done=arrived,
            bytes_done=outcome.progress.bytes_total * tick // 600,
            seconds_left=600.0 - tick + (tick * 7919) % 400,
            arrived=frozenset(range(arrived)),
        )
        now = NOW_MS + 1000 * tick
        new = changed(place, statuses(place, what, replace(outcome, progress=progress), now))
        for key in new:
            writes[key] = writes.get(key, 0) + 1
        if new:
            objects = with_statuses(objects, dict(new))
            place = assemble(objects)["main"]
    assert 40 <= writes[MAIN] <= 85
    assert 20 <= writes[ORDERS] <= 45
    assert 20 <= writes[FAST] <= 25


def test_the_order_of_lists_and_the_conditions_of_others_are_no_change() -> None:
    objects = (AUTO, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    found = told(objects, what, at_rest(assemble(objects)["main"], what))
    live = {
        key: {**status, "conditions": [*reversed(status["conditions"]), {"type": "Audited"}]}
        for key, status in found.items()
    }
    place = assemble(with_statuses(objects, live))["main"]
    assert changed(place, found) == {}
    ready = {**found[ORDERS], "partitions": 5}
    assert changed(place, {**found, ORDERS: ready}) == {ORDERS: ready}
