"""ACL checks, and the limit on the size of a request, as in ZooKeeper.

An identity is (scheme, id), for digest `user:base64(sha1(user:password))`. Everybody also is
`world:anyone`.

A request above `jute.maxbuffer` gets no answer: the server closes the connection. The size counts
the bytes on the wire after the length: for a plain create 73 bytes more than data and an open ACL
at `/admin/reassign_partitions`.
"""

from collections.abc import Collection, Sequence
from typing import Any

from kazoo.exceptions import NoAuthError
from kazoo.security import ACL, Id, Permissions, make_digest_acl_credential

from poolkeeper.sandbox.fake_zookeeper.tree import OPEN, Tree, Znode, parent_of
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CheckNode,
    CreateNode,
    DeleteNode,
    Operation,
    WriteNode,
)

REQUEST_BYTES_MAX = 0xFFFFF
_ANYONE = ("world", "anyone")
_HEADER = 8
_MULTI_HEADER = 9

Identity = tuple[str, str]


def digest_identity(user: str, password: str) -> Identity:
    """Return the identity of a digest login."""
    return ("digest", make_digest_acl_credential(user, password))


def allows(acl: Sequence[Any], permission: int, identities: Collection[Identity]) -> bool:
    """Whether one of the ACL's entries gives the permission to one of the identities."""
    if acl is OPEN:
        return True
    for entry in acl:
        who = (entry.id.scheme, entry.id.id)
        if entry.perms & permission and (who == _ANYONE or who in identities):
            return True
    return False


def require(node: Znode | None, permission: int, identities: Collection[Identity]) -> None:
    """Raise NoAuthError unless allowed; an absent node is not checked here."""
    if node is not None and not allows(node.acl, permission, identities):
        raise NoAuthError


def require_operation(tree: Tree, operation: Operation, identities: Collection[Identity]) -> None:
    """Raise NoAuthError unless these identities may do the operation."""
    match operation:
        case CreateNode(path):
            require(tree.find(parent_of(path)), Permissions.CREATE, identities)
        case WriteNode(path):
            require(tree.find(path), Permissions.WRITE, identities)
        case DeleteNode(path):
            require(tree.find(parent_of(path)), Permissions.DELETE, identities)
        case CheckNode(path):
            require(tree.find(path), Permissions.READ, identities)


def visible_acl(acl: Sequence[Any], identities: Collection[Identity]) -> list[Any]:
    """Return the ACL as a client sees it: hashes only if the client may administer the node."""
    if allows(acl, Permissions.ADMIN, identities):
        return list(acl)
    return [
        ACL(entry.perms, Id("digest", entry.id.id.partition(":")[0] + ":x"))
        if entry.id.scheme == "digest"
        else entry
        for entry in acl
    ]


def request_bytes(operations: Sequence[Operation]) -> int:
    """Return the size of the request: one operation is a plain one, several are a multi."""
    bodies = [_body_bytes(operation) for operation in operations]
    if len(bodies) == 1:
        return _HEADER + bodies[0]
    return _HEADER + sum(_MULTI_HEADER + body for body in bodies) + _MULTI_HEADER


def _body_bytes(operation: Operation) -> int:
    path = 4 + len(operation.path.encode())
    match operation:
        case CreateNode(_, data, _, _, acl):
            return path + 4 + len(data) + _acl_bytes(OPEN if acl is None else acl) + 4
        case WriteNode(_, data):
            return path + 4 + len(data) + 4
        case DeleteNode() | CheckNode():
            return path + 4


def _acl_bytes(acl: Sequence[Any]) -> int:
    return 4 + sum(12 + len(entry.id.scheme) + len(entry.id.id.encode()) for entry in acl)
