"""Recovers a reassignment request that is stuck, where that is allowed, and reports it where not.

The recovery of both stalls (`decide.stalls`) is the same. Withdraw the request, which stops no
move. Then make the controller read the node again: from 2.4 on by a harmless call of the brokers'
API, before that by electing another controller. The run then sends its request again.
`removeStaleRequests` allows the withdrawal, `allowControllerFailover` the election. Without them
the wait names what a person could do. A failover is refused while ZooKeeper holds anything that
would stop the next controller.
"""

from poolkeeper.errors import Unavailable
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Result
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Desired, Remedies
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning.run_state import gates
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.stalls import STALL_MS, Stall, foreign_stall_of
from poolkeeper.reconcile.observation import Observation

_WITHDRAWAL_ACTION = {
    Stall.STALE: ActionKind.STALE_REQUEST_WITHDRAWN,
    Stall.IGNORED: ActionKind.UNNOTICED_REQUEST_WITHDRAWN,
}
_WAIT_REASON = {
    Stall.STALE: WaitReason.REQUEST_STALE,
    Stall.IGNORED: WaitReason.REQUEST_UNNOTICED,
}


def recover(
    context: PassContext, reading: ClusterReading, stall: Stall, remedies: Remedies
) -> Result:
    """Recover a stall as far as that is allowed."""
    if not remedies.remove_stale_requests:
        return Result(waits=(Wait(_WAIT_REASON[stall]),))
    context.access.withdraw_request(reading)
    withdrawn = Result((Action(_WITHDRAWAL_ACTION[stall]),))
    if context.brokers is None:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies)
    try:
        context.brokers.wake_controller()
    except Unavailable as old:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies, str(old))
    return withdrawn + Result((Action(ActionKind.CONTROLLER_WOKEN),))


def _fail_over(context: PassContext, name: str, remedies: Remedies, why: str = "") -> Result:
    """Elect another controller; `why`: the error with which the present one answered."""
    if not remedies.allow_controller_failover:
        return Result(waits=(Wait(WaitReason.CONTROLLER_UNNOTICING, detail=why),))
    whole = context.access.observe(name, want_configs=False).cluster
    hazards = gates.hazards(whole, ())
    if hazards:
        unsafe = WaitReason.FAILOVER_UNSAFE
        return Result(waits=tuple(Wait(unsafe, cause=hazard) for hazard in hazards))
    if not context.access.elect_controller(whole):
        return Result()
    return Result((Action(ActionKind.CONTROLLER_FAILOVER),))


def recover_foreign(
    context: PassContext, desired: Desired, authority: Authority, observed: Observation
) -> Result:
    """Withdraw somebody else's request that has been done or pointless for a while."""
    stall = foreign_stall_of(observed.cluster)
    memory = context.memory
    if stall is None or not (authority.steps or authority.plans):
        memory.stale_since_ms = None
        return Result()
    now_ms = context.now_ms()
    memory.stale_since_ms = memory.stale_since_ms or now_ms
    if now_ms - memory.stale_since_ms < STALL_MS:
        return Result()
    remedies = desired.cluster.execution.remedies
    return recover(context, observed.reading, stall, remedies)
