"""Policies for what takes much away when it goes: finalizers, pools, clusters, definitions."""

import pytest

from admission import ANY, denial
from manifests import CLUSTER, POOL, REBALANCE, TOPIC

FINALIZER = "poolkeeper.dev/finalizer"


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
