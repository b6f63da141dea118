"""One pod from its binding to this node until it is deleted.

A thread of its own goes round: volumes up to date, containers started that may start (`due`),
status written if it changed. It is woken by its containers and by changes of the pod object, and
goes round every so often by itself, to try again what failed and to renew what ages.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from control_plane.kubelet import environments, podspecs, statuses
from control_plane.kubelet.api import Api
from control_plane.kubelet.containers import Bind, Launch
from control_plane.kubelet.environments import Json, Missing
from control_plane.kubelet.nodes import now
from control_plane.kubelet.podspecs import Container
from control_plane.kubelet.runners import Place, Runner
from control_plane.kubelet.statuses import View, Views, Waiting
from control_plane.kubelet.volumes import Volumes
from poolkeeper import errors

log = logging.getLogger(__name__)

ROUND_S = 0.5
REFRESH_S = 2.0
COLLECTIONS = {"ConfigMap": "configmaps", "Secret": "secrets"}


@dataclass(frozen=True, slots=True)
class Node:
    """What all pods of a kubelet share. `directory` holds everything of every pod."""

    name: str
    server: Api
    directory: Path
    images: Callable[[], Mapping[str, Path]]

    def lookup(self, kind: str, namespace: str, name: str) -> Json | None:
        """Read a ConfigMap or Secret; None if there is none."""
        path = f"/api/v1/namespaces/{namespace}/{COLLECTIONS[kind]}/{name}"
        found = self.server.get(path)
        return {**found, "kind": kind} if found else None


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
        self._views = Views(
            tuple(View(each) for each in podspecs.init_containers(body)),
            tuple(View(each) for each in podspecs.containers(body)),
        )
        self._runners: dict[str, Runner] = {}
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
        for runner in tuple(self._runners.values()):
            runner.kill()
        self._wake.set()

    def _run(self) -> None:
        while not self._killed.is_set() and "deletionTimestamp" not in self._body["metadata"]:
            if not self._views.over:
                self._go_round()
            elif any(view.pid for view in self._views.inits):
                self._stop(self._views.inits, self._grace_s)  # sidecars have nobody to serve now
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
                self._wait_for(failure)
                return
        for name in statuses.due(self._views):
            self._begin(name)

    def _wait_for(self, failure: Exception) -> None:
        waiting = Waiting(statuses.NOT_BEGUN.reason, str(failure))
        with self._lock:
            mains = tuple(replace(view, state=waiting) for view in self._views.mains)
            self._views = replace(self._views, mains=mains)

    def _begin(self, name: str) -> None:
        (view,) = (v for v in (*self._views.inits, *self._views.mains) if v.container.name == name)
        place = Place(
            ip=self.ip,
            directory=self._directory / "containers" / name,
            grace_s=self._grace_s,
            prepare=self._prepare,
            tell=partial(self._change, name),
        )
        self._change(name, begun=True, state=statuses.NOT_BEGUN)
        runner = Runner(view.container, place, view.restarts)
        self._runners[name] = runner
        runner.start()

    def _change(self, name: str, **changes: Any) -> None:
        def changed(views: tuple[View, ...]) -> tuple[View, ...]:
            return tuple(replace(v, **changes) if v.container.name == name else v for v in views)

        with self._lock:
            inits, mains = changed(self._views.inits), changed(self._views.mains)
            self._views = replace(self._views, inits=inits, mains=mains)
        self._wake.set()

    def _publish(self) -> None:
        status = statuses.pod_status(self._views, self._published, self.ip, self._started_at, now())
        if status == self._published:
            return
        try:
            # The uid makes it a conflict if another pod has the name by now.
            self._node.server.patch(
                f"{self._path}/status", {"metadata": {"uid": self._uid}, "status": status}
            )
            self._published = status
        except errors.Unavailable as unavailable:
            log.warning("%s: status: %s", self._path, unavailable)
        except (errors.Stale, errors.Refused) as refused:
            log.warning("%s: status: %s", self._path, refused)

    def _end(self) -> None:
        """Stop the containers, sidecars last; say so; let the API server forget the pod."""
        with self._lock:
            self._views = replace(self._views, stopping=True)
        grace_s = 0 if self._killed.is_set() else self._grace_s
        deadline = time.monotonic() + grace_s
        self._stop(self._views.mains, grace_s)
        self._stop(self._views.inits, max(0, deadline - time.monotonic()))
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

    def _stop(self, views: tuple[View, ...], grace_s: float) -> None:
        runners = [self._runners.get(view.container.name) for view in views]
        stops = [Thread(target=each.stop, args=(grace_s,), daemon=True) for each in runners if each]
        for stop in stops:
            stop.start()
        for stop in stops:
            stop.join()

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

    def _prepare(self, container: Container, directory: Path) -> Launch:
        """Return what to run now; images, Secrets and ConfigMaps may have changed since last."""
        pod = self._seen()
        identity = podspecs.identity(pod, container)
        base = podspecs.base_environment(pod, identity.uid, *self._node.server.address)
        env = environments.environment(pod, container.body, base, self._node.lookup)
        command = podspecs.command(container, self._node.images(), env)
        binds = [
            Bind(
                str(self._volumes.path(mount.volume, mount.sub_path)),
                mount.path,
                mount.read_only or not self._volumes.writable(mount.volume),
            )
            for mount in podspecs.mounts(container, env)
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
