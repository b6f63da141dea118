"""A throw-away Kafka cluster: one ZooKeeper and brokers, each a JVM, alive as long as its owner.

All simulated brokers are one Python process (`simulation.process`), which lives and ends like a
JVM.

Order of a start: jars → orphans removed, record written, ports taken → ZooKeeper and all brokers at
once (a broker waits for ZooKeeper by itself, while its classes load) → ready. A start that fails or
is interrupted leaves nothing. An end is SIGKILL: nobody needs the data, and a graceful stop of all
brokers takes ten seconds.

Most of a start is the loading of classes (on two cores 3 brokers 3 s, 9 brokers 7.4 s); see
`class_archives` for who starts many.
"""

import os
import re
import secrets
import shutil
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from poolkeeper import errors, output_files
from poolkeeper.sandbox.servers import (
    artifacts,
    class_archives,
    processes,
    readiness,
    records,
    settings,
)
from poolkeeper.sandbox.servers.processes import Child, Identity, ProcessGroup
from poolkeeper.sandbox.servers.settings import BrokerSpec, SandboxSpec

RELEASE = re.compile(r"[0-9]+(\.[0-9]+)+")
NAME = re.compile("[a-z0-9][a-z0-9-]{0,62}")
READY_S = 120.0
"""Twenty times what a start takes; a start that fails is reported much earlier."""
STOP_S = 30.0


