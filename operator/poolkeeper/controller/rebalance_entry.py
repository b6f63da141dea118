"""What a process knows of one Rebalance: it begins with the status, as the last leader left it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.model.rebalances import RebalanceState
from poolkeeper.rebalances.deletion import OfferedPlans
from poolkeeper.rebalances.planning.planning_task import PlanningTask
from poolkeeper.rebalances.rate_shares import ClusterRate
from poolkeeper.rebalances.records import Record
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.rebalance import state_of

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class RebalanceEntry:
    """One Rebalance as this process knows it.

    `reported_version`: its generation, deletion and finalizer when its status was last reported.
    `reason` is the reason reported then. `rates`: what is known of the rates of its clusters.
    `offered`: which clusters may know its plans.
    `other_format`: why its plans are left to another release; empty where they are not.
    `unread`: why its plans could not be read; empty where they were, or need not be.
    `unstored`: why its plans could not be kept, as was found at `unstored_ms`.
    """

    uid: str
    state: RebalanceState
    planning: PlanningTask
    offered: OfferedPlans
    record: Record | None = None
    reported_version: tuple[int, bool, bool] | None = None
    reason: str = ""
    rates: Mapping[str, ClusterRate] = field(default_factory=dict)
    other_format: str = ""
    unread: str = ""
    unstored: PoolkeeperError | None = None
    unstored_ms: int = 0

    @classmethod
    def from_resource(cls, resource: CustomResource, planning: PlanningTask) -> "RebalanceEntry":
        """Begin with the state in a status.

        Raises `Refused` if it cannot be read and is still needed.
        """
        begun = _state_to_begin_with(resource)
        return cls(resource.uid, begun, planning, _offered_before(resource, begun))

    def note_unread(self, resource: CustomResource, failed: PoolkeeperError) -> None:
        """Note why the plans cannot be read; it is logged once, as they are tried every second."""
        if str(failed) != self.unread:
            logger.warning("the plans of %s cannot be read: %s", resource.key, failed)
        self.unread = str(failed)


def _state_to_begin_with(resource: CustomResource) -> RebalanceState:
    try:
        return state_of(resource.status)
    except Refused:
        if not resource.deleting:
            raise
        return RebalanceState()  # nothing is offered any more, so that runs end and it can go


def _offered_before(resource: CustomResource, rebalance_state: RebalanceState) -> OfferedPlans:
    """What another process may have offered; the status may be from before that."""
    parts = rebalance_state.parts if resource.has_finalizer else ()
    return OfferedPlans({part.cluster for part in parts if part.hash})
