"""Plans that are offered to a loop: when it is their turn, and that they are carried out once."""

from dataclasses import dataclass, replace

import pytest

from builders import pool_spec, topic_spec
from matrices import soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome
from poolkeeper.model.execution.refusals import Drift, DriftReason
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.topology import TopicPartition
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, faults
from simulation.executors import Executor
from simulation.offered_plans import (
    CLUSTER,
    DESIRED,
    NIGHT,
    NOTHING_APPROVED,
    POOL,
    TOPIC,
    Ground,
    all_moves,
    begun,
    done,
    drifts,
    ended,
    made,
    waits_for,
)


def test_an_offered_plan_is_carried_out_where_nothing_else_is_approved(ground: Ground) -> None:
    executor = ground.executor(ground.offer)
    executor.finish()
    assert executor.seen[-1].external == done(ground)
    assert ground.even()
    assert {each.progress.plan for each in executor.seen if each.progress} == {ground.plan.hash}
    assert not ground.cluster.exists("/poolkeeper/run")


def test_it_is_offered_again_and_nothing_more_is_done(ground: Ground) -> None:
    ground.executor(ground.offer).finish()
    again = ground.executor(ground.offer)
    again.finish()
    assert (again.passes, again.seen[-1].did) == (1, ())


@pytest.mark.parametrize(("done", "step"), [(True, 3), *soak((True, 1), (False, 1))])
def test_a_process_may_die_at_every_write_and_nothing_is_done_twice(done: bool, step: int) -> None:
    plain = made()
    executor = plain.executor(plain.offer)
    executor.finish()
    for number in range(1, executor.writes + 1, step):
        ground = made()
        plan = faults.at_writes({number: Fault(FaultKind.DIED, done=done)})
        again = ground.executor(ground.offer)
        again.finish(lambda n, plan=plan: faults.none if n else plan)
        assert ground.even(), number
        assert sorted(set(ground.requested)) == all_moves(ground), number
        assert len(ground.requested) == len(set(ground.requested)), number


def test_what_moved_on_since_is_refused_and_the_loop_goes_on(ground: Ground) -> None:
    ground.somebody_moves(0, [4, 3])
    executor = ground.executor(ground.offer)
    executor.finish()
    errand = executor.seen[-1].external
    assert errand is not None
    assert errand.state is ExternalPlanState.REFUSED
    assert drifts(errand)[0] == Drift(
        DriftReason.REPLICAS_CHANGED,
        partition=TopicPartition("t", 0),
        live=(4, 3),
        planned=(1, 2),
    )
    assert not ground.cluster.exists("/poolkeeper/run")


def test_what_was_begun_leaves_alone_what_others_moved(ground: Ground) -> None:
    ground.somebody_moves(0, [4, 3])
    executor = ground.executor(lambda: ground.offer(has_begun=True))
    executor.finish()
    errand = executor.seen[-1].external
    assert errand is not None
    assert (errand.state, errand.why) == (
        ExternalPlanState.DONE,
        (Action(ActionKind.LEFT_TO_OTHERS, partitions=(TopicPartition("t", 0),)),),
    )
    assert ground.cluster.replicas("t")["0"] == [4, 3]


def test_what_was_begun_goes_on_without_a_topic_that_is_gone() -> None:
    wanted = replace(DESIRED, pools=(replace(POOL, claims=("u",)),))
    ground = made(topics=("t", "u"), wanted=wanted)
    ground.cluster.create("/admin/delete_topics/u", "")
    ground.cluster.settle()
    left = tuple(move.name for move in ground.plan.moves if move.topic == "u")
    assert 0 < len(left) < len(ground.plan.moves)
    offer = ground.offer(has_begun=True, declaration=declaration(wanted, ground.plan))
    executor = ground.executor(lambda: offer, desired=wanted)
    executor.finish()
    told = Action(ActionKind.LEFT_TO_OTHERS, partitions=left)
    assert executor.seen[-1].external == done(ground, told)
    assert ground.even()
    plans = [outcome.plan for outcome in executor.seen if outcome.progress is not None]
    stages = next(plan.stages for plan in plans if plan is not None and plan.moves)
    planned = {ground.plan.moves[m].topic for stage in stages for m, _ in stage.moves}
    assert planned == {"t"}, "what is gone takes no time"


def test_what_is_declared_otherwise_by_now_is_refused(ground: Ground) -> None:
    other = replace(DESIRED, pools=(replace(POOL, brokers=(1, 2, 3, 4)),))
    executor = ground.executor(ground.offer, desired=other)
    executor.finish()
    errand = executor.seen[-1].external
    assert errand is not None
    assert errand.state is ExternalPlanState.REFUSED
    assert drifts(errand) == [Drift(DriftReason.DECLARED_OTHERWISE)]
    assert ground.requested == []


def test_creations_are_not_held_up_by_it(ground: Ground) -> None:
    new = topic_spec("new", "p", partitions=1, replication_factor=2)
    executor = ground.executor(ground.offer, desired=replace(DESIRED, topics=(new, TOPIC)))
    executor.finish()
    assert ground.cluster.exists("/brokers/topics/new")
    assert ground.even()


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        pytest.param({"wait": NIGHT}, NIGHT.reason, id="held"),
        pytest.param({"plan": None}, WaitReason.PLAN_BEING_READ, id="not-read-yet"),
    ],
)
def test_it_waits(ground: Ground, offer: dict[str, object], why: WaitReason) -> None:
    told = replace(ground.offer(), **offer)  # type: ignore[arg-type]
    ground.executor(lambda: told, at_rest=waits_for(why)).finish()
    assert ground.requested == []


