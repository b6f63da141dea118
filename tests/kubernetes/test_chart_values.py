"""Values that the chart takes, and those that it refuses with their place."""

import json

import pytest
import yaml

from chart.rendering import (
    CHART,
    EVERYTHING,
    ROOT,
    RefusedValuesError,
    helm,
    of_kind,
    render,
    rendered,
)
from chart.values import GONE, TAKEN

UI = {"enabled": True, "tokenSecret": "pages"}
SPREAD = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


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


def test_the_whole_values_of_an_earlier_chart_are_taken():
    """As people keep them: all of `values.yaml`, copied and edited."""
    earlier = yaml.safe_load((ROOT / "tests" / "earlier" / "values.yaml").read_text())
    assert len(render(earlier)) == len(render({}))


def test_values_that_lack_what_is_new_are_refused():
    """As `helm upgrade --reuse-values` gives them to a later chart: without its defaults."""
    without_new = {"ui": None, "operator": {"leaseSeconds": None}}
    with pytest.raises(RefusedValuesError, match="missing property") as refused:
        render(without_new)
    assert "'leaseSeconds'" in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({"dashboard": {"labels": {"grafana_dashboard": None}}}, id="all-of-a-map"),
        pytest.param({"commonLabels": None}, id="an-empty-map"),
    ],
)
def test_what_null_takes_away_is_left_out(values):
    """As helm has it: null removes a default."""
    everything = {**EVERYTHING, "planner": {"image": "registry.example.com/planner:1"}}
    on = {**everything, **values, "dashboard": {"enabled": True, **values.get("dashboard", {})}}
    labels = [one["metadata"]["labels"] for one in of_kind(render(on), "ConfigMap")]
    assert len(labels) == 2
    assert not any("grafana_dashboard" in each for each in labels if "dashboard" in values)


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
        pytest.param(
            {"image": {"pullSecrets": ["registry", "registry"]}},
            "/image/pullSecrets",
            "items at 0 and 1 are equal",
            id="twice",
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
            {"operator": {"settle": "soon"}},
            "/operator/settle",
            "'soon' does not match pattern",
            id="no-duration",
        ),
        pytest.param(
            {"operator": {"leaseSeconds": 2}},
            "/operator/leaseSeconds",
            "minimum: got 2, want 3",
            id="a-lease-too-short",
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


@pytest.mark.parametrize(
    ("values", "place", "told"),
    [
        pytest.param(
            {"commonLabels": {"app.kubernetes.io/name": "x"}},
            "/commonLabels/app.kubernetes.io~1name",
            "the chart itself sets app.kubernetes.io/name, instance, version, component, part-of,"
            " managed-by and helm.sh/chart",
            id="a-label",
        ),
        pytest.param(
            {"extraEnv": [{"name": "POD_IP", "value": "x"}]},
            "/extraEnv/0/name",
            "the chart itself sets POD_NAME, POD_NAMESPACE and POD_IP",
            id="a-variable",
        ),
        pytest.param(
            {"extraVolumes": [{"name": "tmp"}]},
            "/extraVolumes/0/name",
            "the chart itself has tmp, planner and storage",
            id="a-volume",
        ),
        pytest.param(
            {"extraVolumeMounts": [{"name": "a", "mountPath": "/tmp"}]},
            "/extraVolumeMounts/0/mountPath",
            "the chart itself mounts /tmp, /etc/poolkeeper/planner and /etc/poolkeeper/storage",
            id="a-folder",
        ),
        pytest.param(
            {"networkPolicy": {"uiFrom": [{"ipBlock": {"cidr": "::/0"}, "podSelector": {}}]}},
            "/networkPolicy/uiFrom/0/podSelector",
            "left out beside ipBlock",
            id="beside-another",
        ),
    ],
)
def test_what_is_the_charts_own_is_refused_with_all_that_is(values, place, told):
    with pytest.raises(RefusedValuesError) as refused:
        render(values)
    (line,) = [line for line in str(refused.value).splitlines() if f"at '{place}':" in line]
    assert told in line


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param(
            {"resources": {"requests": {"memory": "4Gi"}}},
            "resources.requests.memory of 4Gi is above resources.limits.memory of 2Gi; raise the"
            " limit as well",
            id="a-request-above-the-limit-of-the-chart",
        ),
        pytest.param(
            {"ui": {"resources": {"requests": {"cpu": "1500m"}, "limits": {"cpu": 1}}}},
            "ui.resources.requests.cpu of 1500m is above ui.resources.limits.cpu of 1",
            id="units-differ",
        ),
        pytest.param(
            {"extraVolumeMounts": [{"name": "certs", "mountPath": "/certs"}]},
            "extraVolumeMounts[0].name: there is no volume certs (expected one of tmp); add it to"
            " extraVolumes",
            id="no-volume",
        ),
        pytest.param(
            {"extraVolumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]},
            "extraVolumes[1].name: there is a volume a already",
            id="a-volume-twice",
        ),
        pytest.param(
            {"extraVolumeMounts": [{"name": "tmp", "mountPath": "/a"}] * 2},
            "extraVolumeMounts[1].mountPath: something is mounted at /a already",
            id="a-folder-twice",
        ),
        pytest.param(
            {"ui": UI, "extraVolumes": [{"name": "token", "emptyDir": {}}]},
            "extraVolumes[0].name: there is a volume token already",
            id="the-volume-of-the-pages",
        ),
        pytest.param(
            {"ui": UI, "extraVolumeMounts": [{"name": "tmp", "mountPath": "/etc/poolkeeper/ui"}]},
            "extraVolumeMounts[0].mountPath: something is mounted at /etc/poolkeeper/ui already",
            id="the-folder-of-the-pages",
        ),
        pytest.param(
            {"extraEnv": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
            "extraEnv[1].name: there is a variable A already",
            id="a-variable-twice",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{**SPREAD, "maxSkew": 1}, {**SPREAD, "maxSkew": 2}]},
            "topologySpreadConstraints[1]: there is one of zone, DoNotSchedule already",
            id="a-spread-twice",
        ),
    ],
)
def test_values_that_do_not_go_together_are_refused(values, told):
    with pytest.raises(RefusedValuesError) as refused:
        render(values)
    assert told in str(refused.value)


