"""What is said of a Rebalance, and that the next leader reads the same course from it."""

import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.rebalances import (
    ClusterRebalance,
    PartState,
    RebalanceSpec,
    RebalanceState,
    RebalanceStep,
)
from poolkeeper.model.specs import Approval, ApprovalPolicy
from poolkeeper.resources.kinds.custom_resource import read_object
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.events import StatusEvent
from poolkeeper.resources.status.rebalance import (
    RebalanceStatusInputs,
    ready_condition_of,
    rebalance_events,
    rebalance_status,
    requested_ms_of,
    state_of,
)
from unit.resources.bodies import body

GIB = 1024**3
NOW_MS = 1_767_225_600_000
HASH = f"sha256:{'1' * 64}"
OWN = f"sha256:{'2' * 64}"
SPEC = RebalanceSpec("spring")
OBJECT = read_object(body("Rebalance", "spring", {}, generation=3))
SCHEMA = jsonschema.Draft4Validator(
    schemas.prepare_schema(
        schemas.definition("rebalances")["spec"]["versions"][0]["schema"]["openAPIV3Schema"][
            "properties"
        ]["status"]
    )
)

A = ClusterRebalance("a", PartState.PLANNED, 1, OWN, 12, 40 * GIB)
B = ClusterRebalance("b", PartState.PLANNED, 2, OWN, 4, 2 * GIB)
LOST = ClusterRebalance("c", PartState.FAILED, message="not planned: no answer from zk:2181")
EMPTY = ClusterRebalance("d", PartState.IN_PLACE)
WAITING = RebalanceState(
    RebalanceStep.WAITING_FOR_APPROVAL,
    NOW_MS + 7,
    "sha256:scope",
    "Local",
    HASH,
    "sha256:record",
    2,
    700,
    parts=(A, B, LOST, EMPTY),
)
EXECUTING = replace(WAITING, step=RebalanceStep.EXECUTING)
LINE = (
    "kubectl patch rebalance spring --type=merge"
    f""" -p '{{"spec":{{"approval":{{"plans":["{HASH}"]}}}}}}'"""
)


def remark(course, **spec):
    return ready_condition_of(course, replace(SPEC, **spec))


@pytest.mark.parametrize(
    ("course", "spec", "expected"),
    [
        pytest.param(
            RebalanceState(),
            {},
            ReadyCondition(
                ReadyStatus.RECONCILING, "Planning", "the clusters are read and planned"
            ),
            id="planning",
        ),
        pytest.param(
            WAITING,
            {},
            ReadyCondition(
                ReadyStatus.RECONCILING,
                "WaitingForApproval",
                "waits to move 16 partitions (42 GiB) in 2 clusters, in 2 waves, about 15 min;"
                f" c: not planned: no answer from zk:2181; approve {HASH}: {LINE}",
            ),
            id="waiting-with-the-line-at-the-end",
        ),
        pytest.param(
            replace(
                EXECUTING,
                parts=(
                    replace(A, state=PartState.MOVING, moves_done=3, bytes_done=10 * GIB),
                    replace(B, state=PartState.WAITING, message="outside spec.execution.windows"),
                    LOST,
                    EMPTY,
                ),
            ),
            {},
            ReadyCondition(
                ReadyStatus.RECONCILING,
                "Moving",
                "1 of 4 clusters done, 3 of 16 moves, 32 GiB left; failed: c: not planned: no"
                " answer from zk:2181; waits: b: outside spec.execution.windows",
            ),
            id="moving",
        ),
        pytest.param(
            replace(EXECUTING, parts=(replace(A, state=PartState.WAITING, message="paused"),)),
            {},
            ReadyCondition(
                ReadyStatus.RECONCILING,
                "Waiting",
                "0 of 1 cluster done, 0 of 12 moves, 40 GiB left; waits: a: paused",
            ),
            id="everything-waits",
        ),
        pytest.param(
            replace(EXECUTING, parts=(A,)),
            {"paused": True},
            ReadyCondition(
                ReadyStatus.RECONCILING,
                "Paused",
                "stages in flight run to their end, no further stage starts; 0 of 1 cluster done,"
                " 0 of 12 moves, 40 GiB left",
            ),
            id="paused",
        ),
        pytest.param(
            replace(
                EXECUTING,
                step=RebalanceStep.SUCCEEDED,
                parts=(replace(A, state=PartState.DONE, message="left alone: t-1"), EMPTY),
            ),
            {},
            ReadyCondition(
                ReadyStatus.READY,
                "Succeeded",
                "moved 12 partitions (40 GiB) in 1 cluster; a: left alone: t-1",
            ),
            id="succeeded",
        ),
        pytest.param(
            RebalanceState(RebalanceStep.SUCCEEDED, parts=(EMPTY,)),
            {},
            ReadyCondition(
                ReadyStatus.READY, "Succeeded", "in place: nothing had to move in 1 cluster"
            ),
            id="nothing-had-to-move",
        ),
        pytest.param(
            replace(
                EXECUTING, step=RebalanceStep.FAILED, parts=(replace(A, state=PartState.DONE), LOST)
            ),
            {},
            ReadyCondition(
                ReadyStatus.STALLED,
                "Failed",
                "1 of 2 clusters done; c: not planned: no answer from zk:2181; make another"
                " Rebalance for the rest",
            ),
            id="failed",
        ),
    ],
)
def test_remarks(course, spec, expected):
    assert remark(course, **spec) == expected