def test_it_waits_until_what_is_declared_has_settled(ground: Ground) -> None:
    settling = replace(NOTHING_APPROVED, settling=True)
    at_rest = waits_for(WaitReason.SETTLING)
    ground.executor(ground.offer, authority=settling, at_rest=at_rest).finish()
    assert ground.requested == []


def test_held_in_mid_run_it_finishes_its_stage_and_starts_none(ground: Ground) -> None:
    ground.executor(ground.offer, at_rest=begun(ground)).finish()
    held = ground.executor(
        lambda: ground.offer(wait=NIGHT),
        at_rest=lambda outcome: (
            waits_for(NIGHT.reason)(outcome) and not ground.cluster.exists(REQUEST)
        ),
    )
    held.finish()
    assert len(ground.requested) == 2
    assert ground.cluster.exists("/poolkeeper/run")
    ground.executor(ground.offer).finish()
    assert ground.even()
    assert sorted(ground.requested) == all_moves(ground)


CONFIG, EMPTY = "/config/topics/t", {"version": 1, "config": {}}


def test_a_topic_that_cannot_be_read_is_told_in_mid_run_and_waited_for(ground: Ground) -> None:
    ground.cluster.create(CONFIG, EMPTY)
    ground.executor(ground.offer, at_rest=begun(ground)).finish()
    ground.cluster.set(CONFIG, b"no JSON")
    unseen = waits_for(WaitReason.TOPIC_UNREADABLE)
    told = ground.executor(
        lambda: ground.offer(has_begun=True),
        at_rest=lambda outcome: unseen(outcome) and not ground.cluster.exists(REQUEST),
    )
    told.finish()
    errand = told.seen[-1].external
    assert errand is not None
    assert errand.state is ExternalPlanState.MOVING
    assert len(ground.requested) == 2
    assert ground.cluster.exists("/poolkeeper/run")
    ground.cluster.set(CONFIG, EMPTY)
    executor = ground.executor(lambda: ground.offer(has_begun=True))
    executor.finish()
    assert executor.seen[-1].external == done(ground)
    assert ground.even()
    assert sorted(ground.requested) == all_moves(ground)


def test_a_topic_that_cannot_be_read_before_it_begins_is_refused_by_its_node(
    ground: Ground,
) -> None:
    ground.cluster.create(CONFIG, b"no JSON")
    executor = ground.executor(ground.offer)
    executor.finish()
    errand = executor.seen[-1].external
    assert errand is not None
    assert errand.state is ExternalPlanState.REFUSED
    (drift,) = {*drifts(errand)}
    assert (drift.reason, drift.topic) == (DriftReason.TOPIC_UNREADABLE, "t")
    assert CONFIG in drift.path
    assert ground.requested == []


def test_withdrawn_in_mid_run_its_run_ends_after_its_stage(ground: Ground) -> None:
    ground.executor(ground.offer, at_rest=begun(ground)).finish()
    executor = ground.executor(lambda: ExternalPlan(ground.plan.hash, withdrawn=True))
    executor.finish()
    withdrawn = (Action(ActionKind.WITHDRAWN),)
    assert executor.seen[-1].external == done(ground, *withdrawn)
    assert not ground.cluster.exists("/poolkeeper/run")
    assert len(ground.requested) == 2


def test_nobody_offers_it_any_more_and_its_run_is_resumed_all_the_same(ground: Ground) -> None:
    ground.executor(ground.offer, at_rest=begun(ground)).finish()
    Executor(
        ground.cluster,
        DESIRED,
        NOTHING_APPROVED,
        at_rest=lambda _: not ground.cluster.exists("/poolkeeper/run"),
    ).finish()
    assert ground.even()


def test_a_drain_goes_first_where_it_may_go(ground: Ground) -> None:
    """The offered plan was made when the drain was declared already, and is of balance alone."""
    ground.cluster.create_topic("other", [4, 1])
    ground.cluster.settle()
    pools = (POOL, pool_spec("q", 4, cluster="c", drain=frozenset({4})))
    topics = (topic_spec("other", "p"), TOPIC)
    desired = replace(DESIRED, pools=pools, topics=topics)
    own = replace(pools[0], brokers=(1, 2, 3, 4), drain=frozenset({4}))
    desired = replace(DESIRED, pools=(own,), topics=topics)
    told = replace(ground.offer(), declaration=declaration(desired, ground.plan))
    executor = ground.executor(
        lambda: told, desired=desired, authority=Authority(steps=True, plans=None)
    )
    executor.finish()
    assert any(waits_for(WaitReason.OWN_PLAN_URGENT)(outcome) for outcome in executor.seen)
    assert ground.requested[0] == ("other", 0)


POOLS = (POOL, pool_spec("q", 4, cluster="c"))


@dataclass(slots=True)
class Edited(Executor):
    """Somebody edits the config of another topic before every pass: each has something to write."""

    def _pass(self, context: PassContext) -> Outcome:
        other = topic_spec("other", "q", config={"retention.ms": str(10**9 + self.passes)})
        self.desired = Desired(CLUSTER, POOLS, (other, TOPIC))
        return Executor._pass(self, context)


def test_edits_before_every_pass_do_not_keep_it_from_beginning() -> None:
    ground = made()
    ground.cluster.create_topic("other", [4])
    told = declaration(Desired(CLUSTER, POOLS, (TOPIC,)), ground.plan)
    offer = ground.offer(declaration=told)
    executor = Edited(ground.cluster, DESIRED, NOTHING_APPROVED, at_rest=ended, offer=lambda: offer)
    executor.finish(passes_max=150)
    assert ground.even(), executor.seen[-1].external
