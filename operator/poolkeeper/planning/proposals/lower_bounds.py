"""How close a plan is to the fewest moves: lower bounds that hold for every plan that does as well.

Let a plan satisfy the laws as well as ours, with the same replication factors, and end as close to
the same bands: let U be the replicas that ours leaves above bands in all, and D what it leaves
missing below. Count the replicas that such a plan adds to partitions that exist:

1. *Forced.* A slot whose replica may not stay and is asked for, a slot that a higher replication
   factor adds, and a replica too many in a rack, each need one addition, in different slots.
   So additions >= F, the sum over partitions.
2. *Over-full.* Look at the slots that 1 does not force, except for racks. Broker b holds k_b
   replicas in them or as background load and ends with f_b, so at least k_b - f_b of them leave;
   each is replaced, as its partition keeps its replication factor, in a slot that 1 did not count.
   The sum of (f_b - high_b)+ is at most U, so additions >= F without racks + sum of
   (k_b - high_b)+ - U.
3. *Under-full.* Broker b ends with low_b at least, up to a total of D, and keeps at most K_b, so
   it is given low_b - K_b. Each addition goes to one broker. Partitions that are only created now
   have N replicas, and each of them at most one on a broker, m_b in all: so at most N' = min(N,
   sum of min(m_b, (low_b - K_b)+)) of what is given are theirs. So additions >= sum of
   (low_b - K_b)+ - D - N'.

k_b leaves out partitions whose replication factor falls, K_b counts them with all their replicas:
which of them stay is the plan's choice. New partitions are in neither.

4. *Kept.* Let R_p be the replicas of partition p that may stay, at most as many as its replication
   factor asks for, and what 1 forces there, except for racks. A plan keeps or adds as many. Broker
   b keeps at most K_b, and no more than it ends with. So additions >= sum of R_p - sum of
   min(K_b, high_b) - U, without background load. Where no replication factor falls that is 2.

5. *Topics.* Where the replicas of each topic are a goal, 2 to 4 hold within topic t for its own
   forced additions, bands and new replicas, and each addition belongs to one topic. A plan that
   leaves u_t above and d_t below in topic t adds at least a_t - max(u_t, d_t) there, with a_t the
   largest of F_t without racks + over_t, under_t - N'_t, and the sum of R_p - sum of
   min(K_b, high_b). It ends as close as ours in all, so the sum of u_t + d_t is at most ours, E,
   and additions >= sum of a_t - E.

6. *Bytes.* An addition copies its partition's size, at most the largest one's. So additions >= the
   bound for bytes over that size.

The bound is the largest of the six. Bytes: forced additions cost their partitions' size; in 2 the
replicas that leave cost at least as much as the smallest ones on their brokers, less the U largest
of these. Where bytes are a goal, 2 and 3 hold with bytes for replicas, too: what leaves a broker is
replaced, at its size, in a slot that 1 does not count; U, D and N' are bytes then, and bands and
loads are those of the goal. A disk is such a band as well. The largest of these is the bound. The
bounds for replicas and for bytes hold each by itself, not together.

The gap is that of replicas. Where their bound is 0, as for moves for bytes per second, it is 0.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.model.plans import PoolCertificate
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.topic_counts import TopicCounts, blocks, replicas_by_topic
from poolkeeper.planning.layout.changes import added_by, changed_rows
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, Ints, count_slots
from poolkeeper.planning.problem.grouping import stable_order
from poolkeeper.planning.problem.pool_problem import PoolProblem
from poolkeeper.planning.problem.pool_rows import sums
from poolkeeper.text import count

_WITNESSES = 5


def certificate(layout: Layout) -> PoolCertificate:
    """The replicas and bytes that one pool's moves copy, and lower bounds for both."""
    problem, opened = layout.problem, layout.opened
    rows = changed_rows(layout)
    rows = rows[~problem.fresh[rows]]
    gained = added_by(layout, rows)
    added = int(gained.sum())
    forced, racks = int(opened.forced.sum()), int(opened.forced_by_racks.sum())
    surely, possibly = _kept_replicas(layout)
    band, eligible = layout.placement.band, problem.eligible
    high = np.minimum(band.high, layout.capacity.replicas)
    low = np.minimum(band.low, layout.capacity.replicas)
    ends = replicas_by_broker(problem, layout.lists)
    over = np.where(eligible, np.maximum(surely - high, 0), 0)
    under = np.where(eligible, np.maximum(low - possibly, 0), 0)
    left_over = int(np.maximum(ends - high, 0)[eligible].sum())
    left_under = int(np.maximum(low - ends, 0)[eligible].sum())
    new = int((layout.lists[problem.fresh] >= 0).sum())
    bytes_bound = max(_bytes_bound(layout, over, left_over), _bytes_bound_of_goal(layout))
    bound = max(
        forced,
        forced - racks + int(over.sum()) - left_over,
        int(_given_to(under, new, int(problem.fresh.sum()))) - left_under,
        _without_kept(layout, possibly, high) - left_over,
        _bound_of_topics(layout),
        _bound_by_bytes(problem, bytes_bound),
    )
    return PoolCertificate(
        pool=problem.pool.name,
        replica_moves=added,
        replica_moves_lower_bound=bound,
        bytes=int((gained * problem.size[rows]).sum()),
        bytes_lower_bound=bytes_bound,
        gap_percent=_gap(added, bound),
        witness=_witness(layout, surely, possibly, over, under),
    )


