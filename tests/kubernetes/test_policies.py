"""Each policy on a real API server: what it lets through, what it refuses, and what it says then.

All policies are in force at once, as the chart has them. Edna may edit everything of ours, Ada
approves as well, the operator writes status as well.
"""

import secrets
from pathlib import Path

import pytest

from apirequests import Api, merged
from conditions import until
from manifests import CLUSTER, POOL, REBALANCE, TOPIC

POLICIES = Path(__file__).parents[2] / "policies"
FINALIZER = "poolkeeper.dev/finalizer"
HASHES = [f"sha256:{digit * 64}" for digit in "12"]
ANY = {"annotations": {"poolkeeper.dev/topic-prefixes": "*"}}
EDIT = ["get", "create", "update", "patch", "delete"]
ROLES = {
    "editors": [(["topics", "resourcepools", "kafkaclusters", "rebalances"], EDIT)],
    "approvers": [(["kafkaclusters", "rebalances"], ["approve"])],
    "stoppers": [(["kafkaclusters"], ["stop"])],
    "operators": [
        (
            [
                f"{kind}/status"
                for kind in ("topics", "resourcepools", "kafkaclusters", "rebalances")
            ],
            ["patch"],
        )
    ],
}


def denial(policy, text):
    """What the server says when a policy refuses, after the resource's name."""
    name = f"poolkeeper-{policy}"
    return f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {text}"


@pytest.fixture(scope="module")
def admin(control_plane):
    denied = merged(TOPIC, {"metadata": {"name": "x"}})
    with Api(control_plane.access) as api:
        for name, rules in ROLES.items():
            _grant(api, name, rules)
        try:
            control_plane.kubectl("apply", "-f", str(POLICIES))
            until(lambda: api.dry_create(denied).status == 403, "the policies are in force")
            yield api
        finally:
            control_plane.kubectl("delete", "--ignore-not-found", "-f", str(POLICIES))
            until(lambda: api.dry_create(denied).status == 201, "no policy is in force any more")


def _grant(api, name, rules):
    rbac = "rbac.authorization.k8s.io"
    path = f"/apis/{rbac}/v1"
    role = f"policy-test-{name}"
    api.send(
        "POST",
        f"{path}/clusterroles",
        {
            "metadata": {"name": role},
            "rules": [
                {"apiGroups": ["poolkeeper.dev"], "resources": resources, "verbs": verbs}
                for resources, verbs in rules
            ],
        },
    )
    api.send(
        "POST",
        f"{path}/clusterrolebindings",
        {
            "metadata": {"name": role},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": name}],
        },
    )


@pytest.fixture(scope="module")
def edna(admin):
    with admin.as_user("edna", "editors") as api:
        yield api


@pytest.fixture(scope="module")
def ada(admin):
    with admin.as_user("ada", "editors", "approvers") as api:
        yield api


@pytest.fixture(scope="module")
def pair(edna, ada):
    return edna, ada


@pytest.fixture(scope="module")
def operator(admin):
    with admin.as_user("operator", "editors", "operators") as api:
        yield api


@pytest.fixture
def team(admin):
    """Makes namespaces with that metadata, and tells their names."""

    def make(metadata):
        name = f"team-{secrets.token_hex(4)}"
        body = {"metadata": {**metadata, "name": name}}
        assert admin.send("POST", "/api/v1/namespaces", body).status == 201
        return name

    return make


@pytest.fixture
def made(admin):
    """Makes resources, by the administrator; all are gone afterwards, finalizers or not."""
    bodies = []

    def make(base, change):
        name = f"{base['metadata']['name']}-{secrets.token_hex(4)}"
        bodies.append(admin.create(merged(base, merged(change, {"metadata": {"name": name}}))))
        return bodies[-1]

    yield make
    allowed = {"poolkeeper.dev/deletion": "allowed"}
    for body in bodies:
        admin.patch(body, {"metadata": {"annotations": allowed, "finalizers": None}})
        admin.delete(body)


def topic_in(namespace, spec):
    return merged(TOPIC, {"metadata": {"namespace": namespace}, "spec": spec})


