"""Many nodes at once: ZooKeeper's multiRead request (3.6 and later), which kazoo does not have.

Reading 200,000 nodes one by one costs a round trip each, and even pipelined it costs kazoo's loop
two system calls and a wake-up per request. One multiRead names up to a thousand paths instead. The
request class below goes through kazoo's own queue, so that its connection, session, authentication
and TLS serve it like any other.

On the wire a request is, for each path, a header (type, done, error) and the body of a plain read,
then a header with `done`; a reply is a header and either data and stat, or an error code, for each
path in order, and the same end. Everything is big endian.

Bounds: a request stays under 256 KiB, like our transactions. A reply has no bound in the protocol
(1,000 topic nodes of 1 MiB would be a gigabyte of the server's heap), so the number of paths
follows from the size of the replies so far. A slice whose connection is lost is halved and asked
again. It may have been too long for the server's `jute.maxbuffer`, which people lower: no later
request of the session is as long (`RequestBound`).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeGuard, TypeVar

from kazoo.exceptions import EXCEPTIONS, ConnectionLoss, NoAuthError, NoNodeError

from poolkeeper.frozen import frozen
from poolkeeper.zk.client import failures
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.client.operations import LARGE_BYTES

Found = TypeVar("Found", Node, bytes)

OPCODE = 22
SINCE = (3, 6)
"""The first server version that knows the request; older ones close the session over it."""

REQUEST_BYTES_MAX = 256 * 1024
REPLY_BYTES_AIM = 1024 * 1024
PATHS_MAX = 1000
PATHS_FIRST = 100
IN_FLIGHT = 4
ATTEMPTS = 3
WINDOW = 500

NO_NODE: int = NoNodeError.code
NO_AUTH: int = NoAuthError.code

_READ = 4
_ERROR = -1
_READ_HEADER = struct.pack("!iBi", _READ, 0, -1)
_END = struct.pack("!iBi", -1, 1, -1)
_LENGTH = struct.Struct("!i")
_PLAIN_READ_BYTES = len(_READ_HEADER) + _LENGTH.size + 1
"""Of a plain read, without the name."""
_HEADER = struct.Struct("!iB4xi")
"""Type, done, and the first number after the header: the length of data, or the error code."""
_SHORT_HEADER = struct.Struct("!i5xi")
"""The same without done."""
_STAT = struct.Struct("!qq16xi8xq4xi8x")
"""czxid, mzxid, version, ephemeral owner and number of children, of eleven fields."""


class Reply(NamedTuple):
    """The bytes of a reply, and where its body starts; taken apart outside of kazoo's thread."""

    buffer: bytes
    offset: int


