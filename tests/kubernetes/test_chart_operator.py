"""The operator itself as the chart runs it: in pods, restricted, with the rights it gives.

Its cluster has a real ZooKeeper and simulated brokers. One story goes through all that the operator
does on the API server; the audit log of it is compared with the rendered roles.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from chart import rights
from chart.releases import (
    IMAGE,
    ON_OWN_ADDRESS,
    OPERATOR,
    ready_pods,
    release_name,
    remove_definitions,
    restricted_namespace,
    until_no_pods,
    without_definitions,
)
from chart.rendering import CHART, render
from conditions import until
from poolkeeper.sandbox import take_down_all

pytestmark = pytest.mark.long

API = "poolkeeper.dev/v1alpha1"
GROUP = f"/apis/{API}"
SANDBOX = ("sandbox", "up", "--simulated", "--speed", "20", "--brokers", "4", "--output", "json")


@pytest.fixture
def zookeeper(tmp_path):
    """Address and chroot of a new cluster with the brokers 1 to 4."""
    root = tmp_path / "sandboxes"
    up = subprocess.run(
        [OPERATOR, *SANDBOX, "--root", root],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert up.returncode == 0, up.stderr
    yield json.loads(up.stdout)["connect"]
    take_down_all(root)


@pytest.fixture(scope="module", autouse=True)
def ground(control_plane, kubelet):
    kubelet.add_image(IMAGE, OPERATOR)
    with without_definitions(control_plane):
        yield


@pytest.fixture(scope="module", params=["everywhere", "one namespace"])
def release(request, control_plane, helm):
    """A release whose pods are ready, for Topics everywhere or in one namespace only."""
    shop = control_plane.new_namespace()
    watched = [] if request.param == "everywhere" else [shop]
    release = Release(release_name(), restricted_namespace(control_plane), shop, watched)
    helm("install", release.name, CHART, *release.options)
    yield release
    helm("uninstall", release.name, "-n", release.namespace, "--wait")
    until_no_pods(control_plane, release.namespace)
    remove_definitions(control_plane)


@dataclass(frozen=True)
class Release:
    name: str
    namespace: str
    shop: str
    """Where the Topics are."""
    watched: list[str]

    @property
    def full(self):
        return f"{self.name}-poolkeeper"

    @property
    def options(self):
        watched = [one for name in self.watched for one in ("--set", f"watchNamespaces={{{name}}}")]
        return ("-n", self.namespace, "--wait", "--timeout=240s", *ON_OWN_ADDRESS, *watched)

    def holder(self, plane):
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{self.full}"
        return plane.request("GET", path)["spec"]["holderIdentity"]


def resource(kind, name, spec, namespace=None):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return json.dumps({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec})


def ready(plane, path):
    """Return what the condition Ready says, if it says True of the latest generation."""
    body = plane.request("GET", path)
    status = body.get("status", {})
    said = {one["type"]: one for one in status.get("conditions", ())}.get("Ready", {})
    latest = status.get("observedGeneration") == body["metadata"]["generation"]
    return body if latest and said.get("status") == "True" else None


@pytest.fixture
def until_ready(control_plane, kubelet, release):
    """Wait for the Ready of a path, and say what status and logs say if that does not come."""

    def wait(path, what, timeout_s):
        try:
            return until(lambda: ready(control_plane, path), what, timeout_s)
        except AssertionError as late:
            late.add_note(json.dumps(control_plane.request("GET", path).get("status")))
            for pod in ready_pods(control_plane, release.namespace):
                late.add_note(f"{pod}: {kubelet.logs(release.namespace, pod)[-3000:]}")
            raise

    return wait


def test_both_pods_are_ready_and_one_holds_the_lease(control_plane, release):
    pods = ready_pods(control_plane, release.namespace)
    assert len(pods) == 2
    assert until(lambda: release.holder(control_plane), "somebody leads") in pods


def test_the_process_has_no_powers(control_plane, kubelet, release):
    for pod in ready_pods(control_plane, release.namespace):
        status = Path(f"/proc/{kubelet.pid(release.namespace, pod)}/status").read_text("ascii")
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert facts["Uid"].split() == ["65532"] * 4
        assert facts["Gid"].split() == ["65532"] * 4
        assert {facts[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
        assert facts["NoNewPrivs"] == "1"


def test_the_rights_granted_are_the_rights_used(control_plane, release, zookeeper, until_ready):
    account = f"{release.namespace}/{release.full}"
    topic = f"{GROUP}/namespaces/{release.shop}/topics/orders"
    elsewhere = control_plane.new_namespace()
    spec = {"poolRef": {"name": "old"}, "partitions": 4, "replicationFactor": 2}
    cluster = {
        "zookeeper": {"connect": zookeeper},
        "mode": "Apply",
        "approval": {"policy": "Auto"},
    }
    pools = {"old": [1, 2], "new": [3, 4]}
    declared = [
        resource("KafkaCluster", "main", cluster),
        *(
            resource(
                "ResourcePool", pool, {"clusterRef": {"name": "main"}, "brokers": {"ids": ids}}
            )
            for pool, ids in pools.items()
        ),
        resource("Topic", "orders", {**spec, "deletionPolicy": "Delete"}, release.shop),
        resource("Topic", "clicks", {**spec, "deletionPolicy": "Delete"}, elsewhere),
    ]
    control_plane.apply("\n---\n".join(declared))
    until_ready(topic, "the topic is made", 60)
    control_plane.request("PATCH", topic, {"spec": {"poolRef": {"name": "new"}}})
    moved = until_ready(topic, "the topic is moved", 120)
    assert moved["status"]["pool"] == "new"
    control_plane.apply(resource("Rebalance", "evening", {}))
    until_ready(f"{GROUP}/rebalances/evening", "everything is even", 60)
    if release.watched:
        other = control_plane.request("GET", f"{GROUP}/namespaces/{elsewhere}/topics/clicks")
        assert other["status"] == {"observedGeneration": -1}
        assert "finalizers" not in other["metadata"]
    for kind in ("rebalances", "topics", "resourcepools", "kafkaclusters"):
        control_plane.kubectl("delete", kind, "--all", "-A", "--timeout=60s", timeout_s=90)

    objects = render(
        {"fullnameOverride": release.full, "watchNamespaces": release.watched},
        *("--namespace", release.namespace),
    )
    events = control_plane.audit()
    assert len(rights.granted(objects, account)) > 15
    assert rights.refused(events, account) == frozenset()
    assert rights.surplus(objects, events, account) == frozenset()


def test_a_rolling_restart_leaves_a_leader(control_plane, helm, release):
    before = set(ready_pods(control_plane, release.namespace))
    changed = ("--set", "podAnnotations.changed=yes")
    helm("upgrade", release.name, CHART, *release.options, *changed)

    def new_holder():
        return release.holder(control_plane) in set(ready_pods(control_plane, release.namespace))

    until(new_holder, "a pod that is there holds the lease", 30)
    assert not before & set(ready_pods(control_plane, release.namespace))
