"""Planning Jobs as tests see them: clusters to be asked about, and a namespace where they run.

Pods are processes of this machine: an executor is a real JVM with real Python workers.
"""

import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread

import archives
import manifests
from builders import pool_spec
from chart.releases import OPERATOR, release_name, restricted_namespace
from chart.rendering import Object, render
from conditions import until
from control_plane.audits import AuditEvent
from control_plane.kubelet import Kubelet
from control_plane.planes import ControlPlane
from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.client.client import Api
from poolkeeper.kube.jobs.planner_pods import POD_SECURITY, PlannerPodSettings
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import KafkaClusterSpec, ZooKeeperSpec
from poolkeeper.rebalances import text_store
from poolkeeper.rebalances.planning.planning_jobs import JobEngine, rebalances
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.support import kazoo

IMAGE = "example.test/planner:1"
REBALANCES = "/apis/poolkeeper.dev/v1alpha1/rebalances"
DRIVER, EXECUTOR = archives.spark_java(), archives.SPARK_JAVA
QUICK = {"spark.driver.extraJavaOptions": DRIVER, "spark.executor.extraJavaOptions": EXECUTOR}
SETTINGS = PlannerPodSettings(
    IMAGE,
    cores=1,
    memory_mib=1024,
    retries=1,
    deadline_s=300,
    # Spark needs a user with a name; this machine's `nobody` has one.
    pod_security={**POD_SECURITY, "runAsUser": 65534},
    conf=QUICK,
)
ANSWERED_S = 240.0
ASK_EVERY_S = 0.3


@contextmanager
def crowded_clusters(count: int) -> Iterator[dict[str, str]]:
    """Simulated clusters whose first broker leads and holds all; connect strings by name."""
    with ExitStack() as stack:
        found = {}
        for number in range(count):
            spec = SandboxSpec(brokers=spread(3), simulated=True, speed=20)
            box = stack.enter_context(Sandbox.start(spec))
            _crowd(box)
            found[f"cluster-{number}"] = box.connect
        yield found


def _crowd(box: Sandbox) -> None:
    partitions = b'{"version":1,"partitions":{%s}}' % b",".join(b'"%d":[1]' % n for n in range(6))
    with kazoo(box.connect) as client:
        client.create("/config/topics/crowded", b'{"version":1,"config":{}}', makepath=True)
        client.create("/brokers/topics/crowded", partitions)
        path = "/brokers/topics/crowded/partitions/{}/state"
        until(lambda: all(client.exists(path.format(n)) for n in range(6)), "all have a leader")


def asked(name: str, connect: str, secret: str | None = None) -> ClusterRequest:
    """Everything of the cluster is in one pool; `secret` names the credentials."""
    pool = pool_spec(f"{name}-all", 1, 2, 3, cluster=name, claims=(".*",))
    way = ZooKeeperSpec(connect, credentials_secret=secret)
    return ClusterRequest(Desired(KafkaClusterSpec(name, way), (pool,)))


