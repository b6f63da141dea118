"""What is declared for each cluster, and that what is wrong with one resource stays with it."""

import random
from dataclasses import replace

import pytest

from poolkeeper.model.desired import Claim
from poolkeeper.model.names import FINALIZER
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.checks.verdicts import Verdict
from poolkeeper.resources.kinds.custom_resource import CustomResource
from unit.resources.bodies import assembly, kafka_cluster, pool, topic, verdicts

MAIN = kafka_cluster()
FAST = pool("fast", 1, 2, 3)
SLOW = pool("slow", 4, 5, 6)
ORDERS = topic("orders", "fast")
AUDIT = topic("audit", "slow")


def test_a_cluster_has_its_pools_and_topics_whatever_their_order() -> None:
    objects = [ORDERS, FAST, MAIN, AUDIT, SLOW]
    found = assemble(objects)
    assert list(found) == ["main"]
    desired = found["main"].desired
    assert desired is not None
    assert [p.name for p in desired.pools] == ["fast", "slow"]
    assert [t.topic for t in desired.topics] == ["audit", "orders"]
    assert (found["main"].hold, found["main"].verdicts) == ("", {})
    assert (desired.held, desired.doomed) == (frozenset(), frozenset())
    random.Random(1).shuffle(objects)
    assert assemble(objects)["main"].desired == desired


def test_what_is_declared_tells_which_topics_are_seen() -> None:
    for watched, unseen in (((), ()), (("shop", "pay"), ("bank",))):
        for abandoned in ("", "definitions are being removed"):
            found = assemble([MAIN, FAST], watched=watched, abandoned=abandoned)["main"].desired
            assert found is not None
            assert found.watched is not None
            assert [n for n in ("shop", "pay", "bank") if n not in found.watched] == [*unseen]


@pytest.mark.parametrize(
    ("wrong", "reason", "message"),
    [
        pytest.param(
            topic("bad", "fast", partitions="many"), "Invalid", "spec.partitions", id="malformed"
        ),
        pytest.param(
            topic("bad", "fast", config={"no.such.key": "1"}),
            "Invalid",
            "spec.config[no.such.key]",
            id="config-that-kafka-does-not-know",
        ),
    ],
)
def test_a_topic_that_cannot_be_acted_on_is_held(
    wrong: CustomResource, reason: str, message: str
) -> None:
    fast = pool("fast", 1, 2, 3, allowedNamespaces={"names": ["shop"]})
    found = assembly(MAIN, fast, ORDERS, wrong)
    assert found.desired is not None
    assert [t.topic for t in found.desired.topics] == ["orders"]
    assert found.desired.held == {Claim("bad", f"{wrong.namespace}/bad")}
    assert list(found.verdicts) == [wrong.key]
    assert found.verdicts[wrong.key].reason == reason
    assert message in found.verdicts[wrong.key].message


def test_a_topic_that_its_pool_does_not_take_holds_nothing() -> None:
    fast = pool("fast", 1, 2, 3, allowedNamespaces={"names": ["shop"]})
    wrong = topic("bad", "fast", namespace="bank")
    found = assembly(MAIN, fast, ORDERS, wrong)
    assert found.desired is not None
    assert [t.topic for t in found.desired.topics] == ["orders"]
    assert (found.desired.held, found.desired.astray) == (set(), {Claim("bad", "bank/bad")})
    message = "ResourcePool fast takes no Topics of namespace bank (spec.allowedNamespaces)"
    assert found.verdicts == {wrong.key: Verdict("NamespaceNotAllowed", message)}


def test_an_internal_topic_is_held_where_its_deletion_is_declared() -> None:
    name = "__transaction_state"
    wrong = topic("state", "fast", topicName=name, deletionPolicy="Delete", deleting=True)
    for each in (wrong, replace(wrong, deleting=False)):
        found = assembly(MAIN, pool("fast", 1, 2, 3), ORDERS, each)
        assert found.desired is not None
        assert found.desired.doomed == frozenset()
        assert found.desired.held == (set() if each.deleting else {Claim(name, "shop/state")})
        assert found.verdicts[each.key].message.startswith(f"spec.deletionPolicy: {name} cannot be")


