"""Which clusters and pools are asked for, and when the question would be another one."""

import pytest

from poolkeeper.fleet.schedule.budget import Budget, RatedWindow
from poolkeeper.model.rebalances import (
    BudgetSpec,
    BudgetWindow,
    ClusterRebalance,
    EngineChoice,
    PartState,
    RebalanceSpec,
    ResourceSelection,
    Site,
)
from poolkeeper.model.specs import Window
from poolkeeper.rebalances.scope import Declarations, budget_of, scope_of
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import read_object
from unit.resources.bodies import body, kafka_cluster, pool, topic

EAST = {"site": "east"}


def labelled(kind, name, labels, spec, **more):
    found = body(kind, name, spec, **more)
    found["metadata"]["labels"] = labels
    return read_object(found)


def cluster(name, labels=None, **more):
    spec = {"zookeeper": {"connect": f"{name}:2181"}, **more.pop("spec", {})}
    return labelled("KafkaCluster", name, labels or {}, spec, **more)


def pool_of(name, of, labels=None):
    spec = {"clusterRef": {"name": of}, "brokers": {"ids": [1, 2]}}
    return labelled("ResourcePool", name, labels or {}, spec)


FLEET = (
    cluster("a", EAST, status={"partitions": 1000}),
    cluster("b", {"site": "west"}, status={"partitions": 20}),
    cluster("c"),
    pool_of("a-fast", "a", {"tier": "fast"}),
    pool_of("a-slow", "a"),
    pool_of("b-fast", "b", {"tier": "fast"}),
)


def asked(scope):
    return {each.cluster: each.pools for each in scope.cluster_requests}


def scope(objects=FLEET, **spec):
    return scope_of(RebalanceSpec("r", **spec), assemble(objects))


@pytest.mark.parametrize(
    ("spec", "expected", "others", "missing"),
    [
        pytest.param(
            {}, {"a": ("a-fast", "a-slow"), "b": ("b-fast",)}, (), (), id="all-that-have-pools"
        ),
        pytest.param(
            {"clusters": ResourceSelection(("a",))},
            {"a": ("a-fast", "a-slow")},
            (),
            (),
            id="by-name",
        ),
        pytest.param(
            {"clusters": ResourceSelection(selector={"matchLabels": EAST})},
            {"a": ("a-fast", "a-slow")},
            (),
            (),
            id="by-label",
        ),
        pytest.param(
            {"pools": ResourceSelection(selector={"matchLabels": {"tier": "fast"}})},
            {"a": ("a-fast",), "b": ("b-fast",)},
            (),
            (),
            id="pools-by-label",
        ),
        pytest.param(
            {"pools": ResourceSelection(("b-fast",))},
            {"b": ("b-fast",)},
            (),
            (),
            id="pools-by-name",
        ),
        pytest.param(
            {"pools": ResourceSelection(("b-fast", "none"))},
            {"b": ("b-fast",)},
            (),
            ("none",),
            id="a-pool-that-nobody-has",
        ),
        pytest.param(
            {"clusters": ResourceSelection(("b", "c", "d"))},
            {"b": ("b-fast",)},
            (
                ClusterRebalance("c", PartState.IN_PLACE, message="no pool is in scope"),
                ClusterRebalance(
                    "d", PartState.FAILED, message="not planned: KafkaCluster d does not exist"
                ),
            ),
            (),
            id="what-is-named-and-cannot-be-asked-is-told",
        ),
    ],
)
def test_scope(spec, expected, others, missing):
    found = scope(**spec)
    assert (asked(found), found.unplanned, found.missing) == (expected, others, missing)


def test_a_cluster_that_is_held_is_told_with_the_reason():
    found = scope((*FLEET[:5], pool_of("b-fast", "b"), pool("b-twin", 2, 9, 9, cluster="b")))
    assert set(asked(found)) == {"a"}
    assert found.unplanned == (
        ClusterRebalance(
            "b", PartState.FAILED, message="not planned: ResourcePool b-twin is invalid"
        ),
    )
    assert found.partitions == 1000


def test_one_that_is_being_deleted_is_left_out_unless_it_is_named():
    leaving = cluster("b", deleting=True, guarded=True)
    objects = (*FLEET[:1], leaving, *FLEET[2:])
    assert scope(objects).unplanned == ()
    (told,) = scope(objects, clusters=ResourceSelection(("a", "b"))).unplanned
    assert told.message == "not planned: KafkaCluster b is being deleted"


BUDGET = BudgetSpec(clusters_at_once=1)
OTHERS = [
    pytest.param(FLEET, {"engine": EngineChoice.LOCAL}, True, id="another-engine"),
    pytest.param(FLEET, {"budget": BUDGET}, True, id="another-budget"),
    pytest.param(FLEET, {"pools": ResourceSelection(("a-fast",))}, True, id="other-pools"),
    pytest.param((*FLEET, pool_of("c-fast", "c")), {}, True, id="one-cluster-more"),
    pytest.param(
        (*FLEET[:5], pool("b-fast", 1, 2, 3, cluster="b")), {}, True, id="other-brokers-of-a-pool"
    ),
    pytest.param(FLEET, {"paused": True}, False, id="a-pause"),
    pytest.param((*FLEET, topic("orders", "a-fast")), {}, False, id="a-topic"),
    pytest.param((cluster("a", EAST, spec={"mode": "Apply"}), *FLEET[1:]), {}, False, id="a-mode"),
]


@pytest.mark.parametrize(("objects", "spec", "differs"), OTHERS)
def test_another_question_would_be_asked(objects, spec, differs):
    assert (scope(objects, **spec).digest != scope().digest) == differs


def test_the_question_has_the_budget_and_the_sites():
    budget = BudgetSpec(
        1000,
        2,
        (Site("east", ("a",), 500), Site("west", ("b",))),
        (BudgetWindow(Window("0 22 * * *", 3600), 700),),
    )
    spec = RebalanceSpec("r", budget=budget)
    question = scope_of(spec, assemble(FLEET)).request(spec, 42)
    assert question.now_ms == 42
    assert question.sites == {"a": "east", "b": "west"}
    assert question.budget == budget_of(budget)
    assert budget_of(budget) == Budget(
        bytes_per_s=1000,
        sites={"east": 500},
        windows=(RatedWindow(Window("0 22 * * *", 3600), 700),),
        clusters_max=2,
    )


def test_clusters_of_one_ensemble_are_told_and_not_asked():
    twins = (kafka_cluster("x"), kafka_cluster("y"), pool("p", 1, cluster="x"))
    assert scope(twins).cluster_requests == ()


def test_the_digests_of_clusters_out_of_scope_are_forgotten():
    declarations, spec = Declarations(), RebalanceSpec("r")
    for fleet in (FLEET, [each for each in FLEET if not each.name.startswith("b")]):
        found = scope_of(spec, assemble(fleet), declarations)
        assert declarations._known.keys() == asked(found).keys()
