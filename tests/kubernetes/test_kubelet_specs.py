"""What the kubelet reads out of a pod object: environment, command, identity, probes. No server."""

from pathlib import Path
from typing import Any

import pytest

from control_plane.kubelet import environments, podspecs
from control_plane.kubelet.environments import Missing
from control_plane.kubelet.podspecs import Identity, Mount, Probe

Json = dict[str, Any]
IMAGES = {"app:1": Path("/images/app")}


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


def env_of(container: Json) -> dict[str, str]:
    body = pod(container)
    return environments.environment(body, body["spec"]["containers"][0], {"PORT": "6443"})


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
            {"env": [{"name": "PORT", "value": "1"}]}, {"PORT": "1"}, id="env-wins-over-the-kubelet"
        ),
        pytest.param({"env": [from_field("metadata.name")]}, {"X": "web-0"}, id="field-name"),
        pytest.param({"env": [from_field("status.podIP")]}, {"X": "127.1.0.1"}, id="field-ip"),
        pytest.param({"env": [from_field("spec.nodeName")]}, {"X": "local"}, id="field-node"),
        pytest.param({"env": [from_field("metadata.labels['app']")]}, {"X": "web"}, id="label"),
    ],
)  # fmt: skip
def test_environment(container: Json, expected: dict[str, str]) -> None:
    assert env_of(container) == {"PORT": "6443", **expected}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param(
            from_field("spec.nobody"), "this kubelet knows no field spec.nobody", id="field"
        ),
        pytest.param(
            from_field("metadata.labels"),
            "this kubelet knows no field metadata.labels",
            id="no-single-value",
        ),
        pytest.param(
            {"name": "X", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
            "this kubelet knows no value from secretKeyRef",
            id="source",
        ),
    ],
)
def test_what_is_missing_is_named(entry: Json, message: str) -> None:
    with pytest.raises(Missing) as missing:
        env_of({"env": [entry]})
    assert (str(missing.value), missing.value.reason) == (message, "CreateContainerConfigError")


USUAL = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "hostNetwork": False,
    "schedulerName": "default-scheduler",
}
PROBED = {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}}


@pytest.mark.parametrize(
    ("container", "spec", "unknown"),
    [
        pytest.param({}, {"initContainers": [{"name": "i"}]}, "initContainers", id="init"),
        pytest.param(
            {}, {"securityContext": {"sysctls": [{}]}}, "securityContext.sysctls", id="pod-security"
        ),
        pytest.param({}, {"dnsPolicy": "None"}, "dnsPolicy", id="another-value"),
        pytest.param({"lifecycle": {"preStop": {}}}, {}, "container.lifecycle", id="hook"),
        pytest.param(
            {"securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}}},
            {},
            "capabilities.add, container.securityContext.privileged",
            id="more-powers",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "a"}]},
            {},
            "volumeMounts.subPath",
            id="part-of-a-volume",
        ),
        pytest.param(
            {"livenessProbe": {"exec": {"command": ["true"]}}}, {}, "livenessProbe.exec", id="probe"
        ),
        pytest.param(
            {"readinessProbe": {"httpGet": {"port": 1, "scheme": "HTTPS"}}},
            {},
            "readinessProbe.httpGet.scheme",
            id="https",
        ),
        pytest.param(
            {},
            {"volumes": [{"name": "a", "emptyDir": {"medium": "Memory"}},
                         {"name": "b", "hostPath": {"path": "/", "type": "DirectoryOrCreate"}}]},
            "emptyDir.medium, hostPath.type",
            id="volumes",
        ),
    ],
)  # fmt: skip
def test_what_a_pod_asks_for_in_vain_is_named(container: Json, spec: Json, unknown: str) -> None:
    podspecs.check(pod({"startupProbe": PROBED}, **USUAL))
    with pytest.raises(Missing) as missing:
        podspecs.check(pod({"startupProbe": PROBED, **container}, **{**USUAL, **spec}))
    assert str(missing.value) == f"this kubelet does not know {unknown}"


def test_a_pod_of_two_containers_is_refused() -> None:
    with pytest.raises(Missing, match="pods of one container only"):
        podspecs.check(pod({}, containers=[{"name": "one"}, {"name": "two"}]))


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
    found = podspecs.container(pod(container))
    assert podspecs.command(found, IMAGES, {"A": "1"}) == expected


def test_an_unknown_image_cannot_be_pulled() -> None:
    found = podspecs.container(pod({"image": "other", "args": ["x"]}))
    with pytest.raises(Missing, match='there is no image "other" here') as missing:
        podspecs.command(found, IMAGES, {})
    assert missing.value.reason == "ImagePullBackOff"


USUAL_CAPABILITIES = tuple(podspecs.CAPABILITIES.values())


@pytest.mark.parametrize(
    ("of_pod", "of_container", "expected"),
    [
        pytest.param(
            {}, {}, Identity(0, 0, (), USUAL_CAPABILITIES, True), id="root-without-any-setting"
        ),
        pytest.param(
            {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 4},
            {"runAsUser": 9, "runAsNonRoot": True, "allowPrivilegeEscalation": False,
             "capabilities": {"drop": ["ALL"]}},
            Identity(9, 2, (4,), (), False),
            id="the-container-wins-over-the-pod",
        ),
        pytest.param(
            {},
            {"capabilities": {"drop": ["KILL", "SYS_ADMIN"]}},
            Identity(0, 0, (), tuple(n for n in USUAL_CAPABILITIES if n != 5), True),
            id="one-power-less",
        ),
    ],
)  # fmt: skip
def test_identity(of_pod: Json, of_container: Json, expected: Identity) -> None:
    body = pod({"securityContext": of_container}, securityContext=of_pod)
    container = podspecs.container(body)
    assert podspecs.identity(body, container) == expected


def test_root_is_refused_where_the_pod_forbids_it() -> None:
    body = pod({}, securityContext={"runAsNonRoot": True})
    container = podspecs.container(body)
    with pytest.raises(Missing, match="set runAsUser"):
        podspecs.identity(body, container)


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
    container = {
        "readinessProbe": {"httpGet": {"port": "web"}},
        "livenessProbe": {
            "httpGet": {"path": "/well", "port": 80},
            "periodSeconds": 3,
            "failureThreshold": 9,
        },
        "ports": [{"name": "web", "containerPort": 80}],
        "volumeMounts": [
            {"name": "w", "mountPath": "/a/b"},
            {"name": "v", "mountPath": "/a", "readOnly": True},
        ],
    }
    found = podspecs.container(pod(container))
    assert found.startup is None
    assert found.readiness == Probe("/", "web", 0, 10, 1, 3, 1)
    assert found.liveness == Probe("/well", 80, 0, 3, 1, 9, 1)
    assert podspecs.mounts(found) == (Mount("v", "/a", True), Mount("w", "/a/b", False))
    assert podspecs.port_number(found, "web") == 80
    with pytest.raises(Missing, match='has no port "admin"'):
        podspecs.port_number(found, "admin")
