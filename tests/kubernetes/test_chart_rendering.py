"""What the chart becomes for which values; no server is asked."""

import copy
import re

import pytest
import yaml

from chart.rendering import (
    CHART,
    EVERYTHING,
    FULLNAME,
    NAMESPACE,
    ROOT,
    RefusedValuesError,
    helm,
    names,
    of_kind,
    render,
    the_only,
)
from poolkeeper.kube.plannerpods import Settings

DEFAULTS = render()
DEFINITIONS = {
    ("CustomResourceDefinition", "", f"{plural}.poolkeeper.dev")
    for plural in ("kafkaclusters", "rebalances", "resourcepools", "topics")
}
USER_ROLES = {
    ("ClusterRole", "", f"{FULLNAME}-{role}") for role in ("view", "edit", "platform", "approver")
}
OPERATOR_ROLES = {
    ("ClusterRole", "", FULLNAME),
    ("ClusterRoleBinding", "", FULLNAME),
    ("Role", NAMESPACE, FULLNAME),
    ("RoleBinding", NAMESPACE, FULLNAME),
}
WORKLOAD = {
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
            ALL | {("NetworkPolicy", NAMESPACE, FULLNAME)},
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


PLANNER = {
    "planner": {"image": "example.test/planner:1", "executors": 3, "conf": {"a": "b"}},
    "commonLabels": {"team": "kafka"},
    "image": {"pullSecrets": ["registry"]},
}


def test_jobs_that_plan_are_what_the_values_say():
    objects = render(PLANNER)
    planner = f"{FULLNAME}-planner"
    (settings,) = of_kind(objects, "ConfigMap")
    assert Settings.from_json(settings["data"]["settings.json"]) == Settings(
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
    labels = Settings.from_json(settings["data"]["settings.json"]).labels
    selector = the_only(objects, "Deployment")["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= labels.items()
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}
    planners = policies[f"{FULLNAME}-planner"]["podSelector"]
    assert planners["matchLabels"].items() <= labels.items()
    assert policies[f"{FULLNAME}-planner"]["ingress"] == [{"from": [{"podSelector": planners}]}]
    assert policies[f"{FULLNAME}-planner"]["egress"][0] == {"to": [{"podSelector": planners}]}


def test_names_follow_the_overrides():
    named = names(render({"fullnameOverride": "keeper", "crds": {"install": False}}))
    assert {name.split("-")[0] for _, _, name in named} == {"keeper"}


def test_policies_are_the_project_s_own():
    ours = names(
        one
        for file in (ROOT / "policies").glob("*.yaml")
        for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if one
    )
    assert names(render({"policies": {"enabled": True}})) == ALL | ours


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


def test_the_container():
    deployment = the_only(
        render(
            {
                "image": {"repository": "example.test/poolkeeper", "digest": "sha256:" + "0" * 64},
                "watchNamespaces": ["pay", "shop"],
                "operator": {"planners": 3, "port": 9090, "logLevel": "debug", "lease": "theirs"},
                "extraEnv": [{"name": "TZ", "value": "UTC"}],
                "extraVolumes": [{"name": "ca", "secret": {"secretName": "kafka-ca"}}],
                "extraVolumeMounts": [{"name": "ca", "mountPath": "/ca", "readOnly": True}],
            }
        ),
        "Deployment",
    )
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container == {
        "name": "operator",
        "image": "example.test/poolkeeper@sha256:" + "0" * 64,
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "run",
            "--kubernetes",
            "--namespace=$(POD_NAMESPACE)",
            "--watch-namespace=pay",
            "--watch-namespace=shop",
            "--lease=theirs",
            "--identity=$(POD_NAME)",
            "--listen=0.0.0.0:9090",
            "--log-format=json",
            "--log-level=debug",
            "--planners=3",
        ],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {
                "name": "POD_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
            },
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "TZ", "value": "UTC"},
        ],
        "ports": [{"name": "http", "containerPort": 9090, "protocol": "TCP"}],
        "startupProbe": _probe("/healthz", 2, 60),
        "livenessProbe": _probe("/healthz", 10, 3),
        "readinessProbe": _probe("/readyz", 5, 2),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": "200m", "memory": "512Mi"},
            "limits": {"memory": "2Gi"},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "ca", "mountPath": "/ca", "readOnly": True},
        ],
    }
    assert pod["volumes"] == [
        {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "ca", "secret": {"secretName": "kafka-ca"}},
    ]


def _probe(path, period_s, failures):
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": period_s,
        "failureThreshold": failures,
        "timeoutSeconds": 5,
    }


