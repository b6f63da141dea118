"""What the chart becomes for which values; no server is asked."""

import copy
import json
import re

import pytest
import yaml

from chart.rendering import (
    CHART,
    EVERYTHING,
    FULLNAME,
    NAMESPACE,
    ROOT,
    helm,
    names,
    of_kind,
    render,
    rendered,
    the_only,
)
from poolkeeper.kube.objects import plan_documents

DEFINITIONS = {
    ("CustomResourceDefinition", "", f"{plural}.poolkeeper.dev")
    for plural in ("kafkaclusters", "rebalances", "resourcepools", "topics")
}
USER_ROLES = {
    ("ClusterRole", "", f"{FULLNAME}-{role}") for role in ("view", "edit", "platform", "approver")
} | {("Role", NAMESPACE, f"{FULLNAME}-plan-reader")}
OPERATOR_ROLES = {
    ("ClusterRole", "", FULLNAME),
    ("ClusterRoleBinding", "", FULLNAME),
    ("Role", NAMESPACE, FULLNAME),
    ("RoleBinding", NAMESPACE, FULLNAME),
}
WORKLOAD = {
    ("Pod", NAMESPACE, f"{FULLNAME}-test"),
    ("Deployment", NAMESPACE, FULLNAME),
    ("PodDisruptionBudget", NAMESPACE, FULLNAME),
}
ACCOUNT = {("ServiceAccount", NAMESPACE, FULLNAME)}
ALL = DEFINITIONS | USER_ROLES | OPERATOR_ROLES | WORKLOAD | ACCOUNT
PLANNING = {
    ("ConfigMap", NAMESPACE, f"{FULLNAME}-planner"),
    ("ServiceAccount", NAMESPACE, f"{FULLNAME}-planner"),
    *(
        (kind, NAMESPACE, f"{FULLNAME}-{role}")
        for kind in ("Role", "RoleBinding")
        for role in ("jobs", "planner")
    ),
}


def topics_roles(*namespaces):
    return {
        (kind, namespace, f"{FULLNAME}-topics")
        for namespace in namespaces
        for kind in ("Role", "RoleBinding")
    }


