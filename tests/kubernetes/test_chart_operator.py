"""The operator itself as the chart runs it: in pods, restricted, with the rights it gives.

Its cluster has a real ZooKeeper and simulated brokers. One story goes through all that the operator
does on the API server, planning Jobs included; the audit log of it is compared with the rendered
roles.
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
    pods,
    ready_pods,
    release_name,
    remove_definitions,
    restricted_namespace,
    until_no_pods,
    without_definitions,
)
from chart.rendering import CHART, render
from conditions import until
from matrices import soak
from planned import IMAGE as PLANNER_IMAGE
from planned import QUICK
from poolkeeper.sandbox import take_down_all

pytestmark = [pytest.mark.fleet, pytest.mark.long]

API = "poolkeeper.dev/v1alpha1"
GROUP = f"/apis/{API}"
AUTO, MANUAL = ({"approval": {"policy": policy}} for policy in ("Auto", "Manual"))
PLANNER = {
    "image": PLANNER_IMAGE,
    "executors": 0,
    "cores": 1,
    "memoryMiB": 1024,
    "conf": QUICK,
}
SANDBOX = ("sandbox", "up", "--simulated", "--speed", "20", "--brokers", "5", "--output", "json")


@pytest.fixture
def zookeeper(tmp_path):
    """Address and chroot of a new cluster with the brokers 1 to 5."""
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
    kubelet.add_image(PLANNER_IMAGE, OPERATOR)
    with without_definitions(control_plane):
        yield


@pytest.fixture(scope="module", params=["everywhere", *soak("one namespace")])
def release(request, control_plane, helm):
    """A release whose pods are ready: for Topics everywhere, with planning Jobs; or for those of
    one namespace only, without Jobs."""
    shop = control_plane.new_namespace()
    watched = [] if request.param == "everywhere" else [shop]
    planner = {} if watched else PLANNER
    release = Release(release_name(), restricted_namespace(control_plane), shop, watched, planner)
    release.values_file(control_plane.folder).write_text(json.dumps(release.values))
    helm("install", release.name, CHART, *release.options(control_plane.folder))
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
    planner: dict

    @property
    def full(self):
        return f"{self.name}-poolkeeper"

    @property
    def user(self):
        """Whose processes its pods are. Spark needs a user with a name; `nobody` has one here."""
        return 65534 if self.planner else 65532

    @property
    def values(self):
        return {
            "watchNamespaces": self.watched,
            "planner": self.planner,
            "podSecurityContext": {"runAsUser": self.user},
        }

    def values_file(self, folder):
        return folder / f"{self.name}.json"

    def options(self, folder):
        file = self.values_file(folder)
        return ("-n", self.namespace, "--wait", "--timeout=240s", "-f", file, *ON_OWN_ADDRESS)

    def holder(self, plane):
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{self.full}"
        return plane.request("GET", path)["spec"]["holderIdentity"]


def resource(kind, name, spec, namespace=None):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return json.dumps({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec})


def brokers(*ids):
    return {"brokers": {"ids": list(ids)}}


def looked_at(plane, path):
    body = plane.request("GET", f"{GROUP}/{path}")
    return body.get("status", {}).get("observedGeneration") == body["metadata"]["generation"]


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


@pytest.fixture
def await_plans(control_plane, kubelet, release):
    """Change a Rebalance, wait until other plans wait for approval, made by this engine; return
    their hash."""
    known = set()

    def planned(path, engine):
        status = control_plane.request("GET", path).get("status", {})
        waits = status.get("step") == "WaitingForApproval" and status["engine"] == engine
        return status if waits and status["asked"] not in known else None

    def wait(name, engine, change):
        path = f"{GROUP}/rebalances/{name}"
        control_plane.request("PATCH", path, {"spec": change})
        try:
            status = until(lambda: planned(path, engine), f"plans of {engine}", 120)
        except AssertionError as late:
            late.add_note(json.dumps(control_plane.request("GET", path).get("status")))
            for pod in pods(control_plane, release.namespace):
                pod_name = pod["metadata"]["name"]
                late.add_note(f"{pod_name}: {kubelet.logs(release.namespace, pod_name)[-3000:]}")
            raise
        known.add(status["asked"])
        return status["plan"]["hash"]

    return wait


def test_both_pods_are_ready_and_one_holds_the_lease(control_plane, release):
    found = ready_pods(control_plane, release.namespace)
    assert len(found) == 2
    assert until(lambda: release.holder(control_plane), "somebody leads") in found


def test_the_process_has_no_powers(control_plane, kubelet, release):
    for pod in ready_pods(control_plane, release.namespace):
        status = Path(f"/proc/{kubelet.pid(release.namespace, pod)}/status").read_text("ascii")
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert facts["Uid"].split() == [str(release.user)] * 4
        assert facts["Gid"].split() == ["65532"] * 4
        assert {facts[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
        assert facts["NoNewPrivs"] == "1"


def test_the_rights_granted_are_the_rights_used(
    control_plane, release, zookeeper, until_ready, await_plans
):
    account = f"{release.namespace}/{release.full}"
    topic = f"{GROUP}/namespaces/{release.shop}/topics/orders"
    main, elsewhere = f"{GROUP}/kafkaclusters/main", control_plane.new_namespace()
    spec = {"poolRef": {"name": "old"}, "partitions": 4, "replicationFactor": 2}
    cluster = {
        "zookeeper": {"connect": zookeeper},
        "mode": "Apply",
        **AUTO,
    }
    pools = {"old": [1, 2], "new": [3, 4]}
    declared = [
        resource("KafkaCluster", "main", cluster),
        *(
            resource("ResourcePool", pool, {"clusterRef": {"name": "main"}, **brokers(*ids)})
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
    control_plane.request("PATCH", main, {"spec": MANUAL})  # its own plans wait
    control_plane.request("PATCH", f"{GROUP}/resourcepools/new", {"spec": brokers(3, 4, 5)})
    until(lambda: looked_at(control_plane, "resourcepools/new"), "the pool is looked at", 30)
    control_plane.apply(resource("Rebalance", "night", {"engine": "Local"}))
    await_plans("night", "Local", {})
    others = {"engine": "Spark"} if release.planner else {"budget": {"clustersAtOnce": 1}}
    plans = await_plans("night", others.get("engine", "Local"), others)
    night = f"{GROUP}/rebalances/night"
    control_plane.request("PATCH", night, {"spec": {"approval": {"plans": [plans]}}})
    until_ready(night, "the plans are carried out", 120)
    control_plane.request("PATCH", main, {"spec": AUTO})
    if release.watched:
        other = control_plane.request("GET", f"{GROUP}/namespaces/{elsewhere}/topics/clicks")
        assert other["status"] == {"observedGeneration": -1}
        assert "finalizers" not in other["metadata"]
    for kind in ("rebalances", "topics", "resourcepools", "kafkaclusters"):
        control_plane.kubectl("delete", kind, "--all", "-A", "--timeout=60s", timeout_s=90)

    objects = render(
        {"fullnameOverride": release.full, **release.values}, "--namespace", release.namespace
    )
    events = control_plane.audit()
    for who in (account, f"{account}-planner") if release.planner else (account,):
        assert rights.refused(events, who) == frozenset()
        assert rights.surplus(objects, events, who) == frozenset()
    assert len(rights.granted(objects, account)) > 15


@pytest.mark.soak
def test_a_rolling_restart_leaves_a_leader(control_plane, helm, release):
    before = set(ready_pods(control_plane, release.namespace))
    changed = ("--set", "podAnnotations.changed=yes")
    helm("upgrade", release.name, CHART, *release.options(control_plane.folder), *changed)

    def new_holder():
        return release.holder(control_plane) in set(ready_pods(control_plane, release.namespace))

    until(new_holder, "a pod that is there holds the lease", 30)
    assert not before & set(ready_pods(control_plane, release.namespace))
