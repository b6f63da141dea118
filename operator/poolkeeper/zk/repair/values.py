"""The values of a repair: one thing that is wrong with a node, and how it is mended."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.readings import ClusterReading
from poolkeeper.zk.client.operations import Check
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import throttle_records
from poolkeeper.zk.journal.throttle_records import Entity

FAILOVER_FLAG = "--allow-controller-failover"


class Remedy(StrEnum):
    """How a finding is mended; scripts may name them."""

    REMOVE = "Remove"
    """The node and its children are removed."""
    WRITE = "Write"
    """The node is written anew."""
    ELECT = "Elect"
    """The controller's epoch is set and another controller is elected, in one transaction."""
    TAKE_OVER = "TakeOver"
    """The journal is taken over with a new epoch."""
    RESTORE = "Restore"
    """The throttles are as their records say they were, and the records are removed."""
    UNSET = "Unset"
    """The throttles are unset."""
    NONE = "None"
    """It cannot be mended here."""


@frozen
class Finding:
    """What is wrong with the node at `path`.

    `effect`: what mending means, or why it cannot be mended. `version`: of the node as examined,
    None if it is gone. `data`: what is written. `in_memory`: a controller that started before may
    hold the damage in memory and write it back. `made_of`: nodes from which `data` is made; nothing
    is written once one of them has changed. `throttled`: the topic or the broker whose
    throttles are restored or unset, in its config and its record.
    """

    path: str
    found: str
    remedy: Remedy
    effect: str
    version: int | None = None
    data: bytes | None = None
    in_memory: bool = False
    throttled: Entity | None = None
    made_of: tuple[Check, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The paths of the nodes that are written or removed, without their children."""
        if self.throttled is None:
            return (self.path,)
        config = throttle_records.config_path(self.throttled)
        return (config, throttle_records.record_path(self.throttled))

    @property
    def mendable(self) -> bool:
        """Whether it can be mended."""
        return self.remedy is not Remedy.NONE


@frozen
class Examined:
    """What findings are made from; `desired` is None without manifests.

    `unset_throttles`: throttles that no run accounts for are to be unset. `allow_failover`: another
    controller may be elected.
    """

    session: Session
    reading: ClusterReading
    desired: Desired | None
    now_ms: int
    unset_throttles: bool = False
    allow_failover: bool = False


Source = Callable[[Examined], Iterator[Finding]]
"""Looks at one kind of nodes."""
