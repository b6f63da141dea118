"""Policies for who approves: plans, ends of runs, what tenants may take."""

import pytest

from admission import denial
from apirequests import merged
from manifests import CLUSTER, REBALANCE

HASHES = [f"sha256:{digit * 64}" for digit in "12"]


@pytest.fixture(scope="module")
def ada(admin):
    with admin.as_user("ada", "editors", "approvers") as api:
        yield api


@pytest.fixture(scope="module")
def pair(edna, ada):
    return edna, ada


APPROVALS = [
    pytest.param({}, {"plans": HASHES[:1]}, False, id="a-plan"),
    pytest.param({"plans": HASHES[:1]}, {"plans": HASHES}, False, id="one-more-plan"),
    pytest.param({"plans": HASHES[:1]}, {"plans": HASHES[1:]}, False, id="another-plan"),
    pytest.param({}, {"policy": "Auto"}, False, id="everything"),
    pytest.param({"plans": HASHES}, {"plans": HASHES[:1]}, True, id="one-plan-less"),
    pytest.param({"plans": HASHES}, {"plans": None}, True, id="no-plan-any-more"),
    pytest.param({"plans": HASHES}, {"plans": HASHES[::-1]}, True, id="the-same-plans"),
    pytest.param({"policy": "Auto"}, {"policy": "Auto"}, True, id="everything-as-before"),
    pytest.param({"policy": "Auto"}, {"policy": "Manual"}, True, id="nothing-by-itself"),
]


def named(base, approval, user, before=()):
    """The approval, in the name of that user where it is new."""
    new = [each for each in approval.get("plans") or () if each not in before]
    return {**approval, "by": dict.fromkeys(new, user)} if base is CLUSTER and new else approval


@pytest.mark.parametrize("base", [CLUSTER, REBALANCE], ids=lambda base: base["kind"])
@pytest.mark.parametrize(("before", "after", "for_all"), APPROVALS)
def test_plans_are_approved_by_approvers(admin, pair, made, base, before, after, for_all):
    edna, ada = pair
    body = made(base, {"spec": {"approval": named(base, before, name_of(admin))}})
    other = {"mode": "Apply"} if base is CLUSTER else {"paused": True}

    def change(user):
        approval = named(base, after, user, before.get("plans", ()))
        return {"spec": {"approval": approval, **other}}

    assert ada.patch(body, change("ada"), dryRun="All").refusals() == []
    answer = edna.patch(body, change("edna"), dryRun="All")
    if for_all:
        assert answer.refusals() == []
        return
    text = (
        f"edna may edit {base['kind']} {body['metadata']['name']} but not approve its plans: leave"
        " spec.approval as it is, and ask someone who has the verb approve on"
        f" {base['kind'].lower()}s to approve"
    )
    assert answer.message.endswith(denial("plan-approval", text))


def name_of(api):
    """The name of a user, as the server knows it."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    found = api.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body).body
    return found["status"]["userInfo"]["username"]


ONE, TWO = HASHES
BY_ADA, BY_JOE = {ONE: "ada"}, {ONE: "joe"}
SAY_WHO = (
    "say who approves: with each hash that is added to spec.approval.plans, set"
    " spec.approval.by[hash] to ada"
)

AS_IT_IS = (
    "who approved a plan is not changed afterwards: leave spec.approval.by as it is for hashes that"
    " stay in spec.approval.plans"
)


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        pytest.param({}, {"plans": [ONE], "by": BY_ADA}, "", id="in-the-own-name"),
        pytest.param({}, {"plans": [ONE]}, SAY_WHO, id="in-no-name"),
        pytest.param({}, {"plans": [ONE], "by": BY_JOE}, SAY_WHO, id="in-the-name-of-another"),
        pytest.param(
            {"by": BY_JOE}, {"plans": [ONE]}, SAY_WHO, id="in-a-name-that-was-there-before"
        ),
        pytest.param(
            {"plans": [ONE], "by": {ONE: ""}},
            {"plans": HASHES, "by": {TWO: "ada"}},
            "",
            id="one-more",
        ),
        pytest.param(
            {"plans": [ONE], "by": {ONE: ""}}, {"by": BY_ADA}, AS_IT_IS, id="another-name-later"
        ),
        pytest.param(
            {"plans": [ONE], "by": {ONE: ""}}, {"by": {ONE: None}}, AS_IT_IS, id="no-name-later"
        ),
        pytest.param(
            {"plans": [ONE], "by": {ONE: ""}},
            {"plans": None, "by": None},
            "",
            id="taken-back-with-its-name",
        ),
    ],
)
def test_who_approves_says_who_that_is(admin, ada, made, before, after, says):
    """An empty name stands for the administrator's, who makes the cluster."""
    own = {each: name or name_of(admin) for each, name in before.get("by", {}).items()}
    body = made(CLUSTER, {"spec": {"approval": {**before, "by": own} if own else before}})
    answer = ada.patch(body, {"spec": {"approval": after}}, dryRun="All")
    if says:
        assert answer.message.endswith(denial("plan-approver", says))
    else:
        assert answer.refusals() == []


def test_a_new_cluster_is_approved_by_approvers_too(edna, ada):
    approved = merged(CLUSTER, {"spec": {"approval": {"policy": "Auto"}}})
    assert edna.dry_create(CLUSTER).status == 201
    assert edna.dry_create(approved).status == 403
    assert ada.dry_create(approved).status == 201


REQUEST = "poolkeeper.dev/request"


