from dataclasses import replace

import builders
from poolkeeper.cli.output.runs.status_text import as_data, render
from poolkeeper.cli.output.runs.status_values import RunStatus, Status, StatusContext, status_of
from poolkeeper.model.execution.runs import (
    Health,
    Phase,
    RateReason,
    RunDocument,
    Saved,
    StoredRun,
)
from poolkeeper.model.execution.throttles import RecordedThrottles, ThrottleReading, ThrottleRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Makespan, MoveLogDir, Plan, PlannedStage
from poolkeeper.model.topology import (
    TopicPartition,
)
from poolkeeper.zk.journal.journal import JournalView
from unit.cli.output.runs.status_situations import (
    HALFWAY,
    MIB,
    MOVES,
    NOTHING,
    RATE,
    RUN,
    cluster,
    journal,
    partition,
)


def test_a_quiet_cluster():
    found = status_of(cluster(partition(0, (1, 2)), kafka_version="2.8", id="x"), NOTHING)
    assert found == Status(
        cluster="main",
        id="x",
        kafka_version="2.8",
        controller=1,
        brokers=4,
        topics=1,
        partitions=1,
        under_replicated=(),
        arriving=(),
        offline=(),
        holder=None,
        run=None,
        stopped=None,
    )
    assert render(found).splitlines() == [
        "cluster     main (Kafka 2.8, x)",
        "controller  broker 1",
        "topology    4 live brokers, 1 topic, 1 partition",
        "health      all replicas are in sync",
        "executor    none is active",
        "run         none is recorded",
    ]


def test_partitions_without_a_state_node_are_named():
    stateless = (partition(n, (1, 2))._replace(leader=None, isr=None) for n in (0, 1))
    found = status_of(cluster(*stateless, partition(2, (1, 2))), NOTHING)
    assert "health      state of 2 partitions is not known: t-0, t-1" in render(found).splitlines()
    data = as_data(found)
    assert data["stateUnknown"] == [["t", 0], ["t", 1]]
    assert (data["underReplicated"], data["offline"]) == ([], [])


def test_the_state_of_a_topic_being_deleted_is_not_missed():
    stateless = partition(0, (1, 2))._replace(leader=None, isr=None)
    found = status_of(cluster(stateless, deleting=frozenset({"t"})), NOTHING)
    assert found.state_unknown == ()


def test_what_has_arrived_and_is_still_copied_is_named():
    copied = cluster(*(partition(n, (3, 4), isr=(3,) if n else (3, 4)) for n in range(3)))
    found = status_of(copied, journal())
    named = (TopicPartition("t", 1), TopicPartition("t", 2))
    assert Wait(WaitReason.REPLICA_NOT_IN_SYNC, partitions=named, brokers=(4,)) in found.waits


def test_throttles_that_no_run_accounts_for_come_first():
    record = ThrottleRecord("sha256:gone", {RATE: "7"}, {RATE: None})
    reading = ThrottleReading({}, {1: RecordedThrottles(record, {RATE: "7"})}, {4: {RATE: "9"}})
    found = status_of(cluster(partition(0, (1, 2))), replace(NOTHING, throttles=reading))
    assert render(found).splitlines()[1:3] == [
        "throttles   a run that is gone left throttles on broker 1: they slow replication until"
        " `poolkeeper apply` or `run` takes them off, which waits until nothing is being"
        " reassigned",
        "throttles   no run accounts for the throttles on broker 4: if nobody needs them, remove"
        " them with kafka-configs or `poolkeeper repair --remove-unaccounted-throttles`",
    ]
    left = as_data(found)["throttlesLeft"]
    assert [(each["reason"], each["topics"], each["brokers"]) for each in left] == [
        ("ThrottlesLeft", [], [1]),
        ("ThrottlesUnaccounted", [], [4]),
    ]


def test_the_rate_of_an_adaptive_throttle_has_its_reason():
    recorded = journal()
    halved = replace(RUN, rate_reason=RateReason.OUT_OF_SYNC)
    found = status_of(HALFWAY, replace(recorded, stored=replace(recorded.stored, run=halved)))
    assert "throttle    1 MiB/s a broker (halved: partitions lost in-sync replicas)" in render(
        found
    )
    assert as_data(found)["run"]["throttleReason"] == "OutOfSync"


def test_a_run_half_way():
    found = status_of(HALFWAY, journal())
    assert found.run == RunStatus(
        plan="sha256:ab",
        phase="moving",
        stage=2,
        started_ms=0,
        moves={"done": 1, "in flight": 1, "pending": 1},
        moves_total=3,
        bytes_done=MIB,
        bytes_total=3 * MIB,
        throttle_bytes_per_s=MIB,
        stopping=False,
        in_flight=(MOVES[1],),
    )
    assert (found.waits, found.under_replicated) == ((), ())
    assert render(found).splitlines() == [
        "cluster     main",
        "controller  broker 1",
        "topology    4 live brokers, 1 topic, 3 partitions",
        "health      all other replicas are in sync; new replicas of 1 partition are not in sync"
        " yet: t-1",
        "executor    poolkeeper apply on host-1, process 42",
        "run         sha256:ab",
        "            moving, stage 2, began 1970-01-01 00:00:00 UTC",
        "moves       1 of 3 done, 1 in flight, 1 pending",
        "bytes       1 MiB of 3 MiB",
        "throttle    1 MiB/s a broker",
        "moving      t-1  1,2 -> 3,4  1 MiB",
    ]


