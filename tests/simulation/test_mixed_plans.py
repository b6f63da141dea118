"""What a person approves once is done wholly, and nothing else: plans of several parts, simulated.

The plan drains a broker, evens out, shortens a topic's retention and deletes another topic. Its
hash changes as soon as some of it is done, and all of it takes several passes. The process may die
at any of its writes. Nobody is asked again.
"""

from collections.abc import Collection
from dataclasses import replace

import pytest

from builders import desired, pool_spec, topic_spec
from matrices import every
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import (
    DeletionPolicy,
    Execution,
    Goal,
    GoalKind,
    Mode,
    Throttle,
    ThrottleMode,
)
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Faults, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import journal
from simulation.executors import Executor, converged

QUICK = Execution(throttle=Throttle(ThrottleMode.NONE), max_moves=2)
POOL = pool_spec("p", 1, 2, 3, 4, cluster="c", goals=())
FOUND = {"t": ([1, 2], [1, 3], [2, 3]), "u": ([1, 3],), "old": ([2, 3],), "x": ([2, 3],) * 6}
KEPT_FOR = {"retention.ms": "9000"}
TOPICS = (
    topic_spec("t"),
    topic_spec("u", config=KEPT_FOR),
    topic_spec("old", deletion_policy=DeletionPolicy.DELETE),
    topic_spec("x"),
)
DECLARED = desired((POOL,), *TOPICS, name="c", mode=Mode.APPLY, execution=QUICK)
WANTED = replace(
    DECLARED,
    pools=(replace(POOL, drain=frozenset({1})),),
    topics=(TOPICS[0], replace(TOPICS[1], config={"retention.ms": "1000"}), TOPICS[3]),
    doomed=frozenset({Claim("old", "shop/old")}),
)
BY_ITSELF = Authority(steps=True, plans=None)
EVEN = replace(
    DECLARED,
    pools=(replace(POOL, drain=frozenset({1}), goals=(Goal(GoalKind.REPLICAS, count=1),)),),
)
ASKED = WaitReason.APPROVAL_REQUIRED


def approves(*hashes: str) -> Authority:
    return Authority(steps=True, plans=frozenset(hashes))


def waiting(outcome: Outcome) -> bool:
    """Whether the pass waits for approval, and for nothing else."""
    return outcome.state is State.WAITING and outcome.progress is None and has(outcome.waits, ASKED)


class Mixed:
    """A cluster as declared, and then something else declared for it."""

    def __init__(self, wanted: Desired = WANTED) -> None:
        self.cluster = SimulatedCluster(SimulationSpec(spread(4), kafka="3.9.2"))
        self.cluster.start()
        for name, lists in FOUND.items():
            self.cluster.create_topic(name, *lists)
        Executor(self.cluster, DECLARED, BY_ITSELF).finish()
        self.executor = Executor(self.cluster, wanted, approves(), waiting)

    def asked(self) -> Plan:
        """Pass until a person is asked; return the plan that is asked about."""
        self.executor.authority, self.executor.at_rest = approves(), waiting
        self.executor.finish()
        plan = self.executor.seen[-1].plan
        assert plan is not None
        return plan

    def approve(self, *hashes: str, until=converged, plans=lambda _: faults.none) -> list[Outcome]:
        """Go on with these hashes approved; return what was seen."""
        before = len(self.executor.seen)
        self.executor.authority, self.executor.at_rest = approves(*hashes), until
        self.executor.finish(plans)
        self.cluster.settle()
        return self.executor.seen[before:]

    def done(self) -> set[str]:
        """What of the plan is done."""
        retention = self.cluster.read("/config/topics/u")["config"]["retention.ms"]
        found = {"topic/u"} if retention == "1000" else set()
        lists = [*self.cluster.replicas("t").values(), *self.cluster.replicas("u").values()]
        found |= set() if any(1 in replicas for replicas in lists) else {"drain"}
        return found if self.cluster.exists("/brokers/topics/old") else found | {"topic/old"}


EVERYTHING = {"drain", "topic/u", "topic/old"}


def hash_of(plan: Plan, name: str) -> str:
    return next(part.hash for part in plan.parts if part.name == name)


def asks(seen: Collection[Outcome]) -> list[Outcome]:
    return [outcome for outcome in seen if has(outcome.waits, ASKED)]


def test_a_mixed_plan_is_done_wholly_with_one_approval() -> None:
    mixed = Mixed()
    plan = mixed.asked()
    assert {part.name for part in plan.parts} >= EVERYTHING
    assert mixed.done() == set()
    assert asks(mixed.approve(plan.hash)) == []
    assert mixed.done() == EVERYTHING


def test_it_is_done_wholly_where_it_was_approved_before_anybody_asked() -> None:
    plan, mixed = Mixed().asked(), Mixed()
    assert asks(mixed.approve(plan.hash)) == []
    assert mixed.done() == EVERYTHING


@pytest.mark.parametrize("after", [False, True], ids=["before-the-write", "after-the-write"])
@every(5)
def test_it_is_done_wholly_although_the_process_dies_at_any_write(after: bool, step: int) -> None:
    plain = Mixed()
    plan = plain.asked()
    before = plain.executor.writes
    plain.approve(plan.hash)
    for number in range(1 + 2 * after, plain.executor.writes - before + 1, step):
        mixed = Mixed()
        fault = faults.at_writes({number: Fault(FaultKind.DIED, done=after)})

        def plans(process: int, fault: Faults = fault) -> Faults:
            return faults.none if process else fault

        seen = mixed.approve(mixed.asked().hash, plans=plans)
        assert (number, asks(seen)) == (number, [])
        assert (number, mixed.done()) == (number, EVERYTHING)