class Sandbox:
    """A running sandbox; see the package's docstring for its use. Not for several threads at once.

    Methods raise Unavailable at their deadlines, and Refused for a broker that the sandbox does
    not have.
    """

    def __init__(self, spec: SandboxSpec, *, tools: artifacts.Tools, tied: bool) -> None:
        if spec.simulated and not RELEASE.fullmatch(spec.kafka):
            raise errors.Refused(f"Kafka {spec.kafka!r} is no release (expected numbers and dots)")
        cache = artifacts.cache_folder()
        self.spec = spec
        self._root = spec.root or cache / "sandboxes"
        self._java = tools.java
        self._server_jars = artifacts.class_path(spec.server, cache, tools)
        release = artifacts.LATEST if spec.simulated else spec.kafka
        self._jars = artifacts.class_path(release, cache, tools)
        self._specs = {broker.id: broker for broker in spec.brokers}
        self._children: dict[int, Child] = {}
        self._server: Child | None = None
        self._simulated: Child | None = None
        racks = [(broker.id, broker.rack) for broker in spec.brokers]
        self.state = records.claim(self._root, _blank_state(spec), racks)
        self._processes = ProcessGroup(records.records(self._root, self.state.name), tied=tied)

    @classmethod
    def start(
        cls,
        spec: SandboxSpec,
        *,
        ready_s: float = READY_S,
        tied: bool = True,
        search_path: str | None = None,
    ) -> Self:
        """Start a sandbox and return when it is ready.

        `tied` processes end with this process, however it ends; the others go on after `detach`.
        `search_path` is where java and mvn are looked for, as in `$PATH`.
        """
        sandbox = cls(spec, tools=artifacts.find_tools(search_path), tied=tied)
        try:
            sandbox.start_zookeeper(wait=False)
            sandbox._launch_all()
            sandbox.await_ready(ready_s)
        except BaseException:  # an interrupt as well: whatever has started must end
            sandbox.close()
            raise
        return sandbox

    @property
    def zookeeper(self) -> str:
        """ZooKeeper's host:port."""
        return self.state.zookeeper

    @property
    def connect(self) -> str:
        """ZooKeeper's connect string with the cluster's chroot."""
        return self.state.connect

    @property
    def bootstrap(self) -> str:
        """The brokers' host:port list; empty if they are simulated."""
        return self.state.bootstrap

    @property
    def folder(self) -> Path:
        """Where all data of the sandbox lies, until it ends."""
        return records.folder(self._root, self.state.name)

    def broker(self, broker: int) -> Child:
        """Return the process of a broker: `.pid`, `.exit_code()`, `.log`."""
        if broker not in self._children:
            raise errors.Refused(f"the sandbox has no broker {broker}")
        return self._children[broker]

    @property
    def zookeeper_process(self) -> Child:
        """The process of ZooKeeper: `.pid`, `.exit_code()`, `.signal(…)`."""
        if self._server is None:
            raise errors.Refused("the sandbox's ZooKeeper has not been started")
        return self._server

    @property
    def simulated(self) -> Child:
        """The process of all simulated brokers."""
        if self._simulated is None:
            raise errors.Refused("the sandbox has no simulated brokers")
        return self._simulated

    def log_dirs(self, broker: int) -> tuple[Path, Path]:
        """Return the two log directories of a broker."""
        home = self.folder / f"broker-{broker}"
        return home / "d0", home / "d1"

    def transaction_log(self) -> Path:
        """Return the folder of ZooKeeper's transaction log."""
        return self.folder / "zookeeper" / "version-2"

    def kill(self, broker: int) -> None:
        """Kill a broker at once; it stays registered until its session has timed out."""
        child = self.broker(broker)
        child.signal(signal.SIGKILL)
        child.wait(STOP_S)

    def stop(self, broker: int) -> None:
        """Stop a broker gracefully: leaders move, the session is closed, files are flushed."""
        child = self.broker(broker)
        child.signal(signal.SIGTERM)
        child.wait(STOP_S)

    def await_gone(self, *brokers: int, timeout_s: float = READY_S) -> None:
        """Wait until ZooKeeper has forgotten these brokers, which were killed or stopped."""
        deadline = time.monotonic() + timeout_s
        with readiness.session(self.zookeeper, deadline, self._check_server) as client:
            for broker in brokers:
                readiness.await_gone(client, self.state.chroot, broker, deadline)

    def start_broker(self, broker: int, ready_s: float = READY_S) -> None:
        """Start a broker again after `kill` or `stop`, at the same port and with the same data."""
        old = self.broker(broker)
        if old.exit_code() is None:
            raise errors.Refused(f"broker {broker} is running")
        # Its old registration would pass for the new one's; Kafka itself waits for it to go.
        self.await_gone(broker, timeout_s=ready_s)
        self._launch(self._specs[broker])
        self.await_ready(ready_s)

    def add_broker(self, broker: BrokerSpec, ready_s: float = READY_S) -> None:
        """Start one more broker, which the sandbox has not had yet; not beside simulated ones."""
        if self.spec.simulated:
            raise errors.Refused("the sandbox has simulated brokers: they all start at once")
        if broker.id in self._specs:
            raise errors.Refused(f"the sandbox has a broker {broker.id} already")
        with records.hold_lock(self._root):
            self.state = records.extend(self._root, self.state, [(broker.id, broker.rack)])
        self._specs[broker.id] = broker
        self._launch(broker)
        self.await_ready(ready_s)

    def kill_zookeeper(self) -> None:
        """Kill ZooKeeper at once; sessions live on if it is started again soon enough."""
        if self._server is not None:
            self._server.signal(signal.SIGKILL)
            self._server.wait(STOP_S)

    def start_zookeeper(self, *, wait: bool = True, ready_s: float = READY_S) -> None:
        """Start ZooKeeper, again after `kill_zookeeper` with the same port and data."""
        home = self.folder / "zookeeper"
        if not home.exists():
            output_files.make_folder(home)
            if self.spec.tree is not None:
                shutil.copytree(self.spec.tree, home / "version-2")
        config = home / "zoo.cfg"
        port = self.state.zookeeper_port
        text = settings.zookeeper_config(home, port, self.spec.session_timeout_max_ms)
        output_files.write(config, text)
        heap = self.spec.zookeeper_heap_mib
        command = settings.zookeeper_command(
            self._java, self._server_jars, heap, config, archive=self.spec.archive_classes
        )
        self._server = self._processes.start("zookeeper", command, home / "zookeeper.out")
        if wait:
            with readiness.session(self.zookeeper, time.monotonic() + ready_s, self._check_server):
                pass

    def await_ready(self, ready_s: float = READY_S) -> None:
        """Wait until ZooKeeper serves, and one of the running brokers is the controller."""
        deadline = time.monotonic() + ready_s
        running = {n: child for n, child in self._children.items() if child.exit_code() is None}
        simulated = [] if self._simulated is None else [self._simulated]
        ports = {b.id: b.port for b in self.state.brokers if simulated or b.id in running}

        def check() -> None:
            self._check_server()
            readiness.check_children([*running.values(), *simulated])

        with readiness.session(self.zookeeper, deadline, check) as client:
            if ports:
                readiness.await_cluster(client, self.state.chroot, ports, deadline, check)
        if running:
            listening = {broker: ports[broker] for broker in running}
            readiness.await_known(listening, deadline, check)

    def detach(self) -> None:
        """Leave the sandbox running after this process; `take_down` ends it.

        Only for a sandbox that was started with `tied=False`.
        """
        self.state = replace(self.state, detached=True)
        records.write(self._root, self.state)
        self._processes.close()

    def close(self, timeout_s: float = 10) -> None:
        """End all processes and remove all data; twice is fine. Raises Unavailable if it cannot."""
        if self.spec.archive_classes:
            self._archive_classes()
        children = (self._simulated, self._server, *self._children.values())
        started = [child for child in children if child]
        for child in started:
            child.signal(signal.SIGKILL)
        deadline = time.monotonic() + timeout_s
        for child in started:
            child.wait(max(0.0, deadline - time.monotonic()))
        self._processes.close()
        records.end(self._root, self.state)

    def _archive_classes(self) -> None:
        """End the servers gracefully, which makes each of them write its archive."""
        running = [n for n, child in self._children.items() if child.exit_code() is None]
        for broker in running:
            self.stop(broker)
            class_archives.publish(self._java, self._jars, class_archives.BROKER)
        if self._server is not None and self._server.exit_code() is None:
            self._server.signal(signal.SIGTERM)
            self._server.wait(STOP_S)
            class_archives.publish(self._java, self._server_jars, class_archives.ZOOKEEPER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def end_simulated(self) -> None:
        """Kill all simulated brokers at once; they stay registered until their sessions end."""
        if self._simulated is not None:
            self._simulated.signal(signal.SIGKILL)
            self._simulated.wait(STOP_S)
            self._simulated = None

    def _launch_all(self) -> None:
        if not self.spec.simulated:
            for broker in self.spec.brokers:
                self._launch(broker)
        elif self.spec.brokers:
            config = self.folder / "simulated.json"
            text = settings.simulated_config(self.spec, self.zookeeper)
            output_files.write(config, text)
            command = settings.simulated_command(config)
            log = self.folder / "simulated.out"
            self._simulated = self._processes.start("simulated brokers", command, log)

    def _launch(self, broker: BrokerSpec) -> None:
        home = self.folder / f"broker-{broker.id}"
        output_files.make_folder(home)
        port = next(known.port for known in self.state.brokers if known.id == broker.id)
        log_dirs = self.log_dirs(broker.id)
        config = home / "server.properties"
        text = settings.broker_config(self.spec, broker, self.zookeeper, port, log_dirs)
        output_files.write(config, text)
        command = settings.broker_command(self._java, self._jars, self.spec, config)
        child = self._processes.start(f"broker-{broker.id}", command, home / "broker.out")
        self._children[broker.id] = child

    def _check_server(self) -> None:
        if self._server is not None:
            readiness.check_children([self._server])


def take_down(name: str, root: Path | None = None) -> bool:
    """End the sandbox `name`, whoever started it; False if there is none."""
    folder = root or artifacts.cache_folder() / "sandboxes"
    with records.hold_lock(folder):
        state = records.read(folder, name)
        if state is not None:
            records.end(folder, state)
        records.sweep(folder)
    return state is not None


def take_down_all(root: Path | None = None) -> tuple[str, ...]:
    """End all sandboxes of a root, whoever started them, and return their names."""
    folder = root or artifacts.cache_folder() / "sandboxes"
    with records.hold_lock(folder):
        found = records.all_states(folder)
        for state in found:
            records.end(folder, state)
    return tuple(state.name for state in found)


def _blank_state(spec: SandboxSpec) -> records.SandboxRecord:
    name = spec.name or f"sandbox-{secrets.token_hex(4)}"
    if not NAME.fullmatch(name):
        raise errors.Refused(f"sandbox name {name!r} (expected lower-case letters, digits, -)")
    return records.SandboxRecord(
        name=name,
        owner=processes.identify(os.getpid()) or Identity(os.getpid(), 0),
        boot_id=processes.boot_id(),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        kafka=spec.kafka,
        chroot=spec.chroot,
        zookeeper_port=0,
        simulated=spec.simulated,
    )
