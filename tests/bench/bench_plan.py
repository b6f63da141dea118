"""What plans cost and how close they come to their bounds; sizes may be given as arguments.

One row per case: replicas added and their lower bound, bytes and theirs, leaders changed, how even
replicas and bytes end (the most that a broker is off its share, by weight), CPU seconds of making
columns (reading input) and of `make_plan` with them, and peak memory of the process so far. The
collector of garbage is paused, as it is in the operator's planning processes. Beside the expansion
stand an exact flow with a node per partition, at sizes where it is affordable, and Kafka's own
generator; the exact flow also beside partitions with two replicas in one rack. The expansion with
bytes is planned for several clusters, and for one with partitions of
any size ("giants": a replica may be as large as all that a broker should hold); the bound there
counts replicas only, and no plan reaches it. Beside the bytes stands which part they are of those
that perfectly even bytes would take. Then the same expansion as a user runs it: `poolkeeper plan
--snapshot` as a process of its own, with reading, the independent audit, the prediction of stages
and the printing. Beside it stand what it needed once, what it should need, and its floor: to start
Python and to import the libraries that every plan needs. Last, what twice the partitions cost.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import clusters
import numpy as np
from exact_flow import exact_moves
from measuring import spent

from poolkeeper.algorithms.assignments import assign_replicas
from poolkeeper.model import snapshots
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import PlanOptions, make_plan
from poolkeeper.planning.problem.partitions import table_of
from poolkeeper.resources.write import manifests as write_manifests
from poolkeeper.zk.client.gc_pause import collector_paused

SIZES = (3_000, 30_000, 200_000, 1_000_000)
EXACT_MAX = 30_000
COMMAND_MIN, COMMAND_MAX = 60, 200_000
COMMAND_GOALS = {60: "0.4", 200_000: "3, 400"}
"""By partitions, the processor seconds and MiB that the command should need at most."""
COMMAND_WAS = {60: "1.0", 200_000: "12.4, 556"}
"""What it needed on two quiet cores while each value had functions compiled of its own, and a
forecast looked at its entries one by one."""
FLOOR = (
    "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; "
    "import click, msgspec, numpy, ruamel.yaml; from ortools.graph.python import min_cost_flow"
)
COMMAND_ROW = "{:<30}{:>9}{:>9}{:>8}{:>9}{:>15}{:>15}"
GROWTH, GROWTH_MAX, RUNS = (100_000, 200_000, 400_000), 2.2, 5
SEEDS = (1, 2, 3, 4)
SEEDS_MAX = 30_000
TOPICS = (clusters.COUNTS[0], Goal(GoalKind.TOPIC_REPLICAS, count=1), clusters.COUNTS[1])
ROW = "{:<32}{:>9}{:>9}{:>8}{:>10}{:>10}{:>8}{:>9}{:>7}{:>8}{:>8}{:>8}{:>7}"
HEADS = ("case", "moves", "bound", "gap %", "GiB", "bound", "of even", "reorders", "off", "off %")


def main(sizes: tuple[int, ...]) -> None:
    """Print one table, and then the times of the command."""
    print(ROW.format(*HEADS, "read s", "cpu s", "MiB"))
    for size in sizes:
        for name, desired, cluster in _cases(size):
            _report(f"{name} {size}", desired, cluster)
        _peers(size)
    heads = "seconds", "cpu s", "MiB", "floor s", "was: s, MiB", "goal: s, MiB"
    print("\n" + COMMAND_ROW.format("plan --snapshot", *heads))
    floor_s = min(spent([sys.executable, "-c", FLOOR])[1] for _ in range(RUNS))
    for size in (COMMAND_MIN, *sizes):
        if size <= COMMAND_MAX:
            wall_s, cpu_s, peak_mib = _as_a_command(size)
            known = COMMAND_WAS.get(size, ""), COMMAND_GOALS.get(size, "")
            numbers = f"{wall_s:.1f}", f"{cpu_s:.2f}", peak_mib, f"{floor_s:.2f}", *known
            print(COMMAND_ROW.format(f"expand 60 → 64 {size}", *numbers), flush=True)
    _compare_growth()


def _compare_growth() -> None:
    """Twice the partitions take at most 2.2 times the time: the least of a few runs of each."""
    spent_s = {size: _least_s(size) for size in GROWTH}
    print()
    for once, twice in pairwise(GROWTH):
        ratio = spent_s[twice] / spent_s[once]
        print(f"{twice} partitions take {ratio:.2f} times as long as {once}", flush=True)
        if ratio > GROWTH_MAX:
            raise SystemExit(f"that is more than {GROWTH_MAX}")


def _least_s(size: int) -> float:
    desired, cluster = clusters.desired(64), clusters.cluster(size, joined=4)
    table = table_of(cluster)
    spent_s = []
    for _ in range(RUNS):
        begin = time.process_time()
        with collector_paused():
            make_plan(desired, cluster, options=PlanOptions(table=table))
        spent_s.append(time.process_time() - begin)
    return min(spent_s)


def _cases(size: int) -> Iterator[tuple[str, Desired, Cluster]]:
    if size >= 1_000_000:
        yield "expand 290 → 300", clusters.desired(300), clusters.cluster(size, 290, 10, racks=30)
        return
    settled = clusters.cluster(size)
    grown = clusters.cluster(size, joined=4)
    fullest = frozenset({clusters.fullest(settled)})
    pools = clusters.settled_in_pools(settled)
    yield "expand 60 → 64", clusters.desired(64), grown
    for seed in SEEDS if size <= SEEDS_MAX else SEEDS[:1]:
        found = grown if seed == 1 else clusters.cluster(size, joined=4, seed=seed)
        yield f"… with bytes, seed {seed},", clusters.desired(64, clusters.DISKS), found
    if size <= SEEDS_MAX:
        giants = clusters.cluster(size, joined=4, capped=False)
        yield "… with bytes, giants,", clusters.desired(64, clusters.DISKS), giants
    yield "… with topicReplicas", clusters.desired(64, TOPICS), grown
    yield "… with topicReplicas, bytes", clusters.desired(64, (*TOPICS, clusters.DISKS[-1])), grown
    yield "drain and even", clusters.desired(60, drain=fullest), settled
    yield "drain alone", clusters.desired(60, goals=(), drain=fullest), settled
    yield "a replica less", clusters.lowered(settled), settled
    yield "… with topicReplicas", clusters.lowered(settled, TOPICS), settled
    yield "weights", clusters.desired(60, capacity_of=clusters.weights(60)), settled
    yield "two pools, strays", clusters.two_pools(pools), pools
    full = clusters.disks(settled)
    crowded = clusters.crowded_racks(settled)
    yield "racks to mend", clusters.desired(60), crowded
    yield "a rack each", clusters.desired(64), clusters.rack_each(grown)
    yield "over-full disks", clusters.desired(60, goals=(), capacity=full), settled
    brim = clusters.brimful_disks(settled)
    yield "disks full to 99 %", clusters.desired(60, goals=(), capacity=brim), settled
    yield "nothing to do", clusters.desired(60, goals=()), settled


def _report(name: str, desired: Desired, cluster: Cluster) -> None:
    begin = time.process_time()
    table = table_of(cluster)
    read_s = time.process_time() - begin
    begin = time.process_time()
    with collector_paused():
        plan = make_plan(desired, cluster, options=PlanOptions(table=table))
    spent_s = time.process_time() - begin
    proofs = plan.certificates
    moves = sum(p.replica_moves for p in proofs)
    bound = sum(p.replica_moves_lower_bound for p in proofs)
    off, off_percent = _off(plan, desired, cluster)
    even = _perfect(desired, cluster) if len(desired.pools) == 1 else 0.0
    numbers = (
        moves,
        bound,
        f"{100 * (moves - bound) / max(bound, 1):.2f}",
        f"{sum(p.bytes for p in proofs) / 1024**3:.1f}",
        f"{sum(p.bytes_lower_bound for p in proofs) / 1024**3:.1f}",
        f"{sum(p.bytes for p in proofs) / even:.2f}" if even else "",
        sum(set(move.source) == set(move.target) for move in plan.moves),
        f"{off:.1f}",
        f"{off_percent:.1f}",
        f"{read_s:.2f}",
        f"{spent_s:.2f}",
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
    print(ROW.format(name, *numbers), flush=True)
    for problem in plan.problems:
        if problem.reason is not ProblemReason.LIMIT_EXCEEDED:
            print("   !", problem.message[:160])


def _off(plan: Plan, desired: Desired, cluster: Cluster) -> tuple[float, float]:
    """The most that a broker of the first pool is off: replicas, and bytes in percent."""
    targets = {(move.topic, move.partition): move.target for move in plan.moves}
    pool = desired.pools[0]
    replicas, size = np.zeros((2, max(cluster.brokers) + 1))
    for topic in cluster.topics.values():
        for p in topic.partitions:
            lists = list(targets.get((topic.name, p.partition), p.replicas))
            replicas[lists] += 1
            size[lists] += p.size_bytes or 0
    used = np.array(sorted(set(pool.brokers) - pool.drain))
    weight = np.array([pool.capacity_for(int(b)).weight for b in used])
    shares = [held[used].sum() * weight / weight.sum() for held in (replicas, size)]
    return (
        float(np.abs(replicas[used] - shares[0]).max()),
        float((np.abs(size[used] - shares[1]) / shares[1]).max() * 100),
    )


def _perfect(desired: Desired, cluster: Cluster) -> float:
    """Bytes that must leave their brokers at least before all hold their shares exactly."""
    pool = desired.pools[0]
    held = clusters.held_bytes(cluster).astype(float)
    share = np.zeros(len(held))
    for broker in set(pool.brokers) - pool.drain:
        share[broker] = pool.capacity_for(broker).weight
    return float(np.maximum(held - held.sum() * share / share.sum(), 0).sum())


def _peers(size: int) -> None:
    """The exact flow for the expansion and for racks to mend; Kafka's generator for the first."""
    if size >= 1_000_000:
        return
    cluster = clusters.cluster(size, joined=4)
    crowded = clusters.crowded_racks(clusters.cluster(size))
    for name, found in (("exact flow", cluster), ("… racks to mend", crowded)):
        if size <= EXACT_MAX:
            begin = time.process_time()
            moves = exact_moves(found)
            _peer(f"{name} {size}", moves, time.process_time() - begin)
    begin = time.process_time()
    brokers = [(broker.id, broker.rack) for broker in cluster.brokers.values()]
    moves = 0
    for number, topic in enumerate(cluster.topics.values()):
        factor = len(topic.partitions[0].replicas)
        count = len(topic.partitions)
        made = assign_replicas(brokers, count, factor, start=number % 64, shift=number % 64)
        moves += sum(len(set(made[p.partition]) - set(p.replicas)) for p in topic.partitions)
    _peer(f"Kafka's generator {size}", moves, time.process_time() - begin)


