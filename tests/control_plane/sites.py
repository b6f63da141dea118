"""Where a control plane is: its folder, which says whose it is, and its ports."""

import os
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from poolkeeper import errors
from poolkeeper.sandbox.servers import processes
from poolkeeper.sandbox.servers.processes import Identity

ADDRESS = "127.0.0.1"
LOWEST_PORT = 15_000
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the servers listen, all on the loopback address."""

    etcd: int
    etcd_peers: int
    api: int
    controllers: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class Site:
    """What command lines depend on: where the programs are, where the data is, which ports."""

    programs: Path
    folder: Path
    ports: Ports

    @property
    def certificates(self) -> Path:
        """The folder of `certificates.go`'s files."""
        return self.folder / "certificates"

    def command(self, part: str, flags: dict[str, object]) -> list[str]:
        """Return the command line of a part of the control plane."""
        written = [f"--{name}={value}" for name, value in flags.items()]
        return [str(self.programs / "control-plane"), part, *written]


def claim_folder(root: Path) -> Path:
    """Make a folder that is named for this boot and process, and remove those of dead owners."""
    root.mkdir(parents=True, exist_ok=True)
    boot = processes.boot_id()[:8]
    for found in root.iterdir():
        of_boot, pid, ticks, _ = found.name.split("-")
        if of_boot != boot or not processes.is_alive(Identity(int(pid), int(ticks))):
            shutil.rmtree(found, ignore_errors=True)
    owner = processes.identify(os.getpid())
    assert owner is not None
    return Path(tempfile.mkdtemp(dir=root, prefix=f"{boot}-{owner.pid}-{owner.started_ticks}-"))


def free_ports() -> Ports:
    """Find ports that nobody listens on and that the system gives to nobody by itself.

    A server that is down for a while must find its port free: one of the range of outgoing
    connections might be taken by then. The search starts where no sandbox of the same process does.
    """
    low = int(PORT_RANGE.read_text(encoding="ascii").split()[0])
    span = low - LOWEST_PORT
    start = (os.getpid() * 16 + span // 2) % span
    found: list[int] = []
    for step in range(span):
        port = LOWEST_PORT + (start + step) % span
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == len(Ports.__slots__):
            return Ports(*found)
    raise errors.Unavailable("no five free ports on the loopback address")