@pytest.mark.parametrize("kind", ["Deployment", "PodMonitor", "PrometheusRule", "ConfigMap"])
def test_an_objects_own_label_goes_over_that_of_all(kind):
    """Once: `kubectl apply`, Argo CD and Flux refuse a key that is there twice."""
    own = {"enabled": True, "labels": {"team": "own"}}
    kinds = {"podMonitor": own, "prometheusRule": own, "dashboard": own}
    values = {"commonLabels": {"team": "all"}, "podLabels": {"team": "own"}, **kinds}
    objects = list(yaml.load_all(rendered(json.dumps(values)), OnlyOnce))
    labels = [
        (one["spec"]["template"] if kind == "Deployment" else one)["metadata"]["labels"]
        for one in objects
        if one and one["kind"] == kind
    ]
    assert [each["team"] for each in labels] == ["own"]


class OnlyOnce(yaml.SafeLoader):
    """Refuses a mapping in which a key is there twice, as the YAML of Kubernetes does."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        return super().construct_mapping(node, deep)


def test_requests_as_large_as_limits_are_taken():
    same = {"requests": {"memory": "2048Mi", "cpu": "500m"}, "limits": {"cpu": 0.5}}
    mount = {"name": "certs", "mountPath": "/certs"}
    volume = {"name": "certs", "secret": {"secretName": "ca"}}
    assert render({"resources": same, "extraVolumes": [volume], "extraVolumeMounts": [mount]})


def test_an_account_that_exists_needs_its_name():
    with pytest.raises(RefusedValuesError, match=r"serviceAccount\.name is needed"):
        render({"serviceAccount": {"create": False}})


def test_values_of_a_parent_chart_are_accepted():
    assert render({"global": {"anything": 1}}) == render()


@pytest.mark.soak
def test_the_api_server_takes_what_the_schema_takes(control_plane, namespace):
    rows = [(path, value) for path, values in TAKEN.items() for value in values]
    for path, value in rows:
        objects = render(nested(path, None if value is GONE else value))
        refused = dry_run(control_plane, objects, namespace)
        assert not refused, f"{path}={value}: {refused}"


@pytest.mark.soak
def test_the_api_server_takes_everything_at_once(control_plane, namespace):
    theirs = ("PodMonitor", "PrometheusRule")  # kinds that are not there
    objects = [one for one in render(EVERYTHING) if one["kind"] not in theirs]
    assert not dry_run(control_plane, objects, namespace)


def test_a_release_with_dots_in_its_name_has_none_in_those_of_objects():
    run = helm("template", "my.app", str(CHART), "-n", "ops")
    found = [one for one in yaml.safe_load_all(run.stdout) if one]
    (deployment,) = of_kind(found, "Deployment")
    assert deployment["metadata"]["name"] == "my-app-poolkeeper"


def nested(path, value):
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def dry_run(plane, objects, namespace):
    """Return what the API server says against objects, in this namespace; empty for nothing.

    Our definitions are there already. A pod needs an account that exists.
    """
    here = []
    for one in objects:
        if one["kind"] == "CustomResourceDefinition":
            continue
        metadata = dict(one["metadata"])
        if "namespace" in metadata:
            metadata["namespace"] = namespace
        body = {**one, "metadata": metadata}
        if one["kind"] == "Pod":
            body["spec"] = {**one["spec"], "serviceAccountName": "default"}
        here.append(body)
    text = yaml.safe_dump_all(here)
    words = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
    run = plane.kubectl(*words, input=text, check=False)
    return run.stderr if run.returncode else ""