@pytest.mark.parametrize(
    ("prefixes", "name", "expected"),
    [
        pytest.param(None, "{namespace}.orders", "", id="the-namespace-and-a-dot"),
        pytest.param(None, "{namespace}-eu.orders", "{namespace}.", id="a-longer-namespace"),
        pytest.param(None, "{namespace}_orders", "{namespace}.", id="an-underscore"),
        pytest.param(None, "{namespace}orders", "{namespace}.", id="the-namespace-and-no-dot"),
        pytest.param(None, None, "{namespace}.", id="no-prefix"),
        pytest.param("shop-", "shop-orders", "", id="a-prefix-without-a-dot"),
        pytest.param("shop-", "shop-eu.orders", "shop-", id="a-name-of-a-longer-namespace"),
        pytest.param("shop", "shop-eu.orders", "shop", id="a-prefix-that-ends-in-a-letter"),
        pytest.param("shop_", "shop_eu.orders", "", id="no-namespace-has-an-underscore"),
        pytest.param("shop., web-", "web-orders", "", id="the-second-of-two-prefixes"),
        pytest.param("shop., web-", "{namespace}.orders", "shop. or web-", id="none-of-two"),
        pytest.param("*", "orders", "", id="any-name"),
        pytest.param("", "orders", "", id="no-name-at-all"),
    ],
)
def test_topics_have_a_prefix_of_their_namespace(edna, team, prefixes, name, expected):
    said = {} if prefixes is None else {"poolkeeper.dev/topic-prefixes": prefixes}
    namespace = team({"annotations": said})
    name = name and name.format(namespace=namespace)
    answer = edna.dry_create(topic_in(namespace, {"topicName": name}))
    if not expected and prefixes != "":
        assert answer.refusals() == []
        return
    allowed = expected.format(namespace=namespace)
    text = (
        f"topic {name or 'orders'} does not begin with {allowed}: choose another spec.topicName, "
        "or ask the platform team for a prefix (annotation poolkeeper.dev/topic-prefixes of "
        f"namespace {namespace})"
    )
    assert answer.message.endswith(denial("topic-prefixes", text))


def test_topics_from_before_a_prefix_stay_editable(admin, edna, team):
    namespace = team(ANY)
    body = admin.create(topic_in(namespace, {}))
    said = {"metadata": {"annotations": {"poolkeeper.dev/topic-prefixes": "shop."}}}
    patch = "application/merge-patch+json"
    admin.send("PATCH", f"/api/v1/namespaces/{namespace}", said, patch)
    fresh = topic_in(namespace, {"topicName": "y"})
    until(lambda: edna.dry_create(fresh).status == 403, "the server saw the annotation")
    assert edna.patch(body, {"spec": {"paused": True}}).refusals() == []


@pytest.mark.parametrize(
    ("labels", "name", "is_taken"),
    [
        pytest.param({}, "orders_", True, id="another-name"),
        pytest.param({}, "_schemas", False, id="a-name-of-a-service"),
        pytest.param(
            {"poolkeeper.dev/protected-topics": "allowed"},
            "_schemas",
            True,
            id="in-their-namespace",
        ),
        pytest.param(
            {"poolkeeper.dev/protected-topics": "no"}, "_schemas", False, id="in-no-such-namespace"
        ),
    ],
)
def test_names_of_services_are_protected(edna, team, labels, name, is_taken):
    namespace = team({**ANY, "labels": labels})
    answer = edna.dry_create(topic_in(namespace, {"topicName": name}))
    text = (
        f"topic {name} is protected, as its name begins with _: choose another spec.topicName, or "
        f"ask the platform team to label namespace {namespace} with "
        "poolkeeper.dev/protected-topics=allowed"
    )
    if is_taken:
        assert answer.refusals() == []
    else:
        assert answer.message.endswith(denial("protected-topics", text))


DELETION = {"poolkeeper.dev/topic-deletion": "allowed"}


@pytest.mark.parametrize(
    ("labels", "before", "after", "is_taken"),
    [
        pytest.param({}, None, "Retain", True, id="made-to-stay"),
        pytest.param({}, None, "Delete", False, id="made-to-go"),
        pytest.param(DELETION, None, "Delete", True, id="made-to-go-where-that-is-allowed"),
        pytest.param({}, "Retain", "Delete", False, id="to-go-from-now-on"),
        pytest.param(DELETION, "Retain", "Delete", True, id="to-go-where-that-is-allowed"),
        pytest.param({}, "Delete", "Delete", True, id="to-go-as-before"),
        pytest.param({}, "Delete", "Retain", True, id="to-stay-from-now-on"),
    ],
)
def test_topics_go_only_where_that_is_allowed(admin, edna, team, labels, before, after, is_taken):
    namespace = team({**ANY, "labels": {**labels, **(DELETION if before == "Delete" else {})}})
    if before is None:
        answer = edna.dry_create(topic_in(namespace, {"deletionPolicy": after}))
    else:
        body = admin.create(topic_in(namespace, {"deletionPolicy": before}))
        if labels != DELETION:
            _take_label_off(admin, namespace)
        answer = edna.patch(body, {"spec": {"deletionPolicy": after, "paused": True}})
    text = (
        "deletionPolicy Delete is not allowed here: leave it at Retain, or ask the platform team "
        f"to label namespace {namespace} with poolkeeper.dev/topic-deletion=allowed"
    )
    if is_taken:
        assert answer.refusals() == []
    else:
        assert answer.message.endswith(denial("topic-deletion", text))