class RequestBound:
    """How long a request of a session may be at most; it is halved where one costs the connection.

    A server that goes down costs the connection as well. Then requests are shorter than they need
    be until the session ends, which costs some round trips. A bound that grew again would cost
    connections of every pass.
    """

    def __init__(self) -> None:
        self.bytes_max = REQUEST_BYTES_MAX

    def shrink_below(self, size: int) -> bool:
        """Note that a request of so many bytes was lost; false if it was not for its length."""
        if size <= LARGE_BYTES:
            return False
        self.bytes_max = min(self.bytes_max, max(LARGE_BYTES, size // 2))
        return True


@frozen
class MultiRead:
    """A request as kazoo's connection wants it."""

    body: bytes

    type: ClassVar[int] = OPCODE

    def serialize(self) -> bytes:
        """Return the body, which was encoded before it was queued."""
        return self.body

    @classmethod
    def deserialize(cls, buffer: bytes, offset: int) -> Reply:
        """Keep the reply as it is: kazoo's thread had better read from the socket."""
        return Reply(buffer, offset)


def encode(
    paths: Sequence[str], chroot: str = "", bytes_max: int = REQUEST_BYTES_MAX
) -> tuple[MultiRead, int]:
    """Return a request for the first paths, and how many fit in it (at least one)."""
    parts: list[bytes] = []
    size = 0
    for path in paths:
        name = (chroot + path).encode()
        size += _PLAIN_READ_BYTES + len(name)
        if parts and size > bytes_max:
            break
        parts.append(_plain_read(len(name)) + name + b"\0")
    return MultiRead(b"".join((*parts, _END))), len(parts)


@cache
def _plain_read(name_bytes: int) -> bytes:
    """Return what stands before a name of so many bytes; names are shorter than a request."""
    return _READ_HEADER + _LENGTH.pack(name_bytes)


def _nodes(reply: Reply, count: int) -> list[Node | int]:
    """Return a node, or ZooKeeper's (negative) error code, for each of the `count` paths."""
    buffer, offset = reply
    header, stat = _HEADER.unpack_from, _STAT.unpack_from
    found: list[Node | int] = []
    for _ in range(count):
        kind, _done, number = header(buffer, offset)
        offset += _HEADER.size
        if kind == _ERROR:
            found.append(number)
            continue
        end = offset + max(number, 0)
        czxid, mzxid, version, owner, children = stat(buffer, end)
        found.append(Node(buffer[offset:end], version, czxid, mzxid, owner, children))
        offset = end + _STAT.size
    return found


def _bodies(reply: Reply, count: int) -> list[bytes | int]:
    """Return a node's data, or ZooKeeper's (negative) error code, for each of the paths."""
    buffer, offset = reply
    header = _SHORT_HEADER.unpack_from
    behind, stat_bytes = _HEADER.size, _STAT.size
    found: list[bytes | int] = []
    for _ in range(count):
        kind, number = header(buffer, offset)
        offset += behind
        if kind == _ERROR:
            found.append(number)
            continue
        end = offset + max(number, 0)
        found.append(buffer[offset:end])
        offset = end + stat_bytes
    return found


def read(
    paths: Sequence[str],
    ask: Callable[[MultiRead], Any],
    timeout_s: float,
    form: Form[Found],
    chroot: str = "",
    bound: RequestBound | None = None,
) -> list[Found | int]:
    """Return a node or its data, as `form` says, or an error code for each path.

    `ask` queues a request and returns kazoo's asynchronous result, whose errors go to the caller.
    `timeout_s` bounds the wait for each reply. `bound` is that of the session.
    """
    bound = bound or RequestBound()
    replies: list[tuple[int, int, Reply]] = []
    unasked = deque([(0, len(paths), ATTEMPTS)] if paths else [])
    waiting: deque[tuple[int, int, int, int, Any]] = deque()
    count_max = PATHS_FIRST
    while unasked or waiting:
        while unasked and len(waiting) < IN_FLIGHT:
            start, stop, attempts = unasked.popleft()
            wanted = paths[start : min(stop, start + count_max)]
            request, count = encode(wanted, chroot, bound.bytes_max)
            if start + count < stop:
                unasked.appendleft((start + count, stop, attempts))
            waiting.append((start, start + count, attempts, len(request.body), ask(request)))
        start, stop, attempts, size, result = waiting.popleft()
        try:
            reply = failures.answer(result, timeout_s)
        except ConnectionLoss:
            shorter = bound.shrink_below(size) and stop - start > 1
            attempts -= not shorter
            if not attempts:
                raise
            count_max = max(1, (stop - start) // 2)
            unasked.appendleft((start, stop, attempts))
            continue
        replies.append((start, stop, reply))
        bytes_per_path = len(reply.buffer) / (stop - start)
        count_max = max(1, min(PATHS_MAX, int(REPLY_BYTES_AIM / bytes_per_path)))
    # Only now: while this thread decodes, kazoo's waits for the interpreter at every system call.
    found: list[Found | int] = []
    for start, stop, reply in sorted(replies):
        found += form.many(reply, stop - start)
    return found


def read_singly(
    paths: Sequence[str],
    ask: Callable[[str], Any],
    timeout_s: float,
    form: Form[Found],
    window: int = WINDOW,
) -> list[Found | int]:
    """Do the same for servers before 3.6, with plain reads, `window` of them in flight."""
    waiting: deque[tuple[Callable[[], Any], Any]] = deque()
    found: list[Found | int] = []
    for path in paths:
        if len(waiting) == window:
            found.append(_plain(*waiting.popleft(), timeout_s, form))
        again = partial(ask, path)
        waiting.append((again, again()))
    found.extend(_plain(again, result, timeout_s, form) for again, result in waiting)
    return found


def _plain(
    again: Callable[[], Any], result: Any, timeout_s: float, form: Form[Found]
) -> Found | int:
    try:
        data, stat = failures.repeat(again, timeout_s, result)
    except (NoNodeError, NoAuthError) as answer:
        return int(answer.code)
    return form.one(data, stat)


def has_no_errors(found: list[Found | int]) -> TypeGuard[list[Found | None]]:
    """Whether there is no error code among the answers; much cheaper than to look at each."""
    return int not in set(map(type, found))


def found_node(path: str, answer: Found | int, unreadable: Found | None) -> Found | None:
    """Return what was found, `None` for no node, `unreadable` (if given) for a forbidden one.

    Raises `Unavailable` for any other error.
    """
    if not isinstance(answer, int):
        return answer
    if answer == NO_NODE:
        return None
    if answer == NO_AUTH and unreadable is not None:
        return unreadable
    raise failures.unavailable(EXCEPTIONS[answer](), f"reading {path}")


def node(data: bytes | None, stat: Any) -> Node:
    """Return the node of kazoo's data and stat."""
    owner, children = stat.ephemeralOwner, stat.numChildren
    return Node(data or b"", stat.version, stat.czxid, stat.mzxid, owner, children)


@frozen
class Form(Generic[Found]):
    """How answers become values: many of one reply, or the data and stat of one node."""

    many: Callable[[Reply, int], list[Found | int]]
    one: Callable[[bytes | None, Any], Found]


NODES = Form(_nodes, node)
BODIES: Form[bytes] = Form(_bodies, lambda data, _stat: data or b"")
"""Only their data, which is cheaper."""
