"""What each kind of simulation refuses of its input: all problems at once, each with its place."""

import json

import pytest

from poolkeeper.simulations import lines

BROKERS = [{"id": 0}, {"id": 1}]


@pytest.mark.parametrize(
    ("kind", "input_", "error"),
    [
        pytest.param(
            "assign_replicas",
            {"brokers": [{"id": "0"}, {"id": 1, "rack": 5}, {}], "replication_factor": -1},
            "brokers[0].id: is '0' (expected a broker id); "
            "brokers[1].rack: is 5 (expected a string); "
            "brokers[2].id: is missing (expected a broker id); "
            "n_partitions: is missing (expected an integer from 1 to 1000000); "
            "replication_factor: is -1 (expected an integer from 1 to 32767)",
            id="all-problems-at-once",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS, "n_partitions": 10**400, "replication_factor": 1},
            f"n_partitions: is 1{'0' * 58}… (expected an integer from 1 to 1000000)",
            id="a-huge-number",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS * 2, "n_partitions": 1, "replication_factor": 1},
            "brokers: has 0 twice; brokers: has 1 twice",
            id="brokers-twice",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS, "n_partitions": 1, "replication_factor": 3},
            "brokers: has 2 (expected at least 3, the replication factor)",
            id="more-replicas-than-brokers",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": [], "n_partitions": 1, "replication_factor": 1},
            "brokers: has 0 (expected at least 1, the replication factor)",
            id="no-brokers",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": 0, "rack": "a"}, {"id": 1}],
                "n_partitions": 1,
                "replication_factor": 1,
            },
            "brokers: has no rack for 1 (expected one for all brokers or for none)",
            id="a-rack-missing",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": BROKERS,
                "n_partitions": 1,
                "replication_factor": 1,
                "fixed_start_index": -2,
                "start_partition_id": -2,
            },
            "fixed_start_index: is -2 (expected -1 for random, or an integer up to 200000); "
            "start_partition_id: is -2 (expected -1 for 0, or an integer up to 1000000)",
            id="negative-starts",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": id_} for id_ in range(6)],
                "n_partitions": 1_000_000,
                "replication_factor": 6,
            },
            "n_partitions: has 6000000 replicas to assign (expected at most 5000000)",
            id="too-many-replicas",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": id_, "rack": "a"} for id_ in range(10_001)],
                "n_partitions": 1_000_000,
                "replication_factor": 1,
            },
            "brokers: has 10001 brokers (expected at most 10000); n_partitions: has 10001000000"
            " brokers to look at for all partitions (expected at most 100000000)",
            id="too-many-brokers-and-steps",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": BROKERS, "existing": {"0": [0]}, "new_total": 2, "manual": {"1": [0, 7]}},
            "manual.1: names brokers that are absent: 7 (expected ids of brokers)",
            id="manual-broker-absent",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": BROKERS, "existing": {"x": [0], "0": ["a"]}, "new_total": 1000001},
            "existing.0[0]: is 'a' (expected a broker id); "
            "existing.x: is no key here (expected the number of a partition); "
            "new_total: is 1000001 (expected an integer from 1 to 1000000)",
            id="existing-of-other-types",
        ),
        pytest.param(
            "range",
            {"topics": {"t": {"partitions": -1}}, "members": [{"id": "a", "topics": "t"}]},
            "members[0].topics: is 't' (expected a list of topics); "
            "topics.t.partitions: is -1 (expected an integer from 0 to 1000000)",
            id="a-group-of-other-types",
        ),
        pytest.param(
            "sticky",
            {"topics": {}, "members": [{"id": "a", "topics": []}] * 2, "algorithm": "1.0"},
            "algorithm: is '1.0' (expected 2.2 or 3.9); members: has a twice",
            id="members-twice",
        ),
        pytest.param(
            "range",
            {"topics": {"t": {"partitions": 2, "racks": [["a"]]}}, "members": []},
            "topics.t.racks: has 1 list (expected one for each partition, 2)",
            id="racks-of-other-partitions",
        ),
        pytest.param(
            "range",
            {
                "topics": {"a": {"partitions": 1_000_000}, "b": {"partitions": 1}},
                "members": [{"id": str(id_), "topics": []} for id_ in range(10_001)],
            },
            "members: has 10001 members (expected at most 10000); "
            "topics: has 1000001 partitions (expected at most 1000000)",
            id="a-group-that-is-too-large",
        ),
        pytest.param(
            "cooperative_sticky",
            {"topics": {"a": {"partitions": 200_001}}, "members": []},
            "topics: has 200001 partitions (expected at most 200000)",
            id="a-sticky-group-that-is-too-large",
        ),
        pytest.param(
            "murmur2",
            {},
            "utf8: is missing, as is hex (expected one of them, for the key)",
            id="no-key",
        ),
        pytest.param(
            "murmur2",
            {"utf8": "", "hex": ""},
            "utf8: is there beside hex (expected one of them, for the key)",
            id="two-keys",
        ),
        pytest.param(
            "key_partition",
            {"hex": "0", "num_partitions": [0]},
            "hex: is '0' (expected an even number of hexadecimal digits); "
            "num_partitions[0]: is 0 (expected an integer of 1 or more)",
            id="half-a-byte",
        ),
        pytest.param(
            "murmur2",
            {"hex": "00\n"},
            r"hex: is '00\n' (expected an even number of hexadecimal digits)",
            id="hex-with-a-line-end",
        ),
        pytest.param(
            "rr_partitioner",
            {"partitions": [[0, True], [0, False], [1]], "calls": 1_000_001, "start": 2**31},
            "calls: is 1000001 (expected an integer from 0 to 1000000); "
            "partitions[2]: is [1] (expected a partition, and whether it has a leader); "
            "start: is 2147483648 (expected an integer from -2147483648 to 2147483647)",
            id="partitions-of-another-shape",
        ),
        pytest.param(
            "rr_partitioner",
            {"partitions": [], "calls": 0},
            "partitions: is empty (expected at least one, to choose from)",
            id="no-partitions",
        ),
        pytest.param(
            "adaptive_cft",
            {"queue_sizes": [2**31 - 1, 0, 0]},
            "queue_sizes: give frequencies of 4294967297 in all (expected at most 2147483647)",
            id="sums-beyond-32-bits",
        ),
        pytest.param(
            "throttles",
            {
                "current_reassignments": {},
                "proposed": {"t": [1], "-0": [1]},
                "current": {"t-01": []},
            },
            "current.t-01: is no partition (expected TOPIC-NUMBER, as t-0); "
            "proposed.-0: is no partition (expected TOPIC-NUMBER, as t-0); "
            "proposed.t: is no partition (expected TOPIC-NUMBER, as t-0)",
            id="names-that-are-no-partitions",
        ),
        pytest.param(
            "throttles",
            {"current_reassignments": {}, "proposed": {"t-0": [1]}, "current": {}},
            "current.t-0: is missing (expected its replicas, as it does not move yet)",
            id="a-partition-that-is-nowhere",
        ),
        pytest.param(
            "reassign_to",
            {"replicas": [1, 1, 2], "adding": [], "removing": [], "target": [1]},
            "replicas: names 1 broker twice (expected each broker once)",
            id="replicas-twice",
        ),
        pytest.param(
            "leader_election",
            {"strategy": "any", "assignment": [], "isr": [], "live": [], "unclean": 1},
            "strategy: is 'any' (expected offline or reassign or preferred or "
            "controlled_shutdown); unclean: is 1 (expected true or false)",
            id="no-strategy",
        ),
    ],
)
def test_an_input_that_is_wrong(kind, input_, error):
    answer = lines.answer(json.dumps(input_).encode(), 7, kind)
    assert json.loads(answer.line) == {"id": 7, "error": error}
    assert answer.is_error
