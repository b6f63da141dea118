"""Pods as the kubelet's own tests make them and ask about them."""

from pathlib import Path
from typing import Any

from conditions import until
from control_plane.kubelet import Kubelet
from control_plane.planes import ControlPlane
from poolkeeper import errors

Json = dict[str, Any]
FOREVER = "trap 'exit 0' TERM; sleep infinity & wait"


def bash(script: str, **more: Any) -> Json:
    """A container that runs a script of bash."""
    return {"name": "main", "image": "none", "command": ["bash", "-c", script], **more}


def pod(namespace: str, name: str, container: Json, **spec: Any) -> Json:
    """A pod that is run once and ends at once when it is deleted."""
    defaults = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {**defaults, "containers": [container], **spec},
    }


class Pods:
    """The pods of one test's namespace."""

    def __init__(self, plane: ControlPlane, kubelet: Kubelet, namespace: str) -> None:
        self.plane, self.kubelet, self.namespace = plane, kubelet, namespace

    def create(self, name: str, container: Json, **spec: Any) -> None:
        """Create a pod."""
        self.add("pods", pod(self.namespace, name, container, **spec))

    def add(self, collection: str, body: Json, group: str = "/api/v1") -> None:
        """Create any object of the namespace."""
        path = f"{group}/namespaces/{self.namespace}/{collection}"
        self.plane.request("POST", path, body)

    def get(self, name: str) -> Json:
        """Return the pod as it is now."""
        found: Json = self.plane.request("GET", self._path(name))
        return found

    def delete(self, name: str) -> None:
        """Ask for its end."""
        self.plane.request("DELETE", self._path(name))

    def delete_all(self) -> None:
        """Ask for the end of all, so that no later test shares the machine with them."""
        self.plane.request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods")

    def names(self) -> list[str]:
        """Return whom the API server still knows."""
        listed = self.plane.request("GET", f"/api/v1/namespaces/{self.namespace}/pods")
        return [each["metadata"]["name"] for each in listed["items"]]

    def container(self, name: str) -> Json:
        """Return the status of its container; empty if there is none yet."""
        return next(iter(self.get(name)["status"].get("containerStatuses", ())), {})

    def state(self, name: str) -> Json:
        """Return the state of its container."""
        state: Json = self.container(name).get("state", {})
        return state

    def outcome(self, name: str) -> str:
        """Wait for its end; return the phase and what its container left as message."""
        until(
            lambda: self.get(name)["status"]["phase"] in ("Succeeded", "Failed"),
            f"pod {name} ends; {self.kubelet.log.read_text()[-2000:]}",
            60,
        )
        ended = self.state(name)["terminated"]
        return f"{self.get(name)['status']['phase']}: {ended.get('message', '').strip()}"

    def await_running(self, name: str) -> None:
        """Wait until its container runs."""
        until(lambda: "running" in self.state(name), f"pod {name} runs", 60)

    def await_log(self, name: str, text: str) -> None:
        """Wait until it has written `text`."""

        def written() -> bool:
            try:
                return text in self.kubelet.logs(self.namespace, name)
            except errors.Refused:
                return False

        until(written, f"pod {name} writes {text!r}", 60)

    def _path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}"


def descendants(pid: int) -> list[int]:
    """Return the pids of all descendants of a process."""
    try:
        children = Path(f"/proc/{pid}/task").glob("*/children")
        own = [int(each) for path in children for each in path.read_text().split()]
    except FileNotFoundError:
        return []
    return [found for child in own for found in (child, *descendants(child))]
