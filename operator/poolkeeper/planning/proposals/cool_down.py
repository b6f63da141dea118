"""When balance alone may start a plan (`balancing.coolDown`), and what is done until then.

A run that evens something out is remembered by when it began. Until `coolDown` has passed since, a
loop that acts by itself leaves out the moves that have no other reason than balance. All others go
at once, to where the whole plan has them go: healing, draining, migrations, replication factors.

A second plan, without any goals, tells what must not wait, and is carried out instead

- where it moves something of this kind, too: brokers that hold more than they may are a matter of a
  law, although their moves look like balance;
- where it adds partitions that the whole plan has wait for moves of their topic;
- where the rest of the whole plan alone would break a law.

Where it leaves out something that the whole plan does for another reason than balance, the whole
plan is carried out: it is not for balance alone.

Two things are never held back:

- what a person approved or applies by hand;
- replicas between the log directories of one broker, which are evened out a few at a time and
  without a run.

Times are those of the clocks of whoever led the cluster then and leads it now, so a start may lie
in the future. One that lies further ahead than `coolDown` was noted by a clock that was wrong, and
counts for nothing.
"""

from collections.abc import Callable, Container
from dataclasses import replace

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BalanceRecord
from poolkeeper.model.plans import AddPartitions, CreateTopic, Plan, Urgency
from poolkeeper.model.specs import ApprovalPolicy, Balancing, GoalKind
from poolkeeper.planning.proposals import identity


@frozen
class CooledPlan:
    """What of a plan may be done now; `waits_until_ms`: when what is left out may begin, if any."""

    plan: Plan
    waits_until_ms: int | None = None


def waits_until_ms(balancing: Balancing, last: BalanceRecord | None, now_ms: int) -> int | None:
    """When balance alone may start a plan again; None if it may now, or never has."""
    if last is None or abs(now_ms - last.started_ms) >= balancing.cool_down_s * 1000:
        return None
    return last.started_ms + balancing.cool_down_s * 1000


def starts_by_itself(desired: Desired) -> bool:
    """Whether balance starts plans that no person approves."""
    cluster = desired.cluster
    return cluster.approval.policy is ApprovalPolicy.AUTO and cluster.balancing.enabled


def has_balance_moves(plan: Plan) -> bool:
    """Whether some moves are for balance alone, or take replicas off a broker that is too full."""
    return any(move.urgency == Urgency.BALANCE for move in plan.moves)


def balance_record(
    plan: Plan, balancing: Balancing, last: BalanceRecord | None, started_ms: int
) -> BalanceRecord | None:
    """The record of a run that balances; None if it does not, or if balance cools down.

    While balance cools down nothing counts: a loop evens nothing out then, and what a person starts
    does not make it wait longer.
    """
    if not has_balance_moves(plan) or waits_until_ms(balancing, last, started_ms) is not None:
        return None
    return BalanceRecord(started_ms)


def without_goals(desired: Desired, names: Container[str] | None = None) -> Desired:
    """What is declared, without the goals that move replicas or leaders between brokers.

    `names`: of the pools that lose them; all without it.
    """
    pools = (
        replace(pool, goals=tuple(goal for goal in pool.goals if goal.kind is GoalKind.LOG_DIRS))
        if names is None or pool.name in names
        else pool
        for pool in desired.pools
    )
    return replace(desired, pools=tuple(pools))


def hold_balance_back(
    plan: Plan,
    desired: Desired,
    until_ms: int | None,
    planned: Callable[[Desired], Plan],
    lawful: Callable[[Plan], bool],
) -> CooledPlan:
    """The plan without its balance part, if that has to wait.

    `until_ms`: what `waits_until_ms` says now. `planned` makes the plan of what is declared,
    `lawful` tells whether a plan may be carried out.
    """
    if until_ms is None or not has_balance_moves(plan):
        return CooledPlan(plan)
    # Its fingerprint names what is really declared.
    plain = replace(planned(without_goals(desired)), fingerprint=plan.fingerprint)
    rest = _without_balance(plan)
    if not has_balance_moves(plain) and _work(plain) <= _work(rest) and lawful(rest):
        found = rest
    else:
        found = plain if _work(rest) <= _work(plain) else plan
    return CooledPlan(found, until_ms) if len(found.moves) < len(plan.moves) else CooledPlan(plan)


def _work(plan: Plan) -> set[tuple[str, int]]:
    """Partitions that move, and topics (-1) that are created or get partitions."""
    moved = {(move.topic, move.partition) for move in plan.moves}
    return moved | {
        (step.topic, -1) for step in plan.steps if isinstance(step, CreateTopic | AddPartitions)
    }


def _without_balance(plan: Plan) -> Plan:
    moves = tuple(move for move in plan.moves if move.urgency != Urgency.BALANCE)
    named = identity.plan_hash(moves, plan.steps)
    return replace(plan, hash=named, moves=moves, certificates=())