@dataclass
class Silent:
    """Somebody who takes connections and says nothing: who asks it, is busy for a while."""

    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    taken: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        Thread(target=self._take, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def hung_up(self, number: int) -> bool:
        """Whether that caller is gone; it says hello, and nothing more."""
        self.taken[number].settimeout(0.1)
        try:
            while said := self.taken[number].recv(4096):
                assert said
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def close(self) -> None:
        self.listener.close()
        for each in self.taken:
            each.close()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                self.taken.append(self.listener.accept()[0])


class Planning:
    """A namespace with the chart's rights, and the operator's engine in it."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet) -> None:
        self.plane, self.kubelet = plane, kubelet
        self.storage_settings = Path("/none")
        """Where this process, which is the operator, has settings of storage."""
        self.namespace = restricted_namespace(plane)
        self.full = f"{release_name()}-poolkeeper"
        self.rights = _rights(self.full, self.namespace)
        for one in self.rights:
            plane.kubectl("create", "-f", "-", input=json.dumps(one))
        kubelet.add_image(IMAGE, OPERATOR)
        kubeconfig = plane.account_kubeconfig(self.namespace, self.full)
        self.api = Api.connect(environ={"KUBECONFIG": str(kubeconfig)}, account=Path("/none"))

    def account(self, part: str = "") -> str:
        """The operator's service account, or the planner's, as `namespace/name`."""
        return f"{self.namespace}/{self.full}{part}"

    def keep_secret(self, name: str, data: Mapping[str, str]) -> None:
        """Create a Secret beside the Jobs."""
        metadata = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        self.plane.request("POST", f"/api/v1/namespaces/{self.namespace}/secrets", body)

    def engine(self, **changes: object) -> JobEngine:
        settings = replace(SETTINGS, account=f"{self.full}-planner", **changes)
        texts = text_store.of_pods(self.api, self.namespace, settings, self.storage_settings)
        return JobEngine(self.api, self.namespace, settings, rebalances(self.api), texts)

    def answer(self, engine: JobEngine, name: str, question: RebalanceRequest) -> RebalanceResponse:
        """Ask until there is an answer; say what pods said if there is none."""

        def answered() -> RebalanceResponse | None:
            Event().wait(ASK_EVERY_S)
            engine.pending_reason(name, question)
            return engine.request_plans(name, question)

        try:
            return until(answered, "an answer", ANSWERED_S)
        except (AssertionError, PoolkeeperError) as late:
            for pod in self.pods():
                late.add_note(f"{pod}: {self.kubelet.logs(self.namespace, pod)[-3000:]}")
            raise

    def pods(self, *phases: str) -> list[str]:
        """Pods by name, of these phases if any are given."""
        return [
            pod["metadata"]["name"]
            for pod in self._items("pods")
            if not phases or pod["status"].get("phase") in phases
        ]

    def executors(self) -> list[str]:
        """Executors that run, which are labelled as the settings and the Job say."""
        return [
            pod["metadata"]["name"]
            for pod in self._items("pods")
            if pod["metadata"]["labels"].get("app.kubernetes.io/component") == "planner-executor"
            and pod["metadata"]["labels"]["poolkeeper.dev/job"] in pod["metadata"]["name"]
            and pod["status"].get("phase") == "Running"
        ]

    def jobs_made(self) -> list[AuditEvent]:
        """Requests of the operator that make Jobs."""
        wanted = (self.account(), "create", "jobs")
        events = self.plane.audit()
        return [each for each in events if (each.account, each.verb, each.resource) == wanted]

    def left(self) -> list[str]:
        """What is there of Jobs: themselves, their pods, ConfigMaps."""
        jobs = self.plane.request("GET", f"/apis/batch/v1/namespaces/{self.namespace}/jobs")
        names = [job["metadata"]["name"] for job in jobs["items"]]
        maps = [each["metadata"]["name"] for each in self._items("configmaps")]
        lasting = ("kube-root-ca.crt", "poolkeeper-storage")
        return [*names, *self.pods(), *(name for name in maps if name not in lasting)]

    def _items(self, plural: str) -> list[Object]:
        path = f"/api/v1/namespaces/{self.namespace}/{plural}"
        return list(self.plane.request("GET", path)["items"])

    def kill(self, pod: str) -> None:
        """Kill the pod's process, as a machine that is out of memory does."""
        os.kill(self.kubelet.pid(self.namespace, pod), signal.SIGKILL)

    @contextmanager
    def rebalance(self) -> Iterator[str]:
        name = release_name()
        self.plane.request("POST", REBALANCES, manifests.body("Rebalance", name, {}))
        yield name
        self.plane.kubectl("delete", "rebalance", name, "--ignore-not-found")
        until(lambda: not self.left(), "everything of the Job is gone", 60)


def _rights(full: str, namespace: str) -> list[Object]:
    values = {"fullnameOverride": full, "planner": {"image": IMAGE, "executors": 2}}
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    objects = render(values, "--namespace", namespace)
    return [one for one in objects if one["kind"] in kinds]
