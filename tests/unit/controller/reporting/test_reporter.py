"""What reaches the writers of statuses and events when clusters come and go, and leaders do."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from conditions import until
from poolkeeper.controller.reporting.reporter import (
    LOOK_AGAIN_S,
    Reporter,
)
from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.finalizers import FinalizerApi
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    ExternalPlanStatus,
    Outcome,
    State,
)
from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.resources.status.finalizers import is_run_possible
from poolkeeper.telemetry.metrics import Metrics
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.stages import at_rest, running, seen, told, with_statuses

AUTO = kafka_cluster(mode="Apply", approval={"policy": "Auto"})
WANTED = topic("orders", "fast", partitions=2, replicationFactor=1)
OBJECTS = (AUTO, pool("fast", 1, 2), pool("slow", 4, 5), WANTED)
SEEN = seen(kafka([kafka_topic("orders", (4,), (5,))]))
AWAY = Unavailable("no server of zk:2181 answers")
OUTAGE = Outcome(State.WAITING, waits=(after_error(AWAY),), error=AWAY)


class Writer:
    def __init__(self) -> None:
        self.written: dict[str, dict[str, Any]] = {}

    def put(self, reference: Reference, status: dict[str, Any], known: object) -> None:
        self.written[reference.name] = status

    def forget(self, reference: Reference) -> None:
        self.written.pop(reference.name, None)

    def said(self) -> dict[str, tuple[str, str]]:
        """Status and reason of Ready, by name; what was said is then over."""
        ready = {name: condition_of(status, "Ready") for name, status in self.written.items()}
        self.written = {}
        return {name: (each["status"], each["reason"]) for name, each in ready.items()}


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def record(self, reference: Reference, reason: str, note: str, *, warning: bool) -> bool:
        self.events.append((reference.name, reason))
        return True

    def forget(self) -> None:
        self.events = []


class NoServer:
    def get(self, path: str) -> None:
        return None

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        raise AssertionError("nothing is there to be patched")


class Guarded:
    """A server that has every object, and lets them be patched only if that is allowed."""

    def __init__(self) -> None:
        self.allowed = False
        self.asked: Counter[str] = Counter()

    def get(self, path: str) -> dict[str, Any]:
        return {"metadata": {"uid": "", "resourceVersion": "1"}}

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked[path.rpartition("/")[2]] += 1
        if not self.allowed:
            raise Forbidden(f"PATCH {path} is not allowed")
        return {}


class Room:
    """A reporter, what it reports to, and a clock."""

    def __init__(self, operator: str = "", api: FinalizerApi | None = None) -> None:
        self.writer, self.recorder, self.now_s = Writer(), Recorder(), 1000.0
        self.registry = CollectorRegistry()
        self.reporter = Reporter(
            api or NoServer(),
            self.writer,  # type: ignore[arg-type]
            self.recorder,  # type: ignore[arg-type]
            Metrics(self.registry),
            operator=operator,
            clock=lambda: self.now_s,
        )

    def report(self, assembly: Assembly, outcome: Outcome) -> dict[str, tuple[str, str]]:
        self.reporter.report(assembly, outcome)
        return self.writer.said()


@pytest.fixture
def room() -> Iterator[Room]:
    made = Room()
    with made.reporter:
        yield made


def main(objects: Sequence[CustomResource] = OBJECTS) -> Assembly:
    return assemble(objects)["main"]


MOVING = ("False", "Moving")
AWAY_NOW = ("Unknown", "Unreachable")


def test_a_short_outage_in_mid_run_shows_on_the_cluster_alone(room: Room) -> None:
    first = room.report(main(), running(main(), SEEN, 1))
    assert first == {
        "main": MOVING,
        "fast": MOVING,
        "slow": ("True", "InPlace"),
        "orders": MOVING,
    }
    room.recorder.events = []
    room.now_s += 1
    room.reporter.report(main(), OUTAGE)
    assert room.writer.written["main"]["plan"]["stage"] == 2
    assert room.writer.said() == {"main": AWAY_NOW}
    assert room.recorder.events == [("main", "Unreachable")]
    room.now_s += 1
    assert room.report(main(), running(main(), SEEN, 1)) == {"main": MOVING}


def test_what_is_counted_of_resources_goes_with_them(room: Room) -> None:
    def counted() -> dict[str, float]:
        found: dict[str, float] = {}
        for family in room.registry.collect():
            for each in family.samples if family.name == "poolkeeper_resources" else ():
                kind = each.labels["kind"]
                found[kind] = found.get(kind, 0) + each.value
        return found

    room.report(main(), at_rest(main(), SEEN))
    assert counted() == {"KafkaCluster": 1, "ResourcePool": 2, "Topic": 1}
    fewer = main(OBJECTS[:-1])
    room.report(fewer, at_rest(fewer, SEEN))
    assert counted() == {"KafkaCluster": 1, "ResourcePool": 2, "Topic": 0}
    room.reporter.retain(fewer.objects, {"other"})
    assert counted() == {}


def test_who_lacks_a_finalizer_that_may_not_be_added_is_not_called_ready() -> None:
    api = Guarded()
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
            "the operator may not add its finalizer (patch of Topics): if it is deleted, its Kafka"
            " topic is kept, although spec.deletionPolicy is Delete; in place in pool fast:"
            " 2 partitions of 1 replica"
        )
        warned = [each for each in room.recorder.events if each[1] == "FinalizerForbidden"]
        assert sorted(warned) == [("fast", "FinalizerForbidden"), ("orders", "FinalizerForbidden")]
        assert room.report(main(objects), at_rest_now) == {}, "nothing changed"
        api.allowed = True
        ready = dict.fromkeys(expected, ("True", "InPlace"))
        until(lambda: told_of_both(ready), "they have it now")


def test_nothing_is_known_of_writes_for_what_is_gone() -> None:
    room = Room(api=Guarded())
    deletes = replace(
        topic("orders", "fast", partitions=2, replicationFactor=1, deletionPolicy="Delete"), uid=""
    )
    declared = main((replace(AUTO, uid=""), replace(pool("fast", 4, 5), uid=""), deletes))
    cluster = declared.cluster
    assert cluster is not None
    with room.reporter as reporter:
        reporter.report(declared, at_rest(declared, SEEN))
        reporter.answer(cluster, RequestAnswer("stop", AnswerKind.UNREADABLE, 1))
        writers = (reporter._finalizers, reporter._requests)
        until(lambda: all(each._forbidden for each in writers), "both were tried")
        reporter.retain((), ())
        assert not any(each._forbidden for each in writers)


def test_a_long_outage_shows_on_everything(room: Room) -> None:
    room.report(main(), running(main(), SEEN, 1))
    room.now_s += 61
    expected = dict.fromkeys(("main", "fast", "slow", "orders"), AWAY_NOW)
    assert room.report(main(), OUTAGE) == expected


def test_a_new_leader_that_saw_nothing_yet_lets_statuses_stand(room: Room) -> None:
    before = told(OBJECTS, SEEN, running(main(), SEEN, 1))
    objects = (*with_statuses(OBJECTS, before), topic("new", "fast"))
    assert room.report(main(objects), OUTAGE) == {"main": AWAY_NOW, "new": AWAY_NOW}
    room.now_s += 59
    assert room.report(main(objects), OUTAGE) == {"main": AWAY_NOW}, "the watch shows another"
    room.now_s += 2
    expected = dict.fromkeys(("fast", "slow", "orders", "new"), AWAY_NOW)
    assert room.report(main(objects), OUTAGE) == expected


def test_what_is_wrong_with_a_resource_is_said_in_an_outage_too(room: Room) -> None:
    room.report(main(), running(main(), SEEN, 1))
    astray = topic("orders", "fast", partitions=2, replicationFactor=1, config={"no.such": "1"})
    changed = (*OBJECTS[:-1], astray)
    assert room.report(main(changed), OUTAGE)["orders"] == ("False", "Invalid")


def test_what_is_edited_in_an_outage_is_not_told_of_by_an_earlier_pass(room: Room) -> None:
    room.report(main(), at_rest(main(), SEEN))
    drained = replace(pool("fast", 1, 2, drain=[2]), generation=2)
    objects = (AUTO, drained, *OBJECTS[2:], topic("new", "fast"))
    found = room.report(main(objects), OUTAGE)
    assert found == {"main": AWAY_NOW, "fast": AWAY_NOW, "new": AWAY_NOW}
    assert room.report(main(objects), at_rest(main(objects), SEEN))["fast"][0] == "False"


def test_what_is_edited_in_mid_pass_keeps_its_status(room: Room) -> None:
    first = room.report(main(), at_rest(main(), SEEN))
    assert set(first) == {"main", "fast", "slow", "orders"}
    room.now_s += 60  # what a watch shows by then is not ours
    outcome = running(main(), SEEN, 1)
    room.reporter.report(main(), outcome, {WANTED.key, OBJECTS[1].key})
    assert room.writer.said() == {"main": MOVING, "slow": ("True", "InPlace")}


def test_who_leads_no_more_tells_nothing_more(room: Room) -> None:
    room.reporter.report(main(), running(main(), SEEN, 1))
    assert room.recorder.events
    room.reporter.drop_pending()
    assert (room.writer.written, room.recorder.events) == ({}, [])


def test_a_loop_that_waits_for_another_holder_in_mid_run_says_so_and_ends_no_run(
    room: Room,
) -> None:
    room.report(main(), running(main(), SEEN, 1))
    room.recorder.events = []
    holder = "`poolkeeper run` on a, process 1"
    wait = Wait(WaitReason.EXECUTOR_ACTIVE, detail=holder)
    room.reporter.report(main(), Outcome(State.WAITING, waits=(wait,)))
    status = room.writer.written["main"]
    assert condition_of(status, "Ready")["message"] == (
        f"another executor is active on this cluster: {holder}"
    )
    assert status["plan"]["stage"] == 2
    assert room.writer.said() == {"main": ("Unknown", "Waiting")}
    assert room.recorder.events == []


def test_a_cluster_that_is_only_looked_at_in_mid_run_ends_no_run(room: Room) -> None:
    room.report(main(), running(main(), SEEN, 1))
    room.recorder.events = []
    looking = main((kafka_cluster(mode="PlanOnly"), *OBJECTS[1:]))
    recorded = Wait(WaitReason.RUN_RECORDED, count=2**20, cause=Wait(WaitReason.PLAN_ONLY))
    outcome = replace(running(main(), SEEN, 1), waits=(recorded,), recorded=True)
    room.reporter.report(looking, outcome)
    message = condition_of(room.writer.written["main"], "Ready")["message"]
    assert "its throttle of 1 MiB/s a broker stays" in message
    assert room.writer.said()["main"] == ("False", "PlanOnly")
    assert ("main", "RunEnded") not in room.recorder.events


def test_a_cluster_that_is_deleted_in_mid_run_tells_of_the_run_until_its_end(room: Room) -> None:
    room.report(main(), running(main(), SEEN, 1))
    room.recorder.events = []
    leaving = kafka_cluster(mode="Apply", approval={"policy": "Auto"}, deleting=True, guarded=True)
    left = main((leaving, *OBJECTS[1:]))
    room.reporter.report(left, running(main(), SEEN, 1))
    assert room.writer.written["main"]["plan"]["stage"] == 2
    assert room.writer.said()["main"] == ("False", "Deleting")
    assert ("main", "RunEnded") not in room.recorder.events
    room.reporter.report(left, Outcome(State.PROGRESSED, last_observation=SEEN))
    assert "plan" not in room.writer.written["main"]
    assert ("main", "RunEnded") in room.recorder.events


def test_the_end_that_a_pass_decided_is_told_once_and_says_how(room: Room) -> None:
    begun = Action(ActionKind.RUN_BEGUN, hash="sha256:p", by="approval policy Auto")
    ended = Action(ActionKind.RUN_ENDED, ending=Ending.FINISHED)
    for did in ((begun,), (), (), (ended,)):
        room.reporter.report(main(), replace(running(main(), SEEN, 1), did=did))
    room.reporter.report(main(), Outcome(State.PROGRESSED, last_observation=SEEN))
    told = [reason for name, reason in room.recorder.events if name == "main"]
    assert (told.count("RunBegun"), told.count("RunEnded")) == (1, 1)
    # What another process ended is told from the status.
    room.reporter.report(main(), running(main(), SEEN, 1))
    room.recorder.events = []
    room.reporter.report(main(), Outcome(State.PROGRESSED, last_observation=SEEN))
    assert room.recorder.events.count(("main", "RunEnded")) == 1


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


HELD_ELSEWHERE = Outcome(
    State.WAITING, waits=(Wait(WaitReason.EXECUTOR_ACTIVE, detail="`poolkeeper run`"),)
)


def test_of_two_releases_the_one_that_holds_the_cluster_writes_the_statuses() -> None:
    """Both rounds last longer than any outage that Topics are not told of."""
    rooms = [Room("a/pk"), Room("b/pk")]
    outcomes = HELD_ELSEWHERE, running(main(), SEEN, 1)
    live: tuple[CustomResource, ...] = OBJECTS
    writes: Counter[str] = Counter()
    said = []
    for number in range(20):
        for room, outcome in zip(rooms, outcomes, strict=True):
            room.now_s += 8
            room.reporter.report(main(live), outcome)
            found, room.writer.written = room.writer.written, {}
            live = tuple(replace(each, status=found.get(each.name, each.status)) for each in live)
            writes.update(list(found) if number > 3 else ())
        said.append(condition_of(live[0].status, "Ready")["reason"])
    assert said[-16:] == ["TwoOperators"] * 16
    for room in rooms:
        assert ("main", "TwoOperators") in room.recorder.events
    assert writes.keys() <= {"main"}
    assert writes["main"] <= 4
    assert condition_of(live[-1].status, "Ready")["reason"] == "Moving"
    assert live[0].status is not None
    assert (live[0].status["operator"], live[0].status["plan"]["stage"]) == ("a/pk, b/pk", 2)

    room = rooms[1]  # the other one is uninstalled
    for _ in range(30):
        room.now_s += 10
        room.reporter.report(main(live), outcomes[1])
        found, room.writer.written = room.writer.written, {}
        live = tuple(replace(each, status=found.get(each.name, each.status)) for each in live)
    assert live[0].status is not None
    assert live[0].status["operator"] == "b/pk"
    assert condition_of(live[0].status, "Ready")["reason"] == "Moving"
    for each in rooms:
        each.reporter.__exit__(None, None, None)


def test_a_status_that_somebody_removed_is_written_again(room: Room) -> None:
    """Right after a write a watch may show what was before it, and nothing is written for that."""
    outcome = running(main(), SEEN, 1)
    room.report(main(), outcome)
    statuses_now = dict(told(OBJECTS, SEEN, outcome))
    live = assemble(with_statuses(OBJECTS, statuses_now))["main"]
    removed = tuple(replace(each, status={}) for each in OBJECTS)
    room.report(live, outcome)
    assert set(room.report(main(removed), outcome)) == {"main", "fast", "slow", "orders"}
    room.now_s += 1
    assert room.report(main(removed), outcome) == {}
    room.now_s += LOOK_AGAIN_S
    assert set(room.report(main(removed), outcome)) == {"main", "fast", "slow", "orders"}
    assert room.report(main(removed), outcome) == {}
