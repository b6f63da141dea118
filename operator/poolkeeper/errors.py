"""The errors that a package raises to others, by who must act.

PoolkeeperError
├── Refused         the person: the request is wrong, unlawful or not allowed now (exit code 1)
│   ├── InvalidInput    … and these are all the problems, each with its place
│   ├── StalePlan       … because the cluster or the manifests moved on since the plan was made
│   ├── HolderActive    … because another executor works on the cluster
│   ├── TooLarge        … because ZooKeeper takes no transaction of that size
│   │   └── GrowingNodeTooLarge … or none that the controller would write
│   ├── DamagedNode     … because a node of ours, which it needs, cannot be read
│   └── OtherCluster    … because the cluster at that address is not the one that is declared
├── Stale           us, at once: a versioned write lost against another one; observe again
├── Internal        us, by fixing a bug: any exception that is none of the other errors
├── Fenced          us, never again: the journal was taken over or deleted; stop writing
└── Unavailable     us, later: a system could not be reached (exit code 3)
    ├── Forbidden       … as it will be until a person changes credentials or ACLs
    │   └── SecretForbidden … or lets the operator read a Secret
    ├── BrokersUnreachable … which are the brokers: ZooKeeper alone is enough for most things
    └── Unsupported     … in this way, as its release does not know the request
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with the input, and where.

    `file` and `line` (1-based) are empty and 0 where the input is not a file; `field` is a dotted
    path such as `spec.brokers.ids[2]`.
    """

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else ""
        if self.file and not self.line:
            place = f"{self.file}: "
        return f"{place}{self.field}: {self.message}" if self.field else f"{place}{self.message}"


@dataclass(frozen=True, slots=True, order=True)
class NodeDamage:
    """What is wrong with a node of ours: its path, what was found, and what was expected.

    `later_version`: the node is whole, and a later release wrote it in this version; else 0.
    """

    path: str
    found: str
    later_version: int = 0

    def __str__(self) -> str:
        if self.later_version:
            return (
                f"{self.path} was written by a later Poolkeeper (format version"
                f" {self.later_version}, this one knows 1): use that"
            )
        return f"{self.path} is damaged: {self.found}; see `poolkeeper repair`"


class RefusalReason(StrEnum):
    """Why something was refused: stable, unlike the message."""

    NOT_ALLOWED = "NotAllowed"
    """The request is wrong or not allowed now, in a way that has no reason of its own."""
    INVALID_INPUT = "InvalidInput"
    """Manifests or arguments have problems."""
    STALE_PLAN = "StalePlan"
    """The cluster or the manifests moved on since the plan was made."""
    HOLDER_ACTIVE = "HolderActive"
    """Another executor works on the cluster."""
    DAMAGED_NODE = "DamagedNode"
    """A node of Poolkeeper's own in ZooKeeper cannot be read."""
    OTHER_CLUSTER = "OtherCluster"
    """The address leads to another cluster than the one that is declared."""
    UNLAWFUL_PLAN = "UnlawfulPlan"
    """The plan breaks a law of placement."""
    UNLAWFUL_STAGE = "UnlawfulStage"
    """The stage would make a law of placement worse."""
    THROTTLE_TOO_LOW = "ThrottleTooLow"
    """The throttle is below what a moving partition takes in, so that it would never arrive."""
    UNSAFE_REQUEST = "UnsafeRequest"
    """The request names what does not exist or brokers that are not live; it was not written."""
    TRANSACTION_TOO_LARGE = "TransactionTooLarge"
    """What is to be written at once is more than ZooKeeper takes; nothing of it was written."""


class PoolkeeperError(Exception):
    """Base of all errors that Poolkeeper raises on purpose."""

    exit_code = 1

    @property
    def line(self) -> str:
        """The message in one line; the name of the kind where there is none."""
        told = str(self).replace(":\n", ": ")
        return "; ".join(told.splitlines()) or type(self).__name__


class Refused(PoolkeeperError):
    """The request is wrong or not allowed now; nothing was changed.

    `facts`: the values that complete the message when it is shown (`model.execution.refusals`).
    """

    reason = RefusalReason.NOT_ALLOWED

    def __init__(
        self,
        message: str = "",
        *,
        reason: RefusalReason | None = None,
        facts: Iterable[object] = (),
    ) -> None:
        self.reason = self.reason if reason is None else reason
        self.facts = tuple(facts)
        super().__init__(message)


