"""How fast the operator makes thousands of Topics Ready, what it weighs, and what it costs idle.

    python tests/bench/bench_operator.py [--topics 1000] [--idle 60] [--only]

A real API server, a real ZooKeeper, nine simulated brokers, the operator as a process. `created`:
until the API server has taken all Topics; `ready`: from the first until each is Ready, which means
that its partitions have leaders; `again`: the same for a config of each. `processor` is the
operator's. `writes` are requests of the operator in an idle minute that change something, the
Lease's not counted, by the API server's own audit log. `--only` leaves out the rows of twice and
five times as many.

A second table has the processor seconds of each process, until all are Ready and until they are
again. Where they are less than the processors had, they waited, or others had them. What measures
costs as little as it can: connections are kept, and one watch tells what is Ready.

Growth is that of the processor seconds, which other work on the machine does not stretch.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from control_plane.access import Access
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
CLIENTS = 4
OPERATOR = "operator"

Seconds = Mapping[str, float]
Request = Callable[[int], tuple[str, str, dict[str, Any]]]
"""Method, path and body of the request about the n-th Topic."""


@dataclass(frozen=True)
class Figures:
    """Seconds, MiB and requests of one run; the processor seconds of each process in two parts."""

    created_s: float
    ready_s: float
    again_s: float
    processor_s: float
    resident_mib: float
    writes: int
    until_ready: Seconds
    until_again: Seconds


class ReadyTopics:
    """Follows by a watch which Topics are Ready, and in which generation.

    The server ends the watch of a client that is too slow for it: then all are listed once more.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._generations: dict[str, int] = {}
        self._failure: Exception | None = None
        self._changed = Condition()
        Thread(target=self._follow, args=(self._list(),), name="watch", daemon=True).start()

    def wait(self, topics: int, generation: int) -> None:
        """Wait until so many are Ready in that generation; raises what ended the watch."""

        def are_ready() -> bool:
            return self._failure is not None or self._count(generation) >= topics

        with self._changed:
            found = self._changed.wait_for(are_ready, DEADLINE_S)
            if self._failure is not None:
                raise self._failure
            if not found:
                raise TimeoutError(f"{self._count(generation)} of {topics} Topics are Ready")

    def _count(self, generation: int) -> int:
        return sum(ready >= generation for ready in self._generations.values())

    def _list(self) -> str:
        """Take in all Topics; return the resource version of the list."""
        found = self._access.request("GET", _collection())
        for body in found["items"]:
            self._take_in(body)
        version: str = found["metadata"]["resourceVersion"]
        return version

    def _take_in(self, body: Mapping[str, Any]) -> None:
        ready = _ready_generation(body)
        if ready:
            with self._changed:
                self._generations[body["metadata"]["name"]] = ready
                self._changed.notify_all()

    def _follow(self, version: str) -> None:
        try:
            while True:
                for event in self._access.watch(_collection(), version, DEADLINE_S):
                    if event["type"] == "ERROR":
                        break
                    self._take_in(event["object"])
                version = self._list()
        except Exception as failure:  # noqa: BLE001 - whoever waits is told
            with self._changed:
                self._failure = failure
                self._changed.notify_all()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure so many Topics, twice as many, and five times as many for the memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--idle", type=float, default=60.0)
    parser.add_argument("--only", action="store_true")
    given = parser.parse_args(arguments)
    table = Table(title="The operator on a real API server")
    for name in ("Topics", "created s", "ready s", "again s", "processor s", "growth", "MiB"):
        table.add_column(name, justify="right")
    table.add_column(f"writes in {given.idle:.0f} s idle", justify="right")
    shares: list[tuple[int, str, float, Seconds]] = []
    before = growth = 0.0
    for times in (1,) if given.only else (1, 2, 5):
        topics, idle_s = times * given.topics, given.idle if times == 1 else 0
        found = measure(topics, idle_s)
        if times == 2:
            growth = found.processor_s / before
        before = found.processor_s
        seconds = (found.created_s, found.ready_s, found.again_s, found.processor_s)
        table.add_row(
            f"{topics:,}",
            *(f"{value:.1f}" for value in seconds),
            f"× {growth:.2f}" if times == 2 else "",
            f"{found.resident_mib:.0f}",
            str(found.writes) if idle_s else "",
        )
        shares.append((topics, "ready", found.ready_s, found.until_ready))
        shares.append((topics, "again", found.again_s, found.until_again))
    console = Console(width=120)
    console.print(table)
    console.print(shares_table(shares))
    if growth > GROWTH_MAX:
        sys.exit(f"twice the Topics cost {growth:.1f} times the time (at most {GROWTH_MAX})")


