"""One transaction: ACLs for what it creates, the commit, and a look at every answer.

Versions to check come with its operations; the fence is put before them by `zk.fencing`.

A ZooKeeper transaction does all or nothing. Kazoo hands failures back as values: the operation that
failed has its own error, those before it answer `RolledBackError`, those after it
`RuntimeInconsistency`, and only the first of the three says anything.

ACLs: a new node gets the ACL of its parent, where a parent that is created in the same transaction
has that of its own parent. In a cluster with `zookeeper.set.acl` an open node would be a hole, and
one of another identity could not be touched by the controller. The root of our own nodes, whose
parent may be the open chroot, gets the ACL of the topics.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)

from poolkeeper.errors import Forbidden, PoolkeeperError, Stale
from poolkeeper.zk import znodes
from poolkeeper.zk.client import failures
from poolkeeper.zk.client.operations import Check, Create, Delete, Operation, SetData

_LOST: tuple[tuple[type[Exception], str], ...] = (
    (BadVersionError, "changed meanwhile"),
    (NoNodeError, "does not exist any more, or its parent does not"),
    (NodeExistsError, "exists already"),
    (NotEmptyError, "has children"),
)
"""How a write can lose against somebody else's."""


class Acls:
    """The ACLs that new nodes get, each asked for once until they are forgotten; of one client."""

    def __init__(self, client: KazooClient, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._known: dict[str, Any] = {}

    def of_new(self, operations: Sequence[Operation]) -> dict[str, Any]:
        """Return kazoo's ACL list for each path that the operations create.

        Raises `Stale` if a parent is missing, `Unavailable` if its ACL cannot be read in full.
        """
        new: dict[str, Any] = {}
        for operation in operations:
            if isinstance(operation, Create):
                model = _model(operation.path)
                new[operation.path] = (
                    new[model] if model in new else self._of(model, operation.path)
                )
        return new

    def forget(self) -> None:
        """Ask for all again: people change them, as zookeeper-security-migration does."""
        self._known = {}

    def _of(self, path: str, created: str) -> Any:
        known = self._known  # another thread may forget them meanwhile
        if path not in known:
            with failures.translate_errors(f"reading the ACL of {path}"):
                try:
                    ask = partial(self._client.get_acls_async, path)
                    acl, _ = failures.repeat(ask, self._timeout_s)
                except NoNodeError as missing:
                    raise Stale(f"{path} does not exist (to create a node)", path) from missing
            # ZooKeeper masks hashes for those who may not administer a node.
            if any(entry.id.scheme == "digest" and entry.id.id.endswith(":x") for entry in acl):
                hidden = f"the ACL of {path} is not shown to this ZooKeeper identity"
                raise Forbidden(hidden, created)
            known[path] = acl
        return known[path]


def _model(path: str) -> str:
    """Return the path of the node whose ACL a new node gets."""
    return znodes.TOPICS if path == znodes.ROOT else path.rpartition("/")[0] or "/"


def request(
    client: KazooClient, operations: Sequence[Operation], acls: dict[str, Any]
) -> TransactionRequest:
    """Return kazoo's transaction, not yet committed."""
    transaction = client.transaction()
    for operation in operations:
        match operation:
            case Create(path, data, ephemeral, sequence):
                transaction.create(path, data, acls[path], ephemeral, sequence)
            case Check(path, version):
                transaction.check(path, _known(version))
            case SetData(path, data, version):
                transaction.set_data(path, data, _known(version))
            case Delete(path, version):
                transaction.delete(path, _known(version))
    return transaction


def _known(version: int) -> int:
    assert version >= 0, "-1 would mean any version"
    return version


def created_paths(operations: Sequence[Operation], answers: Sequence[Any]) -> tuple[str, ...]:
    """Return the path that each create made, and "" for every other operation.

    Raises `Stale` or `Unavailable` for the operation at which the transaction failed.
    """
    assert len(answers) == len(operations), "ZooKeeper answers every operation"
    failed = [
        (operation, answer)
        for operation, answer in zip(operations, answers, strict=True)
        if isinstance(answer, Exception)
    ]
    if failed:
        causes = [pair for pair in failed if not isinstance(pair[1], _ECHOES)]
        raise _cause(*(causes or failed)[0])
    return tuple(answer if isinstance(answer, str) else "" for answer in answers)


_ECHOES = (RolledBackError, RuntimeInconsistency)


def _cause(operation: Operation, answer: Exception) -> PoolkeeperError:
    verb = {Check: "checking", Create: "creating", SetData: "setting", Delete: "deleting"}
    doing = f"{verb[type(operation)]} {operation.path}"
    for kind, how in _LOST:
        if isinstance(answer, kind):
            return Stale(f"{doing}: it {how}", operation.path)
    if isinstance(answer, NoAuthError | InvalidACLError):
        return Forbidden(f"{doing} is not allowed for this ZooKeeper identity", operation.path)
    return failures.unavailable(answer, doing)
