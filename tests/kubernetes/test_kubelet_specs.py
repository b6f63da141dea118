"""What the kubelet reads out of a pod object: environment, command, identity, probes. No server."""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from control_plane.kubelet import environments, podspecs
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.inside import capabilities
from control_plane.kubelet.podspecs import Identity, Mount, Probe

Json = dict[str, Any]
OBJECTS: Mapping[tuple[str, str], Json] = {
    ("ConfigMap", "settings"): {"data": {"A": "1", "B": "two"}},
    ("Secret", "login"): {"data": {"password": b64encode(b"hunter2").decode()}},
}
IMAGES = {"app:1": Path("/images/app")}


def lookup(kind: str, namespace: str, name: str) -> Json | None:
    found = OBJECTS.get((kind, name)) if namespace == "ns" else None
    return {**found, "kind": kind, "metadata": {"name": name}} if found else None


def pod(container: Json, **spec: Any) -> Json:
    metadata = {"name": "web-0", "namespace": "ns", "uid": "u-1", "labels": {"app": "web"}}
    body = {"name": "main", "image": "app:1", **container}
    return {
        "metadata": metadata,
        "spec": {"nodeName": "local", "containers": [body], **spec},
        "status": {"podIP": "127.1.0.1"},
    }


def from_field(path: str) -> Json:
    return {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def from_key(kind: str, name: str, key: str, **more: Any) -> Json:
    return {"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **more}}}


def env_of(container: Json) -> dict[str, str]:
    body = pod(container)
    return environments.environment(body, body["spec"]["containers"][0], {"PORT": "6443"}, lookup)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)$(B)", "12", id="every-reference"),
        pytest.param(
            "$(C) $A ${A} $", "$(C) $A ${A} $", id="what-is-unknown-or-no-reference-stays"
        ),
        pytest.param("$$(A) $$$(A)", "$(A) $1", id="two-dollars-are-one"),
        pytest.param("$(A $(A)", "$(A 1", id="an-unfinished-reference-is-text"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert environments.expanded(text, {"A": "1", "B": "2"}) == expected


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({}, {}, id="nothing-but-what-the-kubelet-gives"),
        pytest.param(
            {"env": [{"name": "URL", "value": "x:$(PORT)"}, {"name": "V", "value": "$(URL)/$(W)"},
                     {"name": "W"}]},
            {"URL": "x:6443", "V": "x:6443/$(W)", "W": ""},
            id="a-value-refers-to-what-comes-before-it",
        ),
        pytest.param(
            {"env": [{"name": "B", "value": "mine-$(A)"}],
             "envFrom": [{"configMapRef": {"name": "settings"}},
                         {"prefix": "L_", "secretRef": {"name": "login"}}]},
            {"A": "1", "B": "mine-1", "L_password": "hunter2"},
            id="env-wins-over-env-from",
        ),
        pytest.param(
            {"env": [{"name": "PORT", "value": "1"}]}, {"PORT": "1"}, id="env-wins-over-the-kubelet"
        ),
        pytest.param({"env": [from_field("metadata.name")]}, {"X": "web-0"}, id="field-name"),
        pytest.param({"env": [from_field("status.podIP")]}, {"X": "127.1.0.1"}, id="field-ip"),
        pytest.param({"env": [from_field("spec.nodeName")]}, {"X": "local"}, id="field-node"),
        pytest.param({"env": [from_field("metadata.labels['app']")]}, {"X": "web"}, id="label"),
        pytest.param(
            {"env": [from_field("metadata.annotations['a']")]}, {"X": ""}, id="no-annotation"
        ),
        pytest.param(
            {"env": [from_key("secret", "login", "password")]}, {"X": "hunter2"}, id="secret"
        ),
        pytest.param(
            {"env": [from_key("configMap", "settings", "B")]}, {"X": "two"}, id="config-map"
        ),
        pytest.param(
            {"env": [from_key("configMap", "settings", "C", optional=True),
                     from_key("secret", "nobody", "C", optional=True)]},
            {},
            id="what-is-optional-and-absent-is-not-set",
        ),
        pytest.param(
            {"env": [{"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
             "resources": {"limits": {"cpu": "1500m"}}},
            {"X": "2"},
            id="cores-are-rounded-up",
        ),
        pytest.param(
            {"env": [{"name": "X", "valueFrom": {"resourceFieldRef":
                      {"resource": "requests.memory", "divisor": "1Mi"}}}],
             "resources": {"requests": {"memory": "1Gi"}}},
            {"X": "1024"},
            id="memory-in-units-of-the-divisor",
        ),
    ],
)  # fmt: skip
def test_environment(container: Json, expected: dict[str, str]) -> None:
    assert env_of(container) == {"PORT": "6443", **expected}


@pytest.mark.parametrize(
    ("container", "message"),
    [
        pytest.param(
            {"env": [from_key("secret", "nobody", "k")]},
            'Secret "nobody" not found',
            id="no-secret",
        ),
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "nobody"}}]},
            'ConfigMap "nobody" not found',
            id="no-config-map",
        ),
        pytest.param(
            {"env": [from_key("secret", "login", "k")]}, "Secret login has no key k", id="no-key"
        ),
        pytest.param(
            {"env": [from_field("spec.nobody")]},
            "this kubelet knows no field spec.nobody",
            id="field",
        ),
    ],
)
def test_what_is_missing_is_named(container: Json, message: str) -> None:
    with pytest.raises(Missing) as missing:
        env_of(container)
    assert (str(missing.value), missing.value.reason) == (message, "CreateContainerConfigError")


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({}, ["/images/app"], id="the-image-alone"),
        pytest.param({"args": ["$(A)"]}, ["/images/app", "1"], id="arguments-for-the-image"),
        pytest.param({"command": ["x", "$(A)"]}, ["x", "1"], id="a-command-instead-of-the-image"),
        pytest.param(
            {"image": "no", "command": ["x"], "args": ["y"]},
            ["x", "y"],
            id="a-command-needs-no-image",
        ),
    ],
)
def test_command(container: Json, expected: list[str]) -> None:
    (found,) = podspecs.containers(pod(container))
    assert podspecs.command(found, IMAGES, {"A": "1"}) == expected


