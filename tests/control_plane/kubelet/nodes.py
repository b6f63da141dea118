"""This machine as a Node: registered, Ready, and kept alive by its Lease.

The node offers far more than the machine has: pods share what there is, and the scheduler is to
place every one of them.
"""

import os
from datetime import UTC, datetime
from threading import Event
from typing import Any

from control_plane.kubelet import api
from control_plane.kubelet.api import Api
from poolkeeper import errors

LEASE_S = 40
RENEWAL_S = 3
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CAPACITY = {"cpu": "64", "memory": "64Gi", "pods": "250", "ephemeral-storage": "100Gi"}


def now() -> str:
    """Return the time as API objects write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def register(server: Api, name: str) -> None:
    """Create the Node, unless there is one, and make it Ready."""
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": "local",
    }
    if server.get(f"/api/v1/nodes/{name}") is None:
        server.post("/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    renew(server, name)
    server.patch(f"/api/v1/nodes/{name}/status", {"status": status(now())})


def status(at: str) -> dict[str, Any]:
    """Return the status of a Node that is Ready since `at`."""
    return {
        "capacity": CAPACITY,
        "allocatable": CAPACITY,
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "",
            "containerRuntimeVersion": "process://1",
            "kernelVersion": os.uname().release,
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.3",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": "this machine",
            "systemUUID": "",
        },
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "runs pods as local processes",
                "lastHeartbeatTime": at,
                "lastTransitionTime": at,
            }
        ],
    }


def renew(server: Api, name: str) -> None:
    """Renew the Lease by which the controller manager knows that this node lives."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": LEASE_S, "renewTime": at}
    if server.patch(f"{LEASES}/{name}", {"spec": spec}, api.MERGE) is None:
        server.post(LEASES, {"metadata": {"name": name}, "spec": spec})


def keep_alive(server: Api, name: str, stop: Event) -> None:
    """Renew the Lease and the status until `stop`; what fails is tried again a second later.

    After an outage of the API server the controllers may have taken the node for lost; nobody but
    its kubelet says that it is Ready again.
    """
    pause_s: float = RENEWAL_S
    while not stop.wait(pause_s):
        try:
            renew(server, name)
            server.patch(f"/api/v1/nodes/{name}/status", {"status": status(now())})
            pause_s = RENEWAL_S
        except errors.PoolkeeperError:
            pause_s = 1


def withdraw(server: Api, name: str) -> None:
    """Delete the Node, so that nobody waits for its pods."""
    server.delete(f"/api/v1/nodes/{name}")