def test_a_namespace_is_allowed_by_its_labels() -> None:
    wanted = {"selector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}}
    fast = pool("fast", 1, 2, 3, allowedNamespaces=wanted)
    other = topic("other", "fast", namespace="bank")
    found = assembly(MAIN, fast, ORDERS, other, labels={"shop": {"team": "a"}, "bank": {}})
    assert found.desired is not None
    assert [t.topic for t in found.desired.topics] == ["orders"]
    assert list(found.verdicts) == [other.key]


def test_a_topic_whose_pool_does_not_exist_holds_nothing_in_any_cluster() -> None:
    lost = topic("lost", "fsat")
    second = kafka_cluster("second", connect="zk:2181/second")
    found = assemble([MAIN, second, FAST, ORDERS, lost])
    assert list(found) == ["", "main", "second"]
    assert verdicts(found[""]) == {
        "Topic shop/lost": Verdict(
            "NoSuchPool",
            "spec.poolRef: ResourcePool fsat does not exist; did you mean 'fast'?",
        )
    }
    assert found[""].desired is None
    for name in ("main", "second"):
        desired = found[name].desired
        assert desired is not None
        assert (desired.held, desired.astray) == (set(), {Claim("lost", "shop/lost")})


def test_a_pool_without_its_cluster_says_so_and_so_do_its_topics() -> None:
    found = assemble([MAIN, pool("far", 1, cluster="away"), topic("t", "far")])
    assert verdicts(found["away"]) == {
        "ResourcePool far": Verdict(
            "NoSuchCluster", "spec.clusterRef: KafkaCluster away does not exist"
        ),
        "Topic shop/t": Verdict(
            "NoSuchCluster", "KafkaCluster away of ResourcePool far does not exist"
        ),
    }
    assert (found["away"].desired, found["away"].hold) == (
        None,
        "KafkaCluster away does not exist",
    )
    desired = found["main"].desired
    assert desired is not None
    assert (desired.held, desired.astray) == (set(), {Claim("t", "shop/t")})


@pytest.mark.parametrize(
    ("objects", "hold", "blamed"),
    [
        pytest.param(
            (kafka_cluster(mode="Wild"), FAST, ORDERS),
            "KafkaCluster main is invalid",
            {"KafkaCluster main": "Invalid"},
            id="the-cluster-is-invalid",
        ),
        pytest.param(
            (MAIN, FAST, pool("slow", 4, drain=[9]), ORDERS),
            "ResourcePool slow is invalid",
            {"ResourcePool slow": "Invalid"},
            id="a-pool-is-invalid",
        ),
        pytest.param(
            (MAIN, FAST, pool("slow", brokers="all"), ORDERS),
            "ResourcePool slow is invalid",
            {"ResourcePool slow": "Invalid"},
            id="a-pool-is-unreadable",
        ),
        pytest.param(
            (kafka_cluster(deleting=True), FAST, ORDERS),
            "KafkaCluster main is being deleted",
            {},
            id="the-cluster-is-being-deleted",
        ),
        pytest.param(
            (MAIN, kafka_cluster("again", connect="ZK:2181/kafka"), FAST, ORDERS),
            "KafkaClusters main and again are of one ensemble and chroot",
            {"KafkaCluster main": "Invalid"},
            id="two-of-one-ensemble",
        ),
    ],
)
def test_a_whole_cluster_is_held(
    objects: tuple[CustomResource, ...], hold: str, blamed: dict[str, str]
) -> None:
    found = assembly(*objects)
    assert found.desired is None
    assert found.hold.startswith(hold)
    assert {str(key): said.reason for key, said in found.verdicts.items()} == blamed


def test_the_id_of_the_last_observation_is_expected_and_makes_no_other_declaration() -> None:
    known = assembly(replace(MAIN, status={"clusterId": "seen"}), FAST, ORDERS).desired
    fresh = assembly(MAIN, FAST, ORDERS).desired
    assert known is not None
    assert fresh is not None
    assert (known.seen_id, fresh.seen_id) == ("seen", None)
    assert known == fresh


def test_two_clusters_of_one_ensemble_are_both_held_and_a_third_is_not() -> None:
    again = kafka_cluster("again", connect="other:2181,zk:2181/kafka")
    third = kafka_cluster("third", connect="zk:2181/third")
    found = assemble([MAIN, again, third])
    held = {name: each.desired is None for name, each in found.items()}
    assert held == {"again": True, "main": True, "third": False}


def test_an_invalid_cluster_holds_another_of_its_ensemble_only_where_it_was_read_before() -> None:
    """It may have a run; a copy that was applied with a mistake never had one."""
    again = kafka_cluster("again", defaultPool=7)
    assert (again.spec is not None, again.sound) == (True, False)
    found = assemble([again, MAIN, FAST])
    assert (found["main"].hold, found["main"].verdicts) == ("", {})
    assert found["again"].hold.startswith("KafkaCluster again is invalid")
    read = replace(again, status={"clusterId": "seen"})
    assert assemble([read, MAIN, FAST])["main"].hold == (
        "KafkaClusters main and again are of one ensemble and chroot"
    )


@pytest.mark.parametrize(
    ("finalizers", "is_replaced"),
    [
        pytest.param(("example.com/keep",), True, id="others-keep-it"),
        pytest.param((FINALIZER, "example.com/keep"), False, id="its-run-has-to-end-before"),
    ],
)
def test_a_deleted_cluster_that_others_keep_makes_way_for_another_of_its_ensemble(
    finalizers: tuple[str, ...], is_replaced: bool
) -> None:
    going = replace(kafka_cluster("again", deleting=True), finalizers=finalizers)
    moved = topic("orders", "far", status={"pool": "fast"})
    old = pool("fast", 1, cluster="again")
    found = assemble([going, MAIN, old, pool("far", 1), moved])
    assert (found["main"].hold == "", found["again"].replaced) == (is_replaced, is_replaced)
    assert found["again"].leaving
    assert found["again"].hold == "KafkaCluster again is being deleted"
    assert moved.key in found["main"].objects
    assert not assemble([going, old])["again"].replaced


def test_a_broker_in_two_pools_is_said_of_both() -> None:
    both = pool("both", 3, 4)
    found = assembly(MAIN, FAST, both, ORDERS)
    assert verdicts(found) == {
        f"ResourcePool {name}": Verdict(
            "BrokerConflict",
            f"nothing moves in this pool: broker 3 is in pool {other} too; name each broker in one"
            " pool only, or delete the pool that another one replaces",
        )
        for name, other in (("fast", "both"), ("both", "fast"))
    }
    assert found.desired is not None


def test_a_pool_that_others_split_says_which_has_which_brokers() -> None:
    whole = pool("whole", *range(1, 15))
    left, right = pool("left", *range(1, 8)), pool("right", 8, 9)
    said = verdicts(assembly(MAIN, whole, left, right))["ResourcePool whole"].message
    assert said.startswith(
        "nothing moves in this pool: brokers 1, 2, 3, 4, 5 and 2 more are in pool left too; brokers"
        " 8, 9 are in pool right too; name each broker"
    )


def test_a_topic_does_not_go_to_another_cluster() -> None:
    second = kafka_cluster("second", connect="zk:2181/second")
    far = pool("far", 1, cluster="second")
    moved = topic("orders", "far", status={"pool": "fast"})
    found = assemble([MAIN, second, FAST, far, moved])
    assert verdicts(found["main"])["Topic shop/orders"].reason == "OtherCluster"
    main, other = found["main"].desired, found["second"].desired
    assert main is not None
    assert other is not None
    assert (main.held, main.astray) == (set(), {Claim("orders", "shop/orders")})
    assert other.topics == ()


def test_a_topic_that_moves_from_pool_to_pool_does_not_go_to_another_cluster() -> None:
    """Its status names no pool meanwhile."""
    second = kafka_cluster("second", connect="zk:2181/second")
    far = pool("far", 1, cluster="second")
    moving = topic("orders", "far", status={"cluster": "main"})
    found = assemble([MAIN, second, FAST, far, moving])
    assert verdicts(found["main"])["Topic shop/orders"] == Verdict(
        "OtherCluster",
        "spec.poolRef: ResourcePool far is of KafkaCluster second, the topic lives in main; name a"
        " pool of main, or delete this Topic and create another",
    )
    other = found["second"].desired
    assert other is not None
    assert other.topics == ()


def test_a_pool_that_is_made_again_takes_no_topic_to_another_cluster() -> None:
    second = kafka_cluster("second", connect="zk:2181/second")
    again = pool("fast", 1, cluster="second")
    moved = topic("orders", "fast", status={"cluster": "main", "pool": "fast"})
    found = assemble([MAIN, second, again, moved])
    assert verdicts(found["main"])["Topic shop/orders"].reason == "OtherCluster"
    assert assemble([second, again, moved])["second"].verdicts == {}


def test_a_topic_follows_a_cluster_that_was_renamed_once_the_old_one_is_gone() -> None:
    """Its pool of before is still there, for example while another Topic names it."""
    second = kafka_cluster("second", connect="zk:2181/kafka")
    far = pool("far", 1, cluster="second")
    moved, late = topic("orders", "far", status={"pool": "fast"}), topic("late", "fast")
    found = assemble([MAIN, second, FAST, far, moved, late])
    assert {name: each.hold for name, each in found.items()} == {
        "main": "KafkaClusters main and second are of one ensemble and chroot",
        "second": "KafkaClusters second and main are of one ensemble and chroot",
    }
    assert moved.key in found["second"].objects
    assert moved.key not in {**found["main"].verdicts, **found["second"].verdicts}
    found = assemble([second, FAST, far, moved, late])
    assert found["second"].desired is not None
    assert [spec.owner for spec in found["second"].desired.topics] == ["shop/orders"]
    assert found["second"].verdicts == {}


def test_a_default_pool_that_does_not_exist_is_said_of_the_cluster() -> None:
    found = assembly(kafka_cluster(defaultPool="none"), FAST)
    assert verdicts(found) == {
        "KafkaCluster main": Verdict(
            "NoSuchPool", "spec.defaultPool: no ResourcePool none of this cluster exists"
        )
    }
    assert found.desired is not None


def test_what_cannot_be_read_at_all_is_held_by_its_record() -> None:
    found = assembly(MAIN, FAST, topic("orders", "fast", poolRef={}), name="main")
    assert found.desired is not None
    assert found.desired.held == {Claim("", "shop/orders")}


def test_who_meant_another_name_is_asked() -> None:
    near, far = pool("near", 1, cluster="mian"), kafka_cluster(defaultPool="fastt")
    found = assemble([far, FAST, near, topic("t", "somewhere")])
    assert verdicts(found["mian"])["ResourcePool near"].message == (
        "spec.clusterRef: KafkaCluster mian does not exist; did you mean 'main'?"
    )
    assert verdicts(found["main"])["KafkaCluster main"].message == (
        "spec.defaultPool: no ResourcePool fastt of this cluster exists; did you mean 'fast'?"
    )
    assert verdicts(found[""])["Topic shop/t"].message == (
        "spec.poolRef: ResourcePool somewhere does not exist"
    )


@pytest.mark.slow
def test_pools_that_all_have_the_same_brokers_are_told_of_a_few_others() -> None:
    brokers = range(1, 401)
    pools = [pool(f"pool-{number:03}", *brokers) for number in range(200)]
    found = assembly(MAIN, *pools)
    told = verdicts(found)["ResourcePool pool-001"].message
    assert "are in pool pool-000, pool-002, pool-003, pool-004, pool-005 and 194 more too" in told