def status(course, spec=SPEC, each=OBJECT):
    return rebalance_status(
        each, RebalanceStatusInputs(course, ready_condition_of(course, spec)), spec, NOW_MS
    )


def test_a_whole_status():
    found = status(WAITING)
    conditions = found.pop("conditions")
    assert [(each["type"], each["status"]) for each in conditions] == [
        ("Ready", "False"),
        ("Reconciling", "True"),
    ]
    assert found == {
        "observedGeneration": 3,
        "step": "WaitingForApproval",
        "engine": "Local",
        "asked": "2026-01-01T00:00:00.007Z",
        "scope": "sha256:scope",
        "record": "sha256:record",
        "plan": {
            "hash": HASH,
            "clusters": 4,
            "clustersDone": 1,
            "moves": 16,
            "bytes": 42 * GIB,
            "movesDone": 0,
            "bytesDone": 0,
            "waves": 2,
            "seconds": 700,
            "approval": "Waiting",
        },
        "clusters": [
            {
                "name": name,
                "state": "Planned",
                "wave": wave,
                "hash": OWN,
                "moves": moves,
                "bytes": size,
                "movesDone": 0,
                "bytesDone": 0,
            }
            for name, wave, moves, size in (("a", 1, 12, 40 * GIB), ("b", 2, 4, 2 * GIB))
        ]
        + [
            {"name": "c", "state": "Failed", "message": "not planned: no answer from zk:2181"},
            {"name": "d", "state": "InPlace"},
        ],
    }


@pytest.mark.parametrize(
    ("course", "approval", "expected"),
    [
        pytest.param(WAITING, Approval(), "Waiting", id="waits"),
        pytest.param(EXECUTING, Approval(plans=(HASH,)), "Approved", id="approved"),
        pytest.param(EXECUTING, Approval(ApprovalPolicy.AUTO), "NotNeeded", id="automatic"),
        pytest.param(replace(WAITING, hash=""), Approval(), "NotNeeded", id="nothing-moves"),
    ],
)
def test_approval(course, approval, expected):
    assert status(course, replace(SPEC, approval=approval))["plan"]["approval"] == expected


