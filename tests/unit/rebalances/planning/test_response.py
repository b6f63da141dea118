import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.schedule.budget import Bound, Budget, Schedule, Turn
from poolkeeper.model.execution.records import Records
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from poolkeeper.planning.facts.pools import BrokersNeverSeen
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rebalances.plan_cluster import ObservedCluster, plan_cluster, response_of_error
from poolkeeper.rebalances.planning import task_runner
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import (
    ClusterPlan,
    RebalanceResponse,
    assemble_response,
    cluster_plan_text,
    with_room,
)
from poolkeeper.rebalances.planning.task_runner import (
    ClusterResult,
    PlanClusterTask,
    write_response,
)
from poolkeeper.text import size
from unit.planning.instances import as_told, instances

MIB = 1024**2


def declared(name="main", *pools):
    pools = pools or (pool_spec("all", 1, 2, 3, cluster=name, claims=(".*",)),)
    return builders.desired(pools, name=name)


def crowded(name="main", brokers=(1, 2, 3)):
    """A cluster whose first broker has everything."""
    found = topic("t", *[brokers[:1]] * 6, size_bytes=MIB)
    return builders.cluster(brokers, found, name=name)


def seen(cluster):
    return ObservedCluster(cluster, Records(), frozenset())


ASKED = ClusterRequest(declared())


def test_a_part_is_the_plan_of_the_loop():
    question = RebalanceRequest((ASKED,), 0)
    part = plan_cluster(ASKED, seen(crowded()), question)
    plan = make_plan(ASKED.desired, crowded(), Records(), frozenset())
    assert part.cluster_plan == ClusterPlan("main", plan, partitions=6)
    assert part.work is None
    assert (part.cluster_plan.moves, part.cluster_plan.bytes) == (4, 4 * MIB)


def test_a_pool_that_names_a_broker_that_nobody_has_seen_holds_up_no_other():
    pools = [pool_spec("all", 1, 2, 3, claims=("t",)), pool_spec("new", 9)]
    desired = builders.desired(pools, name="main")
    part = plan_cluster(ClusterRequest(desired), seen(crowded()), RebalanceRequest((), 0))
    assert part.cluster_plan.problem == ""
    assert part.cluster_plan.moves > 0
    (told,) = part.cluster_plan.plan.problems
    assert (told.pool, told.facts) == ("new", BrokersNeverSeen((9,), (1, 2, 3)))


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        pytest.param({"partitions": 1}, "partitions never shrink", id="fewer-partitions"),
        pytest.param(
            {"partitions": 3, "keyed": True}, "66.7 % of its keys", id="a-keyed-one-grows"
        ),
    ],
)
def test_a_topic_that_asks_for_what_cannot_be_holds_up_no_other(wanted, said):
    pool = pool_spec("all", 1, 2, 3, claims=("t",))
    desired = builders.desired([pool], topic_spec("u", "all", **wanted), name="main")
    whole = crowded()
    cluster = replace(whole, topics={**whole.topics, "u": topic("u", (2,), (3,))})
    made = plan_cluster(ClusterRequest(desired), seen(cluster), RebalanceRequest((), 0))
    assert made.cluster_plan.problem == ""
    assert made.cluster_plan.moves > 0
    (told,) = made.cluster_plan.plan.problems
    assert (told.topic, said in told.message) == ("u", True)


def unlawful(plan, target=(9,)):
    """The plan with moves of topic `t` to this list, which no law allows."""
    moves = tuple(
        move._replace(path=(move.source, target)) if move.topic == "t" else move
        for move in plan.moves
    )
    return replace(plan, moves=moves, hash=plan_json.plan_hash(moves, plan.steps))


def test_a_plan_that_the_audit_refuses_is_a_problem():
    plan = unlawful(make_plan(ASKED.desired, crowded(), Records()))
    part = plan_cluster(ASKED, seen(crowded()), RebalanceRequest((), 0), lambda *_: plan)
    assert part.cluster_plan.plan is None
    assert part.cluster_plan.problem.startswith(
        "the plan is unlawful: target: t-0: broker 9 is not live;"
        " step: t-0: the step from [1] to [9] makes it worse by the law pool"
    )


