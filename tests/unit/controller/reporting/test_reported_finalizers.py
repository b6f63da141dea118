"""Which resources get our finalizer or keep it, and what is told where it may not be added."""

from dataclasses import replace
from typing import Any

import pytest

from conditions import until
from poolkeeper.errors import Forbidden, PoolkeeperError, Refused
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    Outcome,
    State,
)
from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.resources.status.finalizers import is_run_possible
from poolkeeper.resources.status.kafka_cluster import last_request
from unit.controller.reporting.reporting_room import (
    AUTO,
    OBJECTS,
    OUTAGE,
    SEEN,
    Guarded,
    Room,
    main,
)
from unit.resources.bodies import kafka_cluster, pool, topic
from unit.resources.stages import at_rest, running

DENIED = 'admission webhook "x" denied the request: no'


@pytest.mark.slow
@pytest.mark.parametrize("denial", [Forbidden(DENIED), Refused(DENIED)])
def test_who_lacks_a_finalizer_that_may_not_be_added_is_not_called_ready(
    denial: PoolkeeperError,
) -> None:
    api = Guarded(denial)
    room = Room(api=api)
    deletes = replace(
        topic("orders", "fast", partitions=2, replicationFactor=1, deletionPolicy="Delete"), uid=""
    )
    objects = (AUTO, replace(pool("fast", 4, 5), uid=""), deletes)
    at_rest_now = at_rest(main(objects), SEEN)
    expected = {"fast": ("False", "FinalizerForbidden"), "orders": ("False", "FinalizerForbidden")}
    with room.reporter:
        found = room.report(main(objects), at_rest_now)
        assert {found[name] for name in expected} == {("True", "InPlace")}, "not tried yet"
        until(lambda: api.asked == {"fast": 1, "orders": 1}, "both were tried")

        # A report tells what is known by then, maybe of one of the two.
        told: dict[str, tuple[str, str]] = {}

        def told_of_both(wanted: dict[str, tuple[str, str]]) -> dict[str, Any] | None:
            room.reporter.report(main(objects), at_rest_now)
            written = room.writer.written
            told.update(room.writer.said())
            statuses.update(written)
            return statuses if told.items() >= wanted.items() else None

        statuses: dict[str, Any] = {}
        written = until(lambda: told_of_both(expected), "both are told")
        assert condition_of(written["orders"], "Ready")["message"] == (
            "the operator may not add its finalizer: if it is deleted, its Kafka topic is kept,"
            f" although spec.deletionPolicy is Delete ({DENIED}); in place in pool fast:"
            " 2 partitions of 1 replica"
        )
        warned = [each for each in room.recorder.events if each[1] == "FinalizerForbidden"]
        assert sorted(warned) == [("fast", "FinalizerForbidden"), ("orders", "FinalizerForbidden")]
        assert room.report(main(objects), at_rest_now) == {}, "nothing changed"
        api.allowed = True
        ready = dict.fromkeys(expected, ("True", "InPlace"))
        until(lambda: told_of_both(ready), "they have it now")


def test_nothing_is_known_of_writes_for_what_is_gone() -> None:
    api, answer = Guarded(), RequestAnswer("stop", AnswerKind.UNREADABLE, 1)
    api.status = {"lastRequest": last_request(answer)}
    room = Room(api=api)
    deletes = replace(
        topic("orders", "fast", partitions=2, replicationFactor=1, deletionPolicy="Delete"), uid=""
    )
    declared = main((replace(AUTO, uid=""), replace(pool("fast", 4, 5), uid=""), deletes))
    cluster = declared.cluster
    assert cluster is not None
    with room.reporter as reporter:
        reporter.report(declared, at_rest(declared, SEEN))
        reporter.answer(cluster, answer)
        writers = (reporter._finalizers, reporter._requests._writer)
        until(lambda: all(each._failing for each in writers), "both were tried")
        reporter.retain((), ())
        assert not any(each._failing for each in writers)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        pytest.param(running(main(), SEEN, 1), True, id="a run is recorded"),
        pytest.param(
            Outcome(State.WAITING, last_observation=SEEN, recorded=True), True, id="it stands still"
        ),
        pytest.param(
            replace(running(main(), SEEN, 1), progress=None), True, id="moves wait for a run"
        ),
        pytest.param(
            Outcome(
                State.CONVERGED,
                last_observation=SEEN,
                external=ExternalPlanStatus("x", ExternalPlanState.WAITING),
            ),
            True,
            id="a plan of others waits for its turn",
        ),
        pytest.param(
            Outcome(State.CONVERGED, last_observation=SEEN), False, id="nothing is to be done"
        ),
        pytest.param(OUTAGE, None, id="nobody knows"),
    ],
)
def test_a_run_that_is_near_keeps_its_cluster(outcome: Outcome, expected: bool | None) -> None:
    assert is_run_possible(main(), outcome) is expected


def test_where_nothing_may_be_written_moves_keep_nothing() -> None:
    looking = main((kafka_cluster(mode="PlanOnly"), *OBJECTS[1:]))
    assert is_run_possible(looking, replace(running(main(), SEEN, 1), progress=None)) is False


def leaving_cluster(*annotations: str) -> Assembly:
    given = replace(AUTO, deleting=True, given_up="abandon" in annotations)
    return main((given, *OBJECTS[1:]))


@pytest.mark.parametrize(
    ("annotations", "outcome", "expected"),
    [
        pytest.param((), OUTAGE, None, id="nobody-knows-whether-a-run-is-left"),
        pytest.param(("abandon",), OUTAGE, False, id="a-person-gave-the-cluster-up"),
        pytest.param(
            ("abandon",), running(main(), SEEN, 1), True, id="a-cluster-that-answers-ends-its-run"
        ),
    ],
)
def test_a_cluster_that_is_gone_for_good_can_be_deleted(
    annotations: tuple[str, ...], outcome: Outcome, expected: bool | None
) -> None:
    assert is_run_possible(leaving_cluster(*annotations), outcome) is expected


def test_a_cluster_that_stays_is_not_given_up() -> None:
    assert is_run_possible(main((replace(AUTO, given_up=True), *OBJECTS[1:])), OUTAGE) is None


def test_a_deletion_that_cannot_look_says_how_to_let_the_cluster_go(room: Room) -> None:
    room.reporter.report(leaving_cluster(), OUTAGE)
    message = condition_of(room.writer.written["main"], "Ready")["message"]
    line = "kubectl annotate kafkacluster main poolkeeper.dev/deletion=abandon --overwrite"
    assert message.startswith("no server of zk:2181 answers")
    assert message.endswith(line)