class InvalidInput(Refused):
    """The input has problems; all of them are listed, sorted by place."""

    reason = RefusalReason.INVALID_INPUT

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def wrong_field(field: str, message: str) -> InvalidInput:
    """The error of one field; what is wrong with an argument names its parameter."""
    return InvalidInput([Problem("", 0, field, message)])


def wrong_file(file: object, message: str) -> InvalidInput:
    """The error of a whole file or folder, or of what its place names."""
    return InvalidInput([Problem(str(file), 0, "", message)])


class UndeclaredField(Refused):
    """The API server's definition of a kind lacks a field: it is of an earlier release."""


class OtherFormat(Refused):
    """What is kept is in the format of another release of ours, and is left to that."""


class StalePlan(Refused):
    """The plan was made for a state of the cluster or of the manifests that is gone."""

    reason = RefusalReason.STALE_PLAN


class HolderActive(Refused):
    """Another executor, `holder`, holds the cluster, by this ZooKeeper session; 0 if unknown."""

    reason = RefusalReason.HOLDER_ACTIVE

    def __init__(self, holder: str, session: int = 0) -> None:
        self.holder, self.session = holder, session
        super().__init__(f"another executor is active on this cluster: {holder}")


class TooLarge(Refused):
    """A transaction of `bytes` is too large; nothing was written.

    `bytes_max`: the most that we ourselves allow; 0 if it is the servers that do not take it.
    """

    reason = RefusalReason.TRANSACTION_TOO_LARGE

    def __init__(self, message: str, bytes_: int = 0, bytes_max: int = 0) -> None:
        self.bytes, self.bytes_max = bytes_, bytes_max
        super().__init__(message)


class GrowingNodeTooLarge(TooLarge):
    """A topic's node would grow to `bytes` from `bytes_before`, and the servers do not take it."""

    def __init__(self, message: str, bytes_: int, bytes_before: int) -> None:
        super().__init__(message, bytes_)
        self.bytes_before = bytes_before


class DamagedNode(Refused):
    """A node of ours cannot be read, so what needs it is not done."""

    reason = RefusalReason.DAMAGED_NODE

    def __init__(self, damage: NodeDamage) -> None:
        self.damage = damage
        super().__init__(str(damage))


class OtherCluster(Refused):
    """The address leads to another Kafka cluster than the one pinned, or to one that has no id.

    Nothing is written to it. `found_id`: the id of that cluster; None if it has none, or is not
    another one.
    """

    reason = RefusalReason.OTHER_CLUSTER

    def __init__(self, message: str, found_id: str | None = None) -> None:
        self.found_id = found_id
        super().__init__(message)


class Stale(PoolkeeperError):
    """A versioned write lost against a concurrent one; nothing was written. Observe again.

    `path` is the znode whose check failed.
    """

    def __init__(self, message: str, path: str = "") -> None:
        self.path = path
        super().__init__(message)


class Fenced(PoolkeeperError):
    """The journal epoch moved on, or is gone: another holds it now. Nothing was written; stop."""


class Internal(PoolkeeperError):
    """A bug ended a pass; the message names the exception."""


class Unavailable(PoolkeeperError):
    """A system could not be reached in time: absent, wrong address or wrong credentials."""

    exit_code = 3


class Forbidden(Unavailable):
    """A system answers, but rejects this identity: a retry does not help.

    `path` is the znode that may not be written, where it is one.
    """

    def __init__(self, message: str = "", path: str = "") -> None:
        self.path = path
        super().__init__(message)


WhyUnwritten: TypeAlias = Refused | Stale | Forbidden
"""Why one transaction wrote nothing, where the next one may still write."""


class SecretForbidden(Forbidden):
    """A Secret may not be read: it is not among those that the operator's Role lists."""


class BrokersUnreachable(Unavailable):
    """No broker of the cluster answers, or they refuse these credentials."""


class Unsupported(Unavailable):
    """The system's release does not know the request."""
