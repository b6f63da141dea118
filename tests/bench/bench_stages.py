"""How long the stages of a plan last against the shortest they could; sizes as arguments.

One row per case: moves, stages, predicted seconds, the bound of `planning.staging.makespan_bound`,
the busiest broker's bytes at the same rate, the makespan over each of the two, CPU seconds of the
whole prediction, and the most MiB that this process has had. Asserted are the makespan, at most
1.08 times its bound, and growth: twice the moves may take at most 2.2 times the time. Migrations
into a new pool come nearest to 1.08: all replicas of a partition go at once there, each broker
waits for two others, few of the largest topic's partitions go at a time, and the bound knows how
long these last, but not who waits for them.
"""

import resource
import sys
import time
from collections import Counter

import clusters

from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.staging import next_stage

SIZES = (3_000, 30_000, 50_000, 200_000)
GROWTH_MAX = 2.2
OVER_BOUND_MAX = 1.08
ROW = "{:<24}{:>9}{:>8}{:>10}{:>10}{:>10}{:>8}{:>10}{:>8}{:>8}"


def main(sizes: tuple[int, ...]) -> None:
    """Print one table, then what twice the size costs."""
    heads = (
        "case",
        "moves",
        "stages",
        "seconds",
        "bound",
        "busiest",
        "/bound",
        "/busiest",
        "cpu s",
        "MiB",
    )
    print(ROW.format(*heads))
    slow: list[str] = []
    for size in sizes:
        for name, desired, cluster in _cases(size):
            plan = make_plan(desired, cluster)
            begin = time.process_time()
            predicted, makespan, halt = next_stage.predict(plan, cluster, desired)
            spent = time.process_time() - begin
            if makespan is None:
                raise SystemExit(f"{name} {size}: the stages come to a halt: {halt}")
            over = makespan.seconds / makespan.lower_bound_seconds
            slow += [f"{name} {size}: {over:.3f}"] if over > OVER_BOUND_MAX else []
            busiest = _busiest(plan, cluster) / makespan.bytes_per_second_per_broker
            numbers = (
                len(plan.moves),
                len(predicted),
                f"{makespan.seconds:.0f}",
                f"{makespan.lower_bound_seconds:.0f}",
                f"{busiest:.0f}",
                f"{over:.3f}",
                f"{makespan.seconds / busiest:.3f}",
                f"{spent:.2f}",
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            )
            print(ROW.format(f"{name} {size}", *numbers), flush=True)
    if slow:
        raise SystemExit(f"too far above the bound: {', '.join(slow)}")
    _growth(max(sizes) // 2)


def _cases(size: int):  # type: ignore[no-untyped-def]
    settled, joined = clusters.cluster(size), clusters.cluster(size, joined=4)
    pools = clusters.settled_in_pools(settled)
    fullest = frozenset({clusters.fullest(settled)})
    return [
        ("expand 60 → 64", clusters.desired(64), joined),
        ("drain and even", clusters.desired(60, drain=fullest), settled),
        ("drain alone", clusters.desired(60, goals=(), drain=fullest), settled),
        ("weights", clusters.desired(60, capacity_of=clusters.weights(60)), settled),
        ("bytes 60 → 64", clusters.desired(64, goals=clusters.DISKS), joined),
        ("pools with strays", clusters.two_pools(pools), pools),
        ("into two pools", clusters.two_pools(settled), settled),
    ]


def _busiest(plan: Plan, cluster: Cluster) -> int:
    """Bytes of the broker with most to take in, or to give out as the leader of today."""
    loads: Counter[tuple[int, bool]] = Counter()
    for move in plan.moves:
        partition = cluster.topics[move.topic].partitions[move.partition]
        added = set(move.target) - set(move.source)
        for broker in added:
            loads[broker, False] += move.bytes // len(added)
        loads[partition.leader or move.source[0], True] += move.bytes
    return max(loads.values())


def _growth(size: int) -> None:
    """Stage plans of size and twice the size, the best of three each."""
    spent = {}
    for partitions in (size, 2 * size):
        desired, cluster = clusters.desired(64), clusters.cluster(partitions, joined=4)
        plan = make_plan(desired, cluster)
        times = []
        for _ in range(3):
            begin = time.process_time()
            next_stage.predict(plan, cluster, desired)
            times.append(time.process_time() - begin)
        spent[len(plan.moves)] = min(times)
    (few, first), (many, second) = spent.items()
    ratio = (second / first) / (many / few) * 2
    print(f"\n{few} moves {first:.2f} s, {many} moves {second:.2f} s: {ratio:.2f} times for twice")
    if ratio > GROWTH_MAX:
        raise SystemExit(f"twice the moves cost {ratio:.2f} times the time (at most {GROWTH_MAX})")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