def test_what_brokers_have_copied_counts():
    copied = {(MOVES[1].name, 3): MIB // 4, (MOVES[1].name, 4): 0}
    found = status_of(HALFWAY, journal(), StatusContext(copied=copied))
    assert found.run.bytes_done == MIB + MIB // 4


def test_moves_of_deleted_topics_and_moves_of_others_are_not_done():
    others = cluster(partition(0, (3, 4)), partition(1, (4, 2)), partition(2, (1, 2)))
    moves = (*MOVES, builders.move("gone", 0, (1, 2), (3, 4)))
    document = RunDocument(builders.plan(*moves), Saved(), Health())
    found = status_of(others, JournalView(stored=StoredRun(RUN, document)))
    lines = render(found).splitlines()
    assert "moves       1 of 4 done, 1 diverged, 1 gone, 1 pending" in lines
    assert "bytes       1 MiB of 4 MiB" in lines
    assert found.run.bytes_given_up == 2 * MIB


def test_a_run_beside_what_its_plan_predicted():
    recorded = journal()
    document = recorded.document
    assert document is not None
    foretold = replace(
        document.plan,
        stages=(PlannedStage(((0, 1), (1, 1), (2, 1)), 3 * MIB, 60.0),),
        makespan=Makespan(60.0, 60.0, MIB),
    )
    stored = replace(recorded.stored, document=replace(document, plan=foretold))
    recorded = replace(recorded, stored=stored)
    unasked = status_of(HALFWAY, recorded, StatusContext(now_ms=40_000))
    assert "time        40 s of 1 min predicted" in render(unasked).splitlines()
    found = status_of(HALFWAY, recorded, StatusContext(now_ms=90_000, copied={}))
    assert (
        "time        1 min 30 s of 1 min predicted; 1 min 10 s late: replicas are or were copied"
        in (render(found))
    )
    assert as_data(found)["run"]["predicted"] == {
        "seconds": 60.0,
        "elapsedSeconds": 90.0,
        "lateSeconds": 70.0,
        "assumedBytesPerSecond": MIB,
        "reason": "Slower",
    }


def test_a_run_that_nobody_drives_and_that_shall_stop():
    found = status_of(HALFWAY, journal(holder=False, stopping=True))
    assert found.waits == (Wait(WaitReason.RUN_WITHOUT_EXECUTOR),)
    assert "            moving, stage 2, stops after this stage, began" in render(found)


def test_as_data():
    assert as_data(status_of(HALFWAY, journal())) == {
        "cluster": "main",
        "id": None,
        "kafkaVersion": None,
        "controller": 1,
        "brokers": 4,
        "topics": 1,
        "partitions": 3,
        "underReplicated": [],
        "arriving": [["t", 1]],
        "offline": [],
        "stateUnknown": [],
        "holder": "poolkeeper apply on host-1, process 42",
        "run": {
            "plan": "sha256:ab",
            "phase": "moving",
            "stage": 2,
            "startedMs": 0,
            "moves": {"done": 1, "in flight": 1, "pending": 1},
            "movesTotal": 3,
            "logDirMoves": {},
            "bytesDone": MIB,
            "bytesTotal": 3 * MIB,
            "throttleBytesPerSecond": MIB,
            "throttleReason": None,
            "predicted": None,
            "stopping": False,
            "rollingBack": False,
            "inFlight": [
                {
                    "topic": "t",
                    "partition": 1,
                    "from": [1, 2],
                    "to": [3, 4],
                    "bytes": MIB,
                    "reason": "moving into pool fast",
                }
            ],
        },
        "approved": [],
        "stopped": None,
        "balanceWaitsUntil": None,
        "throttlesLeft": [],
        "waits": [],
        "waitsFor": [],
        "blocked": [],
        "damaged": [],
        "problems": [],
        "warnings": [],
    }


def test_moves_between_log_directories_are_counted():
    steps = tuple(MoveLogDir("t", p, 1, "/a", "/b", MIB) for p in range(3))
    plan = Plan("main", "sha256:ab", "sha256:fp", steps=steps)
    run = replace(RUN, phase=Phase.COPYING)
    stored = StoredRun(run, RunDocument(plan, Saved(), Health()))
    recorded = replace(journal(), stored=stored)
    seen = cluster(
        partition(0, (1, 2), log_dirs={1: "/b"}),
        partition(1, (1, 2), log_dirs={1: "/a"}),
        partition(2, (1, 2), log_dirs={1: "/a"}),
    )
    on_its_way = TopicPartition("t", 1)
    copying = replace(seen.brokers[1], log_dirs={}, arriving={on_its_way: "/b"})
    seen = replace(seen, brokers={**seen.brokers, 1: copying})
    context = StatusContext(future_bytes={(on_its_way, 1): MIB // 2})
    found = status_of(seen, recorded, context)
    assert render(found).splitlines()[7:11] == [
        "moves       0 of 0 done",
        "directories 1 of 3 done, 1 in flight, 1 pending",
        "bytes       1.5 MiB of 3 MiB",
        "throttle    1 MiB/s a broker",
    ]
    assert found.waits == (Wait(WaitReason.LOG_DIR_MOVES_IN_FLIGHT, count=1, of=1),)


def test_until_when_balance_waits():
    found = status_of(cluster(partition(0, (1, 2))), NOTHING, StatusContext(1_700_000_000_001))
    assert as_data(found)["balanceWaitsUntil"] == "2023-11-14T22:13:20Z"
    assert render(found).splitlines()[-1] == (
        "balance     alone starts no plan before 2023-11-14T22:13:20Z"
    )
