"""What changes hands: what was approved, wholly, and nothing else."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import cluster_spec, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import DeletionPolicy
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.topic_ownership import topic_owners
from poolkeeper.reconcile.decide.hand_over import HandOver, hand_over

ASKED = cluster_spec(adoption=Adoption(AdoptionPolicy.APPROVE), system_topics=())
NAMES = [f"t{n}" for n in range(6)]


def wanted(names=NAMES, namespace="shop", policy=AdoptionPolicy.APPROVE, **fields) -> Desired:
    specs = (replace(topic_spec(name, "p"), namespace=namespace, **fields) for name in names)
    found = builders.desired((pool_spec("p", 1, 2),), *specs)
    return replace(found, cluster=replace(ASKED, adoption=Adoption(policy)))


def both(one: Desired, other: Desired) -> Desired:
    return replace(one, topics=(*one.topics, *other.topics))


def here(names=NAMES, epoch: int = 0) -> Cluster:
    found = (topic(name, (1,), topic_id=f"{name}/{epoch}", config={"a": "1"}) for name in names)
    return builders.cluster(
        (1, 2), *(replace(each, created_zxid=epoch * 100 + n) for n, each in enumerate(found))
    )


def asked(desired: Desired, cluster: Cluster, records: Records | None = None) -> HandOver:
    return hand_over(desired, cluster, records or Records(), frozenset())


def test_nothing_changes_hands_before_it_is_approved() -> None:
    found = asked(wanted(), here())
    assert (found.records, found.actions) == ({}, ())
    request = found.waiting[0]
    assert found.waits == (
        Wait(
            WaitReason.ADOPTION_REQUIRED,
            name="shop",
            topics=("t0", "t1", "t2", "t3", "t4"),
            count=6,
            hash=request.hash,
        ),
    )
    for other in ("sha256:other", asked(wanted(["t0"]), here()).waiting[0].hash):
        assert hand_over(wanted(), here(), Records(), {other}).records == {}


def test_what_is_approved_gets_the_record_of_its_owner() -> None:
    desired = wanted(["t0"], config={"a": "1", "b": "2"}, deletion_policy=DeletionPolicy.DELETE)
    hash_ = asked(desired, here()).waiting[0].hash
    found = hand_over(desired, here(), Records(), {hash_})
    assert found.waiting == ()
    assert found.actions == (
        Action(ActionKind.TOPICS_ADOPTED, namespace="shop", count=1, hash=hash_),
    )
    record = TopicRecord("shop/t0", ("a",), DeletionPolicy.DELETE, "t0/0", 0, hash_)
    assert found.records == {"t0": record}
    after = found.after(Records("c", {"other": TopicRecord("a/b")}))
    assert after == Records("c", {"other": TopicRecord("a/b"), "t0": record})
    assert topic_owners(desired, after, here()).specs.keys() == {"t0"}


@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_an_approval_is_followed_wholly_wherever_a_process_dies(
    written: int, rng: random.Random
) -> None:
    hash_ = asked(wanted(), here()).waiting[0].hash
    whole = hand_over(wanted(), here(), Records(), {hash_}).records
    part = dict(rng.sample(sorted(whole.items()), written))
    records = Records("c", part)
    rest = hand_over(wanted(), here(), records, {hash_})
    assert {**part, **rest.records} == whole
    assert rest.waiting == ()
    assert (asked(wanted(), here(), records).waiting[0].hash == hash_) == (written == 0)


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param((wanted([*NAMES, "t6"]), here([*NAMES, "t6"])), id="another-topic-is-asked"),
        pytest.param((wanted(), here(epoch=1)), id="all-were-created-again"),
        pytest.param((wanted(namespace="bank"), here()), id="another-namespace-asks"),
    ],
)
def test_what_was_not_approved_is_asked_about(spoilt: tuple[Desired, Cluster]) -> None:
    hash_ = asked(wanted(), here()).waiting[0].hash
    whole = hand_over(wanted(), here(), Records(), {hash_}).records
    records = Records("c", dict(sorted(whole.items())[:2]))
    found = hand_over(*spoilt, records, {hash_})
    assert [record for record in found.records.values() if record is not None] == []
    assert len(found.waiting) == 1


def test_what_is_approved_for_two_goes_to_neither() -> None:
    desired = both(wanted(["t0", "t1"]), wanted(["t1", "t2"], namespace="bank"))
    hashes = {each.hash for each in asked(desired, here()).waiting}
    found = hand_over(desired, here(), Records(), hashes)
    owners = {name: record.owner for name, record in found.records.items() if record}
    assert owners == {"t0": "shop/t0", "t2": "bank/t2"}
    left = hand_over(desired, here(), found.after(Records()), hashes)
    for each in (found, left):
        assert [(w.namespace, [t.topic for t in w.topics]) for w in each.waiting] == [
            ("bank", ["t1"]),
            ("shop", ["t1"]),
        ]
    assert (left.records, left.actions) == ({}, ())


def test_the_record_of_an_earlier_topic_is_dropped() -> None:
    records = Records("c", {"t0": TopicRecord("shop/t0", (), topic_id="t0/0", created_zxid=0)})
    for policy in (AdoptionPolicy.APPROVE, AdoptionPolicy.OPEN):
        desired = wanted(["t0"], policy=policy)
        assert asked(desired, here(), records).records == {}
        assert asked(desired, here(epoch=1), records).records == {"t0": None}


def test_whoever_owned_a_topic_before_ids_were_noted_is_asked_nothing() -> None:
    records = Records("c", {name: TopicRecord(f"shop/{name}") for name in NAMES})
    assert asked(wanted(), here(), records) == HandOver({})
