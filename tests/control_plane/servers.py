"""The four processes of a control plane: their command lines, their starts and ends.

They are started by the sandbox's nursery: recorded, logged, and killed by the kernel when their
owner ends, however it ends.

Flags that are easily got wrong:

* `--use-service-account-credentials`: without it every controller acts as one user that may do
  almost nothing. The manager still says that it is healthy, but jobs make no pods and namespaces
  never go.
* `--flex-volume-plugin-dir`: the default is a folder under /usr, which would be made.
* `--endpoint-reconciler-type=none`: an endpoint must not be a loopback address.
"""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from control_plane.sites import ADDRESS, Site
from frozen import freeze
from poolkeeper import errors
from poolkeeper.sandbox.servers.processes import Child, ProcessGroup

READY_S = 60.0
STOP_S = 30.0
POLL_S = 0.02


def etcd(site: Site) -> list[str]:
    """Return the command line of the store; nobody needs its data after a power cut."""
    clients = f"http://{ADDRESS}:{site.ports.etcd}"
    peers = f"http://{ADDRESS}:{site.ports.etcd_peers}"
    flags: dict[str, object] = {
        "name": "test",
        "data-dir": site.folder / "etcd",
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"test={peers}",
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }
    return site.command("etcd", flags)


def api_server(site: Site) -> list[str]:
    """Return the command line of the API server, with RBAC and the audit log of `audits`."""
    key = site.certificates / "accounts.key"
    flags: dict[str, object] = {
        "etcd-servers": f"http://{ADDRESS}:{site.ports.etcd}",
        **_serving(site, site.ports.api),
        "advertise-address": ADDRESS,
        "endpoint-reconciler-type": "none",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "service-cluster-ip-range": "10.96.0.0/16",
        "token-auth-file": site.folder / "tokens.csv",
        "authorization-mode": "RBAC",
        "shutdown-watch-termination-grace-period": "2s",
        "audit-policy-file": site.folder / "audit-policy.json",
        "audit-log-path": site.folder / "audit.log",
        "audit-log-maxsize": 4096,  # MB: never rotated in the life of a test
    }
    return site.command("kube-apiserver", flags)


def controllers(site: Site) -> list[str]:
    """Return the command line of the controllers, allowed as many requests as they like."""
    flags: dict[str, object] = {
        **_serving(site, site.ports.controllers),
        "kubeconfig": site.folder / "controllers.kubeconfig",
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": site.certificates / "accounts.key",
        "root-ca-file": site.certificates / "ca.crt",
        "flex-volume-plugin-dir": site.folder / "flex-volumes",
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
    }
    return site.command("kube-controller-manager", flags)


def scheduler(site: Site) -> list[str]:
    """Return the command line of the scheduler."""
    flags: dict[str, object] = {
        **_serving(site, site.ports.scheduler),
        "kubeconfig": site.folder / "scheduler.kubeconfig",
        "leader-elect": "false",
    }
    return site.command("kube-scheduler", flags)


def _serving(site: Site, port: int) -> dict[str, object]:
    return {
        "bind-address": ADDRESS,
        "secure-port": port,
        "tls-cert-file": site.certificates / "server.crt",
        "tls-private-key-file": site.certificates / "server.key",
    }


class Server:
    """One process that can be ended and started again, with the same data and at the same port."""

    def __init__(
        self,
        name: str,
        command: list[str],
        ready: Callable[[], bool],
        nursery: ProcessGroup,
        log: Path,
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._ready = ready
        self._nursery = nursery
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        """The process's id, None if it does not run."""
        return self._child.pid if self._child and self._child.exit_code() is None else None

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it serves. Raises Unavailable if it ends or takes too long."""
        if self.pid is not None:
            raise errors.Refused(f"{self.name} is running")
        self._child = self._nursery.start(self.name, self._command, self.log)
        if wait:
            self.await_ready()

    def await_ready(self) -> None:
        """Wait until it serves. Raises Unavailable with the end of its log if it does not."""
        deadline = time.monotonic() + READY_S
        while not self._ready():
            if self.pid is None:
                raise errors.Unavailable(f"{self.name} ended: {self._last_words()}")
            if time.monotonic() > deadline:
                raise errors.Unavailable(
                    f"{self.name} is not ready after {READY_S:g} s: {self._last_words()}"
                )
            time.sleep(POLL_S)

    def stop(self) -> None:
        """End it gracefully: requests are answered, watches closed."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it neither answer nor refuse: connections stay open and silent until `thaw`."""
        if self._child is not None:
            freeze(self._child.pid)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        if self._child is not None:
            self._child.signal(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.signal(number)
            self._child.wait(STOP_S)

    def _last_words(self) -> str:
        return self._child.last_words() if self._child else "it was never started"
