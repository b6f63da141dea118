"""Whether a controller that read the mended nodes is in charge, and how one is brought about.

A controller reads topics and requests when it starts, and writes from memory afterwards. So what
was mended counts as mended only under a controller that was elected later. Where controllers fail
one after another, as they do over a poisoned topic, the next candidate is that controller.
Otherwise somebody must elect another one.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from poolkeeper.errors import Refused, Stale
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create, Delete, Operation, SetData
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from poolkeeper.zk.codecs.kafka_nodes import ControllerNode
from poolkeeper.zk.journal.journal import Journal, read_status
from poolkeeper.zk.reading import observe

LOOKS = 12
LOOK_S = 1.0
TRIES = 50
STEADY_LOOKS = 3
"""A controller that cannot start is gone within a tenth of a second."""


class InCharge(StrEnum):
    """Which controller is in charge after nodes were mended."""

    LATER = "later"
    """One that was elected after that; it read what is mended."""
    EARLIER = "earlier"
    """One that was elected before, and may write what was there before."""
    NONE = "none"
    """None stays."""


def epoch(session: Session) -> int:
    """Return the controller's epoch; 0 if there never was a controller, or it cannot be read."""
    node = session.read(znodes.CONTROLLER_EPOCH)
    try:
        found = ControllerNode.decode(None, None if node is None else node.data, None).epoch
    except Refused:
        return 0
    return found or 0


def epoch_in_charge(session: Session, look: Callable[[float], None] = time.sleep) -> int:
    """Return the controller's epoch, or -1 where controllers fail one after another.

    Of those the one that stays has read what is mended, even if it was elected just before.
    """
    before = epoch(session)
    look(LOOK_S)
    return before if before == epoch(session) else -1


def find_controller_in_charge(
    session: Session, mended_at: int, look: Callable[[float], None] = time.sleep
) -> InCharge:
    """Watch the controller for some seconds; `mended_at`: see `epoch_in_charge`, before."""
    before, steady = -1, 0
    for _ in range(LOOKS):
        now = epoch(session)
        steady = steady + 1 if now == before and session.exists(znodes.CONTROLLER) else 0
        if steady >= STEADY_LOOKS:
            return InCharge.LATER if now > mended_at else InCharge.EARLIER
        before = now
        look(LOOK_S)
    return InCharge.NONE


def elect(journal: Journal, name: str) -> tuple[Wait, ...]:
    """Elect another controller, unless something would stop it from starting: then say what."""
    cluster = observe.cluster(journal.session, name, want_configs=False).cluster
    hazards = gates.hazards(cluster, _moves(journal))
    if not hazards:
        ZooKeeperAccess(journal).elect_controller(cluster)
    return hazards


def elect_above(journal: Journal, name: str, epoch: int) -> tuple[Wait, ...]:
    """Elect another controller with an epoch above this one; or say what would stop it.

    Both are one transaction: a controller whose epoch's node is written by others can write nothing
    any more (2.1 and later). Raises `Stale` where controllers come and go too fast for it.
    """
    cluster = observe.cluster(journal.session, name, want_configs=False).cluster
    reached = replace(cluster, controller=replace(cluster.controller, later=None))
    hazards = gates.hazards(reached, _moves(journal))
    if hazards:
        return hazards
    for _ in range(TRIES - 1):
        try:
            _elect_above(journal, epoch)
        except Stale:
            continue
        return ()
    _elect_above(journal, epoch)
    return ()


def _elect_above(journal: Journal, wanted: int) -> None:
    session = journal.session
    node, elected = session.read_many((znodes.CONTROLLER_EPOCH, znodes.CONTROLLER))
    if epoch(session) >= wanted:
        return  # controllers that failed one after another came this far
    data = str(wanted).encode()
    operations: list[Operation] = [
        Create(znodes.CONTROLLER_EPOCH, data)
        if node is None
        else SetData(znodes.CONTROLLER_EPOCH, data, node.version)
    ]
    if elected is not None:
        operations.append(Delete(znodes.CONTROLLER, elected.version))
    journal.commit(*operations)


def _moves(journal: Journal) -> tuple[Move, ...]:
    """Return the moves of the recorded run, whose request may be gone."""
    document = read_status(journal.session).document
    return () if document is None else tuple(document.plan.moves)
