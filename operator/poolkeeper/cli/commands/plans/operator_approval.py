"""An approval that `poolkeeper apply` leaves for the active operator, and what becomes of it.

An operator that was killed holds the cluster until its ZooKeeper session ends. So the approval is
handed over only once the operator begins the plan, or is still there after longer than ZooKeeper
keeps the session of a dead process.
"""

import time
from enum import Enum, auto

from poolkeeper.cli.input.interrupts import Check
from poolkeeper.errors import Refused
from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.text import few
from poolkeeper.zk import fencing, znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.fenced_session import OnCommit
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import journal

BEGIN_WITHIN_S = 15.0
"""How long the operator has to begin the plan; ZooKeeper keeps a dead one's session for 10 s."""

TOPICS_MAX = 5
_LOOK_S = 0.5
"""An interrupt is heard after this time."""


class ApprovalProgress(Enum):
    """What became of an approval that was left for the operator."""

    BEGUN = auto()
    """The operator began the plan."""
    WAITING = auto()
    """The operator is there and has not begun the plan."""
    OPERATOR_GONE = auto()
    """No process holds the cluster any more, and nobody began the plan."""


def require_done_by_operator(plan: Plan, asked: Plan | None, holder: Holder) -> None:
    """Raise `Refused` if the plan deletes topics for `--prune`: an operator never does that.

    `asked`: the plan that the operator asks about. What that one deletes is done.
    """
    if asked is not None and asked.hash == plan.hash:
        return
    if topics := [step.topic for step in plan.steps if isinstance(step, DeleteTopic)]:
        raise Refused(
            f"{holder} deletes no topic whose manifest is gone ({few(topics, TOPICS_MAX)}): end it"
            " first, or plan without --prune"
        )


def leave_approval(
    session: Session, plan: str, on_commit: OnCommit, check: Check
) -> ApprovalProgress:
    """Record the approval of a plan, given by its hash, and wait for the operator to begin it.

    Waits `BEGIN_WITHIN_S` at most; `check` raises at an interrupt. The approval stays recorded
    whatever becomes of it.
    """
    journal.hand_over_approval(session, plan, on_commit)
    deadline = time.monotonic() + BEGIN_WITHIN_S
    while True:
        found = _look(session, plan)
        left_s = deadline - time.monotonic()
        if found is not ApprovalProgress.WAITING or left_s <= 0:
            return found
        session.wait((znodes.RUN, znodes.APPROVALS, znodes.HOLDER), min(left_s, _LOOK_S))
        check()


def _look(session: Session, plan: str) -> ApprovalProgress:
    run = journal.read_run(session)
    if run is not None and run.plan == plan:
        return ApprovalProgress.BEGUN
    if plan not in journal.read_approvals(session):  # removed once the plan is done
        return ApprovalProgress.BEGUN
    return (
        ApprovalProgress.WAITING
        if fencing.read_holder(session) is not None
        else ApprovalProgress.OPERATOR_GONE
    )
