"""The kubelet as tests hold it: started, asked for logs and pids, stopped.

It runs as a process of its own rather than as threads of the test process: a busy or stopped test
does not starve probes and heartbeats, and it can be killed like the real one. What tests ask for is
read from the files that it writes, so there is no protocol between the two, and a stopped kubelet
can still be asked.

It ends with the process that started it, however that ends, and all its pods end with it.
"""

import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, Self

from poolkeeper import errors
from poolkeeper.sandbox.servers import processes
from poolkeeper.sandbox.servers.processes import Child, Nursery

TESTS = Path(__file__).parents[2]
START_S = 30.0
STOP_S = 10.0
POLL_S = 0.02


class Plane(Protocol):
    """What a kubelet needs of a control plane."""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; the kubelet's files go beside it."""


class Kubelet:
    """A running kubelet; `pid` and `logs` are safe for threads."""

    def __init__(self, plane: Plane, images: Mapping[str, Path], name: str) -> None:
        self.name = name
        """The name of its Node."""
        # A link on the way would lead elsewhere from inside a container.
        self.folder = plane.kubeconfig.parent.resolve() / f"kubelet-{name}-{secrets.token_hex(4)}"
        self.log = self.folder / "kubelet.log"
        self._pods = self.folder / "pods"
        self._pods.mkdir(parents=True)
        self._images = dict(images)
        self._write_images()
        (self.folder / "processes.jsonl").touch()
        self._nursery = Nursery(self.folder / "processes.jsonl", tied=True)
        self.process = self._start(plane)
        """The kubelet's own process."""

    @classmethod
    def start(cls, plane: Plane, images: Mapping[str, Path], name: str = "local") -> Self:
        """Start a kubelet as node `name`; `images` are names and the paths of their entry points.

        Returns when the Node is Ready. Raises Unavailable with the reason if it cannot be had.
        """
        if os.geteuid() != 0:
            raise errors.Unavailable("the process kubelet needs root: it makes mount namespaces")
        kubelet = cls(plane, images, name)
        kubelet._await_ready()
        return kubelet

    def stop(self) -> None:
        """Withdraw the Node and end all pods at once; their files go too. Twice is fine.

        The Node of a kubelet that was killed stays.
        """
        containers = [found for pid in self._pids() if (found := processes.identify(pid))]
        self.process.signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except errors.Unavailable as deaf:
            self.process.signal(signal.SIGUSR1)
            time.sleep(POLL_S)  # to write where its threads are
            raise errors.Unavailable(f"{deaf}: {self.process.last_words()}") from deaf
        finally:
            self.process.signal(signal.SIGKILL)
            self.process.wait(STOP_S)
            self._nursery.close()
            processes.kill(containers)
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add_image(self, name: str, path: Path) -> None:
        """Offer one more image; containers that wait for it start."""
        self._images[name] = path
        self._write_images()

    def logs(self, namespace: str, pod: str) -> str:
        """Return what all runs of a pod wrote, "" before the first; also after its deletion.

        Raises Refused for a pod that never was here.
        """
        path = self._container(namespace, pod) / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def pid(self, namespace: str, pod: str) -> int:
        """Return the pid, for this machine, of the first process of a pod's container.

        Raises Unavailable if it does not run now, Refused as `logs` does.
        """
        try:
            return int((self._container(namespace, pod) / "pid").read_text())
        except FileNotFoundError:
            raise errors.Unavailable(f"no container of {namespace}/{pod} runs now") from None

    def _container(self, namespace: str, pod: str) -> Path:
        """Return the folder of the container of the latest pod of this name."""
        found = (self._pods / namespace / pod).glob("*/containers/*")
        latest = max(found, default=None, key=_begun_at)
        if latest is None:
            raise errors.Refused(f"pod {namespace}/{pod} never ran here")
        return latest

    def _pids(self) -> list[int]:
        return [int(path.read_text()) for path in self._pods.glob("*/*/*/containers/*/pid")]

    def _write_images(self) -> None:
        fresh = self.folder / "images.json.new"
        fresh.write_text(json.dumps({name: str(path) for name, path in self._images.items()}))
        fresh.replace(self.folder / "images.json")

    def _start(self, plane: Plane) -> Child:
        env = shutil.which("env")
        if env is None:
            raise errors.Unavailable("the process kubelet needs env of coreutils")
        arguments = [plane.kubeconfig, self.name, self._pods, self.folder / "images.json"]
        command = [env, f"PYTHONPATH={TESTS}", sys.executable, "-m", "control_plane.kubelet"]
        return self._nursery.start(
            "kubelet", [*command, *map(str, arguments), str(self.folder / "ready")], self.log
        )

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_S
        while not (self.folder / "ready").exists():
            if self.process.exit_code() is not None or time.monotonic() > deadline:
                words = self.process.last_words()
                self.stop()
                raise errors.Unavailable(f"the kubelet did not become ready: {words}")
            time.sleep(POLL_S)


def _begun_at(container: Path) -> int:
    # This folder changes only when the container is started for the first time.
    return container.parent.stat().st_mtime_ns
