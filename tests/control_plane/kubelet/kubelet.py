"""The kubelet's loop: list this node's pods, watch them, hand each to a `Pod`.

Level-based: after anything that goes wrong with a watch, all pods are listed again, and those that
are not in the list any more are ended. Pods that ran under an earlier kubelet of this node (their
processes ended with it) are run again from the start; finished ones are left alone.
"""

import json
import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Event, Thread

from control_plane.kubelet import nodes
from control_plane.kubelet.addresses import Addresses
from control_plane.kubelet.api import Api
from control_plane.kubelet.environments import Json
from control_plane.kubelet.pods import Node, Pod
from poolkeeper import errors

log = logging.getLogger(__name__)

PODS = "/api/v1/pods"
WATCH_S = 60
PAUSE_S = 0.5


def read_images(path: Path) -> Mapping[str, Path]:
    """Return the images that there are now."""
    return {name: Path(entry) for name, entry in json.loads(path.read_text("utf-8")).items()}


class Loop:
    """One node's pods."""

    def __init__(self, server: Api, name: str, directory: Path, images: Path) -> None:
        self._server = server
        self._name = name
        self._node = Node(server, directory, partial(read_images, images))
        self._addresses = Addresses()
        self._pods: dict[str, Pod] = {}
        self._stop = Event()

    def run(self, ready: Path) -> None:
        """Register, make the file `ready`, serve until stopped."""
        while not self._stop.is_set():
            try:
                nodes.register(self._server, self._name)
                break
            except errors.PoolkeeperError as failure:
                log.warning("register: %s", failure)
                self._stop.wait(PAUSE_S)
        heartbeat = Thread(
            target=nodes.keep_alive, args=(self._server, self._name, self._stop), daemon=True
        )
        heartbeat.start()
        ready.touch()
        while not self._stop.is_set():
            try:
                self._list_and_watch()
            except errors.PoolkeeperError as failure:
                log.warning("pods: %s", failure)
                self._stop.wait(PAUSE_S)

    def stop(self) -> None:
        """Have `run` return, sooner or later; for signal handlers."""
        self._stop.set()

    def _list_and_watch(self) -> None:
        mine = {"fieldSelector": f"spec.nodeName={self._name}"}
        listed = self._server.get(PODS, **mine) or {"items": [], "metadata": {}}
        for uid in self._pods.keys() - {body["metadata"]["uid"] for body in listed["items"]}:
            self._pods[uid].kill()
        for body in listed["items"]:
            self._take(body)
        version = listed["metadata"].get("resourceVersion", "")
        while not self._stop.is_set():
            for kind, body in self._server.watch(
                PODS, WATCH_S, resourceVersion=version, allowWatchBookmarks="true", **mine
            ):
                version = body["metadata"]["resourceVersion"]
                if kind == "DELETED":
                    if pod := self._pods.get(body["metadata"]["uid"]):
                        pod.kill()
                elif kind != "BOOKMARK":
                    self._take(body)

    def _take(self, body: Json) -> None:
        uid = body["metadata"]["uid"]
        if known := self._pods.get(uid):
            known.update(body)
            return
        over = body.get("status", {}).get("phase") in ("Succeeded", "Failed")
        if over and "deletionTimestamp" not in body["metadata"]:
            return
        ip = self._addresses.take()
        pod = Pod(self._node, body, ip, partial(self._forget, uid, ip))
        self._pods[uid] = pod
        pod.start()

    def _forget(self, uid: str, ip: str) -> None:
        self._pods.pop(uid, None)
        self._addresses.give_back(ip)
