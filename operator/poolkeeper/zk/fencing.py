"""Which process may write to a cluster: the holder of its journal, and nobody else.

That it is the declared cluster, by its id, is checked before by `reconcile.observe.observation`.

* `holder` (ephemeral): the active process. After a `kill -9` the next one waits until ZooKeeper has
  ended the dead session.
* `epoch`: its data version is the fence. Taking the journal over bumps it in the transaction that
  creates `holder`, and every later write checks it: a process that only thinks it is the holder
  can write nothing.
* `holder-<session>` (ephemeral, created with `holder`): every later write checks it as well. A
  journal that is deleted and made anew counts its epochs from the beginning: the version of the new
  one may be that of the old one, and sessions differ.

A session that was lost in an outage leaves its `holder` node behind until the server ends it. That
is no other executor: the process that lost it waits for it.
"""

import json
import os
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import Event

from poolkeeper.errors import (
    DamagedNode,
    HolderActive,
    Stale,
    Unavailable,
)
from poolkeeper.frozen import frozen
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create, Delete, SetData
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import HolderBody

PARENTS = (znodes.RECORDS, znodes.RECORDS_OF_TOPICS)
"""Of the journal's other nodes; made before its first use."""


@frozen
class Holder:
    """The active process: `what` is the command (`apply` or `run`), `since_ms` since 1970."""

    host: str
    pid: int
    what: str
    since_ms: int
    session: int = 0

    def __str__(self) -> str:
        return f"poolkeeper {self.what} on {self.host}, process {self.pid}"


@frozen
class UnknownHolder(Holder):
    """Some process holds the journal, and its node does not tell which; `why` not."""

    why: str = ""

    def __str__(self) -> str:
        return f"it cannot be told which: {self.why}"


@contextmanager
def hold(
    session: Session,
    what: str,
    now_ms: int,
    *,
    patience_s: float,
    waiting: Callable[[Holder], None] | None = None,
    wake: Event | None = None,
    lost: set[int] | None = None,
) -> Iterator[int]:
    """Hold the cluster's journal for the time of the `with` block; gives the epoch's version.

    Waits up to `patience_s`, or until `wake` is set, for a dead holder's session to end. Raises
    `HolderActive` naming the holder if its session is still there then, or at once if the holder is
    a live process on this machine. `waiting`, if given, is called with the holder, and a live
    holder is waited for as well: a process that is stopped (SIGSTOP) is alive, and its session
    still ends. Creates the journal's nodes at the first use.

    `lost`: the sessions that the caller lost in outages since it last held the journal; one is
    added if the block ends by an outage. Raises `Unavailable` if the holder is still one of these.
    An outage in which `holder` cannot be deleted any more changes nothing of how the block ended.
    """
    holder = Holder(socket.gethostname(), os.getpid(), what, now_ms)
    lost = set() if lost is None else lost
    try:
        version = _take(session, holder, patience_s, waiting, wake or Event(), lost)
    except Unavailable:
        lost.add(session.session_id)  # the answer may be lost of a `holder` that was created
        raise
    lost.clear()  # this `holder` could be created, and so theirs is gone
    try:
        yield version
    except Unavailable:
        lost.add(session.session_id)  # `holder` cannot be deleted now; it ends with the session
        raise
    except BaseException:
        _let_go(session, lost)
        raise
    _let_go(session, lost)


def _take(
    session: Session,
    holder: Holder,
    patience_s: float,
    waiting: Callable[[Holder], None] | None,
    wake: Event,
    lost: Collection[int],
) -> int:
    _prepare(session)
    body = {"version": 1, "host": holder.host, "pid": holder.pid, "what": holder.what}
    data = json.dumps(body | {"since_ms": holder.since_ms}, sort_keys=True).encode()
    for last in (False, True):
        epoch = read_epoch(session)
        number = str(epoch.number + 1).encode()
        try:
            session.commit(
                (
                    SetData(znodes.EPOCH, number, epoch.version),
                    Create(znodes.HOLDER, data, ephemeral=True),
                    Create(znodes.holder_of_session(session.session_id), b"", ephemeral=True),
                )
            )
            return epoch.version + 1
        except Stale:
            other = who_holds(session)
            was_ours = other is not None and other.session in lost
            if last and was_ours:
                raise Unavailable("ZooKeeper has not ended our earlier session yet") from None
            at_once = waiting is None and other is not None and not was_ours and _lives_here(other)
            if last or at_once:
                session_id = other.session if other else 0
                raise HolderActive(str(other or "it just changed"), session_id) from None
            if other is not None:
                if waiting is not None and not was_ours:
                    waiting(other)
                session.wait((znodes.HOLDER,), patience_s, wake)
    raise AssertionError("unreachable: the second round returns or raises")


def wait_until_released(session: Session, patience_s: float) -> None:
    """Wait until nobody holds the journal; raises `HolderActive` where `hold` would."""
    for last in (False, True):
        other = who_holds(session)
        if other is None:
            return
        if last or _lives_here(other):
            raise HolderActive(str(other), other.session)
        session.wait((znodes.HOLDER,), patience_s)


def _lives_here(holder: Holder) -> bool:
    if isinstance(holder, UnknownHolder) or holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _let_go(session: Session, lost: set[int]) -> None:
    """Delete what says that this process holds the journal, or leave it to the session's end."""
    try:
        _delete_own(session)
    except (Stale, Unavailable):
        lost.add(session.session_id)


def _delete_own(session: Session) -> None:
    paths = (znodes.HOLDER, znodes.holder_of_session(session.session_id))
    own = [
        Delete(path, node.version)
        for path, node in zip(paths, session.read_many(paths), strict=True)
        if node is not None and node.ephemeral_owner == session.session_id
    ]
    if own:
        session.commit(own)


def _prepare(session: Session) -> None:
    """Create the journal's permanent nodes; it does not matter if another process is faster."""
    wanted = ((znodes.ROOT, b""), (znodes.EPOCH, b"0"), *((path, b"") for path in PARENTS))
    if session.exists(znodes.RECORDS_OF_TOPICS):
        read_epoch(session)  # an epoch that is gone from a journal in use is not made again
    for path, data in wanted:
        if session.read(path) is None:
            try:
                session.commit((Create(path, data),))
            except Stale:
                continue


@frozen
class Epoch:
    """The epoch: its number, and the data version that is the fence."""

    number: int
    version: int


def read_epoch(session: Session) -> Epoch:
    """Return the epoch of a journal that exists; raises `DamagedNode`."""
    node = session.read(znodes.EPOCH)
    if node is None:
        raise our_nodes.damaged_node(znodes.EPOCH, "it is gone, and the journal is there")
    return Epoch(our_nodes.decode_epoch(node.data), node.version)


def read_holder(session: Session) -> Holder | None:
    """Return the active process, or None. Raises `DamagedNode` if that cannot be told."""
    node = session.read(znodes.HOLDER)
    if node is None:
        return None
    if not node.ephemeral_owner:
        raise our_nodes.damaged_node(
            znodes.HOLDER, "it belongs to no session (expected one that ends with its process)"
        )
    body = our_nodes.decode(znodes.HOLDER, node.data, HolderBody)
    return Holder(body.host, body.pid, body.what, body.since_ms, session=node.ephemeral_owner)


def who_holds(session: Session) -> Holder | None:
    """Return the process that holds the journal; only its session if its node is damaged."""
    try:
        return read_holder(session)
    except DamagedNode as damaged:
        node = session.read(znodes.HOLDER)
        owner = 0 if node is None else node.ephemeral_owner
        return UnknownHolder("", 0, "", 0, owner, str(damaged))
