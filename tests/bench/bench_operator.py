"""How fast the operator makes thousands of Topics Ready, what it weighs, and what it costs idle.

    python tests/bench/bench_operator.py [--topics 1000] [--idle 60]

A real API server, a real ZooKeeper, nine simulated brokers, the operator as a process. `created`:
until the API server has taken all Topics; `ready`: from the first until each is Ready, which means
that its partitions have leaders; `again`: the same for a config of each. `processor` is the
operator's. `writes` are requests of the operator in an idle minute that change something, the
Lease's not counted, by the API server's own audit log.

Growth is that of the processor seconds, which other work on the machine does not stretch.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from conditions import until
from control_plane.planes import ControlPlane
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread

ROOT = Path(__file__).parents[2]
API = "/apis/poolkeeper.dev/v1alpha1"
GROUP_VERSION = "poolkeeper.dev/v1alpha1"
NAMESPACE = "bench"
ACCOUNT = "operator"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
DEADLINE_S = 600.0
LEASES = ("coordination.k8s.io", "leases")
GROWTH_MAX = 2.4
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True)
class Figures:
    """Seconds, MiB and requests of one run."""

    created_s: float
    ready_s: float
    again_s: float
    processor_s: float
    resident_mib: float
    writes: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure so many Topics, twice as many, and five times as many for the memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--idle", type=float, default=60.0)
    given = parser.parse_args(arguments)
    table = Table(title="The operator on a real API server")
    for name in ("Topics", "created s", "ready s", "again s", "processor s", "growth", "MiB"):
        table.add_column(name, justify="right")
    table.add_column(f"writes in {given.idle:.0f} s idle", justify="right")
    before = growth = 0.0
    for topics, idle_s in (
        (given.topics, given.idle),
        (2 * given.topics, 0),
        (5 * given.topics, 0),
    ):
        found = measure(topics, idle_s)
        if topics == 2 * given.topics:
            growth = found.processor_s / before
        before = found.processor_s
        seconds = (found.created_s, found.ready_s, found.again_s, found.processor_s)
        table.add_row(
            f"{topics:,}",
            *(f"{value:.1f}" for value in seconds),
            f"× {growth:.2f}" if topics == 2 * given.topics else "",
            f"{found.resident_mib:.0f}",
            str(found.writes) if idle_s else "",
        )
    Console(width=100).print(table)
    if growth > GROWTH_MAX:
        sys.exit(f"twice the Topics cost {growth:.1f} times the time (at most {GROWTH_MAX})")


def measure(topics: int, idle_s: float) -> Figures:
    """Start everything, make the Topics, wait until they are Ready, change them, be idle."""
    with operating() as (plane, operator, sandbox):
        plane.apply(cluster(sandbox))
        began = time.perf_counter()
        _for_all(topics, lambda n: plane.request("POST", _collection(), topic(n)))
        created_s = time.perf_counter() - began
        until(lambda: _ready(plane) == topics, "all Topics are Ready", DEADLINE_S)
        ready_s = time.perf_counter() - began
        again = time.perf_counter()
        _for_all(topics, lambda n: plane.request("PATCH", f"{_collection()}/t{n}", CHANGE))
        until(lambda: _ready(plane) == topics, "all Topics are Ready again", DEADLINE_S)
        again_s = time.perf_counter() - again
        processor_s, resident_mib = usage(operator.process.pid)
        writes = idle_writes(plane, idle_s) if idle_s else 0
        return Figures(created_s, ready_s, again_s, processor_s, resident_mib, writes)


@contextmanager
def operating() -> Iterator[tuple[ControlPlane, OperatorProcess, Sandbox]]:
    """A control plane, a cluster of simulated brokers, and an operator with its own account."""
    brokers = SandboxSpec(brokers=spread(9), kafka="2.8.2", simulated=True, speed=10)
    with ControlPlane.start() as plane, Sandbox.start(brokers) as sandbox:
        plane.apply_crds(ROOT / "crds")
        plane.kubectl("create", "namespace", NAMESPACE)
        plane.kubectl("create", "serviceaccount", ACCOUNT, "-n", NAMESPACE)
        plane.kubectl(
            *("create", "clusterrolebinding", ACCOUNT, "--clusterrole=cluster-admin"),
            f"--serviceaccount={NAMESPACE}:{ACCOUNT}",
        )
        kubeconfig = plane.account_kubeconfig(NAMESPACE, ACCOUNT)
        with OperatorProcess(plane, NAMESPACE, "bench", kubeconfig=kubeconfig) as operator:
            operator.await_role("leader")
            yield plane, operator, sandbox


def idle_writes(plane: ControlPlane, idle_s: float) -> int:
    """Count what changed something in a time in which nothing happens."""
    before = len(_writes(plane))
    time.sleep(idle_s)
    return len(_writes(plane)) - before


def usage(pid: int) -> tuple[float, float]:
    """Return the processor seconds of a process, and its resident MiB at the most."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    peak_kib = int(status.partition("VmHWM:")[2].split()[0])
    return (int(stat[11]) + int(stat[12])) / TICKS_PER_S, peak_kib / 1024


def cluster(sandbox: Sandbox) -> str:
    """Return a KafkaCluster in which everything may be done, and its pool."""
    return f"""
apiVersion: {GROUP_VERSION}
kind: KafkaCluster
metadata: {{name: bench}}
spec:
  zookeeper: {{connect: "{sandbox.connect}"}}
  mode: Apply
  approval: {{policy: Auto}}
---
apiVersion: {GROUP_VERSION}
kind: ResourcePool
metadata: {{name: bench}}
spec:
  clusterRef: {{name: bench}}
  brokers: {{ids: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}
"""


CHANGE = {"spec": {"config": {"retention.ms": "86400001"}}}


def topic(number: int) -> dict[str, object]:
    """Return the n-th Topic."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "Topic",
        "metadata": {"name": f"t{number}", "namespace": NAMESPACE},
        "spec": {
            "poolRef": {"name": "bench"},
            "partitions": 3,
            "replicationFactor": 3,
            "config": {"retention.ms": "86400000"},
        },
    }


def _collection() -> str:
    return f"{API}/namespaces/{NAMESPACE}/topics"


def _for_all(topics: int, act: object) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(topics)))  # type: ignore[arg-type]


def _ready(plane: ControlPlane) -> int:
    """Count the Topics that are Ready in their latest generation."""
    found = 0
    for each in plane.request("GET", _collection())["items"]:
        status = each.get("status") or {}
        if status.get("observedGeneration") == each["metadata"]["generation"]:
            conditions = {c["type"]: c["status"] for c in status.get("conditions", ())}
            found += conditions.get("Ready") == "True"
    return found


def _writes(plane: ControlPlane) -> list[object]:
    return [
        event
        for event in plane.audit()
        if event.account == f"{NAMESPACE}/{ACCOUNT}"
        and event.verb in WRITES
        and (event.group, event.resource) != LEASES
    ]


if __name__ == "__main__":
    main()