@pytest.mark.parametrize(
    ("values", "there"),
    [
        pytest.param({}, ALL, id="by-default"),
        pytest.param({"crds": {"install": False}}, ALL - DEFINITIONS, id="definitions-elsewhere"),
        pytest.param({"rbac": {"create": False}}, ALL - OPERATOR_ROLES, id="rights-elsewhere"),
        pytest.param({"rbac": {"userRoles": False}}, ALL - USER_ROLES, id="no-roles-for-people"),
        pytest.param(
            {"serviceAccount": {"create": False, "name": "theirs"}},
            ALL - ACCOUNT,
            id="an-account-that-exists",
        ),
        pytest.param(
            {"podDisruptionBudget": {"enabled": False}},
            ALL - {("PodDisruptionBudget", NAMESPACE, FULLNAME)},
            id="no-budget",
        ),
        pytest.param(
            {"watchNamespaces": ["shop", "pay"]},
            ALL | topics_roles("shop", "pay", "default"),
            id="two-namespaces-and-the-one-of-events",
        ),
        pytest.param(
            {"watchNamespaces": ["default"]},
            ALL | topics_roles("default"),
            id="the-namespace-of-events-itself",
        ),
        pytest.param(
            {"networkPolicy": {"enabled": True}},
            ALL | {("NetworkPolicy", NAMESPACE, name) for name in (FULLNAME, f"{FULLNAME}-test")},
            id="network-policy",
        ),
        pytest.param(
            {"podMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}},
            ALL | {(kind, NAMESPACE, FULLNAME) for kind in ("PodMonitor", "PrometheusRule")},
            id="prometheus",
        ),
        pytest.param(
            {"planner": {"image": "planner:1"}},
            ALL | PLANNING,
            id="jobs-that-plan",
        ),
        pytest.param(
            {"planner": {"image": "planner:1"}, "rbac": {"create": False}},
            (ALL - OPERATOR_ROLES) | {one for one in PLANNING if "Role" not in one[0]},
            id="jobs-that-plan-with-rights-from-elsewhere",
        ),
        pytest.param(
            {
                "planner": {
                    "image": "planner:1",
                    "serviceAccount": {"create": False, "name": "theirs"},
                }
            },
            ALL | {one for one in PLANNING if one[0] != "ServiceAccount"},
            id="jobs-that-plan-with-an-account-that-exists",
        ),
        pytest.param(
            {"dashboard": {"enabled": True, "namespace": "grafana"}},
            ALL | {("ConfigMap", "grafana", f"{FULLNAME}-dashboard")},
            id="dashboard-in-a-namespace-of-its-own",
        ),
    ],
)
def test_which_objects_there_are(values, there):
    assert names(render(values)) == there


def test_names_follow_the_overrides():
    named = names(render({"fullnameOverride": "keeper", "crds": {"install": False}}))
    assert {name.split("-")[0] for _, _, name in named} == {"keeper"}


def test_labels_of_every_object_are_on_every_object():
    ui = {"enabled": True, "tokenSecret": "pages"}
    values = {**EVERYTHING, "ui": ui, "planner": {"image": "a"}, "commonLabels": {"team": "kafka"}}
    objects = render(values)
    assert {one["kind"] for one in objects} >= {"ValidatingAdmissionPolicy", "Pod"}
    without = [one for one in objects if one["metadata"].get("labels", {}).get("team") != "kafka"]
    assert names(without) == set()


def test_policies_are_the_project_s_own():
    ours = names(
        one
        for file in (ROOT / "policies").glob("*.yaml")
        for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if one
    )
    assert names(render({"policies": {"enabled": True}})) == ALL | ours


POLICY = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
BASIC = {"deletions", "definitions", "finalizers", "plan-approval", "tenancy", "protected-topics"}


@pytest.mark.parametrize(
    ("policies", "there"),
    [
        pytest.param({}, BASIC, id="those-that-no-cluster-should-be-without"),
        pytest.param(
            {"exclude": ["deletions", "topic-prefixes"]},
            BASIC - {"deletions", "definitions"},
            id="but-for-some",
        ),
        pytest.param({"enabled": False}, set(), id="none"),
    ],
)
def test_policies_are_there_where_the_server_knows_them(policies, there):
    known = names(render({"policies": policies}, "--api-versions", POLICY))
    assert known - ALL == {
        (kind, "", f"poolkeeper-{name}")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        for name in there
    }
    assert names(render({"policies": policies})) == ALL


def test_a_policy_can_be_left_out():
    values = {"policies": {"enabled": True, "exclude": ["deletions", "topic-prefixes"]}}
    left_out = names(render({"policies": {"enabled": True}})) - names(render(values))
    assert {(kind, name) for kind, _, name in left_out} == {
        (kind, f"poolkeeper-{name}")
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        for name in ("deletions", "definitions", "topic-prefixes")
    }


@pytest.mark.parametrize("keep", [True, False])
def test_definitions_are_the_project_s_own(keep):
    rendered = of_kind(render({"crds": {"keep": keep}}), "CustomResourceDefinition")
    policies = {
        one["metadata"].get("annotations", {}).get("helm.sh/resource-policy") for one in rendered
    }
    assert policies == {"keep" if keep else None}
    ours = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in (ROOT / "crds").glob("*")]
    assert {one["metadata"]["name"]: one["spec"] for one in rendered} == {
        one["metadata"]["name"]: one["spec"] for one in ours
    }


def test_a_definition_takes_further_annotations():
    values = {"crds": {"keep": False, "annotations": {"a/b": "c"}}}
    for one in of_kind(render(values), "CustomResourceDefinition"):
        assert one["metadata"]["annotations"] == {"a/b": "c"}


@pytest.mark.parametrize(
    ("secrets", "rules"),
    [
        pytest.param([], [], id="none-named-none-readable"),
        pytest.param(
            ["zk-main", "zk-main-tls"],
            [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "resourceNames": ["zk-main", "zk-main-tls"],
                    "verbs": ["get"],
                }
            ],
            id="those-that-are-named",
        ),
    ],
)
def test_secrets_are_readable_by_name_only(secrets, rules):
    objects = render({"credentials": {"secretNames": secrets}})
    found = [
        rule
        for role in of_kind(objects, "Role", "ClusterRole")
        for rule in role["rules"]
        if "secrets" in rule["resources"]
    ]
    assert found == rules


@pytest.mark.parametrize("length", [1, 230, 235, 236, 253])
def test_plan_readers_may_read_what_holds_the_plans_whatever_the_clusters_name(length):
    clusters = ["a" * length, "other"]
    roles = of_kind(render({"rbac": {"planReaders": {"clusters": clusters}}}), "Role")
    (role,) = (each for each in roles if each["metadata"]["name"].endswith("plan-reader"))
    held = [f"{plan_documents.name_of(each)}-{number}" for each in clusters for number in range(8)]
    assert role["rules"][0]["resourceNames"] == held


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_no_right_is_a_wildcard(values):
    for role in of_kind(render(values), "Role", "ClusterRole"):
        for rule in role["rules"]:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]