HASHES = st.sampled_from(["", HASH, OWN])
COUNTS = st.integers(0, 10**6)
PARTS = st.builds(
    lambda state, message, hash_, *rest: ClusterRebalance(
        "", state, *((1 + rest[0], hash_, *rest[1:]) if hash_ else ()), message=message
    ),
    st.sampled_from(PartState),
    st.text(max_size=1024),
    HASHES,
    *([COUNTS] * 5),
)
COURSES = st.builds(
    RebalanceState,
    step=st.sampled_from(RebalanceStep),
    requested_ms=st.integers(1, 4 * 10**12),
    scope=HASHES,
    engine=st.sampled_from(["Local", "Spark"]),
    hash=HASHES,
    record=HASHES,
    waves=COUNTS,
    seconds=COUNTS,
    ended_ms=st.integers(1, 4 * 10**12),
    parts=st.lists(PARTS, min_size=1, max_size=4).map(
        lambda parts: tuple(replace(part, cluster=f"c{n}") for n, part in enumerate(parts))
    ),
)


@given(COURSES)
def test_a_status_tells_the_course_and_is_what_the_definition_allows(course):
    found = status(course)
    assert state_of(found) == course
    assert [error.message for error in SCHEMA.iter_errors(found)] == []


@pytest.mark.parametrize("letter", ["m", "é", "€"])
def test_the_status_of_a_thousand_clusters_has_room_in_the_store(letter: str) -> None:
    parts = (
        replace(B, cluster=f"{n:0253}", state=PartState.FAILED, message=letter * 5000)
        for n in range(1000)
    )
    found = status(replace(EXECUTING, parts=tuple(parts)))
    assert [error.message for error in SCHEMA.iter_errors(found)] == []
    messages = [each["message"] for each in found["clusters"]]
    assert sum(len(each.encode()) for each in messages) <= 256 * 1024
    assert all(each.startswith(letter * 50) and each.endswith("…") for each in messages)
    # Of every field the server keeps who wrote it, which is about as much again without messages.
    assert len(json.dumps(found, ensure_ascii=False).encode()) < 900_000


def test_without_a_status_it_is_at_its_beginning():
    assert state_of(None) == state_of({"observedGeneration": -1}) == RebalanceState()


def events(before, after):
    return list(rebalance_events(before and status(before), status(after)))


@pytest.mark.parametrize(
    ("written", "ms"),
    [
        ("2023-11-14T22:13:20.007Z", 1_700_000_000_007),
        ("2023-11-14t22:13:20.123456789z", 1_700_000_000_123),
        ("2023-11-14T22:13:20+99:99", 0),
        ("0000-01-01T00:00:00Z", 0),
        ("0001-01-01T00:00:00+14:00", 0),
        ("9999-12-31T23:59:59-14:00", 0),
    ],
)
def test_a_time_is_any_that_the_api_server_takes(written: str, ms: int) -> None:
    assert requested_ms_of({"asked": written}) == ms


def test_events_tell_transitions():
    assert events(None, RebalanceState()) == [
        StatusEvent("Normal", "Planning", "the clusters are read and planned")
    ]
    assert [each.reason for each in events(RebalanceState(), WAITING)] == ["WaitingForApproval"]
    moving = replace(EXECUTING, parts=(replace(A, state=PartState.MOVING), B))
    further = replace(moving, parts=(replace(A, state=PartState.MOVING, moves_done=4), B))
    assert events(moving, further) == []
    failed = replace(A, state=PartState.FAILED, message="the plan is outdated")
    assert events(moving, replace(moving, parts=(failed, replace(B, state=PartState.MOVING)))) == [
        StatusEvent("Warning", "ClusterFailed", "a: the plan is outdated")
    ]
    ended = replace(
        EXECUTING, step=RebalanceStep.FAILED, parts=(failed, replace(B, state=PartState.DONE))
    )
    assert [(e.type, e.reason) for e in events(moving, ended)] == [
        ("Warning", "Failed"),
        ("Warning", "ClusterFailed"),
    ]


def test_the_schema_is_held_against_what_is_told():
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({"step": "Done"})
