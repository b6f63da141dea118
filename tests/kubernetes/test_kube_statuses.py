"""Statuses on a real API server: only on change, fields removed, nothing lost, fast enough."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import count

import pytest

from accounts import bind_operator, operator_account
from conditions import until
from poolkeeper.errors import Forbidden
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.client.references import Reference, collection
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.names import API_VERSION

RULES = """
- {apiGroups: [poolkeeper.dev], resources: [topics], verbs: [get, list, create]}
- {apiGroups: [poolkeeper.dev], resources: [topics/status], verbs: [patch]}
"""
MANY = 200
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmission"


@pytest.fixture
def api(control_plane, namespace):
    """As the account of an operator, which alone is in the audit log."""
    kubeconfig = operator_account(control_plane, namespace, RULES)
    api = Api.connect(environ={"KUBECONFIG": str(kubeconfig)})
    until(lambda: allowed(api, namespace), "the role is in force")
    yield api
    api.close()


def allowed(api, namespace):
    try:
        list(api.list(collection("Topic", namespace)))
    except Forbidden:
        return False
    return True


@pytest.fixture
def writer(api):
    writer = StatusWriter(api)
    yield writer
    writer.close()


@pytest.fixture
def api_server(control_plane):
    """The server that a test may kill: it runs again afterwards."""
    yield control_plane.api_server
    if control_plane.api_server.pid is None:
        control_plane.api_server.start()


def topics(api, namespace, number):
    def make(number):
        body = {
            "apiVersion": API_VERSION,
            "kind": "Topic",
            "metadata": {"name": f"t{number}"},
            "spec": {"poolRef": {"name": "fast"}},
        }
        return Reference.of(api.create(collection("Topic", namespace), body))

    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(make, range(number)))


def status(ready="True", message="in place", **fields):
    condition = {"type": "Ready", "status": ready, "reason": "InPlace", "message": message}
    return {
        "observedGeneration": 1,
        "conditions": [condition | {"observedGeneration": 1}],
        **fields,
    }


def live(api, reference):
    return api.get(reference.path)["status"]


def ready(api, reference):
    return live(api, reference)["conditions"][0]


def status_writes(control_plane, namespace):
    return [
        event
        for event in control_plane.audit()
        if event.namespace == namespace and event.subresource == "status"
    ]


def test_fields_that_are_not_said_any_more_disappear(api, writer, namespace):
    (topic,) = topics(api, namespace, 1)
    moving = {"partitions": 12, "done": 3, "bytes": 100, "bytesDone": 25}
    writer.put(topic, status("False", "moving", moving=moving, partitions=12), {})
    assert writer.flush(60)
    assert live(api, topic)["moving"] == moving
    writer.put(topic, status(partitions=12), live(api, topic))
    assert writer.flush(60)
    found = live(api, topic)
    assert found["conditions"][0].pop("lastTransitionTime")
    assert found == status(partitions=12)


def test_status_of_others_goes(control_plane, api, writer, namespace):
    """Server-side apply would leave it: a plan that nobody made, a condition that says Ready."""
    (topic,) = topics(api, namespace, 1)
    control_plane.kubectl(
        "patch",
        "topic",
        topic.name,
        "-n",
        namespace,
        "--subresource=status",
        "--type=merge",
        "-p",
        '{"status": {"partitions": 7}}',
    )
    writer.put(topic, status(), live(api, topic))
    assert writer.flush(60)
    assert "partitions" not in live(api, topic)
    assert live(api, topic)["conditions"]


def test_a_field_that_the_servers_definition_lacks_costs_no_status(
    control_plane, api, writer, namespace
):
    """As where the operator was upgraded, and the definitions were not."""
    (topic,) = topics(api, namespace, 1)
    later = status(partitions=3, ofALaterRelease={"seconds": 9}, moving={"novel": 1, "done": 3})
    writer.put(topic, later, live(api, topic))
    assert writer.flush(60)
    found = live(api, topic)
    assert (found["partitions"], found["moving"]) == (3, {"done": 3})
    assert "ofALaterRelease" not in found
    for _ in range(3):
        writer.put(topic, later, live(api, topic))
        assert writer.flush(60)
    assert (writer.writes, writer.refused) == (1, 0)
    writer.put(topic, status(partitions=4), live(api, topic))
    assert writer.flush(60)
    found = live(api, topic)
    assert found["conditions"][0].pop("lastTransitionTime")
    assert found == status(partitions=4)


def test_a_condition_of_a_status_that_was_replaced_goes_with_the_next(api, writer, namespace):
    """As where definitions are upgraded after the operator: parts of it are not who applies'."""
    (topic,) = topics(api, namespace, 1)
    for message, fields in (("one", {"ofALaterRelease": 1}), ("another", {})):
        moving = status("False", message, **fields)
        working = {"type": "Reconciling", "status": "True", "message": message}
        moving["conditions"].append({**moving["conditions"][0], **working})
        writer.put(topic, moving, live(api, topic))
        assert writer.flush(60)
    assert len(live(api, topic)["conditions"]) == 2
    writer.put(topic, status(), live(api, topic))
    assert writer.flush(60)
    assert writer.refused == 0
    assert [each["type"] for each in live(api, topic)["conditions"]] == ["Ready"]


