"""Plans as documents: read as written, hashed, refused where they are wrong."""

import dataclasses
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
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
    assert plan_json.reassign_json(dataclasses.replace(plan, stages=plan.stages[:1])) == [
        {"version": 1, "partitions": [first]}
    ]
    assert plan_json.reassign_json(dataclasses.replace(plan, stages=())) == []


def test_unknown_keys_are_ignored() -> None:
    plan = plan_of(MOVE, steps=(CONFIG,))
    assert plan_json.from_json(plan_json.to_json(plan) | {"comment": "x"}) == plan
