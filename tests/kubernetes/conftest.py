"""A real Kubernetes for tests: a control plane per worker process, with our CRDs, while needed.

    def test_account(control_plane, namespace):
        control_plane.kubectl("create", "serviceaccount", "x", "-n", namespace)
        control_plane.account_kubeconfig(namespace, "x")
    def test_cluster(clean_cluster): clean_cluster.apply("kind: KafkaCluster …")
    def test_pod(kubelet, namespace): ...              # pods run, as processes of this machine
    def test_chart(helm, namespace): helm("install", "x", "charts/poolkeeper", "-n", namespace)

`control_plane` is a `control_plane.planes.ControlPlane`: it says there what can be done with it.
KafkaClusters and ResourcePools are cluster-scoped, so that tests that share a control plane see
each other's. Every worker process of pytest-xdist that runs such tests therefore has its own
(`scheduling.HOSTS` says how many do), the tests of a file run in one worker one after the other,
and who makes such resources takes `clean_cluster`, which leaves none. What has a namespace needs no
cleaning: `namespace` is a new one for each test.

`scene` is a Kafka cluster with its resources, and `operated` the operator that works for it, one
for all tests of a file or of a line of `scheduling.TOGETHER`: `operated_resources` says what can be
done with them.

`make test` builds the control plane in the background; the first test here waits for that, and
fails with the reason where it cannot be built. That wait is none of the test's own time.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import scheduling
from apirequests import Api
from conditions import until
from control_plane import building
from control_plane.access import ApiError
from control_plane.kubelet import Kubelet
from control_plane.kubelet.trials import Pods
from control_plane.planes import ControlPlane
from operated import FOUR_BROKERS, Rights, Site, mended_site
from operated_resources import Operated, Scene, operated_by
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from servers import Kept, OfUnit, kept_kafka

__all__ = ["kept_kafka"]

HERE = Path(__file__).parent
CRDS = HERE.parents[1] / "crds"
API = "/apis/poolkeeper.dev/v1alpha1"
KINDS = ("rebalances", "topics", "resourcepools", "kafkaclusters")
IMAGES: dict[str, Path] = {}
TEST_S = 600

Helm = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in scheduling.of_room(items, "kubernetes"):
        item.add_marker(pytest.mark.kubernetes)
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_S, func_only=True))


@pytest.fixture(scope="session")
def control_plane(shared_servers: ExitStack) -> ControlPlane:
    # Programs in Go collect garbage a fifth of their time, if they are kept small.
    os.environ.setdefault("GOGC", "400")
    plane = shared_servers.enter_context(ControlPlane.start())
    plane.apply_crds(CRDS)
    return plane


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """Requests to the API server as administrator, and its answers, refusals included."""
    with Api(control_plane.access) as way:
        yield way


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    return control_plane.new_namespace()


@pytest.fixture
def clean_cluster(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane, without Topics, ResourcePools and KafkaClusters before and after."""
    _remove_all(control_plane)
    yield control_plane
    _remove_all(control_plane)


@pytest.fixture(scope="module")
def operated(control_plane: ControlPlane, zookeeper: Sandbox, of_unit: OfUnit) -> Operated:
    _remove_all(control_plane)  # a Topic without a pool claims its name in every cluster
    # What belongs together is declared at once here: planning need not wait for more.
    start = partial(operated_by, control_plane, zookeeper, "--log-format=json", "--settle=1s")
    return of_unit.get("operated", start)


@pytest.fixture
def scene(operated: Operated) -> Iterator[Scene]:
    with Scene(operated) as found:
        yield found


@pytest.fixture
def rights(clean_cluster: ControlPlane, namespace: str) -> Rights:
    return Rights(clean_cluster, namespace)


@pytest.fixture(scope="module")
def simulated() -> Iterator[Sandbox]:
    spec = SandboxSpec(brokers=spread(9), kafka="2.8.2", simulated=True)
    with Sandbox.start(spec) as running:
        yield running


@pytest.fixture
def site(clean_cluster: ControlPlane, namespace: str, simulated: Sandbox) -> Iterator[Site]:
    """A KafkaCluster of simulated brokers."""
    yield from mended_site(clean_cluster, namespace, simulated)


@pytest.fixture(scope="module")
def four_brokers(kept_kafka: Kept) -> Sandbox:
    """Real brokers that move data as slowly as a test's throttle says."""
    kept_kafka.begin_file()
    return kept_kafka.get(FOUR_BROKERS)


@pytest.fixture(scope="session")
def kubelet(control_plane: ControlPlane, shared_servers: ExitStack) -> Kubelet:
    return shared_servers.enter_context(Kubelet.start(control_plane, IMAGES))


@pytest.fixture
def pods(control_plane: ControlPlane, kubelet: Kubelet, namespace: str) -> Iterator[Pods]:
    """Pods of a namespace of their own, deleted in the end."""
    found = Pods(control_plane, kubelet, namespace)
    yield found
    found.delete_all()


@pytest.fixture(scope="session")
def helm(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Runs helm as administrator, with a home of its own: `helm("list", "-A").stdout`."""
    program = building.helm()
    home = tmp_path_factory.mktemp("helm")
    homes = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    environment = {**control_plane.environment(), **homes}

    def run(
        *arguments: str | os.PathLike[str], check: bool = True, timeout_s: float = 300
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [program, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert not check or done.returncode == 0, f"helm {arguments}: {done.stderr}"
        return done

    return run


def _remove_all(plane: ControlPlane) -> None:
    """Delete all of our resources, whoever would still have to act on their finalizers."""
    plane.api_server.await_ready()
    for kind in KINDS:
        until(partial(_nothing_to_remove, plane, kind), f"no {kind} are left")


def _nothing_to_remove(plane: ControlPlane, kind: str) -> bool:
    """Delete what there is of a kind; true if there was nothing."""
    items = _unless_gone(plane, "GET", f"{API}/{kind}").get("items", [])
    for item in items:
        metadata = item["metadata"]
        scope = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
        path = f"{API}/{scope}{kind}/{metadata['name']}"
        _unless_gone(plane, "DELETE", path)
        _unless_gone(plane, "PATCH", path, {"metadata": {"finalizers": None}})
    return not items


def _unless_gone(
    plane: ControlPlane, method: str, path: str, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    try:
        return dict(plane.request(method, path, body))
    except ApiError as refused:
        if refused.status != 404:
            raise
        return {}