def _take_label_off(admin, namespace):
    off = {"metadata": {"labels": dict.fromkeys(DELETION)}}
    admin.send("PATCH", f"/api/v1/namespaces/{namespace}", off, "application/merge-patch+json")
    probe = topic_in(namespace, {"topicName": "x", "deletionPolicy": "Delete"})
    until(lambda: admin.dry_create(probe).status == 403, "the server saw the label go")


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
        pytest.param("stop", None, {"stan", "operator"}, id="taken-off"),
        pytest.param("stop", "stop", {"edna", "ada", "stan", "operator"}, id="as-before"),
    ],
)
def test_runs_are_stopped_by_those_who_may(people, made, before, after, by):
    body = made(CLUSTER, {"metadata": {"annotations": {REQUEST: before} if before else {}}})
    change = {"metadata": {"annotations": {REQUEST: after}}, "spec": {"mode": "Apply"}}
    answers = {name: api.patch(body, change, dryRun="All") for name, api in people.items()}
    assert {name for name, answer in answers.items() if answer.status == 200} == by
    verb = "approve" if after == "resume" else "stop"
    text = (
        f"edna may edit KafkaCluster {body['metadata']['name']} but not its runs: ask someone who"
        f" has the verb {verb} on kafkaclusters to change the annotation {REQUEST}"
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


@pytest.mark.parametrize("base", [TOPIC, POOL, CLUSTER, REBALANCE], ids=lambda base: base["kind"])
def test_only_the_operator_takes_its_finalizer_off(edna, operator, team, made, base):
    change = {"metadata": {"finalizers": [FINALIZER, "example.com/other"]}}
    if base is TOPIC:
        change["metadata"]["namespace"] = team(ANY)
    body = made(base, change)
    name, plural = body["metadata"]["name"], f"{base['kind'].lower()}s"
    text = (
        f"only the operator takes poolkeeper.dev/finalizer off: kubectl describe {plural} {name} "
        "says what it waits for; if there is no operator any more, ask an administrator"
    )

    def finalizers(*names):
        return {"metadata": {"finalizers": list(names) or None}}

    assert edna.patch(body, finalizers(FINALIZER)).refusals() == []
    assert edna.patch(body, finalizers()).message.endswith(denial("finalizers", text))
    assert operator.patch(body, finalizers()).refusals() == []
    assert edna.patch(body, finalizers(FINALIZER)).refusals() == []


@pytest.mark.parametrize(
    ("base", "topics", "annotation", "is_taken"),
    [
        pytest.param(CLUSTER, None, None, True, id="a-cluster-that-was-never-seen"),
        pytest.param(POOL, 0, None, True, id="a-pool-that-is-empty"),
        pytest.param(POOL, 3, None, False, id="a-pool-with-topics"),
        pytest.param(CLUSTER, 3, None, False, id="a-cluster-with-topics"),
        pytest.param(CLUSTER, 3, "no", False, id="a-cluster-that-shall-not-go"),
        pytest.param(CLUSTER, 3, "allowed", True, id="a-cluster-that-may-go"),
    ],
)
def test_what_holds_topics_goes_only_when_somebody_said_so(
    admin, edna, made, base, topics, annotation, is_taken
):
    said = {} if annotation is None else {"poolkeeper.dev/deletion": annotation}
    body = made(base, {"metadata": {"annotations": said}})
    if topics is not None:
        assert admin.set_status(body, {"topics": topics}).status == 200
    answer = edna.delete(body, dryRun="All")
    if is_taken:
        assert answer.status == 200
        return
    name, plural = body["metadata"]["name"], f"{base['kind'].lower()}s"
    text = (
        f"{name} holds topics (3): if it shall go all the same, first kubectl annotate {plural} "
        f"{name} poolkeeper.dev/deletion=allowed"
    )
    assert answer.message.endswith(denial("deletions", text))


def test_our_definitions_go_only_when_somebody_said_so(admin):
    folder = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    answer = admin.send("DELETE", f"{folder}/topics.poolkeeper.dev", dryRun="All")
    text = (
        "with its definition every Topic goes: if that is meant, first kubectl annotate crd "
        "topics.poolkeeper.dev poolkeeper.dev/deletion=allowed"
    )
    assert answer.message.endswith(denial("definitions", text))


def test_definitions_of_others_go_as_before(admin):
    folder = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "Widgets"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    body = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
    assert admin.send("POST", folder, body).status == 201
    assert admin.send("DELETE", f"{folder}/widgets.example.com").status == 200


def test_the_server_finds_no_fault_in_the_policies(admin):
    folder = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"

    def policies():
        items = admin.send("GET", folder).body["items"]
        return [item for item in items if item["metadata"]["name"].startswith("poolkeeper-")]

    def checked():
        found = policies()
        return found if all("typeChecking" in p.get("status", {}) for p in found) else []

    found = until(checked, "the controllers checked the types of all policies")
    assert [item["status"]["typeChecking"] for item in found] == [{}] * 10


def test_every_file_says_what_it_is_for_and_has_nothing_for_templates():
    for file in POLICIES.glob("*.yaml"):
        text = file.read_text()
        assert text.startswith("# "), file
        assert "{{" not in text, file
        assert text.count("validationActions: [Deny]") == text.count(
            "kind: ValidatingAdmissionPolicy\n"
        )
