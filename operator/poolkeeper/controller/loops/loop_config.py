"""What the loop of one cluster is given, and how it is asked to end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.open_pass import ReachedCluster
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Report
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.context import Timed, measure_nothing, planner_of_a_loop
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.reconcile.pass_memory import PendingPlan
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import Emit


@dataclass(slots=True)
class LoopConfig:
    """What the loop of one cluster is given: its declared state, its callbacks, its wake-up.

    `paused`: whether the loop finishes the stage in flight and starts no other, whatever is
    declared. `rate_known`: whether it is known which rate a run may have. `begin_pass` returns what
    is declared when a pass begins, which the next report is about; `desired` where nobody has to
    know. `settled` returns what of it the pass works towards, and whether resources may still be
    arriving, one by one. `beat` is called with the seconds for which the loop may now be silent.
    `external_plan` returns the external plan for this cluster, if there is one. `pending` is the
    pending plan; it survives a change of executor or of mode. `lost_sessions`: those that ended in
    outages since the journal was held last; no other executor has them. `reached`: the cluster that
    its sessions led to. `emit` takes what goes into the audit trail. `approvers_verified`: whether
    an admission policy makes sure of who approved. `request` is what a person asks for at the
    moment, or empty; `answered` is called with what came of it. `cluster_of_session` names the
    KafkaCluster of this process whose loop has that session, or is empty.
    """

    connections: ClusterConnections
    desired: Callable[[], Desired]
    report: Report
    wake: Event = field(default_factory=Event)
    stop: Event = field(default_factory=Event)
    paused: Callable[[], bool] = lambda: False
    rate_known: Callable[[], bool] = lambda: True
    begin_pass: Callable[[], Desired] | None = None
    settled: Callable[[Desired], tuple[Desired, bool]] = lambda desired: (desired, False)
    planner: Planner = field(default_factory=planner_of_a_loop)
    timed: Timed = measure_nothing
    beat: Callable[[float], None] = lambda patience_s: None
    external_plan: Callable[[], ExternalPlan | None] = lambda: None
    pending: PendingPlan = field(default_factory=PendingPlan)
    lost_sessions: set[int] = field(default_factory=set)
    reached: ReachedCluster = field(default_factory=ReachedCluster)
    approvers_verified: Callable[[], bool] = lambda: False
    emit: Emit = audit.discard
    request: Callable[[], str] = lambda: ""
    answered: Callable[[RequestAnswer], None] = lambda answer: None
    cluster_of_session: Callable[[int], str] = lambda session_id: ""

    def declared(self) -> Desired:
        """Return what is declared, for a pass that begins."""
        return (self.begin_pass or self.desired)()

    def end(self) -> None:
        """Ask the loop to end; the next executor resumes the recorded run."""
        self.stop.set()
        self.wake.set()

    def clear_wake(self) -> None:
        """Clear `wake` before the next pass looks at the cluster; a request to end stays set."""
        self.wake.clear()
        if self.stop.is_set():
            self.wake.set()