def shares_table(rows: Sequence[tuple[int, str, float, Seconds]]) -> Table:
    """Return the processor seconds of each process, of each part of each run."""
    table = Table(title="Processor seconds of each process")
    names = list(rows[0][3])
    for name in ("Topics", "until", "seconds", *names, "all"):
        table.add_column(name, justify="right")
    for topics, part, wall_s, spent in rows:
        values = (wall_s, *(spent[name] for name in names), sum(spent.values()))
        table.add_row(f"{topics:,}", part, *(f"{value:.1f}" for value in values))
    return table


def measure(topics: int, idle_s: float) -> Figures:
    """Start everything, make the Topics, wait until they are Ready, change them, be idle."""
    with operating() as (plane, operator, sandbox):
        plane.apply(cluster(sandbox))
        ready = ReadyTopics(plane.access)
        spent = [processor_seconds(plane, operator, sandbox)]
        began = time.perf_counter()
        for_all(plane.access, topics, lambda n: ("POST", _collection(), topic(n)))
        created_s = time.perf_counter() - began
        ready.wait(topics, 1)
        ready_s = time.perf_counter() - began
        spent.append(processor_seconds(plane, operator, sandbox))
        again = time.perf_counter()
        for_all(plane.access, topics, lambda n: ("PATCH", f"{_collection()}/t{n}", CHANGE))
        ready.wait(topics, 2)
        again_s = time.perf_counter() - again
        spent.append(processor_seconds(plane, operator, sandbox))
        processor_s, resident_mib = usage(operator.process.pid)
        writes = idle_writes(plane, idle_s) if idle_s else 0
        parts = (
            {name: after[name] - before[name] for name in after}
            for before, after in pairwise(spent)
        )
        return Figures(created_s, ready_s, again_s, processor_s, resident_mib, writes, *parts)


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


def processor_seconds(
    plane: ControlPlane, operator: OperatorProcess, sandbox: Sandbox
) -> dict[str, float]:
    """Return the processor seconds of each process so far; ours are those of the measuring."""
    processes = {
        "API server": plane.api_server.pid,
        "its store": plane.etcd.pid,
        "controllers": plane.controllers.pid,
        OPERATOR: operator.process.pid,
        "ZooKeeper": sandbox.zookeeper_process.pid,
        "brokers": sandbox.simulated.pid,
        "measuring": os.getpid(),
    }
    return {name: usage(pid)[0] for name, pid in processes.items() if pid is not None}


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


CHANGE: dict[str, Any] = {"spec": {"config": {"retention.ms": "86400001"}}}


def topic(number: int) -> dict[str, Any]:
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


def for_all(access: Access, topics: int, request: Request) -> None:
    """Make the request of each number, by a few clients with a connection each."""

    def make(numbers: range) -> None:
        with closing(access.connection(DEADLINE_S)) as connection:
            for number in numbers:
                access.request_over(connection, *request(number))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(make, (range(first, topics, CLIENTS) for first in range(CLIENTS))))


def _ready_generation(body: Mapping[str, Any]) -> int:
    """Return the generation in which a Topic is Ready, 0 if it is not so in its latest one."""
    status, generation = body.get("status") or {}, int(body["metadata"]["generation"])
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    is_ready = status.get("observedGeneration") == generation and conditions.get("Ready") == "True"
    return generation if is_ready else 0


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
