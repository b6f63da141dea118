"""Words of values, all in one table: `tests/golden/wording.txt` has what people read.

Rewording a sentence changes that file and no other test: `pytest --update-golden` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from poolkeeper import wording
from poolkeeper.errors import HolderActive, RefusalReason, Refused, Stale, StalePlan, Unavailable
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Why
from poolkeeper.model.execution.refusals import Drift, DriftReason, HopelessMove, Refusal
from poolkeeper.model.execution.runs import Ending, RateReason
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, RoomShortage, Wait, after_error
from poolkeeper.model.specs import Mode
from poolkeeper.model.topology import TopicPartition

GOLDEN = Path(__file__).parents[2] / "golden" / "wording.txt"
GIB = 2**30
T = tuple(TopicPartition("t", number) for number in range(7))
R, A, D = WaitReason, ActionKind, DriftReason

DETAILS: dict[WaitReason, list[Wait]] = {
    R.APPROVAL_REQUIRED: [
        Wait(R.APPROVAL_REQUIRED, hash="sha256:1"),
        Wait(R.APPROVAL_REQUIRED, action=Action(A.SET_CONFIG, topic="t")),
    ],
    R.ADOPTION_REQUIRED: [
        Wait(R.ADOPTION_REQUIRED, name="shop", topics=("t",), count=1, hash="sha256:1"),
        Wait(R.ADOPTION_REQUIRED, name="shop", topics=("t", "u"), count=3000, hash="sha256:1"),
    ],
    R.RUN_RECORDED: [
        Wait(R.RUN_RECORDED, cause=Wait(R.PAUSED)),
        Wait(R.RUN_RECORDED, cause=Wait(R.PLAN_ONLY), count=2 * 2**20),
    ],
    R.THROTTLES_LEFT: [
        Wait(R.THROTTLES_LEFT, topics=("t",)),
        Wait(R.THROTTLES_LEFT, topics=("t", "u"), brokers=(1, 2, 3, 4, 5, 6, 7)),
        Wait(R.THROTTLES_LEFT, brokers=(3,), detail="/config/brokers/3: hidden"),
    ],
    R.KRAFT_MIGRATION: [Wait(R.KRAFT_MIGRATION), Wait(R.KRAFT_MIGRATION, brokers=(2,))],
    R.THROTTLE_SETTLING: [
        Wait(R.THROTTLE_SETTLING),
        Wait(R.THROTTLE_SETTLING, brokers=(3, 4)),
    ],
    R.THROTTLES_UNREADABLE: [
        Wait(
            R.THROTTLES_UNREADABLE,
            topics=("t",),
            brokers=(3,),
            path="/config/topics/t",
            detail="its ACL does not let us read it",
        )
    ],
    R.THROTTLES_UNWRITABLE: [
        Wait(R.THROTTLES_UNWRITABLE, topic="t", path="/config/topics/t", detail="not allowed"),
        Wait(R.THROTTLES_UNWRITABLE, brokers=(3,), path="/config/brokers/3", detail="no"),
    ],
    R.THROTTLES_YIELDED: [Wait(R.THROTTLES_YIELDED, topics=("t",), brokers=(3,))],
    R.THROTTLES_UNACCOUNTED: [
        Wait(R.THROTTLES_UNACCOUNTED, brokers=(3,)),
        Wait(R.THROTTLES_UNACCOUNTED, path="/config/brokers/<default>"),
        Wait(R.THROTTLES_UNACCOUNTED, topics=("t",), path="/config/brokers/<default>"),
    ],
    R.THROTTLED_CONFIG_DAMAGED: [
        Wait(R.THROTTLED_CONFIG_DAMAGED, path="/config/brokers/1", detail="it is no JSON")
    ],
    R.THROTTLE_CONFLICT: [Wait(R.THROTTLE_CONFLICT, topics=("t",), brokers=(1, 2, 3, 4, 5))],
    R.FOREIGN_REQUEST: [Wait(R.FOREIGN_REQUEST, partitions=T)],
    R.CONTROLLER_EPOCH_BEHIND: [
        Wait(R.CONTROLLER_EPOCH_BEHIND, partitions=T[:1], count=1, of=57),
        Wait(R.CONTROLLER_EPOCH_BEHIND, partitions=T[:1], count=12, of=57),
    ],
    R.ISR_OUTSIDE_REPLICAS: [
        Wait(R.ISR_OUTSIDE_REPLICAS, partitions=T[:1], brokers=(3,)),
        Wait(R.ISR_OUTSIDE_REPLICAS, partitions=T, brokers=(3, 4)),
    ],
    R.ORPHANED_MOVES: [
        Wait(R.ORPHANED_MOVES, partitions=T[:1]),
        Wait(R.ORPHANED_MOVES, partitions=T, path="spec.kafkaVersion"),
    ],
    R.ORPHANED_MOVES_AWAITED: [
        Wait(R.ORPHANED_MOVES_AWAITED, partitions=T[:1]),
        Wait(R.ORPHANED_MOVES_AWAITED, partitions=T, brokers=(3,)),
    ],
    R.RUN_LOST: [
        Wait(R.RUN_LOST, hash="sha256:1", partitions=T[:1]),
        Wait(R.RUN_LOST, hash="sha256:1", partitions=T, brokers=(3,)),
        Wait(R.RUN_LOST, hash="sha256:1", partitions=T[:1], path="/poolkeeper/run"),
    ],
    R.SOURCES_NOT_LIVE: [
        Wait(R.SOURCES_NOT_LIVE, partitions=T[:1], brokers=(1,)),
        Wait(R.SOURCES_NOT_LIVE, partitions=T, brokers=(1, 2)),
    ],
    R.PARTITION_LEADERLESS: [
        Wait(R.PARTITION_LEADERLESS, partitions=T[:1]),
        Wait(R.PARTITION_LEADERLESS, partitions=T[:1], brokers=(1, 2)),
    ],
    R.NO_LIVE_REPLICA_IN_SYNC: [
        Wait(R.NO_LIVE_REPLICA_IN_SYNC, partitions=T[:1], brokers=(1,)),
    ],
    R.UNDER_REPLICATED: [
        Wait(R.UNDER_REPLICATED, partitions=T[:1]),
        Wait(R.UNDER_REPLICATED, partitions=T),
    ],
    R.CONTROLLER_UNNOTICING: [
        Wait(R.CONTROLLER_UNNOTICING),
        Wait(R.CONTROLLER_UNNOTICING, detail="broker 1 is of Kafka 2.3"),
    ],
    R.CANCEL_REFUSED: [
        Wait(R.CANCEL_REFUSED, partitions=T[:1], detail="details"),
        Wait(R.CANCEL_REFUSED, partitions=T[:2]),
    ],
    R.COPY_STANDS_STILL: [
        Wait(R.COPY_STANDS_STILL, partitions=T[:1], brokers=(3,)),
        Wait(R.COPY_STANDS_STILL, partitions=T[:2], brokers=(3,), count=GIB, of=2**20),
    ],
    R.RETURN_BEHIND: [
        Wait(R.RETURN_BEHIND, partitions=T[:1], brokers=(3,)),
        Wait(R.RETURN_BEHIND, partitions=T[:2], brokers=(3,), count=2**20, of=GIB),
    ],
    R.CANCEL_NEEDS_FAILOVER: [
        Wait(R.CANCEL_NEEDS_FAILOVER, partitions=T[:1]),
        Wait(R.CANCEL_NEEDS_FAILOVER, partitions=T, brokers=(3,)),
        Wait(R.CANCEL_NEEDS_FAILOVER, partitions=T[:1], detail="broker 1 is of Kafka 2.3"),
    ],
    R.FAILOVER_UNSAFE: [
        Wait(R.FAILOVER_UNSAFE, cause=Wait(R.TOPIC_DAMAGED, topic="u", detail="no JSON"))
    ],
    R.BROKER_NOT_LIVE: [
        Wait(R.BROKER_NOT_LIVE, brokers=(3,), partitions=T[:1]),
        Wait(R.BROKER_NOT_LIVE, brokers=(3,), partitions=T),
    ],
    R.LEAVING_BROKER_NOT_LIVE: [
        Wait(R.LEAVING_BROKER_NOT_LIVE, brokers=(3,), partitions=T[:1]),
    ],
    R.TOPIC_UNREADABLE: [
        Wait(R.TOPIC_UNREADABLE, topic="t", partitions=T, detail="/brokers/topics/t: no JSON")
    ],
    R.TARGET_NOT_LIVE: [
        Wait(R.TARGET_NOT_LIVE, brokers=(3,), partitions=T[:1]),
        Wait(R.TARGET_NOT_LIVE, brokers=(3, 4), partitions=T[:1]),
    ],
    R.DELETION_AWAITS_BROKERS: [
        Wait(R.DELETION_AWAITS_BROKERS, topic="t", brokers=(3,)),
        Wait(R.DELETION_AWAITS_BROKERS, topic="t", brokers=(3, 4), partitions=T[:1]),
    ],
    R.LEADERS_MISSING: [
        Wait(R.LEADERS_MISSING, topic="t", partitions=T[:2]),
        Wait(R.LEADERS_MISSING, topic="t", partitions=T),
    ],
    R.STAGE_IN_FLIGHT: [
        Wait(R.STAGE_IN_FLIGHT, stage=1, count=0, of=1),
        Wait(R.STAGE_IN_FLIGHT, stage=2, count=3, of=4),
    ],
    R.TARGET_LOG_LARGER: [
        Wait(R.TARGET_LOG_LARGER, partitions=T[:1], brokers=(3,), count=12 * 2**20, of=0),
        Wait(R.TARGET_LOG_LARGER, partitions=T, brokers=(3,), count=5 * GIB, of=2 * GIB),
    ],
    R.LOG_OF_NEW_PARTITION: [
        Wait(R.LOG_OF_NEW_PARTITION, partitions=T[:1], brokers=(3,), count=12 * 2**20),
    ],
    R.LOGS_NOT_TOLD: [
        Wait(R.LOGS_NOT_TOLD, partitions=T[:1], brokers=(3,)),
        Wait(R.LOGS_NOT_TOLD, partitions=T, brokers=(1, 2, 3)),
    ],
    R.LOG_DIR_MOVES_IN_FLIGHT: [
        Wait(R.LOG_DIR_MOVES_IN_FLIGHT, count=1, of=0),
        Wait(R.LOG_DIR_MOVES_IN_FLIGHT, count=4, of=2),
    ],
    R.NO_ROOM_ON_DISKS: [
        Wait(
            R.NO_ROOM_ON_DISKS,
            room=RoomShortage((RoomNeed(T[0], 4, 10 * GIB, GIB),), 0, (((4, 9 * GIB),),)),
        ),
        Wait(
            R.NO_ROOM_ON_DISKS,
            room=RoomShortage(
                tuple(RoomNeed(name, 4, GIB, 0) for name in T[:3]),
                6,
                (((4, 9 * GIB),), ((1, GIB), (2, GIB), (3, GIB))),
            ),
        ),
        Wait(R.NO_ROOM_ON_DISKS, room=RoomShortage((RoomNeed(T[0], 4, GIB, 0),))),
    ],
    R.FAILED: [
        Wait(R.FAILED, detail="internal error: KeyError(1)"),
        after_error(Refused("too low", facts=[HopelessMove(T[0], 5 * 2.0**20, 2**20)])),
    ],
    R.EXECUTOR_ACTIVE: [after_error(HolderActive("poolkeeper run on a, process 1"))],
    R.STALE_WRITE: [after_error(Stale("/brokers/topics/t changed"))],
    R.UNAVAILABLE: [after_error(Unavailable("zk:2181 does not answer"))],
    R.BROKERS_UNREACHABLE: [
        Wait(R.BROKERS_UNREACHABLE, detail="h1:9092: the credentials are wrong")
    ],
}


def waits(reason: WaitReason) -> list[Wait]:
    """Waits of this reason, with every field that one of its sentences may need."""
    plain = Wait(
        reason,
        name="main",
        mode=Mode.PAUSED,
        topic="t",
        partitions=T[:1],
        brokers=(3,),
        before=(1, 2),
        replicas=(1, 3),
        stage=2,
        count=2,
        of=3,
        until="2026-01-01 22:00 UTC",
        path="/d2",
        law="racks",
        ending=Ending.REPLACED,
        detail="details",
    )
    return DETAILS.get(reason, [plain])


def actions(kind: ActionKind) -> list[Action]:
    plain = Action(kind, "t", "fast", T[:1], 3, 2, 2, 3, "sha256:1", Ending.STOPPED)
    others = {
        A.TOPICS_ADOPTED: [Action(A.TOPICS_ADOPTED, namespace="shop", count=3000, hash="sha256:1")],
        A.MOVES_UNLIMITED: [
            Action(A.MOVES_UNLIMITED, topic="t", partitions=T[:1]),
            Action(A.MOVES_UNLIMITED, broker=3, partitions=T[:1]),
            Action(A.MOVES_UNLIMITED, partitions=T[:1]),
        ],
        A.CONFIG_UNLOADABLE: [Action(A.CONFIG_UNLOADABLE, topic="t", partitions=T[:1])],
        A.TOPIC_NODE_TOO_LARGE: [Action(A.TOPIC_NODE_TOO_LARGE, topic="t", partitions=T[:1])],
        A.STAGE_REQUESTED: [Action(A.STAGE_REQUESTED, stage=2, count=2, attempt=2)],
        A.TOPIC_TOO_LARGE: [
            Action(A.TOPIC_TOO_LARGE, topic="t", count=300_000),
            Action(A.TOPIC_TOO_LARGE, topic="t", count=300_000, of=262_144),
        ],
        A.ADD_PARTITIONS: [Action(A.ADD_PARTITIONS, topic="t", count=1)],
        A.MOVE_LOG_DIRS: [Action(A.MOVE_LOG_DIRS, count=1)],
        A.LEFT_TO_OTHERS: [Action(A.LEFT_TO_OTHERS, partitions=T)],
    }
    return [plain, *others.get(kind, [])]


def drifts(reason: DriftReason) -> Drift:
    return Drift(reason, "t", T[0], (4, 3), (1, 2), 1, 2, "/d2")


def refusals() -> Iterator[Refusal]:
    yield Refusal(RefusalReason.OTHER_CLUSTER, "this is another cluster")
    for reason in DriftReason:
        yield Refusal(RefusalReason.STALE_PLAN, "the cluster changed", (drifts(reason),))
    many = tuple(Drift(D.TOPIC_GONE, f"t{number}") for number in range(7))
    yield Refusal(RefusalReason.STALE_PLAN, "the plan is outdated", many)
    slow = HopelessMove(T[0], 3.0 * 2**20, 2 * 2**20)
    yield Refusal(
        RefusalReason.THROTTLE_TOO_LOW, "the throttle is too low for a move to catch up", (slow,)
    )


def values() -> Iterator[tuple[str, Why]]:
    for reason in WaitReason:
        yield from ((f"wait {reason}", wait) for wait in waits(reason))
    for kind in ActionKind:
        yield from ((f"action {kind}", action) for action in actions(kind))
    yield from ((f"refusal {refusal.reason}", refusal) for refusal in refusals())


def test_the_words_of_every_value(update_golden: bool) -> None:
    found = "".join(f"{name}: {wording.sentence(value)}\n" for name, value in values())
    if update_golden:
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_every_reason_of_a_rate_has_its_own_words() -> None:
    texts = [wording.rate_text(reason) for reason in (None, *RateReason)]
    assert len(set(texts)) == len(texts)
    assert texts[0] == ""


def test_an_error_is_told_with_its_facts() -> None:
    stale = StalePlan("the cluster changed", facts=[drifts(D.TOPIC_GONE)])
    assert wording.error_text(stale) == "the cluster changed: topic t is gone"
    assert wording.error_text(Unavailable("away")) == "away"


def test_reasons_are_camel_case_as_kubernetes_has_them() -> None:
    names = [*WaitReason, *ActionKind, *DriftReason, *RefusalReason]
    assert all(str(name).isalnum() and str(name)[0].isupper() for name in names)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(
            Wait(R.STAGE_IN_FLIGHT, stage=1, count=1, of=4),
            Wait(R.STAGE_IN_FLIGHT, stage=1, count=2, of=4),
            True,
            id="a-countdown",
        ),
        pytest.param(
            Wait(R.LEADERS_MISSING, topic="t", partitions=T[:2]),
            Wait(R.LEADERS_MISSING, topic="t", partitions=T[:1]),
            True,
            id="fewer-partitions",
        ),
        pytest.param(
            Wait(R.LEADERS_MISSING, topic="t"),
            Wait(R.LEADERS_MISSING, topic="u"),
            False,
            id="another-topic",
        ),
        pytest.param(
            Wait(R.APPROVAL_REQUIRED, hash="sha256:1"),
            Wait(R.APPROVAL_REQUIRED, hash="sha256:2"),
            False,
            id="another-plan",
        ),
    ],
)
def test_numbers_alone_are_no_news(one: Wait, other: Wait, same: bool) -> None:
    assert (one.kind == other.kind) is same
