"""What the chart becomes for rebalances that are planned in Jobs."""

import pytest

from chart.rendering import (
    FULLNAME,
    RefusedValuesError,
    of_kind,
    render,
    the_only,
)
from poolkeeper.kube.jobs.planner_pods import STORAGE, PlannerPodSettings

PLANNER = {
    "planner": {"image": "example.test/planner:1", "executors": 3, "conf": {"a": "b"}},
    "commonLabels": {"team": "kafka"},
    "image": {"pullSecrets": ["registry"]},
}


def test_jobs_that_plan_are_what_the_values_say():
    objects = render(PLANNER)
    planner = f"{FULLNAME}-planner"
    (settings,) = of_kind(objects, "ConfigMap")
    assert PlannerPodSettings.from_json(settings["data"]["settings.json"]) == PlannerPodSettings(
        "example.test/planner:1",
        pull_secrets=("registry",),
        account=planner,
        executors=3,
        labels={
            "app.kubernetes.io/name": "poolkeeper-planner",
            "app.kubernetes.io/instance": "pk",
            "team": "kafka",
        },
        conf={"a": "b"},
    )
    pod = the_only(objects, "Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["args"][-1] == "--planning-jobs=/etc/poolkeeper/planner/settings.json"
    assert pod["spec"]["volumes"][1:] == [{"name": "planner", "configMap": {"name": planner}}]
    assert container["volumeMounts"][1:] == [
        {"name": "planner", "mountPath": "/etc/poolkeeper/planner", "readOnly": True}
    ]
    other = render({**PLANNER, "planner": {**PLANNER["planner"], "executors": 4}})
    again = the_only(other, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert pod["metadata"]["annotations"].keys() == again.keys() == {"checksum/planner"}
    assert pod["metadata"]["annotations"] != again


STORED = {
    **PLANNER,
    "planner": {
        **PLANNER["planner"],
        "storage": "s3a://bucket/plans",
        "storageSecret": "keys",
    },
    "networkPolicy": {"enabled": True, "storage": {"ports": [9000]}},
}


def test_a_store_for_plans_is_the_operators_and_the_drivers():
    objects = render(STORED)
    (settings,) = of_kind(objects, "ConfigMap")
    found = PlannerPodSettings.from_json(settings["data"]["settings.json"])
    assert (found.storage, found.storage_secret) == ("s3a://bucket/plans", "keys")
    pod = the_only(objects, "Deployment")["spec"]["template"]["spec"]
    secret = {"secretName": "keys", "optional": True}
    assert {"name": "storage", "secret": secret} in pod["volumes"]
    place = {"name": "storage", "mountPath": STORAGE, "readOnly": True}
    assert place in pod["containers"][0]["volumeMounts"]
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}
    assert policies.keys() == {FULLNAME, f"{FULLNAME}-test", f"{FULLNAME}-planner"}
    for policy in policies.values():
        ports = [port["port"] for rule in policy["egress"] for port in rule.get("ports", ())]
        assert ports == [53, 53, 443, 6443, 2181, 9092, 9000]


@pytest.mark.parametrize("uri", ["plans", "s3a://", "file:///plans", "hdfs://h/p", "s3a://b/a b"])
def test_a_store_that_pods_cannot_reach_is_refused(uri):
    with pytest.raises(RefusedValuesError, match="storage"):
        render({**STORED, "planner": {**STORED["planner"], "storage": uri}})


@pytest.mark.parametrize(
    ("executors", "verbs"),
    [
        pytest.param(0, {"create", "patch"}, id="a-driver-alone-writes-its-answer"),
        pytest.param(
            2,
            {"create", "patch", "get", "list", "watch", "delete", "deletecollection"},
            id="a-driver-with-executors-makes-pods",
        ),
    ],
)
def test_what_a_driver_may(executors, verbs):
    objects = render({"planner": {"image": "a", "executors": executors}})
    (role,) = [
        one for one in of_kind(objects, "Role") if one["metadata"]["name"].endswith("-planner")
    ]
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == verbs
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == (
        {"configmaps", "pods", "services", "persistentvolumeclaims"}
        if executors
        else {"configmaps"}
    )


def test_planning_pods_are_not_counted_as_operators():
    values = {**PLANNER, "networkPolicy": {"enabled": True}}
    objects = render(values)
    (settings,) = of_kind(objects, "ConfigMap")
    labels = PlannerPodSettings.from_json(settings["data"]["settings.json"]).labels
    selector = the_only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= labels.items()
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}
    planners = policies[f"{FULLNAME}-planner"]["podSelector"]
    assert planners["matchLabels"].items() <= labels.items()
    assert policies[f"{FULLNAME}-planner"]["ingress"] == [{"from": [{"podSelector": planners}]}]
    assert policies[f"{FULLNAME}-planner"]["egress"][0] == {"to": [{"podSelector": planners}]}
