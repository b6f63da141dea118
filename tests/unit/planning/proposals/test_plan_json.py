"""Plans as documents: read as written, hashed, refused where they are wrong."""

import dataclasses
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from poolkeeper import errors
from poolkeeper.model import plans
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.planning.proposals import plan_json

names = st.text("abcxyz.-_0", min_size=1, max_size=8)
texts = st.text(max_size=12)
counts = st.integers(0, 2**50)
numbers = st.integers(0, 2**31 - 1)
lists = st.lists(numbers, min_size=1, max_size=4, unique=True).map(tuple)
configs = st.dictionaries(names, texts, max_size=3)
moves = st.builds(
    plans.Move,
    topic=names,
    topic_id=st.none() | names,
    partition=st.integers(0, 5000),
    path=st.lists(lists, min_size=2, max_size=4).map(tuple),
    bytes=counts,
    reason=texts,
    urgency=st.integers(0, 4),
)
steps = st.one_of(
    st.builds(
        plans.CreateTopic, names, names, st.lists(lists, max_size=3).map(tuple), configs, texts
    ),
    st.builds(plans.AddPartitions, names, numbers, st.lists(lists, max_size=3).map(tuple), texts),
    st.builds(
        plans.SetConfig,
        names,
        configs,
        st.lists(names, max_size=2).map(tuple),
        st.lists(texts, max_size=2).map(tuple),
        texts,
    ),
    st.builds(
        plans.ElectLeaders, st.lists(st.tuples(names, numbers), max_size=3).map(tuple), texts
    ),
    st.builds(plans.DeleteTopic, names, st.none() | names, texts),
    st.builds(plans.MoveLogDir, names, numbers, numbers, texts, texts, counts, texts),
)
seconds = st.floats(0, 1e9)
recorded = st.builds(Recorded, texts, st.sampled_from(ProblemReason))
certificates = st.builds(
    plans.PoolCertificate, names, counts, counts, counts, counts, seconds, texts
)


@st.composite
def whole_plans(draw: st.DrawFn) -> plans.Plan:
    ways = tuple(draw(st.lists(moves, max_size=4)))
    done = tuple(draw(st.lists(steps, max_size=4)))
    entries = tuple((i, step) for i, way in enumerate(ways) for step in range(1, len(way.path)))
    return plans.Plan(
        cluster=draw(names),
        hash=plan_json.plan_hash(ways, done),
        fingerprint=draw(texts),
        steps=done,
        moves=ways,
        certificates=tuple(draw(st.lists(certificates, max_size=2))),
        stages=(plans.PlannedStage(entries, 7, draw(seconds)),) if entries else (),
        makespan=draw(st.none() | st.builds(plans.Makespan, seconds, seconds, counts)),
        problems=tuple(
            draw(st.lists(st.builds(plans.PlanProblem, names, texts, recorded, texts), max_size=2))
        ),
        parts=tuple(
            plans.Part(name, plan_json.plan_hash((way,), ()), "f", (name,), (index,))
            for index, way in enumerate(ways)
            for name in (draw(names),)
        ),
    )


@given(whole_plans())
def test_reading_gives_back_what_was_written(plan: plans.Plan) -> None:
    assert plan_json.from_json(json.loads(json.dumps(plan_json.to_json(plan)))) == plan


@given(whole_plans(), st.randoms(use_true_random=False))
def test_the_hash_knows_no_order(plan: plans.Plan, random) -> None:
    ways, done = list(plan.moves), list(plan.steps)
    random.shuffle(ways)
    random.shuffle(done)
    assert plan_json.plan_hash(ways, done) == plan.hash


@given(whole_plans())
def test_moves_in_columns_are_written_and_hashed_as_moves_are(plan: plans.Plan) -> None:
    in_columns = dataclasses.replace(plan, moves=ColumnMoves(MoveColumns.of(plan.moves)))
    assert plan_json.plan_hash(in_columns.moves, plan.steps) == plan.hash
    assert plan_json.to_json(in_columns) == plan_json.to_json(plan)
    text = plan_json.encode(in_columns)
    assert text == plan_json.encode(plan) == msgspec.json.encode(plan_json.to_json(plan))
    assert plan_json.decode(text) == in_columns


