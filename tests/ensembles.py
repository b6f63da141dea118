"""A sandbox whose ZooKeeper is three servers, of which one may be lost, or two.

with Ensemble.start(SandboxSpec(brokers=spread(3))) as ensemble:
    leader = ensemble.leader()
    ensemble.kill_server(leader); ensemble.start_server(leader)
"""

import re
import signal
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from conditions import until
from poolkeeper.sandbox import Sandbox, SandboxSpec
from poolkeeper.sandbox.servers import artifacts, readiness, settings
from poolkeeper.sandbox.servers.kafka_cluster import READY_S, STOP_S
from poolkeeper.sandbox.servers.processes import Child

SERVERS = (1, 2, 3)
ANSWER_S = 2.0


class Ensemble(Sandbox):
    """The sandbox of three servers; `zookeeper` and `connect` name all of them."""

    def __init__(self, spec: SandboxSpec, *, tools: artifacts.Tools, tied: bool) -> None:
        super().__init__(spec, tools=tools, tied=tied)
        clients = [self.state.zookeeper_port, *_free_ports(2)]
        self._ports = dict(zip(SERVERS, clients, strict=True))
        among = _free_ports(2 * len(SERVERS))
        self._among = "".join(
            f"server.{n}={settings.ADDRESS}:{among[2 * i]}:{among[2 * i + 1]}\n"
            for i, n in enumerate(SERVERS)
        )
        self._servers: dict[int, Child] = {}
        self.jars: dict[int, Path] = {}
        """The class paths of servers that are of another release than the others."""
        self.witness = SERVERS[0]
        """The server whose transaction log is read; one that has never been away."""

    @property
    def zookeeper(self) -> str:
        """All servers' host:port."""
        return ",".join(map(self.address, SERVERS))

    @property
    def connect(self) -> str:
        """All servers, with the cluster's chroot."""
        return self.zookeeper + self.spec.chroot

    def transaction_log(self) -> Path:
        """Return the folder of the witness's transaction log."""
        return self._home(self.witness) / "version-2"

    def set_release(self, server: int, kafka: str) -> None:
        """Let a server be of the ZooKeeper that this release of Kafka brings, from its next start.

        3.9.2 brings 3.8.4, and 2.8.2 brings 3.5.9.
        """
        cache, tools = artifacts.cache_folder(), artifacts.find_tools()
        self.jars[server] = artifacts.class_path(kafka, cache, tools)

    def address(self, server: int) -> str:
        """A server's host:port."""
        return f"{settings.ADDRESS}:{self._ports[server]}"

    def leader(self) -> int:
        """Return the server that leads, as soon as one does."""
        return until(
            lambda: next((n for n in SERVERS if b"Mode: leader" in self._asked(n)), 0), "a leader"
        )

    def version(self, server: int) -> str:
        """Return a server's version, such as 3.5.9; empty while it does not serve."""
        found = re.match(rb"Zookeeper version: ([0-9.]+)", self._asked(server))
        return found[1].decode() if found else ""

    def kill_server(self, server: int) -> None:
        """Kill a server at once."""
        child = self._servers.pop(server)
        child.signal(signal.SIGKILL)
        child.wait(STOP_S)

    def start_server(self, server: int) -> None:
        """Start a server, again after `kill_server` with the same ports and data."""
        home = self._home(server)
        home.mkdir(parents=True, exist_ok=True)
        (home / "myid").write_text(f"{server}\n")
        longest = self.spec.session_timeout_max_ms
        text = settings.zookeeper_config(home, self._ports[server], longest)
        config = home / "zoo.cfg"
        config.write_text(f"{text}initLimit=20\nsyncLimit=10\n{self._among}")
        command = settings.zookeeper_command(
            *(
                self._java,
                self.jars.get(server, self._server_jars),
                self.spec.zookeeper_heap_mib,
                config,
            ),
            archive=False,
        )
        log = home / "zookeeper.out"
        self._servers[server] = self._processes.start(f"zookeeper-{server}", command, log)

    def start_zookeeper(self, *, wait: bool = True, ready_s: float = READY_S) -> None:
        """Start all servers that do not run."""
        for server in SERVERS:
            if server not in self._servers:
                self.start_server(server)
        if wait:
            deadline = time.monotonic() + ready_s
            with readiness.session(self.zookeeper, deadline, self._check_server):
                pass

    def close(self, timeout_s: float = 10) -> None:
        """End all processes and remove all data."""
        for server in tuple(self._servers):
            self.kill_server(server)
        super().close(timeout_s)

    def _check_server(self) -> None:
        readiness.check_children(list(self._servers.values()))

    def _home(self, server: int) -> Path:
        return self.folder / f"zookeeper-{server}"

    def _asked(self, server: int) -> bytes:
        """What a server says of itself; nothing while it has no quorum."""
        said = b""
        with suppress(OSError):
            where = (settings.ADDRESS, self._ports[server])
            with socket.create_connection(where, ANSWER_S) as connection:
                connection.settimeout(ANSWER_S)
                connection.sendall(b"srvr")
                while more := connection.recv(4096):
                    said += more
        return said


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind((settings.ADDRESS, 0))
        return [int(each.getsockname()[1]) for each in found]
