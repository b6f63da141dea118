"""What the schema of the chart's values refuses: what Kubernetes or the operator would, later.

Each row is a value that once passed, or would have. That the API server takes what the schema takes
is in `tests/soak/test_chart_values.py`.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

CHART = Path(__file__).parents[3] / "charts" / "poolkeeper"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GONE = object()
DIGEST = f"sha256:{'a' * 64}"

REFUSED = {
    "nameOverride": ["Name", "a.b", "a b", "a_b", "-a", "a-", "ä", "a" * 64],
    "fullnameOverride": ["Name", "a.b", "a b", "-a", "a-", "a" * 53],
    "image": [GONE],
    "image.repository": ["Repo/Operator", "repo:tag", "a b", "repo//x", "repo/", "", "a@b", GONE],
    "image.tag": ["1 0", " 1", "ä", ".1", "-1", "a/b", "a:b", "v" * 129, GONE],
    "image.digest": ["latest", "sha256:abc", "SHA256:" + "a" * 64],
    "image.pullSecrets": [["A"], ["a..b"], ["a_b"], [""]],
    "watchNamespaces": [["Shop"], ["a.b"], ["a", "a"], GONE],
    "operator": [GONE],
    "operator.settle": ["0s", "0h", "0m0s", "s", "", "5", "5 s", "-5s", "5ms", "soon", GONE],
    "operator.lease": ["Lease", "a b", "a..b", ".a", "a/b"],
    "operator.address": ["", "0.0.0.0 ", "::", "$(HOST_IP)", "0.0.0.0:80", "a b", GONE],
    "operator.port": [80, 0, 65536, "8080", 8080.5, GONE],
    "operator.planners": [-1, 33, "2"],
    "planner.image": ["a b", "Planner", "a:b:c", "a:"],
    "planner.memoryMiB": [0, 1023, 10**6, 4096.5],
    "planner.deadlineSeconds": [0, 59, 10**6],
    "planner.tmpSizeLimit": ["", "2 Gi", "lots", "Gi", "-1"],
    "planner.priorityClassName": ["High", "a b"],
    "planner.serviceAccount.name": ["Name", "a b", "a..b"],
    "serviceAccount.name": ["Name", "a b", "a..b", "a/b"],
    "credentials.secretNames": [["A"], ["a..b"], ["a/b"], ["a", "a"], GONE],
    "crds.annotations": [{"helm.sh/resource-policy": "delete"}, {"a b": "c"}, GONE],
    "commonLabels": [
        {"app.kubernetes.io/name": "x"},
        {"app.kubernetes.io/version": "x"},
        {"helm.sh/chart": "x"},
        {"a b": "c"},
        {"a/b/c": "d"},
        {"team": "a b"},
        {"team": "-a"},
        {"team": "a" * 64},
        {"team": 1},
    ],
    "podLabels": [
        {"app.kubernetes.io/name": "x"},
        {"app.kubernetes.io/instance": "x"},
        {"app.kubernetes.io/managed-by": "x"},
        {"": "x"},
        {"a/": "x"},
    ],
    "podAnnotations": [{"checksum/planner": "x"}, {"a b": "c"}, {"a": 1}],
    "podMonitor.labels": [{"app.kubernetes.io/name": "x"}],
    "podMonitor.interval": ["0s", "30", "s", "1.5s"],
    "prometheusRule.labels": [{"helm.sh/chart": "x"}],
    "prometheusRule.alertLabels": [{"a-b": "c"}, {"1a": "b"}],
    "prometheusRule.disabledAlerts": [["NoSuchAlert"]],
    "dashboard.labels": [{"app.kubernetes.io/name": "x"}],
    "dashboard.namespace": ["Grafana", "a.b"],
    "probes": [GONE],
    "probes.startup": [GONE],
    "probes.liveness": [GONE],
    "probes.readiness": [GONE],
    "probes.liveness.periodSeconds": [0, "10", 10.5],
    "resources.requests": [{"memory": "lots"}, {"memory": "1 Gi"}, {"cpus": 1}, {"cpu": -1}],
    "resources.limits": [{"CPU": 1}, {"memory": ""}],
    "terminationGracePeriodSeconds": [0, 4, GONE],
    "podSecurityContext": [
        GONE,
        {"runAsNonRoot": True, "runAsUser": 0},
        {"seccompProfile": {"type": "Localhost"}},
        {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}},
        {"seLinuxOptions": {"levle": "s0"}},
        {"supplementalGroups": [-1]},
    ],
    "securityContext": [
        GONE,
        {"privileged": True, "allowPrivilegeEscalation": False},
        {"capabilities": {"drop": ["all the rest"]}},
    ],
    "tmpSizeLimit": ["", "1 Gi", -1],
    "priorityClassName": ["High", "a b", "a..b"],
    "nodeSelector": [{"a b": "c"}, {"zone": "a b"}, {"zone": 1}],
    "tolerations": [
        [{"key": "a", "operator": "Exists", "value": "b"}],
        [{"operator": "Equal", "value": "b"}],
        [{}],
        [{"key": "a", "tolerationSeconds": 5}],
        [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}],
        [{"key": "a b"}],
    ],
    "topologySpreadConstraints": [
        [{"maxSkew": 1, "topologyKey": "a b", "whenUnsatisfiable": "DoNotSchedule"}]
    ],
    "extraEnv": [
        [{"name": "A B"}],
        [{"name": "A=B"}],
        [{"name": "POD_IP", "value": "x"}],
        [{"name": "A", "value": "b", "valueFrom": {}}],
    ],
    "extraVolumes": [[{"name": "tmp"}], [{"name": "planner"}], [{"name": "A"}]],
    "extraVolumeMounts": [
        [{"name": "a", "mountPath": "/tmp"}],
        [{"name": "a", "mountPath": "a"}],
        [{"name": "a", "mountPath": "/a:b"}],
        [{"name": "a", "mountPath": "/a", "subPath": "b", "subPathExpr": "c"}],
    ],
    "networkPolicy.metricsFrom": [
        [{"ipBlock": {"cidr": "10.0.0.0"}}],
        [{"ipBlock": {"cidr": "everywhere"}}],
        [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}],
        [{}],
    ],
    "rbac.planReaders.clusters": [["Main"], ["a..b"]],
}
TAKEN = {
    "nameOverride": ["", "keeper", "a1"],
    "image.repository": ["operator", "reg.io:5000/a/b", "localhost/x", "a.b-c/d__e", "Reg.io/a"],
    "image.tag": ["", "1.0", "v1.0_rc-1", "latest"],
    "image.digest": ["", DIGEST],
    "planner.image": ["", "planner", "reg.io:5000/a/planner:1.0", f"planner@{DIGEST}"],
    "operator.settle": ["5s", "1m", "1h30m", "10m0s"],
    "operator.address": ["0.0.0.0", "[::]", "$(POD_IP)", "127.0.0.1", "[$(POD_IP)]"],
    "operator.lease": ["", "a.b-c"],
    "commonLabels": [{"team": "a.b_C-1", "example.com/x": ""}],
    "podSecurityContext": [{}, {"runAsUser": 1000650000}, {"runAsUser": 0}],
    "tolerations": [[{"operator": "Exists"}], [{"key": "a"}], [{"key": "a", "value": "b"}]],
    "resources.limits": [{"memory": "1.5Gi", "cpu": 2, "example.com/gpu": 1}, {}],
    "podMonitor.interval": ["30s", "500ms"],
    "networkPolicy.metricsFrom": [[{"ipBlock": {"cidr": "10.0.0.0/8"}}], [{"podSelector": {}}]],
    "nodeSelector": [GONE, {"kubernetes.io/os": "linux"}],
    "affinity": [GONE, {}],
}


def rows(table):
    for path, values in table.items():
        for value in values:
            shown = "none" if value is GONE else json.dumps(value)
            yield pytest.param(path, value, id=f"{path}={shown[:60]}")


def problems(path, value):
    values = copy.deepcopy(VALUES)
    *folders, last = path.split(".")
    at = values
    for folder in folders:
        at = at[folder]
    if value is GONE:  # null in a file takes the default away
        del at[last]
    else:
        at[last] = value
    return list(VALIDATOR.iter_errors(values))


@pytest.mark.parametrize(("path", "value"), list(rows(REFUSED)))
def test_what_would_fail_later_is_refused(path, value):
    assert problems(path, value)


@pytest.mark.parametrize(("path", "value"), list(rows(TAKEN)))
def test_what_works_is_taken(path, value):
    assert problems(path, value) == []
