"""Releases on a real server: install, upgrade, rollback, uninstall, and what stays.

The pods run a stand-in for the operator, under all restrictions of the chart: these tests are about
the chart. The namespace admits restricted pods only.
"""

import json
from pathlib import Path

import pytest
import yaml

from chart.releases import (
    IMAGE,
    ON_OWN_ADDRESS,
    PLURALS,
    definition_path,
    found,
    pods,
    ready_pods,
    release_name,
    remove_definitions,
    restricted_namespace,
    standin,
    until_no_pods,
    without_definitions,
)
from chart.rendering import CHART, EVERYTHING, ROOT, of_kind, render
from conditions import until

CLUSTER = "/apis/poolkeeper.dev/v1alpha1/kafkaclusters"
EXAMPLE = ROOT / "examples" / "kubernetes"


@pytest.fixture(scope="module", autouse=True)
def ground(control_plane, kubelet):
    kubelet.add_image(IMAGE, standin(control_plane.folder))
    with without_definitions(control_plane):
        yield


@pytest.fixture
def space(control_plane):
    return restricted_namespace(control_plane)


@pytest.fixture
def release(control_plane, helm, space):
    """The name of a release; at the end it is uninstalled, and what it keeps goes too."""
    name = release_name()
    yield name
    helm("uninstall", name, "-n", space, "--wait", check=False)
    remove_definitions(control_plane)
    until_no_pods(control_plane, space)


def definition(plane, plural):
    return found(plane, definition_path(plural))


def older_chart(folder: Path) -> Path:
    """Return a copy of the chart whose Topics have one printer column less."""
    chart = folder / "older"
    for file in CHART.rglob("*"):
        if file.is_file():
            copy = chart / file.relative_to(CHART)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    topics = chart / "files" / "crds" / "topics.yaml"
    body = yaml.safe_load(topics.read_text(encoding="utf-8"))
    body["spec"]["versions"][0]["additionalPrinterColumns"].pop()
    text = yaml.safe_dump({"metadata": {"name": body["metadata"]["name"]}})
    rest = {key: value for key, value in body.items() if key != "metadata"}
    topics.write_text(yaml.safe_dump(rest) + text, encoding="utf-8")
    return chart


def columns(plane):
    return len(definition(plane, "topics")["spec"]["versions"][0]["additionalPrinterColumns"])


def test_from_install_to_uninstall(control_plane, kubelet, helm, space, release, tmp_path):
    deployment = f"/apis/apps/v1/namespaces/{space}/deployments/{release}-poolkeeper"
    in_space = (release, "-n", space, "--wait", "--timeout=180s")

    installed = helm(
        "install", release, older_chart(tmp_path), *in_space[1:], *ON_OWN_ADDRESS
    ).stdout
    assert "mode: PlanOnly" in installed
    before = columns(control_plane)
    first = ready_pods(control_plane, space)
    assert len(first) == 2
    assert "the root is read-only" in kubelet.logs(space, first[0])

    control_plane.apply(EXAMPLE / "cluster.yaml")
    helm("upgrade", release, CHART, *in_space[1:], *ON_OWN_ADDRESS, "--set", "replicas=1")
    assert columns(control_plane) == before + 1
    until(lambda: len(pods(control_plane, space)) == 1, "one pod is left", 60)

    helm("rollback", release, "1", "-n", space, "--wait", "--timeout=180s")
    assert columns(control_plane) == before
    until(lambda: len(ready_pods(control_plane, space)) == 2, "two pods are ready again", 60)

    helm("uninstall", release, "-n", space, "--wait")
    assert found(control_plane, deployment) is None
    assert [plural for plural in PLURALS if definition(control_plane, plural) is None] == []
    kept = control_plane.request("GET", CLUSTER)["items"]
    assert [one["metadata"]["name"] for one in kept] == ["main"]

    helm("install", release, CHART, *in_space[1:], *ON_OWN_ADDRESS)
    assert columns(control_plane) == before + 1
    control_plane.kubectl("delete", "-f", str(EXAMPLE / "cluster.yaml"))


def test_upgrading_to_the_same_changes_nothing(control_plane, helm, space, release):
    """Helm, Argo CD and Flux apply again and again: no pod may restart for it."""
    arguments = (release, CHART, "-n", space, "--set", "replicas=0")
    helm("install", *arguments, "--wait")
    path = f"/apis/apps/v1/namespaces/{space}/deployments/{release}-poolkeeper"
    before = control_plane.request("GET", path)["metadata"]["generation"]
    definitions = [definition(control_plane, plural)["metadata"] for plural in PLURALS]
    helm("upgrade", *arguments, "--wait")
    assert control_plane.request("GET", path)["metadata"]["generation"] == before
    again = [definition(control_plane, plural)["metadata"] for plural in PLURALS]
    assert [one["resourceVersion"] for one in again] == [
        one["resourceVersion"] for one in definitions
    ]


def test_the_namespace_would_refuse_pods_that_ask_for_more(control_plane, helm, space, release):
    helm(
        *("install", release, CHART, "-n", space, *ON_OWN_ADDRESS),
        *("--set", "securityContext.allowPrivilegeEscalation=true"),
    )
    events = f"/apis/events.k8s.io/v1/namespaces/{space}/events"

    def refusal():
        notes = [one["note"] for one in control_plane.request("GET", events)["items"]]
        return [note for note in notes if "violates PodSecurity" in note]

    assert "allowPrivilegeEscalation != false" in until(refusal, "pods are refused", 30)[0]
    assert pods(control_plane, space) == []


@pytest.mark.parametrize("values", [{}, EVERYTHING], ids=["defaults", "everything"])
def test_a_real_server_takes_what_is_rendered(control_plane, values):
    """Strictly: an unknown field is an error. Prometheus' kinds are not there to be asked."""
    for namespace in (*values.get("watchNamespaces", ()), "poolkeeper"):
        control_plane.kubectl("create", "namespace", namespace, check=False)
    objects = [
        one for one in render(values) if not one["apiVersion"].startswith("monitoring.coreos.com")
    ]
    for pod in of_kind(objects, "Pod"):
        pod["spec"]["serviceAccountName"] = "default"  # the one that it has is not there yet
    said = control_plane.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        input="\n---\n".join(json.dumps(one) for one in objects),
    )
    assert said.stderr == ""
    assert len(said.stdout.splitlines()) == len(objects)


def test_the_example_applies_twice_and_changes_nothing(control_plane, helm, space, release):
    helm("install", release, CHART, "-n", space, "--set", "replicas=0", "--wait")
    control_plane.kubectl("apply", "-k", str(EXAMPLE))
    again = control_plane.kubectl("apply", "-k", str(EXAMPLE)).stdout.splitlines()
    assert len(again) == 8
    assert [line for line in again if not line.endswith(" unchanged")] == []
    control_plane.kubectl("delete", "-k", str(EXAMPLE), "--wait=false")