@pytest.mark.parametrize("pools", [(), ("all",)], ids=["whole", "pools-in-scope"])
def test_a_topic_that_the_audit_refuses_stays_and_holds_up_no_other(pools):
    cluster = builders.cluster(
        (1, 2, 3), *(topic(name, *[(1,)] * 6, size_bytes=MIB) for name in "tu")
    )
    request = ClusterRequest(declared(), pools)
    part = plan_cluster(
        request,
        seen(cluster),
        RebalanceRequest((), 0),
        lambda *observed: unlawful(make_plan(*observed), (2, 2)),
    )
    assert part.cluster_plan.problem == ""
    plan = part.cluster_plan.plan
    assert {move.topic for move in plan.moves} == {"u"}
    assert [(p.topic, p.reason) for p in plan.problems] == [("t", ProblemReason.UNLAWFUL)]


def test_problems_are_one_line():
    assert response_of_error(ASKED, Unavailable("not\nthere")).cluster_plan == ClusterPlan(
        "main", problem="not; there"
    )


def test_pools_in_scope_keep_their_moves_alone():
    desired = declared(
        "main",
        pool_spec("a", 1, 2, claims=("x",)),
        pool_spec("b", 3, 4, claims=("y",)),
    )
    topics = {
        name: Topic(name, tuple(Partition(n, (first,)) for n in range(6)))
        for name, first in (("x", 1), ("y", 3))
    }
    cluster = Cluster("main", {id_: Broker(id_) for id_ in (1, 2, 3, 4)}, topics)
    whole = make_plan(desired, cluster, Records(), frozenset())
    assert {move.topic for move in whole.moves} == {"x", "y"}
    part = plan_cluster(ClusterRequest(desired, ("b",)), seen(cluster), RebalanceRequest((), 0))
    plan = part.cluster_plan.plan
    assert plan.moves == tuple(move for move in whole.moves if move.topic == "y")
    assert plan.hash != whole.hash
    assert [each.pool for each in plan.certificates] == ["b"]
    assert plan_json.from_json(plan_json.to_json(plan)) == as_told(plan)


@examples(8)
@given(instances(), st.booleans(), st.randoms(use_true_random=False))
def test_answers_survive_as_text_in_any_order_of_their_parts(instance, budgeted, random):
    desired, cluster, gone = instance
    asked = (ClusterRequest(desired), ClusterRequest(declared("other")))
    question = RebalanceRequest(asked, 1_700_000_000_000, Budget(MIB) if budgeted else None)
    parts = [
        plan_cluster(asked[0], ObservedCluster(cluster, Records(), gone), question),
        plan_cluster(asked[1], seen(crowded("other")), question),
        response_of_error(ClusterRequest(declared("lost")), Unavailable("no answer")),
    ]
    answer = assemble_response(question, parts)
    random.shuffle(parts)
    assert assemble_response(question, parts) == answer
    assert [each.cluster for each in answer.clusters] == ["lost", "main", "other"]
    told = tuple(replace(p, plan=p.plan and as_told(p.plan)) for p in answer.clusters)
    assert RebalanceResponse.from_json(answer.to_json()) == replace(answer, clusters=told)
    assert (answer.waves is not None) == budgeted


@examples(8)
@given(instances(), st.booleans())
def test_what_executors_give_makes_the_same_text(instance, budgeted):
    desired, cluster, gone = instance
    asked = (ClusterRequest(desired), ClusterRequest(declared("other")))
    question = RebalanceRequest(asked, 1_700_000_000_000, Budget(MIB) if budgeted else None)
    parts = {
        "main": plan_cluster(asked[0], ObservedCluster(cluster, Records(), gone), question),
        "other": response_of_error(asked[1], Unavailable("no answer")),
    }
    engine = Canned({name: ClusterResult.of(part) for name, part in parts.items()})
    found = write_response(question, engine)
    assert found.text == assemble_response(question, parts.values()).to_json()
    assert found.clusters == 2
    assert found.problems["other"] == "no answer"
    assert found.moves == parts["main"].cluster_plan.moves


