"""One pod from its binding to this node until it is deleted.

A thread of its own goes round: volumes up to date, the container started once they are there,
status written if it changed. It is woken by its container and by changes of the pod object, and
goes round every so often by itself, to try again what failed and to renew what ages.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from control_plane.kubelet import environments, podspecs, statuses
from control_plane.kubelet.api import Api
from control_plane.kubelet.containers import Bind, Launch
from control_plane.kubelet.environments import Json, Missing
from control_plane.kubelet.nodes import now
from control_plane.kubelet.runners import Place, Runner
from control_plane.kubelet.statuses import View, Waiting
from control_plane.kubelet.volumes import Volumes
from poolkeeper import errors

log = logging.getLogger(__name__)

ROUND_S = 0.5
REFRESH_S = 2.0
COLLECTIONS = {"ConfigMap": "configmaps", "Secret": "secrets"}


@dataclass(frozen=True, slots=True)
class Node:
    """What all pods of a kubelet share. `directory` holds everything of every pod."""

    server: Api
    directory: Path
    images: Callable[[], Mapping[str, Path]]

    def lookup(self, kind: str, namespace: str, name: str) -> Json | None:
        """Read a ConfigMap or Secret; None if there is none."""
        path = f"/api/v1/namespaces/{namespace}/{COLLECTIONS[kind]}/{name}"
        return self.server.get(path)


class Pod:
    """Runs one pod; `gone` is called once it is deleted."""

    def __init__(self, node: Node, body: Json, ip: str, gone: Callable[[], None]) -> None:
        self._node = node
        self._body = body
        self.ip = ip
        self._gone = gone
        self._started_at = now()
        self._published: Json = body.get("status", {})
        metadata = body["metadata"]
        self._uid = metadata["uid"]
        self._path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        self._directory = node.directory / metadata["namespace"] / metadata["name"] / self._uid
        self._volumes = Volumes(body, self._directory / "volumes", node.lookup, self._make_token)
        self._filled_at: float | None = None
        self._view = View(podspecs.container(body))
        self._runner: Runner | None = None
        self._lock = Lock()
        self._wake = Event()
        self._killed = Event()
        self._thread = Thread(target=self._run, daemon=True, name=self._path)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def update(self, body: Json) -> None:
        """Take note of the pod object as it is now, perhaps to be deleted."""
        self._body = body
        self._wake.set()

    def kill(self) -> None:
        """End all of it now: the pod object is gone."""
        self._killed.set()
        if runner := self._runner:
            runner.kill()
        self._wake.set()

    def _run(self) -> None:
        while not self._killed.is_set() and "deletionTimestamp" not in self._body["metadata"]:
            if not self._view.over:
                self._go_round()
            self._publish()
            self._wake.wait(ROUND_S)
            self._wake.clear()
        self._end()
        self._gone()

    def _go_round(self) -> None:
        try:
            if self._filled_at is None or time.monotonic() - self._filled_at > REFRESH_S:
                self._volumes.fill(self._seen())
                self._filled_at = time.monotonic()
        except errors.PoolkeeperError as failure:
            log.warning("%s: volumes: %s", self._path, failure)
            if self._filled_at is None:
                with self._lock:  # and no wake: the next round is soon enough
                    waiting = Waiting(statuses.NOT_BEGUN.reason, str(failure))
                    self._view = replace(self._view, state=waiting)
                return
        if self._runner is None:
            self._begin()

    def _begin(self) -> None:
        container = self._view.container
        place = Place(
            ip=self.ip,
            directory=self._directory / "containers" / container.name,
            grace_s=self._grace_s,
            prepare=self._prepare,
            tell=self._change,
        )
        self._change(state=statuses.NOT_BEGUN)
        self._runner = Runner(container, place)
        self._runner.start()

    def _change(self, **changes: Any) -> None:
        with self._lock:
            self._view = replace(self._view, **changes)
        self._wake.set()

    def _publish(self) -> None:
        status = statuses.pod_status(self._view, self._published, self.ip, self._started_at, now())
        if status == self._published:
            return
        try:
            # The uid makes it a conflict if another pod has the name by now.
            self._node.server.patch(
                f"{self._path}/status", {"metadata": {"uid": self._uid}, "status": status}
            )
            self._published = status
        except (errors.Unavailable, errors.Stale, errors.Refused) as failure:
            log.warning("%s: status: %s", self._path, failure)

    def _end(self) -> None:
        """Stop the container; say so; let the API server forget the pod."""
        self._change(stopping=True)
        if self._runner:
            self._runner.stop(0 if self._killed.is_set() else self._grace_s)
        while not self._killed.is_set():
            self._publish()
            body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._uid}}
            try:
                self._node.server.delete(self._path, body)
            except errors.Unavailable as unavailable:
                log.warning("%s: delete: %s", self._path, unavailable)
                self._killed.wait(ROUND_S)
            except errors.Stale:
                break  # that name is another pod's
            else:
                break
        self._volumes.remove()

    @property
    def _grace_s(self) -> float:
        given = self._body["metadata"].get("deletionGracePeriodSeconds")
        return float(
            self._body["spec"].get("terminationGracePeriodSeconds", 30) if given is None else given
        )

    def _seen(self) -> Json:
        """Return the pod object with what only its kubelet knows."""
        status = {**self._body.get("status", {}), "podIP": self.ip, "hostIP": "127.0.0.1"}
        return {**self._body, "status": status}

    def _prepare(self, directory: Path) -> Launch:
        """Return what to run now; images may have changed since last. Raises Missing."""
        pod, container = self._seen(), self._view.container
        podspecs.check(pod)
        identity = podspecs.identity(pod, container)
        base = podspecs.base_environment(pod, identity.uid, *self._node.server.address)
        env = environments.environment(pod, container.body, base)
        command = podspecs.command(container, self._node.images(), env)
        binds = [
            Bind(
                str(self._volumes.path(mount.volume)),
                mount.path,
                mount.read_only or not self._volumes.writable(mount.volume),
            )
            for mount in podspecs.mounts(container)
        ]
        message = Bind(str(directory / "termination-log"), container.termination_log, False)
        return Launch(
            directory=directory,
            hidden=self._node.directory,
            command=command,
            env=env,
            working_dir=container.body.get("workingDir", "/"),
            host_name=podspecs.host_name(pod),
            ip=self.ip,
            identity=identity,
            read_only_root=container.read_only_root,
            mounts=[*binds, message],
        )

    def _make_token(self, audience: str, lifetime_s: int) -> str:
        metadata, spec = self._body["metadata"], self._body["spec"]
        account = spec.get("serviceAccountName", "default")
        reference = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": self._uid}
        request: dict[str, Any] = {"expirationSeconds": lifetime_s, "boundObjectRef": reference}
        if audience:
            request["audiences"] = [audience]
        answer = self._node.server.post(
            f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": request},
        )
        if answer is None:
            raise Missing(f"there is no service account {account}")
        return str(answer["status"]["token"])