def combine(proofs: Sequence[PoolCertificate]) -> PoolCertificate:
    """One certificate for several of one pool; they concern different partitions, so all adds."""
    moves = sum(proof.replica_moves for proof in proofs)
    bound = sum(proof.replica_moves_lower_bound for proof in proofs)
    return PoolCertificate(
        pool=proofs[0].pool,
        replica_moves=moves,
        replica_moves_lower_bound=bound,
        bytes=sum(proof.bytes for proof in proofs),
        bytes_lower_bound=sum(proof.bytes_lower_bound for proof in proofs),
        gap_percent=_gap(moves, bound),
        witness="; ".join(proof.witness for proof in proofs if proof.witness),
    )


def with_moves(proof: PoolCertificate, moves: int, size_bytes: int) -> PoolCertificate:
    """The certificate of a plan that is made in parts; its bounds are not above what it moves."""
    bound = min(proof.replica_moves_lower_bound, moves)
    return replace(
        proof,
        replica_moves=moves,
        replica_moves_lower_bound=bound,
        bytes=size_bytes,
        bytes_lower_bound=min(proof.bytes_lower_bound, size_bytes),
        gap_percent=_gap(moves, bound),
    )


def _gap(moves: int, bound: int) -> float:
    """In percent, with two decimals; what is above the bound has a gap, however small."""
    if not bound or moves == bound:
        return 0.0
    return max(round(100 * (moves - bound) / bound, 2), 0.01)


def _kept_replicas(layout: Layout) -> tuple[Ints, Ints]:
    """Replicas by broker that stay unless balance moves them: the least and the most."""
    problem = layout.problem
    size = len(problem.brokers)
    surely, possibly = (
        np.bincount(problem.lists[kept], minlength=size) for kept in _kept_slots(layout)
    )
    return problem.background_load.replicas + surely, problem.background_load.replicas + possibly


def _kept_slots(layout: Layout) -> tuple[Bools, Bools]:
    """By (row, slot), whether the replica stays unless balance moves it: surely, and possibly."""
    problem, opened = layout.problem, layout.opened
    stays = (problem.lists >= 0) & ~problem.leaves & ~problem.fresh[:, None]
    shrinking = count_slots(problem.lists >= 0) > count_slots(opened.lists != NONE)
    return stays & ~shrinking[:, None], stays


def _kept_or_added(layout: Layout) -> Ints:
    """R_p of 4, by partition."""
    opened = layout.opened
    _, possibly = _kept_slots(layout)
    asked = count_slots(opened.lists >= 0) + opened.forced_by_racks
    kept = np.minimum(count_slots(possibly), asked)
    added: Ints = opened.forced - opened.forced_by_racks + kept
    return np.where(layout.problem.fresh, 0, added)


def _without_kept(layout: Layout, possibly: Ints, high: Ints) -> int:
    """The bound by 4, but for U."""
    problem = layout.problem
    kept = np.where(problem.eligible, np.minimum(possibly, high), possibly)
    kept -= problem.background_load.replicas
    return int(_kept_or_added(layout).sum() - kept.sum())


def _bound_of_topics(layout: Layout) -> int:
    """The bound by 5; 0 if the replicas of topics are no goal."""
    problem, opened = layout.problem, layout.opened
    aimed = [goal for goal in layout.optimization.goals if isinstance(goal, TopicCounts)]
    if not aimed:
        return 0
    topics = len(problem.topics)
    surely, possibly = (
        replicas_by_topic(problem, np.where(kept, problem.lists, NONE))
        for kept in _kept_slots(layout)
    )
    forced = sums(problem.topic, opened.forced - opened.forced_by_racks, topics)
    new = sums(problem.topic, count_slots(layout.lists >= 0) * problem.fresh, topics)
    new_rows = sums(problem.topic, problem.fresh.astype(np.int64), topics)[:, None]
    wanted = sums(problem.topic, _kept_or_added(layout), topics)
    bounds = []
    for goal in aimed:
        added = 0
        for some in blocks(possibly):
            kept, high = possibly[some], goal.high[some]
            over = np.where(problem.eligible, np.maximum(surely[some] - high, 0), 0).sum(axis=1)
            under = np.where(problem.eligible, np.maximum(goal.low[some] - kept, 0), 0)
            given = _given_to(under, new[some], new_rows[some])
            most = np.where(problem.eligible, np.minimum(kept, high), kept).sum(axis=1)
            bound = np.maximum.reduce([forced[some] + over, given, wanted[some] - most])
            added += int(bound.sum())
        bounds.append(added - goal.excess(problem, layout.lists))
    return max(bounds)