def test_an_unknown_image_cannot_be_pulled() -> None:
    (found,) = podspecs.containers(pod({"image": "other", "args": ["x"]}))
    with pytest.raises(Missing, match='there is no image "other" here') as missing:
        podspecs.command(found, IMAGES, {})
    assert missing.value.reason == "ImagePullBackOff"


ROOT = Identity(
    uid=0, gid=0, groups=(), drop=(), add=(), privileged=False, escalates=True
)  # fmt: skip


@pytest.mark.parametrize(
    ("of_pod", "of_container", "expected"),
    [
        pytest.param({}, {}, ROOT, id="root-without-any-setting"),
        pytest.param(
            {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 4, "supplementalGroups": [5, 3]},
            {"runAsUser": 9, "runAsNonRoot": True, "allowPrivilegeEscalation": False,
             "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}},
            Identity(9, 2, (3, 4, 5), ("ALL",), ("CHOWN",), False, False),
            id="the-container-wins-over-the-pod",
        ),
    ],
)  # fmt: skip
def test_identity(of_pod: Json, of_container: Json, expected: Identity) -> None:
    body = pod({"securityContext": of_container}, securityContext=of_pod)
    (container,) = podspecs.containers(body)
    assert podspecs.identity(body, container) == expected


def test_root_is_refused_where_the_pod_forbids_it() -> None:
    body = pod({}, securityContext={"runAsNonRoot": True})
    (container,) = podspecs.containers(body)
    with pytest.raises(Missing, match="set runAsUser"):
        podspecs.identity(body, container)


@pytest.mark.parametrize(
    ("drop", "add", "privileged", "expected"),
    [
        pytest.param([], [], False, capabilities.DEFAULT, id="the-usual"),
        pytest.param(["ALL"], [], False, frozenset(), id="none"),
        pytest.param(["ALL"], ["CHOWN"], False, {"CHOWN"}, id="one"),
        pytest.param(["KILL"], [], False, capabilities.DEFAULT - {"KILL"}, id="one-less"),
        pytest.param(["ALL"], [], True, set(capabilities.CAPABILITIES), id="privileged"),
    ],
)
def test_capabilities(
    drop: list[str], add: list[str], privileged: bool, expected: set[str]
) -> None:
    assert capabilities.kept(drop, add, privileged) == expected


@pytest.mark.parametrize(
    ("pod_policy", "own", "expected"),
    [
        pytest.param("Always", {}, "OnFailure", id="until-it-succeeds"),
        pytest.param("OnFailure", {}, "OnFailure", id="on-failure"),
        pytest.param("Never", {}, "Never", id="once"),
        pytest.param("Never", {"restartPolicy": "Always"}, "Always", id="sidecar"),
    ],
)
def test_restart_policies_of_init_containers(pod_policy: str, own: Json, expected: str) -> None:
    body = pod({}, restartPolicy=pod_policy, initContainers=[{"name": "i", **own}])
    (init,) = podspecs.init_containers(body)
    assert (init.restart_policy, init.sidecar) == (expected, expected == "Always")


@pytest.mark.parametrize(
    ("policy", "exit_code", "expected"),
    [
        pytest.param("Always", 0, True, id="always-after-success"),
        pytest.param("OnFailure", 0, False, id="on-failure-not-after-success"),
        pytest.param("OnFailure", 137, True, id="on-failure-after-a-signal"),
        pytest.param("Never", 1, False, id="never"),
    ],
)
def test_restarts(policy: str, exit_code: int, expected: bool) -> None:
    assert podspecs.restarts(policy, exit_code) is expected


def test_probes_and_mounts_have_their_defaults() -> None:
    action = {"httpGet": {"port": "web"}}
    container = {
        "readinessProbe": action,
        "livenessProbe": {**action, "periodSeconds": 3, "failureThreshold": 9},
        "ports": [{"name": "web", "containerPort": 80}],
        "volumeMounts": [
            {"name": "v", "mountPath": "/a/b", "subPathExpr": "x/$(POD)"},
            {"name": "v", "mountPath": "/a", "readOnly": True},
        ],
    }
    (found,) = podspecs.containers(pod(container))
    assert found.startup is None
    assert found.readiness == Probe(action, 0, 10, 1, 3, 1)
    assert found.liveness == Probe(container["livenessProbe"], 0, 3, 1, 9, 1)
    assert podspecs.mounts(found, {"POD": "p"}) == (
        Mount("v", "/a", "", True),
        Mount("v", "/a/b", "x/p", False),
    )
    assert podspecs.port_number(found, "web") == 80
    with pytest.raises(Missing, match='has no port "admin"'):
        podspecs.port_number(found, "admin")


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [("2", 2), ("250m", 0.25), ("2Ki", 2048), ("3M", 3_000_000), ("1Gi", 2**30), ("1e3", 1000)],
)
def test_amount(quantity: str, expected: float) -> None:
    assert environments.amount(quantity) == expected