def test_with_watched_namespaces_no_right_over_topics_is_cluster_wide():
    objects = render({"watchNamespaces": ["shop"]})
    (role,) = [
        one for one in of_kind(objects, "ClusterRole") if one["metadata"]["name"] == FULLNAME
    ]
    resources = {resource for rule in role["rules"] for resource in rule["resources"]}
    assert resources == {
        "kafkaclusters",
        "kafkaclusters/status",
        "resourcepools",
        "resourcepools/status",
        "rebalances",
        "rebalances/status",
        "namespaces",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    }


def test_alerts_can_be_left_out_and_get_labels():
    values = copy.deepcopy(dict(EVERYTHING))
    values["prometheusRule"] = {
        "enabled": True,
        "labels": {"release": "prometheus"},
        "alertLabels": {"team": "data"},
        "disabledAlerts": ["PoolkeeperStatusLag"],
    }
    rule = the_only(render(values), "PrometheusRule")
    ours = yaml.safe_load((CHART / "files/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    alerts = [one for group in ours["groups"] for one in group["rules"]]
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    assert rule["spec"]["groups"] == [
        {
            "name": "poolkeeper",
            "rules": [
                {**one, "labels": {**one["labels"], "team": "data"}}
                for one in alerts
                if one["alert"] != "PoolkeeperStatusLag"
            ],
        }
    ]


def test_the_dashboard_is_the_file():
    (dashboard,) = of_kind(render({"dashboard": {"enabled": True}}), "ConfigMap")
    file = (CHART / "files/dashboards/poolkeeper.json").read_text(encoding="utf-8")
    assert dashboard["data"] == {"poolkeeper.json": file.rstrip("\n")}
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_two_renderings_are_the_same(values):
    """Nothing random and nothing looked up: GitOps tools render again and again."""
    text = json.dumps(values)
    assert rendered(text) == rendered(text)


def test_templates_look_nothing_up_and_hook_into_nothing():
    for file in (CHART / "templates").iterdir():
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\b(lookup|rand\w+|genCA|uuidv4|now|\.Capabilities)\b", text), file
        hooks = re.findall(r"helm\.sh/hook: .*", text)
    assert hooks in ([], ["helm.sh/hook: test"])  # which GitOps controllers leave alone


NAMED = {
    **EVERYTHING,
    "commonLabels": {"team": "WORD"},
    "image": {"repository": "WORD", "tag": "59", "pullSecrets": ["WORD"]},
    "watchNamespaces": ["WORD"],
    "operator": {"lease": "WORD"},
    "planner": {
        "image": "WORD",
        "priorityClassName": "WORD",
        "storage": "s3a://plans/one",
        "storageSecret": "WORD",
        "serviceAccount": {"name": "WORD"},
    },
    "ui": {"enabled": True, "tokenSecret": "WORD"},
    "credentials": {"secretNames": ["WORD"]},
    "serviceAccount": {"name": "WORD"},
    "dashboard": {"enabled": True, "namespace": "WORD"},
    "priorityClassName": "WORD",
    "podLabels": {"team": "WORD"},
    "podAnnotations": {"team": "WORD"},
    "nodeSelector": {"team": "WORD"},
}


def named(tmp_path, word, **more):
    """Return what a release of that name becomes, in a namespace of that name, without order."""
    file = tmp_path / "values.json"
    file.write_text(json.dumps({**NAMED, **more}).replace("WORD", word), encoding="utf-8")
    run = helm("template", word, str(CHART), "-n", word, "-f", str(file))
    assert run.returncode == 0, run.stderr
    objects = (one for one in yaml.load_all(run.stdout, yaml.CSafeLoader) if one)
    text = (json.dumps(one, sort_keys=True) for one in objects)
    checksum = re.compile(r'"checksum/planner": "[0-9a-f]{64}"')
    return sorted(checksum.sub('"checksum/planner": ""', one) for one in text)


@pytest.mark.parametrize("word", ["1e3", "true", "null", "42"])
def test_a_name_that_yaml_takes_for_something_else_stays_a_name(tmp_path, word):
    for more in ({}, {"fullnameOverride": "WORD", "nameOverride": "WORD"}):
        plain = named(tmp_path, "zz", **more)
        found = named(tmp_path, word, **more)
        assert found == sorted(re.sub(r"\bzz\b", word, one) for one in plain)