def test_a_part_is_done_alone_while_the_others_wait() -> None:
    mixed = Mixed()
    plan = mixed.asked()
    left = [part.name for part in plan.parts]
    for name in ("topic/old", "drain", "topic/u"):
        mixed.approve(hash_of(mixed.asked(), name), until=lambda o: waiting(o) or converged(o))
        left.remove(name)
        assert mixed.done() == EVERYTHING - set(left)
        if not left:
            break
        now = mixed.executor.seen[-1].plan
        assert now is not None
        assert [part.name for part in now.parts] == left


def test_a_part_that_waits_keeps_its_hash_while_the_part_before_it_is_done() -> None:
    mixed = Mixed(EVEN)
    plan = mixed.asked()
    assert [part.name for part in plan.parts] == ["drain", "balance"]
    seen = mixed.approve(hash_of(plan, "drain"), until=waiting)
    assert seen[-1].plan is not None
    assert hash_of(seen[-1].plan, "balance") == hash_of(plan, "balance") == seen[-1].plan.hash
    assert asks(mixed.approve(hash_of(plan, "drain"), hash_of(plan, "balance"))) == []


def test_both_parts_approved_are_done_one_after_the_other() -> None:
    mixed = Mixed(EVEN)
    plan = mixed.asked()
    seen = mixed.approve(*(part.hash for part in plan.parts))
    assert asks(seen) == []
    assert "drain" in mixed.done()


def test_a_part_without_its_predecessors_is_refused_by_name() -> None:
    mixed = Mixed(EVEN)
    plan = mixed.asked()
    balance = hash_of(plan, "balance")
    before = mixed.cluster.replicas("t")
    outcome = mixed.approve(balance, until=waiting)[-1]
    wait = next(w for w in outcome.waits if w.reason is WaitReason.PREDECESSORS_NOT_APPROVED)
    assert (wait.name, wait.names, wait.hash) == ("balance", ("drain",), balance)
    assert mixed.cluster.replicas("t") == before


def test_an_approval_that_fits_nothing_is_said_so_with_what_waits_instead() -> None:
    mixed = Mixed()
    plan = mixed.asked()
    outcome = mixed.approve("sha256:typo", until=waiting)[-1]
    wait = next(w for w in outcome.waits if w.reason is WaitReason.APPROVAL_UNMATCHED)
    assert wait.hash == "sha256:typo"
    assert wait.cause is not None
    assert wait.cause.hash == plan.hash
    assert mixed.done() == set()


def test_a_topic_that_is_declared_again_is_not_deleted_by_the_approval_of_before() -> None:
    mixed = Mixed()
    plan = mixed.asked()
    again = (*mixed.executor.desired.topics, TOPICS[2])
    mixed.executor.desired = replace(mixed.executor.desired, topics=again, doomed=frozenset())
    mixed.approve(plan.hash, until=lambda outcome: waiting(outcome) or converged(outcome))
    assert mixed.cluster.exists("/brokers/topics/old")


def test_what_a_tenant_declares_meanwhile_changes_no_hash_of_the_platforms_parts() -> None:
    mixed = Mixed(EVEN)
    plan = mixed.asked()
    new = [topic_spec(f"new{n}", partitions=5, replication_factor=2) for n in range(3)]
    shorter = replace(TOPICS[1], config={"retention.ms": "5"})
    mixed.executor.desired = replace(EVEN, topics=(TOPICS[0], shorter, *TOPICS[2:], *new))
    now = mixed.asked()
    assert mixed.cluster.exists("/brokers/topics/new2")
    assert hash_of(now, "drain") == hash_of(plan, "drain")
    assert now.hash != plan.hash
    assert {"drain"} <= mixed_after(mixed, hash_of(plan, "drain"))


def mixed_after(mixed: Mixed, *hashes: str) -> set[str]:
    mixed.approve(*hashes, until=waiting)
    return mixed.done()


def test_a_run_that_was_stopped_is_asked_about_again() -> None:
    mixed = Mixed()
    plan = mixed.asked()

    def moving(outcome: Outcome) -> bool:
        return outcome.progress is not None and outcome.progress.moves_in_flight > 0

    mixed.approve(plan.hash, until=moving)
    session = FakeSession(mixed.cluster.server, mixed.cluster.clock)
    assert journal.request_stop(session, StopRequest()) is not None
    seen = mixed.approve(plan.hash, until=lambda o: has(o.waits, WaitReason.STOPPED_BY_PERSON))
    assert seen[-1].plan is not None
    assert seen[-1].plan.hash != plan.hash
    assert "topic/old" not in mixed.done()


def test_who_approved_is_told_where_a_run_begins_and_where_none_does() -> None:
    mixed = Mixed()
    plan = mixed.asked()
    topic, drain = hash_of(plan, "topic/old"), hash_of(plan, "drain")
    names = {topic: "approved by jane", drain: "approved by joe (unverified)"}
    mixed.executor.authority = Authority(
        steps=True, plans=frozenset(names), approved_by_name=frozenset(names), approvers=names
    )
    mixed.executor.at_rest = waiting
    mixed.executor.finish()
    told = [
        (action.kind, action.by)
        for outcome in mixed.executor.seen
        for action in outcome.did
        if action.kind in (ActionKind.PLAN_APPROVED, ActionKind.RUN_BEGUN)
    ]
    both = "part drain approved by joe (unverified); part topic/old approved by jane"
    assert told[0] == (ActionKind.RUN_BEGUN, both)
    assert told[1:] == [(ActionKind.PLAN_APPROVED, "part topic/old approved by jane")]
    assert mixed.done() == {"drain", "topic/old"}
