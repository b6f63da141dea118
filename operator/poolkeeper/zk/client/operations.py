"""Writes as values: what one ZooKeeper transaction checks, creates, sets and deletes.

Every check, set and delete names the data version that it expects; there is no way to say "any".
A create expects that the node is absent, which is a version of its own.

A transaction stays within 256 KiB and 500 operations. A ZooKeeper server closes the connection on a
request above `jute.maxbuffer` (by default 1 MiB less a byte) without saying why, its limit may have
been set lower, and Kafka's controller must be able to rewrite what we write with some 25 bytes more
per operation; a quarter of the default leaves room for all of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from poolkeeper.errors import TooLarge
from poolkeeper.frozen import frozen

TRANSACTION_BYTES_MAX = 256 * 1024
TRANSACTION_OPERATIONS_MAX = 500
LARGE_BYTES = 4 * 1024
"""No server that Kafka can use hangs up on a request that is shorter."""
BATCH_BYTES = 40 * 1024
"""Of writes that need not be one transaction: with their chroot they fit servers of 64 KiB."""
BATCH_OPERATIONS = 200

_OVERHEAD_BYTES = 64
"""Of one operation on the wire: header, lengths, version, flags and an open ACL, rounded up."""


@frozen
class Check:
    """The node exists and has this data version."""

    path: str
    version: int


@frozen
class Create:
    """Create the node, with the ACL of its parent.

    `ephemeral`: it ends with the session. `sequence`: ZooKeeper appends a number of ten digits.
    """

    path: str
    data: bytes
    ephemeral: bool = False
    sequence: bool = False


@frozen
class SetData:
    """Replace the data of a node that has this version."""

    path: str
    data: bytes
    version: int


@frozen
class Delete:
    """Delete a node that has this version and no children."""

    path: str
    version: int


Operation: TypeAlias = Check | Create | SetData | Delete


def request_bytes_bound(operations: Sequence[Operation]) -> int:
    """Return an upper bound for the bytes of the transaction's request, its chroot apart."""
    return sum(
        _OVERHEAD_BYTES
        + len(operation.path.encode())
        + (len(operation.data) if isinstance(operation, Create | SetData) else 0)
        for operation in operations
    )


def batches(operations: Iterable[Operation]) -> Iterator[list[Operation]]:
    """Yield operations that do not depend on each other in batches of `BATCH_BYTES` at most.

    One that is larger is alone.
    """
    batch: list[Operation] = []
    size = 0
    for operation in operations:
        more = request_bytes_bound((operation,))
        if batch and (size + more > BATCH_BYTES or len(batch) == BATCH_OPERATIONS):
            yield batch
            batch, size = [], 0
        batch.append(operation)
        size += more
    if batch:
        yield batch


def pipelines(
    transactions: Sequence[Sequence[Operation]],
) -> Iterator[Sequence[Sequence[Operation]]]:
    """Yield transactions that may be on their way at the same time, in their order.

    One that may be too large for the servers is alone: it costs the connection, and with it the
    answers to all others that are on their way.
    """
    together: list[Sequence[Operation]] = []
    for transaction in transactions:
        if request_bytes_bound(transaction) < LARGE_BYTES:
            together.append(transaction)
            continue
        if together:
            yield together
        yield [transaction]
        together = []
    if together:
        yield together


def require_bounds(operations: Sequence[Operation]) -> None:
    """Raise `TooLarge`, naming the largest node, if this is too much for one transaction."""
    if len(operations) > TRANSACTION_OPERATIONS_MAX:
        raise TooLarge(
            f"a transaction of {len(operations)} operations is too long "
            f"(expected at most {TRANSACTION_OPERATIONS_MAX})",
            request_bytes_bound(operations),
            TRANSACTION_BYTES_MAX,
        )
    size = request_bytes_bound(operations)
    if size > TRANSACTION_BYTES_MAX:
        largest = max(operations, key=lambda operation: request_bytes_bound((operation,)))
        raise TooLarge(
            f"a transaction of {size} bytes is too large (expected at most "
            f"{TRANSACTION_BYTES_MAX}); most of it is {largest.path}",
            size,
            TRANSACTION_BYTES_MAX,
        )


def describe(operation: Operation) -> dict[str, Any]:
    """Return what an operation does, to which node, and of which version; not the data."""
    names = {Check: "Check", Create: "Create", SetData: "Set", Delete: "Delete"}
    told: dict[str, Any] = {"do": names[type(operation)], "path": operation.path}
    return told if isinstance(operation, Create) else {**told, "version": operation.version}
