"""What a namespace asks to take over is one question, about these very topics."""

from dataclasses import replace

import pytest

import builders
from builders import cluster_spec, pool_spec, topic, topic_spec
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.adoption_requests import adoption_hash, adoption_requests
from poolkeeper.planning.problem.topic_ownership import topic_owners

ASKED = cluster_spec(adoption=Adoption(AdoptionPolicy.APPROVE), system_topics=())
A, B, C = (topic(name, (1,), topic_id=f"id-{name}") for name in "abc")
HERE = builders.cluster((1, 2), A, B, C)


def wanted(*names: str, namespace: str = "shop", **more: tuple[Claim, ...]) -> Desired:
    specs = tuple(replace(topic_spec(name, "p"), namespace=namespace) for name in names)
    return of(*specs, **more)


def of(*specs: TopicSpec, **more: tuple[Claim, ...]) -> Desired:
    found = builders.desired((pool_spec("p", 1, 2),), *specs, **more)
    return replace(found, cluster=ASKED)


def requests(desired: Desired, records: Records | None = None, seen=HERE) -> dict[str, list[str]]:
    known = records or Records()
    owners = topic_owners(desired, known, seen)
    found = adoption_requests(desired, seen, known, owners)
    return {each.namespace: [named.topic for named in each.topics] for each in found}


OTHER = replace(topic_spec("b", "p"), namespace="bank", name="b2")
TWIN = replace(topic_spec("b", "p"), name="b2")


@pytest.mark.parametrize(
    ("desired", "records", "expected"),
    [
        pytest.param(wanted("a", "b", "new"), {}, {"shop": ["a", "b"]}, id="what-exists"),
        pytest.param(wanted("a", "b"), {"a": "shop/a"}, {"shop": ["b"]}, id="not-what-it-owns"),
        pytest.param(
            of(*wanted("a", "b").topics, OTHER),
            {},
            {"bank": ["b"], "shop": ["a", "b"]},
            id="by-namespace",
        ),
        pytest.param(
            of(*wanted("a", "b").topics, TWIN), {}, {"shop": ["a"]}, id="not-what-two-of-it-ask-for"
        ),
        pytest.param(
            of(*wanted("a", "b").topics, OTHER),
            {"b": "bank/b2"},
            {"shop": ["a"]},
            id="not-what-another-has",
        ),
        pytest.param(
            wanted("a", "b", doomed=(Claim("b", "bank/b2"),)),
            {"b": "bank/b2"},
            {"shop": ["a"]},
            id="not-what-its-owner-deletes",
        ),
        pytest.param(
            wanted("a", "b", held=(Claim("b", "bank/b2"),)),
            {"b": "bank/b2"},
            {"shop": ["a"]},
            id="not-what-is-held",
        ),
    ],
)
def test_a_namespace_asks_for(
    desired: Desired, records: dict[str, str], expected: dict[str, list[str]]
) -> None:
    known = Records("c", {name: TopicRecord(owner) for name, owner in records.items()})
    assert requests(desired, known) == expected


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(replace(HERE, deleting=frozenset({"b"})), id="is-being-deleted"),
        pytest.param(builders.cluster((1,), A, torn=frozenset({"b"})), id="is-changing"),
        pytest.param(builders.cluster((1,), A, damaged={"b": "no JSON"}), id="is-damaged"),
    ],
)
def test_nothing_is_asked_about_a_topic_that(seen) -> None:
    assert requests(wanted("a", "b"), seen=seen) == {"shop": ["a"]}
    assert topic_owners(wanted("a", "b"), Records(), seen).specs == {}


def test_the_hash_is_of_the_namespace_and_the_very_topics() -> None:
    def hash_of(desired: Desired, seen=HERE) -> str:
        owners = topic_owners(desired, Records(), seen)
        return adoption_requests(desired, seen, Records(), owners)[0].hash

    again = builders.cluster((1, 2), replace(A, topic_id="other"), B, C)
    numbered = builders.cluster((1, 2), replace(A, topic_id=None, created_zxid=7), B)
    hashes = {
        hash_of(wanted("a", "b")),
        hash_of(wanted("a")),
        hash_of(wanted("a", "b", namespace="bank")),
        hash_of(wanted("a", "b"), again),
        hash_of(wanted("a", "b"), numbered),
    }
    assert len(hashes) == 5
    assert hash_of(wanted("b", "a")) == hash_of(wanted("a", "b"))
    changed = replace(wanted("a").topics[0], config={"retention.ms": "1"}, name="other")
    assert hash_of(of(changed)) == hash_of(wanted("a"))


@pytest.mark.slow
def test_a_plan_tells_of_each_request_once() -> None:
    names = [f"t{n:04}" for n in range(3000)]
    seen = builders.cluster((1, 2), *(topic(name, (1,), topic_id=name) for name in names))
    desired = wanted(*names)
    plan = make_plan(desired, seen)
    owners = topic_owners(desired, Records(), seen)
    request = adoption_requests(desired, seen, Records(), owners)[0]
    assert adoption_hash("shop", reversed(request.topics)) == request.hash
    assert [p.message for p in plan.problems if p.reason.value == "AdoptionRequired"] == [
        "namespace shop asks to take over what exists: t0000, t0001, t0002, t0003, t0004 and 2,995"
        f" more; to let it, add {request.hash} to spec.approval.plans"
    ]
