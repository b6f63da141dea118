"""What reaches the writers of statuses and events when clusters come and go, and leaders do."""

from collections import Counter
from dataclasses import replace

from poolkeeper.controller.reporting.reported_status import LOOK_AGAIN_S
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import (
    Outcome,
    State,
)
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import condition_of
from unit.controller.reporting.reporting_room import (
    AUTO,
    AWAY_NOW,
    MOVING,
    OBJECTS,
    OUTAGE,
    SEEN,
    WANTED,
    Room,
    main,
)
from unit.resources.bodies import kafka_cluster, pool, topic
from unit.resources.stages import at_rest, running, told, with_statuses


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
    holder = "poolkeeper run on a, process 1"
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
