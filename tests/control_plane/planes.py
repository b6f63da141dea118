"""A real Kubernetes control plane on this machine, alive as long as its owner.

    with ControlPlane.start() as plane:
        plane.kubectl("get", "nodes").stdout
        plane.apply(Path("crds"))
        namespace = plane.new_namespace()
        plane.apply(ROLE_AND_ACCOUNT.format(namespace))
        restricted = plane.account_kubeconfig(namespace, "operator")
        plane.api_server.kill(); plane.api_server.start()
        [event.verb for event in plane.audit() if event.account == f"{namespace}/operator"]

There is an API server with RBAC, admission and audit, its store, the controllers and the scheduler.
There is no node: `control_plane.kubelet` adds one. There is no DNS and no network of services.

A namespace takes six seconds to go, by design of Kubernetes: tests take new ones and leave them.
Resources without a namespace are shared by all who share a control plane.

All data is in a folder of its own, whose name says whose it is: folders of owners that are gone are
removed by the next control plane. An end is SIGKILL, as nobody needs the data.
"""

import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from control_plane import audits, building, readiness, servers, sites
from control_plane.access import Access, ApiError, write_kubeconfig
from control_plane.audits import AuditEvent
from control_plane.servers import Server
from control_plane.sites import ADDRESS, Site
from poolkeeper import errors
from poolkeeper.sandbox.servers.processes import Nursery

COMMAND_S = 60.0
NAMESPACE_S = 90.0
USERS = {
    "admin": '"system:masters"',
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
}


