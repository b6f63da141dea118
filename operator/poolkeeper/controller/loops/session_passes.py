"""The passes that a loop makes with one session, and what they remember of each other.

A pass works towards whatever is declared when it begins. What a person asks for is answered first,
as it changes what the pass finds. A write that was lost to another one is an outcome as well, and
so is a pass that was refused: both are reported, and the loop goes on.
"""

import time
from dataclasses import dataclass, field, replace

from poolkeeper.controller.loops import person_requests
from poolkeeper.controller.loops.audit_notes import note_commits, note_decisions
from poolkeeper.controller.loops.broker_link import BrokerLink
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.controller.loops.open_pass import now_ms, with_brokers
from poolkeeper.controller.loops.session_identity import SessionIdentity
from poolkeeper.controller.loops.transfer_rate import TransferRate
from poolkeeper.errors import DamagedNode, Forbidden, HolderActive, OtherCluster, Refused, Stale
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, State
from poolkeeper.model.execution.waits import Wait, after_error, damage_wait
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.reconcile.authority import Authority, authority_of
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import history, journal

FAILURES_MAX = 10
"""After so many passes in a row that were refused, the session and its memory are made anew."""
HISTORY_MAX = 20
"""Of the runs that ended last, as many are shown in status."""


@frozen
class ToldPass:
    """What the pass before told, and what it worked towards; nothing before the first pass."""

    outcome: Outcome | None = None
    desired: Desired | None = None

    def after_lost_write(
        self, stale: Stale, desired: Desired, seen: LastObservation | None
    ) -> Outcome:
        """The outcome of a pass whose write was lost to another one.

        How far the run is, and its plan, stand as they were told last. A first pass tells nothing
        of the cluster: it does not know whether a run is recorded.
        """
        waits, before = (after_error(stale),), self.outcome
        if before is None:
            return Outcome(State.WAITING, waits=waits)
        if not before.in_mid_run:
            return Outcome(State.WAITING, waits=waits, last_observation=seen)
        return replace(
            before,
            state=State.WAITING,
            did=(),
            waits=waits,
            fresh=before.fresh if desired is self.desired else None,
            last_observation=seen,
            external=None,
        )


@dataclass(slots=True)
class SessionPasses:
    """Passes with one session, one after the other; each reports its outcome.

    `ended_runs`: those that ended last. `failures`: how many passes in a row were refused.
    """

    config: LoopConfig
    session: Session
    context: PassContext
    link: BrokerLink
    identity: SessionIdentity
    ended_runs: tuple[FinishedRun, ...]
    failures: int = 0
    _told: ToldPass = field(default_factory=ToldPass)
    _pace: TransferRate = field(default_factory=TransferRate)

    def make_one(self) -> Outcome:
        """Make a pass, and return its outcome without waits for brokers and for another identity.

        Raises whatever ends the session, and `Refused` or `Forbidden` after `FAILURES_MAX` passes
        in a row that were refused.
        """
        self._answer_person()
        desired, settling = self.config.settled(self.config.declared())
        authority, damage = self._authority(desired, settling=settling)
        try:
            external_plan = self.config.external_plan()
            self.context = with_brokers(self.context, self.link)
            outcome = reconcile_cluster(self.context, desired, authority, external=external_plan)
        except Stale as stale:
            seen = self.context.memory.last_observation
            outcome = self._told.after_lost_write(stale, desired, seen)
        except (Refused, Forbidden) as error:
            return self._refused(error)
        self.failures = 0
        if any(action.kind is ActionKind.RUN_ENDED for action in outcome.did):
            self.ended_runs = runs_that_ended(self.session)
        outcome = replace(outcome, waits=(*damage, *outcome.waits), history=self.ended_runs)
        note_decisions(self.context.trail, outcome)
        self._told = ToldPass(outcome, desired)
        waits = (*outcome.waits, *self.identity.waits(), *self.link.waits())
        told = replace(outcome, waits=waits)
        self.config.report(self._pace.with_rate(told, time.monotonic()))
        return outcome

    def _answer_person(self) -> None:
        """Carry out what a person asks for at the moment, if anything."""
        if text := self.config.request():
            context = self.context
            answer = person_requests.carry_out(
                self.session, context.access, text, now_ms(), note_commits(context.trail)
            )
            self.config.answered(answer)

    def _authority(self, desired: Desired, *, settling: bool) -> tuple[Authority, tuple[Wait, ...]]:
        """What the pass may do, and what of the approvals is damaged."""
        approvals, damage = _approvals(self.session)
        manual = desired.cluster.approval.policy is ApprovalPolicy.MANUAL
        verified = manual and self.config.approvers_verified()
        authority = replace(authority_of(desired, approvals, verified=verified), settling=settling)
        if self.config.paused():
            authority = Authority(paused=True)
        return replace(authority, rate_known=self.config.rate_known()), damage

    def _refused(self, error: Refused | Forbidden) -> Outcome:
        """Report a pass that was refused; raise the error where the session has to end."""
        self.failures += 1
        if self.failures > FAILURES_MAX or isinstance(error, OtherCluster | HolderActive):
            raise error
        # The journal is kept meanwhile: who asks for the status is told who works here.
        told = self.identity.explained(error)
        self.config.report(Outcome(State.WAITING, waits=(after_error(told),), error=told))
        return Outcome(State.WAITING, waits=(after_error(error),), error=error)


def runs_that_ended(session: Session) -> tuple[FinishedRun, ...]:
    """Return the runs that ended last, as many as status shows."""
    return history.read(session).runs[-HISTORY_MAX:]


def _approvals(session: Session) -> tuple[tuple[str, ...], tuple[Wait, ...]]:
    """Return what was approved on the command line; none if the record of it cannot be read."""
    try:
        return journal.read_approvals(session), ()
    except DamagedNode as damaged:
        return (), (damage_wait(damaged.damage),)
