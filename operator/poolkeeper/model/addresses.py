"""Connection strings: `host:port,host:port/chroot` of ZooKeeper, `host:port,…` of brokers."""

import re
from collections.abc import Iterable

_HOST = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]"
)
_LABELS = re.compile(r"[^.]{1,63}(\.[^.]{1,63})*")
_SEGMENT = re.compile(r"[^/\s\x00-\x1f\x7f]+")
PORT_MAX = 65535


def connect_problem(connect: str) -> str | None:
    """The problem of a ZooKeeper connection string, or None."""
    hosts, slash, chroot = connect.partition("/")
    if "," in chroot:
        return "has a chroot before its end (expected one chroot, after the last host)"
    if slash and not all(_SEGMENT.fullmatch(segment) for segment in chroot.split("/")):
        return f"the chroot {slash + chroot!r} is no path (expected such as /kafka)"
    if slash and {".", ".."} & set(chroot.split("/")):
        return f"the chroot {slash + chroot!r} has a dot for a name (expected such as /kafka)"
    return servers_problem(hosts)


def servers_problem(servers: str) -> str | None:
    """The problem of a server list, or None. Every server needs a port."""
    named: set[str] = set()
    for server in servers.split(","):
        if problem := server_problem(server):
            return problem
        if server in named:
            return f"{server!r} is listed twice (expected once)"
        named.add(server)
    return None


def server_problem(server: str) -> str | None:
    """The problem of one server of a list, `host:port`, or None."""
    if not server:
        return "has an empty entry between its commas (expected host:port)"
    if server != server.strip():
        return f"{server!r} has blanks round it (expected host:port)"
    host, port = split_server(server)
    if not port:
        return f"{server!r} has no port (expected host:port)"
    if not _is_host(host):
        return f"{host!r} is no host (expected host:port)"
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) <= PORT_MAX:
        return f"{port!r} is no port (expected 1 to {PORT_MAX})"
    return None


def _is_host(host: str) -> bool:
    """Whether this is a name of which DNS can hold every part, or an address."""
    if not _HOST.fullmatch(host):
        return False
    return host.startswith("[") or _LABELS.fullmatch(host) is not None


def split_server(server: str) -> tuple[str, str]:
    """Split `host:port` or `[::1]:port`; the port is "" where none is said."""
    host, colon, port = server.rpartition(":")
    return (host, port) if colon and not server.endswith("]") else (server, "")


def with_port(server: str, default: int) -> str:
    """Return the server as `host:port`; the port is `default` where none is said."""
    return server if split_server(server)[1] else f"{server}:{default}"


def as_declared(servers: Iterable[str], default: int) -> tuple[str, ...]:
    """Return servers as a manifest lists them: each once, with its port."""
    return tuple(dict.fromkeys(with_port(server, default) for server in servers))


def ensemble(connect: str) -> tuple[frozenset[str], str]:
    """The servers and the chroot ("" for the root) of a valid connection string."""
    servers, slash, chroot = connect.partition("/")
    return frozenset(servers.lower().split(",")), slash + chroot
