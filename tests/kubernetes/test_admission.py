"""What webhooks and policies of others do to our writes is told, and costs no more than it must."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import manifests
from conditions import until
from control_plane.access import ApiError
from planned import asked
from poolkeeper.errors import Forbidden, Refused
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.jobs.planner_pods import PlannerPodSettings
from poolkeeper.kube.objects import finalizers
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.rebalances.planning.planning_jobs import JobEngine, rebalances
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.text_store import TextStore
from rebalanced import Fleet, fleet_of
from webhooks import HANGS_S, PROBE, Denial, Webhook, resource, without_annotations

OURS = "poolkeeper.dev"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmission"
QUESTION = RebalanceRequest((asked("main", "zk:2181"),), 7)
NO = "no finalizers here"


@pytest.fixture
def client(control_plane) -> Iterator[Api]:
    found = Api.connect(environ={"KUBECONFIG": str(control_plane.kubeconfig)})
    yield found
    found.close()


def changes_finalizers(request: dict[str, Any]) -> bool:
    found = [
        (request.get(part) or {}).get("metadata", {}).get("finalizers") or []
        for part in ("object", "oldObject")
    ]
    return request["operation"] == "UPDATE" and found[0] != found[1]


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 422])
def test_a_denial_is_none_of_a_write_that_another_one_overtook(
    control_plane, client, namespace, status
):
    made = client.create(
        collection("Topic", namespace), manifests.topic("orders", "fast", namespace)
    )
    deny = lambda request: Denial(status, NO) if changes_finalizers(request) else None  # noqa: E731
    with Webhook(control_plane, namespace, deny, resource(OURS, "topics")) as webhook:
        with pytest.raises(Forbidden if status == 403 else Refused, match=NO):
            finalizers.add(client, Reference.of(made))
        assert len(webhook.calls) == 1, "it was tried once"
    assert finalizers.add(client, Reference.of(made))


def test_a_deletion_that_is_denied_as_not_found_is_no_deletion(control_plane, client, namespace):
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    client.create(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})
    deny = lambda request: Denial(404, NO)  # noqa: E731
    with (
        Webhook(control_plane, namespace, deny, resource("", "configmaps")),
        pytest.raises(Refused, match=NO),
    ):
        client.delete(f"{path}/kept")
    assert client.delete(f"{path}/kept")


@pytest.mark.parametrize("suspended", [False, True])
def test_a_planning_job_that_webhooks_change_is_made_once(
    control_plane, client, namespace, suspended
):
    """One takes our annotations off; a queue of Jobs suspends whatever is resumed."""
    client.create(collection("Rebalance", ""), manifests.body("Rebalance", namespace, {}))

    def admit(request):
        taken_off = without_annotations(request)
        suspend = [{"op": "add", "path": "/spec/suspend", "value": True}] if suspended else []
        return [*taken_off, *suspend]

    settings = PlannerPodSettings("planner:1", account="default")
    texts = TextStore(client, namespace)
    engine = JobEngine(client, namespace, settings, rebalances(client), texts)
    try:
        with Webhook(control_plane, namespace, admit, resource("batch", "jobs")) as webhook:
            for _ in range(4):
                assert engine.request_plans(namespace, QUESTION) is None
            # The server asks about a patch once more where a controller wrote in between.
            asked_about = [call[0] for call in webhook.calls if call[0] != "DELETE"]
            assert (asked_about.count("CREATE"), client.requests["patch"]) == (1, 1)
            told = engine.pending_reason(namespace, QUESTION)
            assert ("kubectl patch job" in told) is suspended
    finally:
        client.delete(Reference("Rebalance", "", namespace).path)


def test_a_webhook_that_hangs_keeps_statuses_of_no_other_namespace_waiting(
    control_plane, client, namespace
):
    other = control_plane.new_namespace()
    made = {
        space: [
            Reference.of(
                client.create(
                    collection("Topic", space), manifests.topic(f"t{number}", "fast", space)
                )
            )
            for number in range(12)
        ]
        for space in (namespace, other)
    }
    writer, rule = StatusWriter(client), resource(OURS, "topics/status")
    said = {"observedGeneration": 1, "partitions": 1}
    try:
        with Webhook(control_plane, namespace, hang, rule) as webhook:
            for each in made[namespace]:
                writer.put(each, said, {})
            until(lambda: writer.failures, "the first has failed")
            for each in made[other][:6]:
                before, since_s = writer.writes, time.monotonic()
                writer.put(each, said, {})
                until(lambda before=before: writer.writes > before, "it is written")
                assert time.monotonic() - since_s < HANGS_S / 2
            assert writer.pending == len(made[namespace])
            assert len(webhook.calls) < 20
    finally:
        writer.close()


def hang(request):
    time.sleep(HANGS_S + 1)


@pytest.fixture
def fleet(operated) -> Iterator[Fleet]:
    with fleet_of(operated, 1) as found:
        yield found


def test_plans_without_their_annotations_are_told_before_anybody_approves_them(fleet):
    """They would be missed by the next leader, and the approved Rebalance fail."""
    fleet.declare()
    plane, space = fleet.scenes[0].plane, fleet.scenes[0].operator.namespace
    with Webhook(plane, space, without_annotations, resource("", "configmaps")) as webhook:
        fleet.begin()
        message = fleet.says("Waiting", "was stored without annotations[poolkeeper.dev/digest]")
        assert f"webhook changes the ConfigMaps of namespace {space}" in message
        written = [call for call in webhook.calls if call[2].startswith("rebalance-")]
        assert len(written) <= 2, "it is not tried each second"
    fleet.approve()
    fleet.says("Succeeded")


def test_a_rebalance_whose_finalizer_is_denied_says_so_and_goes_on_once_it_is_not(fleet):
    fleet.declare()
    plane, space = fleet.scenes[0].plane, fleet.scenes[0].operator.namespace
    deny = lambda request: Denial(409, NO) if changes_finalizers(request) else None  # noqa: E731
    fleet.begin()
    with Webhook(plane, space, deny, resource(OURS, "rebalances")):
        fleet.approve()
        message = fleet.says("FinalizerForbidden", NO)
        assert message.startswith("the operator may not add its finalizer: nothing is moved")
        assert fleet.requested() == [[]]
    fleet.says("Succeeded")


def test_a_request_that_a_policy_keeps_on_a_cluster_is_carried_out_once(fleet):
    """A policy denies with the status of a patch whose test failed."""
    (scene,) = fleet.scenes
    fleet.declare()
    scene.says("cluster")
    name = f"keep-requests-{scene.name}"
    key = "poolkeeper.dev/request"
    rule = {**resource(OURS, "kafkaclusters"), "operations": ["UPDATE"]}
    kept = f"!('{key}' in oldObject.metadata.?annotations.orValue({{}}))"
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [
            {"expression": f"{kept} || '{key}' in object.metadata.?annotations.orValue({{}})"},
            {"expression": f"!('{PROBE}' in object.metadata.?labels.orValue({{}}))"},
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    for plural, spec in (("policies", policy), ("policybindings", binding)):
        scene.plane.request(
            "POST", f"{POLICIES}{plural}", {"metadata": {"name": name}, "spec": spec}
        )
    try:
        until(lambda: denies(scene), "the policy is in force", 60)
        scene.kubectl("annotate", "kafkacluster", scene.name, f"{key}=stop")
        scene.wait(lambda: scene.status("cluster").get("lastRequest"), "it is answered")
        answered = scene.status("cluster")["lastRequest"]
        scene.patch("cluster", execution={"maxMoves": 3})  # a pass, with the request still there
        scene.barrier("p")
        scene.barrier("p")
        assert scene.status("cluster")["lastRequest"] == answered
        assert key in scene.get("cluster")["metadata"]["annotations"]
        told = [each for each in scene.events("cluster") if each[1] == "RequestRefused"]
        assert [count for _, _, count in told] == [1]
    finally:
        for plural in ("policybindings", "policies"):
            scene.plane.request("DELETE", f"{POLICIES}{plural}/{name}")
    off = lambda: key not in scene.get("cluster")["metadata"].get("annotations", {})  # noqa: E731
    scene.wait(off, "it is taken off once it may be")


def denies(scene):
    """Whether the policy is in force; nothing is changed by asking."""
    body = {"metadata": {"labels": {PROBE: "x"}}}
    try:
        scene.plane.request("PATCH", f"{scene.path('cluster')}?dryRun=All", body)
    except ApiError:
        return True
    return False
