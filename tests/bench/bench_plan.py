"""What plans cost and how close they come to their bounds; sizes may be given as arguments.

One row per case: replicas added, their lower bound, bytes, leaders changed, what is left uneven,
CPU seconds of `make_plan` (reading input not included), peak memory of the process.
"""

import resource
import sys
import time

import clusters

from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.making import make_plan

SIZES = (3_000, 30_000, 200_000)


def main(sizes: tuple[int, ...]) -> None:
    """Print one table."""
    row = "{:<28}{:>9}{:>9}{:>8}{:>11}{:>10}{:>10}{:>9}{:>8}"
    heads = ("case", "moves", "bound", "gap %", "GiB", "reorders", "replicas", "cpu s", "MiB")
    print(row.format(*heads))
    for size in sizes:
        for name, desired, cluster in _cases(size):
            begin = time.process_time()
            plan = make_plan(desired, cluster)
            spent = time.process_time() - begin
            proof = plan.certificates[0]
            reorders = sum(set(move.source) == set(move.target) for move in plan.moves)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            numbers = (
                proof.replica_moves,
                proof.replica_moves_lower_bound,
                f"{proof.gap_percent:.2f}",
                f"{proof.bytes / 1024**3:.1f}",
                reorders,
                _range(plan, desired, cluster),
                f"{spent:.2f}",
                memory,
            )
            print(row.format(f"{name} {size}", *numbers), flush=True)
            for problem in plan.problems:
                print("   !", problem.message)


def _cases(size: int) -> list[tuple[str, Desired, Cluster]]:
    settled = clusters.cluster(size)
    grown = clusters.cluster(size, joined=4)
    fullest = frozenset({clusters.fullest(settled)})
    return [
        ("expand 60 → 64", clusters.desired(64), grown),
        ("drain and even", clusters.desired(60, drain=fullest), settled),
        ("drain alone", clusters.desired(60, goals=(), drain=fullest), settled),
        ("weights", clusters.desired(60, capacity_of=clusters.weights(60)), settled),
        ("nothing to do", clusters.desired(60, goals=()), settled),
    ]


def _range(plan: Plan, desired: Desired, cluster: Cluster) -> str:
    """Fewest and most replicas on a broker that is not drained, after the plan."""
    targets = {(move.topic, move.partition): move.target for move in plan.moves}
    pool = desired.pools[0]
    held = dict.fromkeys(set(pool.brokers) - pool.drain, 0)
    for topic in cluster.topics.values():
        for p in topic.partitions:
            for broker in targets.get((topic.name, p.partition), p.replicas):
                held[broker] = held.get(broker, 0) + 1
    return f"{min(held.values())}-{max(held.values())}"


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