@pytest.mark.parametrize("name", ["orders", 'a"b\\c', "a\nb", "a\x7fb", "größe", "\U0001f600"])
@pytest.mark.parametrize("topic_id", [None, "id", "ïd"])
def test_the_hash_of_columns_is_that_of_moves_whatever_topics_are_named(name, topic_id) -> None:
    ways = [
        plans.Move(name, topic_id, 1, ((1, 2), (3, 2)), 5, ""),
        plans.Move("b", None, 0, ((1,), (2,), (3,)), 5, "", 1),
        plans.Move(name, topic_id, 0, ((1, 2, 3), (3, 2, 4)), 5, ""),
    ]
    again = [*ways, plans.Move("b", None, 0, ((1,), (2,)), 5, "")]
    for these in (ways, again):
        columns = ColumnMoves(MoveColumns.of(these))
        assert plan_json.plan_hash(columns, ()) == plan_json.plan_hash(these, ())


MOVE = plans.Move("t", "id", 0, ((1, 2), (3, 2)), 5, "broker 1 is drained")
DELETION = plans.DeleteTopic("u", "uid")
CONFIG = plans.SetConfig("t", {"retention.ms": "1"}, destructive=("keeps less",))


def plan_of(*ways: plans.Move, steps: tuple[plans.Step, ...] = ()) -> plans.Plan:
    return builders.plan(*ways, steps=steps, fingerprint="sha256:f")


def test_the_document_is_that_of_the_format() -> None:
    plan = dataclasses.replace(
        plan_of(MOVE, steps=(plans.CreateTopic("n", "fast", ((1, 2, 3),)), DELETION)),
        certificates=(plans.PoolCertificate("fast", 1, 1, 5, 5, 0.0, "broker 1 gives 1"),),
        stages=(plans.PlannedStage(((0, 1),), 5, 0.5),),
        makespan=plans.Makespan(0.5, 0.5, 10),
        problems=(plans.PlanProblem("fast", "rack", Recorded("one rack is left")),),
        parts=(
            plans.Part("heal", plan_json.plan_hash((), ()), "sha256:h"),
            plans.Part("drain", plan_json.plan_hash((MOVE,), ()), "sha256:d", ("heal",), (0,)),
            plans.Part("topic/u", plan_json.plan_hash((), (DELETION,)), "sha256:u", (), (), (1,)),
        ),
    )
    assert json.loads(json.dumps(plan_json.to_json(plan))) == {
        "version": 1,
        "cluster": "main",
        "hash": plan.hash,
        "fingerprint": "sha256:f",
        "steps": [
            {
                "kind": "CreateTopic",
                "topic": "n",
                "pool": "fast",
                "replicas": [[1, 2, 3]],
                "config": {},
            },
            {"kind": "DeleteTopic", "topic": "u", "topicId": "uid"},
        ],
        "moves": [
            {
                "topic": "t",
                "topicId": "id",
                "partition": 0,
                "path": [[1, 2], [3, 2]],
                "from": [1, 2],
                "to": [3, 2],
                "bytes": 5,
                "reason": "broker 1 is drained",
                "urgency": 4,
            }
        ],
        "certificate": {
            "pools": [
                {
                    "pool": "fast",
                    "replicaMoves": 1,
                    "replicaMovesLowerBound": 1,
                    "bytes": 5,
                    "bytesLowerBound": 5,
                    "gapPercent": 0.0,
                    "witness": "broker 1 gives 1",
                }
            ]
        },
        "stages": [{"moves": [[0, 1]], "bytes": 5, "seconds": 0.5}],
        "makespan": {"seconds": 0.5, "lowerBoundSeconds": 0.5, "bytesPerSecondPerBroker": 10},
        "problems": [{"pool": "fast", "law": "rack", "message": "one rack is left"}],
        "parts": [
            {
                "name": "heal",
                "hash": plan.parts[0].hash,
                "fingerprint": "sha256:h",
                "after": [],
                "moves": [],
                "steps": [],
            },
            {
                "name": "drain",
                "hash": plan.parts[1].hash,
                "fingerprint": "sha256:d",
                "after": ["heal"],
                "moves": [0],
                "steps": [],
            },
            {
                "name": "topic/u",
                "hash": plan.parts[2].hash,
                "fingerprint": "sha256:u",
                "after": [],
                "moves": [],
                "steps": [1],
            },
        ],
    }
    assert plan_json.from_json(plan_json.to_json(plan)).parts == plan.parts


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(plan_of(MOVE._replace(topic="v")), id="another-topic"),
        pytest.param(plan_of(MOVE._replace(topic_id="x")), id="another-topic-id"),
        pytest.param(plan_of(MOVE._replace(partition=1)), id="another-partition"),
        pytest.param(plan_of(MOVE._replace(path=((1, 2), (2, 3)))), id="another-path"),
        pytest.param(plan_of(MOVE, MOVE), id="one-more-move"),
        pytest.param(plan_of(MOVE, steps=(DELETION,)), id="a-deletion"),
        pytest.param(plan_of(MOVE, steps=(CONFIG,)), id="a-destructive-config"),
        pytest.param(
            plan_of(MOVE, steps=(plans.MoveLogDir("t", 0, 1, "/a", "/b", 5),)),
            id="a-move-between-log-directories",
        ),
    ],
)
def test_the_hash_covers_what_needs_approval(other: plans.Plan) -> None:
    assert other.hash != plan_of(MOVE).hash


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(
            plan_of(MOVE._replace(bytes=6, reason="why not", urgency=0)),
            id="sizes-reasons-urgency",
        ),
        pytest.param(
            plan_of(
                MOVE,
                steps=(
                    plans.CreateTopic("n", "fast", ((1,),)),
                    plans.AddPartitions("t", 1, ((1,),)),
                    dataclasses.replace(CONFIG, destructive=()),
                    plans.ElectLeaders((("t", 0),)),
                ),
            ),
            id="steps-that-need-no-approval",
        ),
    ],
)
def test_the_hash_leaves_out_what_needs_no_approval(other: plans.Plan) -> None:
    assert other.hash == plan_of(MOVE).hash


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