@pytest.fixture
def people(admin, edna, ada, operator):
    with admin.as_user("stan", "editors", "stoppers") as stan:
        yield {"edna": edna, "ada": ada, "stan": stan, "operator": operator}


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        pytest.param(None, "stop", {"stan"}, id="a-stop"),
        pytest.param(None, f"rollback {HASHES[0]}", {"stan"}, id="a-rollback"),
        pytest.param("stop", "rollback", {"stan"}, id="a-sharper-one"),
        pytest.param(None, "resume", {"ada"}, id="to-go-on"),
        pytest.param(None, " resume", {"ada"}, id="to-go-on-after-a-blank"),
        pytest.param(None, "\u00a0\nresume", {"ada"}, id="to-go-on-after-other-blanks"),
        pytest.param("stop", "\tresume", {"ada"}, id="to-go-on-instead"),
        pytest.param(None, "what?", {"ada"}, id="nothing-that-is-known"),
        pytest.param("stop", None, {"stan", "operator"}, id="taken-off"),
        pytest.param("stop", "stop", {"edna", "ada", "stan", "operator"}, id="as-before"),
    ],
)
def test_runs_are_stopped_by_those_who_may(people, made, before, after, by):
    body = made(CLUSTER, {"metadata": {"annotations": {REQUEST: before} if before else {}}})
    change = {"metadata": {"annotations": {REQUEST: after}}, "spec": {"mode": "Apply"}}
    answers = {name: api.patch(body, change, dryRun="All") for name, api in people.items()}
    assert {name for name, answer in answers.items() if answer.status == 200} == by
    verb = "approve" if by == {"ada"} else "stop"
    text = (
        f"edna may edit KafkaCluster {body['metadata']['name']} but not its runs: ask someone who"
        f" has the verb {verb} on kafkaclusters to change the annotation {REQUEST}"
    )
    if "edna" not in by:
        assert answers["edna"].message.endswith(denial("requests", text))


ALL_OF_THEM = {"edna", "ada", "stan", "operator"}


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        pytest.param("Apply", "Paused", {"stan"}, id="paused"),
        pytest.param("Apply", "RollBack", {"stan"}, id="rolled-back"),
        pytest.param("Paused", "RollBack", {"stan"}, id="rolled-back-once-paused"),
        pytest.param("Apply", "PlanOnly", {"stan"}, id="only-looked-at"),
        pytest.param("Apply", None, {"stan"}, id="only-looked-at-by-default"),
        pytest.param("Paused", "Apply", ALL_OF_THEM, id="let-go-on"),
        pytest.param("Paused", "Paused", ALL_OF_THEM, id="as-before"),
        pytest.param(None, "PlanOnly", ALL_OF_THEM, id="as-before-said-aloud"),
    ],
)
def test_a_mode_stops_runs_for_those_who_may(people, made, before, after, by):
    body = made(CLUSTER, {"spec": {"mode": before} if before else {}})
    change = {"spec": {"mode": after, "kafkaVersion": "3.9"}}
    answers = {name: api.patch(body, change, dryRun="All") for name, api in people.items()}
    assert {name for name, answer in answers.items() if answer.status == 200} == by
    text = (
        f"edna may edit KafkaCluster {body['metadata']['name']} but not its runs: ask someone who"
        f" has the verb stop on kafkaclusters to set spec.mode to {after or 'PlanOnly'}"
    )
    if "edna" not in by:
        assert answers["edna"].message.endswith(denial("requests", text))


OPEN, SHOP = {"policy": "Open"}, {"namespaces": ["shop"]}


@pytest.mark.parametrize(
    ("before", "after", "for_all"),
    [
        pytest.param({}, {"adoption": OPEN}, False, id="who-takes-over-what-exists"),
        pytest.param({"adoption": SHOP}, {"adoption": OPEN}, False, id="another-rule-for-it"),
        pytest.param({"adoption": SHOP}, {"adoption": None}, False, id="no-rule-for-it"),
        pytest.param({"adoption": SHOP}, {"adoption": SHOP}, True, id="the-same-rule"),
        pytest.param({}, {"systemTopics": SHOP}, False, id="who-has-system-topics"),
        pytest.param(
            {"topicNames": {"prefix": "{namespace}."}}, {"topicNames": None}, False, id="names"
        ),
    ],
)
def test_what_tenants_may_take_is_said_by_approvers(edna, ada, made, before, after, for_all):
    body = made(CLUSTER, {"spec": before})
    assert ada.patch(body, {"spec": after}, dryRun="All").refusals() == []
    answer = edna.patch(body, {"spec": {**after, "mode": "Apply"}}, dryRun="All")
    if for_all:
        assert answer.refusals() == []
        return
    text = (
        f"edna may edit KafkaCluster {body['metadata']['name']} but not say what its tenants may"
        " take: leave spec.adoption, spec.systemTopics and spec.topicNames as they are, and ask"
        " someone who has the verb approve on kafkaclusters"
    )
    assert answer.message.endswith(denial("tenancy", text))


def test_a_new_cluster_lets_tenants_take_what_approvers_say(edna, ada):
    named = merged(CLUSTER, {"spec": {"topicNames": {"prefix": "{namespace}."}}})
    assert edna.dry_create(named).status == 201
    for spec in ({"adoption": OPEN}, {"systemTopics": SHOP}):
        trusting = merged(CLUSTER, {"spec": spec})
        assert edna.dry_create(trusting).status == 403
        assert ada.dry_create(trusting).status == 201
