"""Documents of plans that are wrong, of a later version, or tampered with are refused."""

import json

import pytest

from poolkeeper import errors
from poolkeeper.planning.proposals import plan_json
from unit.planning.proposals.test_plan_json import CONFIG, MOVE, plan_of

LATER = "version: is 2: a later Poolkeeper wrote it (this one knows 1): use that"


def edited(**changes: object) -> dict[str, object]:
    return plan_json.to_json(plan_of(MOVE, steps=(CONFIG,))) | changes


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        pytest.param([], ["is [] (expected an object)"], id="no-object"),
        pytest.param(
            edited(version=2),
            [LATER],
            id="another-version",
        ),
        pytest.param(
            edited(moves=3, parts=[{"name": "heal", "hash": 1, "fingerprint": "sha256:f"}]),
            ["moves: is 3 (expected a list)", "parts[0].hash: is 1 (expected a string)"],
            id="a-plan-with-parts",
        ),
        pytest.param(
            {"version": 1, "moves": 3},
            [
                "cluster: is missing (expected a string)",
                "fingerprint: is missing (expected a string)",
                "hash: is missing (expected a string)",
                "moves: is 3 (expected a list)",
            ],
            id="all-problems-at-once",
        ),
        pytest.param(
            edited(moves=[{"topic": "t", "partition": True, "bytes": -1, "path": [[1], []]}]),
            [
                "moves[0].bytes: is -1 (expected an integer from 0 to 2^63 - 1)",
                "moves[0].partition: is true (expected the number of a partition)",
                "moves[0].path[1]: is [] (expected a list of at least one broker id)",
            ],
            id="a-move-with-wrong-values",
        ),
        pytest.param(
            edited(
                moves=[{"topic": "t", "partition": 0, "bytes": 1, "path": [[1], [2]], "to": [3]}]
            ),
            ["moves[0].to: is [3] (expected the path's end, [2])"],
            id="an-end-that-contradicts-the-path",
        ),
        pytest.param(
            edited(moves=[{"topic": "t", "partition": 0, "bytes": 1, "path": [["1"]]}]),
            [
                'moves[0].path: is [["1"]] (expected at least two replica lists)',
                "moves[0].path[0][0]: is '1' (expected a broker id)",
            ],
            id="a-path-of-one-list-of-strings",
        ),
        pytest.param(
            edited(steps=[{"kind": "Format"}, 1]),
            [
                "steps[0].kind: is 'Format' (expected one of CreateTopic, AddPartitions, SetConfig,"
                " MoveLogDir, ElectLeaders, DeleteTopic)",
                "steps[1]: is 1 (expected an object)",
            ],
            id="unknown-steps",
        ),
        pytest.param(
            edited(stages=[{"moves": [[0, 1], [0, 2], [9, 1]], "bytes": 0, "seconds": 0}]),
            [
                "stages[0].moves: [0, 2] names no step of a move",
                "stages[0].moves: [9, 1] names no step of a move",
            ],
            id="a-stage-beyond-the-moves",
        ),
        pytest.param(
            edited(stages=[{"moves": [[0]], "bytes": 0, "seconds": float("nan")}]),
            [
                "stages[0].moves[0]: is [0] (expected a list of two)",
                "stages[0].seconds: is NaN (expected a number)",
            ],
            id="no-pair-no-number",
        ),
        pytest.param(
            edited(
                parts=[
                    {"name": "drain", "hash": "h", "fingerprint": "f", "moves": [0, 3]},
                    {"name": "drain", "hash": "h", "fingerprint": "f", "moves": [0]},
                ]
            ),
            [
                "parts[0].moves: names position 3 of 1",
                "parts[1].hash: the document was changed: it says h, its content is"
                f" {plan_json.plan_hash((MOVE,), ())}",
            ],
            id="parts-of-another-plan",
        ),
    ],
)
def test_a_wrong_document_is_refused_with_all_its_problems(data, messages) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        plan_json.from_json(data, "plan.json")
    assert [str(problem) for problem in caught.value.problems] == [
        f"plan.json: {message}" for message in messages
    ]


def tampered_path(data) -> None:
    data["moves"][0]["path"][1] = data["moves"][0]["to"] = [9, 2]


def tampered_config(data) -> None:
    data["steps"][0]["set"]["retention.ms"] = "0"


def tampered_mark(data) -> None:
    del data["steps"][0]["destructive"]


def tampered_deletion(data) -> None:
    data["steps"].append({"kind": "DeleteTopic", "topic": "t"})


@pytest.mark.parametrize(
    "tamper", [tampered_path, tampered_config, tampered_mark, tampered_deletion]
)
def test_a_tampered_plan_is_refused(tamper) -> None:
    data = json.loads(json.dumps(edited()))
    tamper(data)
    with pytest.raises(errors.InvalidInput, match="the document was changed"):
        plan_json.from_json(data)


def test_a_key_that_is_there_twice_is_refused_with_its_place() -> None:
    text = plan_json.encode(plan_of(MOVE)).replace(b'"hash":', b'"hash":"sha256:0",\n"hash":', 1)
    with pytest.raises(errors.InvalidInput) as raised:
        plan_json.decode(text, "plan.json")
    assert [str(problem) for problem in raised.value.problems] == [
        "plan.json:2: hash: is given twice (first on line 1)"
    ]