def test_what_a_policy_refuses_is_told_and_not_tried_again(control_plane, api, namespace):
    (topic,) = topics(api, namespace, 1)
    name = f"no-statuses-{namespace}"
    rules = [
        {
            "apiGroups": ["poolkeeper.dev"],
            "apiVersions": ["*"],
            "operations": ["UPDATE"],
            "resources": ["topics/status"],
        }
    ]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "false", "message": "no statuses here"}],
    }
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": selector},
    }
    for plural, spec in (("policies", policy), ("policybindings", binding)):
        path = f"{POLICIES}{plural}"
        control_plane.request("POST", path, {"metadata": {"name": name}, "spec": spec})
    told = []
    writer = StatusWriter(api, on_refused=lambda *what: told.append(what))
    tries = count()

    def refused():
        writer.put(topic, status(message=f"try {next(tries)}"), None)
        return writer.flush(5) and told

    try:
        until(refused, "the policy is in force, and what it refuses is told", 60)
        assert "no statuses here" in told[0][1]
    finally:
        writer.close()
        for plural in ("policybindings", "policies"):
            control_plane.request("DELETE", f"{POLICIES}{plural}/{name}")


def test_nothing_is_written_that_is_there(control_plane, api, namespace):
    (topic,) = topics(api, namespace, 1)
    first = StatusWriter(api)
    first.put(topic, status(), {})
    assert first.close(10)
    second = StatusWriter(api)
    for _ in range(20):
        second.put(topic, status(), live(api, topic))
        assert second.flush(10)
    second.put(topic, status(message="changed"), live(api, topic))
    assert second.close(10)
    assert (first.writes, second.writes) == (1, 1)
    until(lambda: len(status_writes(control_plane, namespace)) >= 2, "the audit log has both")
    writes = status_writes(control_plane, namespace)
    assert [(event.verb, event.status) for event in writes] == [("patch", 200)] * 2


def test_a_transition_keeps_its_time_until_the_next(api, namespace):
    (topic,) = topics(api, namespace, 1)
    writer = StatusWriter(api)
    writer.put(topic, status(), {})
    assert writer.flush(60)
    since = ready(api, topic)["lastTransitionTime"]
    until(lambda: int(time.time()) > datetime.fromisoformat(since).timestamp(), "the next second")
    writer.put(topic, status(message="still"), live(api, topic))
    assert writer.flush(60)
    assert ready(api, topic) | {"message": ""} == {
        **status()["conditions"][0],
        "message": "",
        "lastTransitionTime": since,
    }
    writer.put(topic, status("False"), live(api, topic))
    assert writer.close(10)
    assert ready(api, topic)["lastTransitionTime"] > since


def test_nothing_is_lost_while_the_api_server_is_killed_and_restarted(
    api_server, api, writer, namespace
):
    found = topics(api, namespace, MANY)
    for topic in found:
        writer.put(topic, status("False", "first"), {})
    until(lambda: writer.writes > 20, "some are written")
    api_server.kill()
    for topic in found:
        writer.put(topic, status("False", "second"), {})
    until(lambda: writer.failures > 3, "the writer notices")
    assert "the API server" in writer.reason
    for topic in found:
        writer.put(topic, status("True", "third"), {})
    assert writer.pending == MANY
    assert writer.lag_s > 0
    api_server.start()
    assert writer.flush(60)
    assert (writer.pending, writer.lag_s, writer.reason) == (0, 0, "")
    said = {
        item["metadata"]["name"]: item["status"]
        for item in api.list(collection("Topic", namespace))
    }
    assert {name: one["conditions"][0]["message"] for name, one in said.items()} == {
        topic.name: "third" for topic in found
    }


def test_statuses_wait_for_rights_that_were_taken_away(control_plane, api, writer, namespace):
    topic, other = topics(api, namespace, 2)
    control_plane.kubectl("delete", "rolebinding", "operator", "-n", namespace)
    until(lambda: not allowed(api, namespace), "the role is not in force")
    writer.put(topic, status(message="first"), {})
    until(lambda: writer.failures > 1, "the writer notices")
    assert "is not allowed" in writer.reason
    writer.put(topic, status(message="second"), {})
    writer.put(other, status(message="second"), {})
    bind_operator(control_plane, namespace)
    assert writer.flush(30)
    assert [ready(api, one)["message"] for one in (topic, other)] == ["second"] * 2


def test_what_is_gone_is_dropped(control_plane, api, writer, namespace):
    gone, there = topics(api, namespace, 2)
    control_plane.kubectl("delete", "topic", gone.name, "-n", namespace)
    writer.put(gone, status(), {})
    writer.put(there, status(), {})
    assert writer.flush(60)
    assert (writer.writes, writer.pending) == (1, 0)


def test_a_refused_status_does_not_hold_up_others(api, writer, namespace):
    bad, good = topics(api, namespace, 2)
    writer.put(bad, {"partitions": "x"}, {})
    writer.put(good, status(), {})
    assert writer.flush(60)
    assert (writer.refused, live(api, bad)) == (1, {"observedGeneration": -1})
    assert ready(api, good)["status"] == "True"


@pytest.mark.soak
def test_a_thousand_statuses_take_seconds(api, writer, namespace):
    found = topics(api, namespace, 1000)
    begin_s = time.monotonic()
    for topic in found:
        writer.put(topic, status(), {})
    assert writer.flush(60)
    print(f"1,000 statuses: {time.monotonic() - begin_s:.1f} s")
    assert writer.writes == 1000
    again_s = time.monotonic()
    for topic in found:
        writer.put(topic, status(), None)
    assert writer.flush(60)
    assert writer.writes == 1000
    assert time.monotonic() - again_s < (again_s - begin_s) / 3