class ControlPlane:
    """A running control plane. Use `start`; not for several threads at once."""

    def __init__(self, programs: Path, root: Path) -> None:
        self.folder = sites.claim_folder(root)
        """All of its data: `*.log` of each server, `audit.log`, kubeconfigs."""
        self._site = Site(programs, self.folder, sites.free_ports())
        (self.folder / "processes.jsonl").touch()
        self._nursery = Nursery(self.folder / "processes.jsonl", tied=True)
        certificates = [str(programs / "control-plane"), "certificates"]
        self._site.certificates.mkdir()
        subprocess.run(
            [*certificates, str(self._site.certificates), ADDRESS], check=True, timeout=COMMAND_S
        )
        tokens = {user: secrets.token_hex(16) for user in USERS}
        self.access = self._access(tokens["admin"])
        """The way of an administrator to the API server."""
        self._write_files(tokens)
        ports = self._site.ports
        at_controllers = Access(ADDRESS, ports.controllers, self.ca, "")
        at_scheduler = Access(ADDRESS, ports.scheduler, self.ca, "")
        self.etcd = self._server("etcd", servers.etcd, partial(readiness.listens, ports.etcd))
        self.api_server = self._server(
            "api-server", servers.api_server, partial(readiness.serves_everything, self.access)
        )
        self.controllers = self._server(
            "controllers", servers.controllers, partial(readiness.is_healthy, at_controllers)
        )
        self.scheduler = self._server(
            "scheduler", servers.scheduler, partial(readiness.is_healthy, at_scheduler)
        )

    @classmethod
    def start(cls, programs: Path | None = None, root: Path | None = None) -> Self:
        """Start a control plane and return when it is ready, in about four seconds.

        Building the programs comes first, if that has not been done. `root` is where the folders of
        control planes are. Raises BuildError or Unavailable with the reason if it cannot be had.
        """
        plane = cls(
            programs or building.control_plane(),
            root or building.cache_folder() / "control-planes",
        )
        with ExitStack() as stack:
            stack.callback(plane.close)  # a start that fails or is interrupted leaves nothing
            # The API server waits for the store by itself; the others would give up on it.
            plane.etcd.start(wait=False)
            plane.api_server.start(wait=False)
            plane.etcd.await_ready()
            plane.api_server.await_ready()
            plane.controllers.start(wait=False)
            plane.scheduler.start(wait=False)
            plane.controllers.await_ready()
            plane.scheduler.await_ready()
            stack.pop_all()
        return plane

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self.access.server

    @property
    def address(self) -> str:
        """The address of the API server."""
        return self.access.address

    @property
    def port(self) -> int:
        """The port of the API server; the same after a restart."""
        return self.access.port

    @property
    def ca(self) -> Path:
        """The certificate that all clients trust."""
        return self._site.certificates / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    def environment(self) -> dict[str, str]:
        """Return our environment with this control plane's kubeconfig, and its kubectl first."""
        path = f"{self._site.programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {
            **os.environ,
            "PATH": path,
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.folder / "kubectl"),
            "KUBERC": "off",
        }

    def kubectl(
        self,
        *arguments: str,
        input: str | None = None,
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout_s: float = COMMAND_S,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator, or as whom `kubeconfig` says.

        Raises CalledProcessError, what kubectl said included, if it fails and `check` is set;
        TimeoutExpired at the deadline.
        """
        chosen = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
        run = subprocess.run(
            [str(self._site.programs / "kubectl"), *arguments],
            env={**self.environment(), **chosen},
            input=input or "",
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        if check and run.returncode:
            failed = subprocess.CalledProcessError(run.returncode, run.args, run.stdout, run.stderr)
            failed.add_note(run.stderr.strip())
            raise failed
        return run

    def apply(self, manifests: str | Path) -> None:
        """Apply manifests: YAML text, a file or a folder of files."""
        if isinstance(manifests, Path):
            self.kubectl("apply", "-f", str(manifests))
        else:
            self.kubectl("apply", "-f", "-", input=manifests)

    def apply_crds(self, manifests: Path) -> None:
        """Apply definitions of resources, a file or a folder, and wait until all are served."""
        self.apply(manifests)
        named = ["-f", str(manifests)]
        self.kubectl("wait", "--for=condition=Established", *named, "--timeout=120s")
        self.api_server.await_ready()

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Make one request as administrator; see `Access.request`."""
        return self.access.request(method, path, body)

    def new_namespace(self) -> str:
        """Return the name of a new namespace, in which pods can be created at once."""
        name = f"t-{secrets.token_hex(5)}"
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        deadline = time.monotonic() + NAMESPACE_S
        # A pod is refused until a controller has made the service account that it gets.
        for needed in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            while not self._exists(f"/api/v1/namespaces/{name}/{needed}"):
                if time.monotonic() > deadline:
                    raise errors.Unavailable(f"nobody made {needed} in the new namespace {name}")
                time.sleep(servers.POLL_S)
        return name

    def account_kubeconfig(self, namespace: str, service_account: str) -> Path:
        """Return a new kubeconfig of a service account, whose token lasts for a day."""
        answer = self.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token",
            {"spec": {"expirationSeconds": 86_400}},
        )
        name = f"{namespace}-{service_account}-{secrets.token_hex(3)}.kubeconfig"
        return write_kubeconfig(
            self.folder / name, self._access(answer["status"]["token"]), namespace
        )

    def audit(self) -> tuple[AuditEvent, ...]:
        """Return all requests of service accounts so far; see `audits`."""
        log = self.folder / "audit.log"
        if not log.exists():
            return ()
        with log.open(encoding="utf-8") as lines:
            return audits.parse_events(lines)

    def close(self) -> None:
        """End all processes and remove all data; twice is fine."""
        for server in (self.api_server, self.controllers, self.scheduler, self.etcd):
            server.kill()
        self._nursery.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _access(self, token: str) -> Access:
        return Access(ADDRESS, self._site.ports.api, self.ca, token)

    def _exists(self, path: str) -> bool:
        try:
            self.request("GET", path)
        except ApiError as refused:
            if refused.status != 404:
                raise
            return False
        return True

    def _write_files(self, tokens: dict[str, str]) -> None:
        lines = [f"{tokens[user]},{user},{user},{groups}\n" for user, groups in USERS.items()]
        (self.folder / "tokens.csv").write_text("".join(lines), encoding="utf-8")
        policy = json.dumps(audits.POLICY)
        (self.folder / "audit-policy.json").write_text(policy, encoding="utf-8")
        for name, user in (
            ("admin", "admin"),
            ("controllers", "system:kube-controller-manager"),
            ("scheduler", "system:kube-scheduler"),
        ):
            write_kubeconfig(self.folder / f"{name}.kubeconfig", self._access(tokens[user]))

    def _server(
        self, name: str, command: Callable[[Site], list[str]], ready: Callable[[], bool]
    ) -> Server:
        log = self.folder / f"{name}.log"
        return Server(name, command(self._site), ready, self._nursery, log)