def test_unknown_keys_are_ignored() -> None:
    assert plan_json.from_json(edited(comment="x")) == plan_of(MOVE, steps=(CONFIG,))


def test_kafkas_own_files_follow_the_stages() -> None:
    two_steps = plans.Move("u", None, 3, ((1,), (1, 2), (1, 2, 3)), 2, "RF 3")
    plan = dataclasses.replace(
        plan_of(MOVE, two_steps),
        stages=(plans.PlannedStage(((1, 1),), 1, 0.0), plans.PlannedStage(((0, 1), (1, 2)), 1, 0)),
    )
    first = {"topic": "u", "partition": 3, "replicas": [1, 2]}
    second = {"topic": "t", "partition": 0, "replicas": [3, 2]}
    third = {"topic": "u", "partition": 3, "replicas": [1, 2, 3]}
    assert plan_json.reassign_json(plan) == [
        {"version": 1, "partitions": [first]},
        {"version": 1, "partitions": [second, third]},
    ]
    assert plan_json.reassign_json(dataclasses.replace(plan, stages=())) == [
        {"version": 1, "partitions": [second, first]},
        {"version": 1, "partitions": [third]},
    ]


def test_a_key_that_is_there_twice_is_refused_with_its_place() -> None:
    text = plan_json.encode(plan_of(MOVE)).replace(b'"hash":', b'"hash":"sha256:0",\n"hash":', 1)
    with pytest.raises(errors.InvalidInput) as raised:
        plan_json.decode(text, "plan.json")
    assert [str(problem) for problem in raised.value.problems] == [
        "plan.json:2: hash: is given twice (first on line 1)"
    ]
