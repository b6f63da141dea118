"""The record of each sandbox, with which another process can end it or clean up after it.

Sandbox X has two entries in the root folder. `X.json` is written before anything else exists. `X/`
holds all its data and `processes.jsonl`, to which each child process adds itself before it executes
its command. So whenever an owner is killed, every process and folder is on record. `X.json` is
deleted last, when all of it is gone.

| a sandbox                        | is                                          |
|----------------------------------|---------------------------------------------|
| whose owner lives                | in use                                      |
| marked detached, a child lives   | in use; `sandbox down` ends it              |
| of another boot of the machine   | an orphan: only the folder is left          |
| any other                        | an orphan: children are ended, folder goes  |

Every new sandbox first removes orphans, under the root's lock, and takes ports that no other
sandbox of the root has.
"""

import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from poolkeeper import errors, output_files
from poolkeeper.frozen import frozen
from poolkeeper.sandbox.servers import artifacts, processes, settings
from poolkeeper.sandbox.servers.processes import Identity

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LOWEST_PORT = 15_000


@frozen
class BrokerPort:
    """The address of a broker; a simulated one listens nowhere and has port 0."""

    id: int
    rack: str | None
    port: int


@frozen
class SandboxRecord:
    """The record of one sandbox. `owner` is the process that created or detached it."""

    name: str
    owner: Identity
    boot_id: str
    created: str
    kafka: str
    chroot: str
    zookeeper_port: int
    brokers: tuple[BrokerPort, ...] = ()
    detached: bool = False
    simulated: bool = False

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports that the sandbox may listen on."""
        return (self.zookeeper_port, *(broker.port for broker in self.brokers if broker.port))

    @property
    def zookeeper(self) -> str:
        """Return host:port of ZooKeeper."""
        return f"{settings.ADDRESS}:{self.zookeeper_port}"

    @property
    def connect(self) -> str:
        """ZooKeeper's connect string with the cluster's chroot, as Kafka's tools take it."""
        return f"{self.zookeeper}{self.chroot}"

    @property
    def bootstrap(self) -> str:
        """The brokers' host:port list; empty if they are simulated."""
        ports = [broker.port for broker in self.brokers if broker.port]
        return ",".join(f"{settings.ADDRESS}:{port}" for port in ports)


def folder(root: Path, name: str) -> Path:
    """Return the folder that holds all data of sandbox `name`."""
    return root / name


def records(root: Path, name: str) -> Path:
    """Return the file in which the children of sandbox `name` record themselves."""
    return folder(root, name) / "processes.jsonl"


def write(root: Path, state: SandboxRecord) -> None:
    """Write the record, whole or not at all; raises Refused."""
    output_files.write(root / f"{state.name}.json", json.dumps(asdict(state), indent=1))


def read(root: Path, name: str) -> SandboxRecord | None:
    """Return the record of sandbox `name`, None if there is none.

    Raises Refused if the file is no such record: it is unknown whose processes it names.
    """
    file = root / f"{name}.json"
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
        brokers = tuple(BrokerPort(**broker) for broker in body.pop("brokers"))
        return SandboxRecord(**{**body, "owner": Identity(**body["owner"]), "brokers": brokers})
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as wrong:
        raise errors.Refused(f"{file} is not the record of a sandbox; remove it") from wrong


def all_states(root: Path) -> tuple[SandboxRecord, ...]:
    """Return the records of all sandboxes under `root`, by name."""
    names = sorted(file.stem for file in root.glob("[!.]*.json"))
    return tuple(state for name in names if (state := read(root, name)) is not None)


def children(root: Path, name: str) -> tuple[Identity, ...]:
    """Return every child that ever recorded itself, dead or alive."""
    try:
        text = records(root, name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    lines = [json.loads(line) for line in text.splitlines()]
    return tuple(Identity(line["pid"], line["started_ticks"]) for line in lines)


def is_in_use(root: Path, state: SandboxRecord) -> bool:
    """Whether a sandbox is in use, by the table above; otherwise it is an orphan."""
    if state.boot_id != processes.boot_id():
        return False
    if state.detached:
        return any(map(processes.is_alive, children(root, state.name)))
    return processes.is_alive(state.owner)


def end(root: Path, state: SandboxRecord) -> None:
    """End the processes of a sandbox and remove its folder and its record."""
    if state.boot_id == processes.boot_id():
        processes.kill(children(root, state.name))
    shutil.rmtree(folder(root, state.name), ignore_errors=True)
    (root / f"{state.name}.json").unlink(missing_ok=True)


@contextmanager
def hold_lock(root: Path) -> Iterator[None]:
    """Hold the lock of a root folder, making the folder if need be; raises Refused."""
    output_files.make_folder(root)
    with artifacts.hold_lock(root / ".lock"):
        yield


def sweep(root: Path) -> tuple[str, ...]:
    """End all orphans under `root`, under its lock, and return their names."""
    orphans = [state for state in all_states(root) if not is_in_use(root, state)]
    for orphan in orphans:
        end(root, orphan)
    return tuple(orphan.name for orphan in orphans)


def claim(
    root: Path, state: SandboxRecord, racks: Iterable[tuple[int, str | None]]
) -> SandboxRecord:
    """Sweep, then record a new sandbox with ports of its own, and make its folder.

    `state` comes without ports; `racks` are the brokers as (id, rack). Raises Refused if a sandbox
    of that name is in use.
    """
    with hold_lock(root):
        sweep(root)
        if read(root, state.name) is not None:
            raise errors.Refused(f"a sandbox named {state.name!r} is up: take it down first")
        claimed = extend(
            root, replace(state, zookeeper_port=_free_port(_ports_in_use(root))), racks
        )
        output_files.make_folder(folder(root, state.name))
        output_files.write(records(root, state.name), "")
    return claimed


def extend(
    root: Path, state: SandboxRecord, racks: Iterable[tuple[int, str | None]]
) -> SandboxRecord:
    """Record more brokers, each with a port of its own; the root's lock is held by the caller."""
    taken = _ports_in_use(root) | set(state.ports)
    brokers = list(state.brokers)
    for broker, rack in racks:
        port = 0 if state.simulated else _free_port(taken)
        taken.add(port)
        brokers.append(BrokerPort(broker, rack, port))
    extended = replace(state, brokers=tuple(brokers))
    write(root, extended)
    return extended


def _ports_in_use(root: Path) -> set[int]:
    return {port for state in all_states(root) for port in state.ports}


def _free_port(taken: set[int]) -> int:
    """Find a port that nobody listens on and that the system gives to nobody by itself.

    A port that the system hands out for 0 comes from the range of outgoing connections: it may be
    taken by one in the second that a JVM needs to bind it, or while its broker is down.
    """
    low = int(PORT_RANGE.read_text(encoding="ascii").split()[0])
    # Another process starts looking elsewhere: roots do not know of each other's ports.
    start = os.getpid() * 16 % max(low - LOWEST_PORT, 1)
    candidates = range(LOWEST_PORT, low)
    for port in (*candidates[start:], *candidates[:start], 0):
        if port in taken:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((settings.ADDRESS, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise errors.Unavailable("no free port on the loopback address")
