"""What plans cost and how close they come to their bounds; sizes may be given as arguments.

One row per case: replicas added, their lower bound, bytes, leaders changed, what is left uneven,
CPU seconds of `make_plan` (reading input not included), peak memory of the process. Then the same
expansion as a user runs it: `poolkeeper plan --snapshot` as a process of its own, with reading,
the independent audit, the prediction of stages and the printing.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import clusters

from poolkeeper.model import snapshots
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.making import make_plan
from poolkeeper.resources import writing

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
    print("\n{:<28}{:>9}{:>9}".format("plan --snapshot", "seconds", "cpu s"))
    for size in sizes:
        wall_s, cpu_s = _as_a_command(size)
        print(f"{f'expand 60 → 64 {size}':<28}{wall_s:>9.1f}{cpu_s:>9.1f}", flush=True)


def _as_a_command(size: int) -> tuple[float, float]:
    """Plan the expansion from a snapshot file; return wall and CPU seconds of the process."""
    desired = clusters.desired(64)
    with tempfile.TemporaryDirectory() as folder:
        snapshot, manifests = Path(folder) / "cluster.json", Path(folder) / "manifests"
        snapshots.write(snapshot, clusters.cluster(size, joined=4))
        manifests.mkdir()
        bodies = [writing.cluster_body(desired.cluster)]
        bodies += [writing.pool_body(pool) for pool in desired.pools]
        bodies += [writing.topic_body(topic) for topic in desired.topics]
        (manifests / "all.yaml").write_text(writing.text_of(bodies), encoding="utf-8")
        command = [sys.executable, "-m", "poolkeeper", "plan", "-f", str(manifests)]
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            [*command, "--snapshot", str(snapshot), "--out", str(Path(folder) / "plan.json")],
            stdout=subprocess.DEVNULL,
            check=False,
        )
        wall_s = time.perf_counter() - begin
    if ran.returncode != 2:
        raise SystemExit(f"the plan of {size} partitions ended with {ran.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