def test_a_plan_that_has_no_room_is_a_problem_and_the_others_go_on():
    names = ("large", "main", "small")
    asked = tuple(ClusterRequest(declared(name)) for name in names)
    question = RebalanceRequest(asked, 0, Budget(MIB))
    seen_of = {"large": crowded("large", (1, 2, 3)), "main": crowded(), "small": crowded("small")}
    parts = [plan_cluster(each, seen(seen_of[each.cluster]), question) for each in asked]
    room = sum(len(cluster_plan_text(part.cluster_plan)) for part in parts) - 1
    answer = assemble_response(question, parts, room)
    assert [each.moves for each in answer.clusters] == [4, 4, 0]
    assert answer.clusters[2].problem == (
        "its plan of 4 moves is too large: all plans of a Rebalance together may have"
        f" {size(room)}; put the cluster into another Rebalance, if need be pool by pool"
        " (spec.clusters, spec.pools)"
    )
    assert {turn.cluster for turn in answer.waves.turns} == {"large", "main"}
    engine = Canned({part.cluster_plan.cluster: ClusterResult.of(part) for part in parts})
    found = write_response(question, engine, bytes_max=room)
    assert found.text == answer.to_json()
    assert (found.moves, list(found.problems)) == (8, ["small"])


def test_those_after_one_that_has_no_room_may_have_some():
    assert with_room([3, 9, 2, 1], 5) == [True, False, True, False]


def test_a_task_without_a_folder_for_temporary_files_is_a_problem_of_its_cluster(monkeypatch):
    def refuse():
        raise Refused("no folder for temporary files can be made")

    monkeypatch.setattr(task_runner, "temporary_folder", refuse)
    request = RebalanceRequest((ASKED,), 0)
    found = task_runner.perform(PlanClusterTask(request.to_json()))
    assert found.problem == "no folder for temporary files can be made"


class Canned:
    """An engine that has everything done already."""

    slots = 1

    def __init__(self, done):
        self.done = done

    def do(self, tasks, perform, done, weights):
        questions = [RebalanceRequest.from_json(task.request) for task in tasks]
        return [self.done[question.asked[0].cluster] for question in questions]


def test_waves_share_the_budget():
    """Two clusters with 4 MiB to copy each, one at a time, at a MiB per second."""
    asked = (ClusterRequest(declared("main")), ClusterRequest(declared("other")))
    question = RebalanceRequest(asked, 0, Budget(MIB, clusters_max=1), {"main": "north"})
    parts = [plan_cluster(each, seen(crowded(each.cluster)), question) for each in asked]
    assert assemble_response(question, parts).waves == Schedule(
        datetime.fromtimestamp(0, UTC),
        (
            Turn("main", "north", 4, 0, 1, 4 * MIB, 0, 4000, 0, 1),
            Turn("other", "", 4, 0, 1, 4 * MIB, 4000, 8000, 0, 2),
        ),
        (),
        (),
        Bound(8000, "the fleet's rate"),
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"version": 2}, id="another-version"),
        pytest.param({"clusters": [{"cluster": "x"}]}, id="a-field-is-missing"),
        pytest.param({"waves": 3}, id="waves-of-another-shape"),
    ],
)
def test_what_is_refused(change):
    data = json.loads(RebalanceResponse("sha256:0", ()).to_json())
    with pytest.raises(Refused):
        RebalanceResponse.from_json(json.dumps({**data, **change}))


def test_a_plan_that_was_edited_is_refused():
    answer = assemble_response(
        RebalanceRequest((), 0), [plan_cluster(ASKED, seen(crowded()), RebalanceRequest((), 0))]
    )
    data = json.loads(answer.to_json())
    data["clusters"][0]["plan"]["moves"].pop()
    with pytest.raises(Refused):
        RebalanceResponse.from_json(json.dumps(data))
