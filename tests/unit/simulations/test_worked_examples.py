"""Figures of Kafka's documents and tests, asked of the command."""

import json
import random

import pytest

from poolkeeper.simulations.lines import answer

PLAIN = [{"id": id_} for id_ in range(5)]
RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
RACKED = [{"id": id_, "rack": rack} for id_, rack in RACKS.items()]
ISR = {"assignment": [1, 2, 3], "isr": [1, 3], "live": [2, 3]}
CONSUMERS = ("C1-0", "C2-0", "C2-1")


def asked(kind, input_):
    return json.loads(answer(json.dumps(input_).encode(), 1, kind).line)


def lists(text, first=0):
    """Read "012 123" as the lists of partitions first, first + 1, …"""
    return {str(first + n): list(map(int, word)) for n, word in enumerate(text.split())}


def assigned(brokers, partitions, factor, start, start_partition=-1):
    return {
        "brokers": brokers,
        "n_partitions": partitions,
        "replication_factor": factor,
        "fixed_start_index": start,
        "start_partition_id": start_partition,
    }


@pytest.mark.parametrize(
    ("kind", "input_", "output"),
    [
        pytest.param(
            "assign_replicas",
            assigned(PLAIN, 10, 3, 0),
            lists("012 123 234 340 401 023 134 240 301 412"),
            id="ten-partitions-on-five-brokers",
        ),
        pytest.param(
            "assign_replicas",
            assigned(RACKED, 7, 3, 0, 0),
            lists("031 315 154 542 420 203 042"),
            id="three-racks",
        ),
        pytest.param(
            "assign_replicas",
            assigned(PLAIN, 3, 3, 0, 5),
            lists("023 134 240", first=5),
            id="partitions-five-to-seven",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": PLAIN[:4], "existing": {"0": [2, 3, 0, 1]}, "new_total": 7},
            lists("3201 0312 1023 2301 3012 0123", first=1),
            id="six-more-partitions",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": PLAIN[3::-1], "existing": {"0": [1, 2]}, "new_total": 3},
            lists("20 31", first=1),
            id="two-more-whatever-the-order-of-brokers",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": PLAIN, "existing": {"0": [1]}, "new_total": 2, "manual": {"1": [4]}},
            {"1": [4]},
            id="added-by-hand",
        ),
        pytest.param(
            "range",
            {
                "topics": {"t": {"partitions": 10}},
                "members": [{"id": id_, "topics": ["t"]} for id_ in CONSUMERS],
            },
            {
                "C1-0": [["t", 0], ["t", 1], ["t", 2], ["t", 3]],
                "C2-0": [["t", 4], ["t", 5], ["t", 6]],
                "C2-1": [["t", 7], ["t", 8], ["t", 9]],
            },
            id="ten-partitions-for-three-consumers",
        ),
        pytest.param(
            "reassign_to",
            {"replicas": [1, 2, 3], "adding": [], "removing": [], "target": [4, 5, 6]},
            {
                "replicas": [4, 5, 6, 1, 2, 3],
                "adding": [4, 5, 6],
                "removing": [1, 2, 3],
                "being_reassigned": True,
            },
            id="all-others",
        ),
        pytest.param(
            "reassign_to",
            {
                "replicas": [4, 5, 6, 1, 2, 3],
                "adding": [4, 5, 6],
                "removing": [1, 2, 3],
                "target": [1, 2, 3],
            },
            {"replicas": [1, 2, 3], "adding": [], "removing": [], "being_reassigned": False},
            id="cancelled",
        ),
        pytest.param(
            "throttles",
            {
                "current_reassignments": {
                    "t-10": {"replicas": [4, 1, 2], "adding": [4], "removing": [2]}
                },
                "proposed": {"t-2": [1, 3]},
                "current": {"t-2": [1, 2]},
            },
            {
                "leader": {"t": "10:1,10:2,2:1,2:2"},
                "follower": {"t": "10:4,2:3"},
                "brokers": [1, 2, 3, 4],
            },
            id="pairs-sort-as-text",
        ),
        pytest.param("leader_election", ISR | {"strategy": "offline"}, 3, id="the-isr-leads"),
        pytest.param("leader_election", ISR | {"strategy": "reassign"}, 3, id="the-target-leads"),
        pytest.param("leader_election", ISR | {"strategy": "preferred"}, None, id="first-is-dead"),
        pytest.param(
            "leader_election",
            {"strategy": "controlled_shutdown", "shutting_down": [1]}
            | {"assignment": [1, 2], "isr": [1, 2], "live": [1, 2]},
            2,
            id="another-takes-over",
        ),
        pytest.param("throttled_replica_list", {"value": "*,0:1"}, False, id="star-alone"),
        pytest.param("topic_name", {"name": "x" * 249}, True, id="249-letters"),
        pytest.param("topic_name", {"name": "x" * 250}, False, id="250-letters"),
        pytest.param("topic_name", {"name": "..."}, True, id="three-dots"),
        pytest.param("topic_collision", {"a": "a.b", "b": "a-b"}, False, id="a-dash-is-no-dot"),
        pytest.param(
            "adaptive_cft",
            {"queue_sizes": [1, 1]},
            {"frequencies": None, "cumulative": None},
            id="evenly",
        ),
    ],
)
def test_worked_example(kind, input_, output):
    assert asked(kind, input_) == {"id": 1, "output": output}


@pytest.mark.parametrize("start", [{}, {"fixed_start_index": -1, "start_partition_id": -1}])
def test_kafka_draws_start_and_shift_each_for_itself(start):
    random.seed(7)
    input_ = {"brokers": PLAIN[:3], "n_partitions": 1, "replication_factor": 2} | start
    found = {tuple(asked("assign_replicas", input_)["output"]["0"]) for _ in range(200)}
    assert found == {(a, b) for a in range(3) for b in range(3) if a != b}
