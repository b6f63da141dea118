"""Statuses of clusters while a run is under way."""

from dataclasses import replace

import pytest

from builders import MIB
from poolkeeper.model.execution.punctuality import LateReason, Punctuality
from poolkeeper.model.execution.runs import Ending, Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.resources.checks.assembly import assemble
from unit.resources.bodies import GIB, kafka
from unit.resources.situations import (
    CLUSTER_FACTS,
    FAST,
    IN_SLOW,
    MAIN,
    MANUAL,
    ORDERS,
    POOLS,
    WANTED,
    hash_of,
    topic_status,
)
from unit.resources.stages import (
    conditions,
    running,
    seen,
    told,
    with_statuses,
)

IN_FLIGHT = Wait(WaitReason.STAGE_IN_FLIGHT, stage=2, count=1, of=4)
NO_CONTROLLER = Wait(WaitReason.NO_CONTROLLER)


def test_a_cluster_that_moves_tells_how_far() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1)
    assert told(objects, what, outcome)[MAIN] == topic_status(
        "Busy",
        "Moving",
        "stage 2: 1 of 4 moves done, 6 GiB left, about 15 min",
        **CLUSTER_FACTS,
        plan={
            "hash": hash_of(objects, IN_SLOW),
            "moves": 4,
            "bytes": 8 * GIB,
            "movesDone": 1,
            "bytesDone": 2 * GIB,
            "stage": 2,
            "secondsLeft": 900,
            "approval": "Approved",
        },
    )


def test_the_time_left_is_the_last_one_known_only_while_something_is_in_flight() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    work = assemble(objects)["main"]
    written = with_statuses(objects, told(objects, what, running(work, what, 1)))
    for in_flight, left in ((1, 900), (0, None)):
        outcome = running(work, what, 1, moves_in_flight=in_flight, seconds_left=None)
        later = told(written, what, outcome)[MAIN]
        assert later["plan"].get("secondsLeft") == left


PREDICTED = Punctuality(predicted_s=1000.0, elapsed_s=900.0, late_s=20.0, assumed_rate=MIB)


def test_a_run_beside_its_prediction() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1, punctuality=PREDICTED)
    plan = told(objects, what, outcome)[MAIN]["plan"]
    assert (plan["predictedSeconds"], "late" in plan) == (1200, False)


BACK = "rolled back: the stage in flight is cancelled and returns to where it began"


@pytest.mark.parametrize(
    ("ending", "phase", "said"),
    [
        (
            Ending.STOPPED,
            Phase.MOVING,
            "stopped: the run ends after the stage in flight; stage 2: ",
        ),
        (Ending.ROLLED_BACK, Phase.MOVING, f"{BACK}, then the run ends; stage 2: "),
        (Ending.REPLACED, Phase.MOVING, "stage 2: "),
        (Ending.STOPPED, Phase.RESTORING, "restoring throttles"),
        (None, Phase.MOVING, "stage 2: "),
    ],
)
def test_a_run_that_a_person_ended_says_so(ending: Ending | None, phase: Phase, said: str) -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1, ending=ending, phase=phase)
    ready = told(objects, what, outcome)[MAIN]["conditions"][0]
    assert ready["reason"] == "Moving"
    assert ready["message"].startswith(said)


def test_a_run_that_is_late_says_so_and_why_everywhere() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    late = replace(PREDICTED, late_s=2400.0, reason=LateReason.RATE_LOWERED)
    found = told(objects, what, running(assemble(objects)["main"], what, 1, punctuality=late))
    why = "about 40 min late: the throttle is or was lower than the plan assumed"
    assert found[MAIN]["plan"]["late"] == {
        "seconds": 2400,
        "reason": "RateLowered",
        "message": why,
    }
    messages = {key: status["conditions"][0]["message"] for key, status in found.items()}
    assert messages[MAIN] == f"stage 2: 1 of 4 moves done, 6 GiB left, about 15 min, {why}"
    short = "the run is late: the throttle is or was lower than the plan assumed"
    assert messages[ORDERS].endswith(f"6 GiB left, about 15 min; {short}")
    assert messages[FAST] == f"moving: 1 of 4 partitions; {short}"


def test_what_a_run_waits_for_is_said_and_its_other_phases_too() -> None:
    objects = (MANUAL, *POOLS, WANTED)
    what = seen(kafka([IN_SLOW]))
    outcome = running(assemble(objects)["main"], what, 1, phase=Phase.RESTORING)
    outcome = replace(outcome, waits=(IN_FLIGHT, NO_CONTROLLER))
    assert told(objects, what, outcome)[MAIN]["conditions"] == conditions(
        "Busy", "Moving", "restoring throttles; waits: no controller is elected"
    )