def _peer(name: str, moves: int, spent_s: float) -> None:
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(ROW.format(name, moves, *[""] * 9, f"{spent_s:.2f}", memory), flush=True)


def _as_a_command(size: int) -> tuple[float, float, int]:
    """Plan the expansion from a snapshot file; return wall and CPU seconds, and the most MiB."""
    desired = clusters.desired(64)
    with tempfile.TemporaryDirectory() as folder:
        snapshot, manifests = Path(folder) / "cluster.json", Path(folder) / "manifests"
        snapshots.write(snapshot, clusters.cluster(size, joined=4))
        manifests.mkdir()
        bodies = [write_manifests.cluster_body(desired.cluster)]
        bodies += [write_manifests.pool_body(pool) for pool in desired.pools]
        bodies += [write_manifests.topic_body(topic) for topic in desired.topics]
        (manifests / "all.yaml").write_text(write_manifests.text_of(bodies), encoding="utf-8")
        command = [sys.executable, "-m", "poolkeeper", "plan", "-f", str(manifests)]
        words = [*command, "--snapshot", str(snapshot), "--out", str(Path(folder) / "plan.json")]
        begin = time.perf_counter()
        code, cpu_s, peak_mib = spent(words)
        wall_s = time.perf_counter() - begin
    if code != 2:
        raise SystemExit(f"the plan of {size} partitions ended with {code}")
    return wall_s, cpu_s, peak_mib


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