def test_where_the_pods_run_is_up_to_the_values():
    values = {
        "priorityClassName": "platform",
        "nodeSelector": {"kind": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        "terminationGracePeriodSeconds": 45,
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "data"},
        "image": {"pullSecrets": ["registry"]},
    }
    template = the_only(render(values), "Deployment")["spec"]["template"]
    for key in ("priorityClassName", "nodeSelector", "tolerations", "affinity"):
        assert template["spec"][key] == values[key]
    assert template["spec"]["terminationGracePeriodSeconds"] == 45
    assert template["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert template["metadata"]["labels"]["team"] == "data"


def test_a_spread_counts_our_own_pods_only():
    deployment = the_only(DEFAULTS, "Deployment")
    (spread,) = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"] == deployment["spec"]["selector"]


def test_selectors_meet_the_pods_and_no_version():
    labels = the_only(DEFAULTS, "Deployment")["spec"]["template"]["metadata"]["labels"]
    objects = render(EVERYTHING)
    selectors = [
        the_only(objects, "Deployment")["spec"]["selector"]["matchLabels"],
        the_only(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        the_only(objects, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        the_only(objects, "PodMonitor")["spec"]["selector"]["matchLabels"],
    ]
    for selector in selectors:
        assert set(selector) == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
        assert selector.items() <= labels.items()


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
    assert render(values) == render(values)


def test_templates_look_nothing_up_and_hook_into_nothing():
    for file in (CHART / "templates").iterdir():
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\b(lookup|rand\w+|genCA|uuidv4|now|\.Capabilities)\b", text), file
        assert "helm.sh/hook" not in text


@pytest.mark.parametrize("values", ["", "everything"], ids=["defaults", "everything"])
def test_lint_finds_nothing(values, tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(dict(EVERYTHING)) if values else "{}", encoding="utf-8")
    run = helm("lint", "--strict", "-f", str(file), str(CHART))
    assert run.returncode == 0, run.stdout
    assert "[WARNING]" not in run.stdout + run.stderr


def test_an_older_kubernetes_is_refused():
    with pytest.raises(RefusedValuesError, match="kubeVersion"):
        render({}, "--kube-version", "1.29.4")


@pytest.mark.parametrize(
    ("values", "place", "complaint"),
    [
        pytest.param({"replcas": 3}, "", "additional properties 'replcas' not allowed", id="typo"),
        pytest.param(
            {"operator": {"logFromat": "json"}},
            "/operator",
            "additional properties 'logFromat' not allowed",
            id="typo-further-down",
        ),
        pytest.param({"replicas": "two"}, "/replicas", "got string, want integer", id="type"),
        pytest.param({"replicas": 11}, "/replicas", "maximum: got 11, want 10", id="too-many"),
        pytest.param(
            {"operator": {"logFormat": "xml"}},
            "/operator/logFormat",
            "value must be one of 'json', 'text'",
            id="not-one-of",
        ),
        pytest.param(
            {"image": {"digest": "latest"}},
            "/image/digest",
            "'latest' does not match pattern",
            id="digest",
        ),
        pytest.param(
            {"watchNamespaces": ["Shop"]},
            "/watchNamespaces/0",
            "'Shop' does not match pattern",
            id="no-name-of-a-namespace",
        ),
        pytest.param(
            {"credentials": {"password": "secret"}},
            "/credentials",
            "additional properties 'password' not allowed",
            id="a-credential-in-values",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "lots"}}},
            "/resources/limits/memory",
            "'lots' does not match pattern",
            id="no-quantity",
        ),
        pytest.param(
            {"planner": {"memory": "4Gi"}},
            "/planner",
            "additional properties 'memory' not allowed",
            id="no-setting-of-planners",
        ),
        pytest.param(
            {"tolerations": [{"efect": "NoSchedule"}]},
            "/tolerations/0",
            "additional properties 'efect' not allowed",
            id="typo-in-a-toleration",
        ),
    ],
)
def test_wrong_values_are_refused_with_their_place(values, place, complaint):
    with pytest.raises(RefusedValuesError) as refused:
        render(values)
    assert f"at '{place}': {complaint}" in str(refused.value)


def test_an_account_that_exists_needs_its_name():
    with pytest.raises(RefusedValuesError, match=r"serviceAccount\.name is needed"):
        render({"serviceAccount": {"create": False}})


def test_values_of_a_parent_chart_are_accepted():
    assert render({"global": {"anything": 1}}) == DEFAULTS