def _bound_by_bytes(problem: PoolProblem, bytes_bound: int) -> int:
    """The bound by 6."""
    largest = int(problem.size[~problem.fresh].max(initial=0))
    return -(-bytes_bound // largest) if largest else 0


def _bytes_bound(layout: Layout, over: Ints, left_over: int) -> int:
    problem, opened = layout.problem, layout.opened
    forced = int((opened.forced * problem.size).sum())
    for_racks = int((opened.forced_by_racks * problem.size).sum())
    there = (problem.lists >= 0) & (over > 0)[problem.lists] & ~problem.fresh[:, None]
    place = np.flatnonzero(there)
    row, broker = place // there.shape[1], problem.lists.ravel()[place]
    order = stable_order(broker, len(over))
    ends = np.cumsum(np.bincount(broker, minlength=len(over)))
    smallest = [np.zeros(0, dtype=np.int64)]
    for giver in np.flatnonzero(over).tolist():
        count = int(over[giver])
        own = problem.size[row[order[ends[giver - 1] if giver else 0 : ends[giver]]]]
        smallest.append(np.partition(own, count - 1)[:count] if count < len(own) else own)
    leaving = np.concatenate(smallest)
    if left_over:
        leaving = np.sort(leaving)[: max(0, len(leaving) - left_over)]
    return max(forced, forced - for_racks + int(leaving.sum()))


def _bytes_bound_of_goal(layout: Layout) -> int:
    """The bound by 2 and 3 counted in bytes: for disks, and for bytes if they are a goal."""
    problem = layout.problem
    nothing = np.zeros(len(problem.brokers), dtype=np.int64)
    bounds = []
    if (layout.capacity.mib < 2**62 // MIB).any():
        # A disk bounds the sizes rounded up, and so the sizes themselves.
        disks = np.minimum(layout.capacity.mib, 2**62 // MIB) - problem.background_load.mib
        bounds.append(_weighed_bound(layout, nothing, nothing, disks * MIB))
    for aimed in layout.optimization.goals:
        if isinstance(aimed, Bounded) and aimed.measure.value is problem.size:
            background = aimed.measure.background
            bounds.append(_weighed_bound(layout, background, aimed.band.low, aimed.band.high))
    return max([0, *bounds])


def _weighed_bound(layout: Layout, background: Ints, low: Ints, high: Ints) -> int:
    problem, opened, eligible = layout.problem, layout.opened, layout.problem.eligible

    def held(lists: Ints) -> Ints:
        row, slot = np.nonzero(lists >= 0)
        return background + sums(lists[row, slot], problem.size[row], len(background))

    surely, possibly = (held(np.where(kept, problem.lists, NONE)) for kept in _kept_slots(layout))
    ends = held(layout.lists)
    over = int(np.maximum(surely - high, 0)[eligible].sum())
    under = np.maximum(low - possibly, 0)[eligible]
    left_over = int(np.maximum(ends - high, 0)[eligible].sum())
    left_under = int(np.maximum(low - ends, 0)[eligible].sum())
    forced = int(((opened.forced - opened.forced_by_racks) * problem.size).sum())
    new = int(((layout.lists >= 0) * problem.size[:, None])[problem.fresh].sum())
    given = int(_given_to(under, new, int(problem.size[problem.fresh].sum())))
    return max(forced + over - left_over, given - left_under)


def _given_to(under: Ints, new: Ints | int, most: Ints | int) -> Ints:
    """What partitions that exist give the brokers that lack so much (the last axis), all together.

    New ones give `new` in all and each broker at most `most`.
    """
    of_new = np.minimum(new, np.minimum(under, most).sum(axis=-1))
    given: Ints = under.sum(axis=-1) - of_new
    return given


def _witness(layout: Layout, surely: Ints, possibly: Ints, over: Ints, under: Ints) -> str:
    problem = layout.problem
    parts = []
    must = problem.leaves & ~problem.no_source[:, None] & (problem.lists >= 0)
    leaving = np.bincount(problem.lists[must], minlength=len(over))
    for broker in _largest(leaving):
        parts.append(f"broker {_id(problem, broker)} must lose {leaving[broker]}")
    for broker in _largest(over):
        held, high = surely[broker], surely[broker] - over[broker]
        parts.append(f"broker {_id(problem, broker)} keeps {held}, may hold {high}")
    for broker in _largest(under):
        held, low = possibly[broker], possibly[broker] + under[broker]
        parts.append(f"broker {_id(problem, broker)} keeps {held}, must hold {low}")
    grown = int(np.maximum(problem.rf - (problem.lists >= 0).sum(axis=1), 0).sum())
    if grown:
        parts.append(f"{count(grown, 'more replica', grouped=False)} {_are(grown)} declared")
    if racks := int(layout.opened.forced_by_racks.sum()):
        alike = count(racks, "replica", grouped=False)
        parts.append(
            f"{alike} {_are(racks)} too many in {'its rack' if racks == 1 else 'their racks'}"
        )
    return "; ".join(parts)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _largest(counts: Ints) -> list[int]:
    rows = np.flatnonzero(counts > 0).tolist()
    return sorted(rows, key=lambda row: (-int(counts[row]), row))[:_WITNESSES]


def _id(problem: PoolProblem, row: int) -> int:
    return problem.brokers.ids[row]
