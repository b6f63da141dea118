"""The last check before a write: is this plan lawful? Independent of the code that made it.

`check_plan` checks every move and step by itself (`moves`, `steps`), and the whole: the state after
the plan may not be worse than the one before by any pool's laws, taken in their order (`excess`). A
law may get worse only if a higher one gets better. The excess of what no pool owns is added to that
of every pool in this comparison, because evacuating it may fill a pool's brokers.

Plans of fleets have millions of moves. So two questions are answered without a full count: which
moves are plainly lawful (`fast_path`), and that no pool is worse off (`incremental`).

A plan is checked against the cluster it was made from: paths start at the live lists. For a plan
that is being executed, `assert_lawful` in `next_stage` does the same for the next stage.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from poolkeeper import errors
from poolkeeper.model.columns.move_columns import ColumnMoves
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.specs import Strategy
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.audit import fast_path
from poolkeeper.planning.audit.excess import (
    LAWS,
    Excesses,
    ReplicasByPartition,
    excesses_by_pool,
    live_state,
    partition_excess,
)
from poolkeeper.planning.audit.excess import excesses as excesses
from poolkeeper.planning.audit.incremental import leaves_worse
from poolkeeper.planning.audit.moves import move_violations
from poolkeeper.planning.audit.steps import step_violations
from poolkeeper.planning.audit.violations import Violation as Violation
from poolkeeper.planning.proposals.identity import plan_hash
from poolkeeper.planning.rules import Rules
from poolkeeper.text import cut

_SHOWN_MAX = 50
_PLACE = itemgetter(*map(Move._fields.index, ("topic", "partition")))


def check_plan(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    records: Records,
    gone: Iterable[int] = (),
    *,
    fresh: bool = False,
) -> tuple[Violation, ...]:
    """Every violation of the plan; empty if it may be executed.

    `gone`: brokers that count as lost for good.
    `fresh`: this process has just made the plan and computed its hash.
    """
    rules = Rules(desired, cluster, frozenset(gone), records)
    others = list(fast_path.others(rules, plan.moves))
    found = [
        *_whole(plan, fresh=fresh),
        *_once(plan.moves),
        *move_violations(rules, others),
        *step_violations(rules, plan.steps, records),
    ]
    forgiven = tuple(_forgiven(rules, plan))
    if not found and leaves_worse(rules, plan, others, forgiven):
        before = live_state(cluster)
        found.extend(worse_pools(rules, before, state_after(plan, before), forgiven))
    return tuple(found)


def enforce(
    plan: Plan,
    desired: Desired,
    cluster: Cluster,
    records: Records,
    gone: Iterable[int] = (),
    *,
    fresh: bool = False,
) -> None:
    """Raise `Refused` with every violation of the plan; to be called before any write."""
    violations = check_plan(plan, desired, cluster, records, gone, fresh=fresh)
    if violations:
        raise refusal(violations)


def refusal(violations: Iterable[Violation]) -> errors.Refused:
    """The error that names these violations."""
    told = cut(map(str, violations), _SHOWN_MAX, grouped=False)
    message = "\n".join(["the plan is unlawful:", *told])
    return errors.Refused(message, reason=errors.RefusalReason.UNLAWFUL_PLAN)


def worse_pools(
    rules: Rules,
    before: ReplicasByPartition,
    after: ReplicasByPartition,
    forgiven: Iterable[tuple[str, int]] = (),
) -> Iterator[Violation]:
    """Name the pools that are worse in `after` than in `before`, by their laws in order.

    `forgiven`: (pool, excess of the law of racks) that does not count in `after`.
    """
    was, becomes = excesses_by_pool(rules, before), excesses_by_pool(rules, after)
    for pool, excess in forgiven:
        becomes[pool] = becomes[pool]._replace(racks=becomes[pool].racks - excess)
    common, then = was.pop(""), becomes.pop("")
    if then > common:  # reported once, not again for every pool
        yield from _worse("", common, then)
        common = then
    for pool in sorted(was):
        yield from _worse(pool, was[pool].plus(common), becomes[pool].plus(then))


def state_after(plan: Plan, before: ReplicasByPartition) -> dict[tuple[str, int], Replicas]:
    """The state after every move and step of the plan is done."""
    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    after = {name: replicas for name, replicas in before.items() if name[0] not in deleted}
    after.update({(move.topic, move.partition): move.target for move in plan.moves})
    after.update(dict(_added(plan)))
    return after


def _added(plan: Plan) -> Iterator[tuple[tuple[str, int], Replicas]]:
    for step in plan.steps:
        if isinstance(step, CreateTopic | AddPartitions):
            first = step.first if isinstance(step, AddPartitions) else 0
            for partition, replicas in enumerate(step.replicas, first):
                yield (step.topic, partition), replicas


def _worse(pool: str, was: Excesses, becomes: Excesses) -> Iterator[Violation]:
    if becomes <= was:
        return
    law = next(law for law, a, b in zip(LAWS, was, becomes, strict=True) if a != b)
    name = f"pool {pool}" if pool else "the cluster"
    yield Violation(
        law,
        f"{name} is worse off: the excess grows from {getattr(was, law)} to"
        f" {getattr(becomes, law)}, and no law above it improves",
        pool=pool,
    )


def _forgiven(rules: Rules, plan: Plan) -> Iterator[tuple[str, int]]:
    """Rack excess of new partitions that Kafka's own algorithm places, as the Topic declares."""
    for (topic, _), replicas in _added(plan):
        spec = rules.specs.get(topic)
        if spec is not None and spec.strategy is Strategy.KAFKA:
            yield spec.pool, partition_excess(rules, rules.home(topic), replicas)[-1]


def _once(moves: Sequence[Move]) -> Iterator[Violation]:
    if isinstance(moves, ColumnMoves) and moves.columns.are_of_different_partitions():
        return
    for name, count in Counter(map(_PLACE, moves)).items():
        if count > 1:
            yield Violation("once", f"the plan moves it {count} times", *name)


def _whole(plan: Plan, *, fresh: bool) -> Iterator[Violation]:
    """Violations of the plan as a whole: its hash, and that its stages cover its moves."""
    if not fresh and plan.hash != plan_hash(plan.moves, plan.steps):
        yield Violation("hash", "the plan is not what its hash names")
    deleted = {step.topic for step in plan.steps if isinstance(step, DeleteTopic)}
    moving = {move.topic for move in plan.moves} if deleted else set()
    for topic in sorted(deleted & moving):
        yield Violation("once", "the plan moves and deletes it", topic)
    yield from _out_of_turn(plan)


def _out_of_turn(plan: Plan) -> Iterator[Violation]:
    """Moves whose steps the stages hold in the wrong order."""
    at: Counter[int] = Counter()
    for stage in plan.stages:
        for index, step in stage.moves:
            at[index] += 1
            if not 0 <= index < len(plan.moves) or step != at[index]:
                yield Violation("stages", f"step {step} of move {index} is out of turn")
        if len({index for index, _ in stage.moves}) < len(stage.moves):
            yield Violation("stages", "a stage holds two steps of one move")
