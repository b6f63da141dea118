"""How much a rehearsal costs; cases as arguments, such as 12000:200 or 200000:4000:6.

A case is partitions, moves at a time (0: the default limits), and how many of the brokers are new
and empty, beside 60 others; 4 if nothing is said. Their throttle is fixed. `4000:half` is another
one: 24 brokers of which half are new and the others are drained, with everything else as it is
unless a person says otherwise, the adaptive throttle for example.

One row per case: partitions, moves, stages, seconds of the rehearsed run and those that its plan
predicts, CPU seconds of the whole rehearsal with its plan, peak memory. Asserted is that it ends,
and that each broker copied what the plan says.
"""

import resource
import sys
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import clusters

from poolkeeper.cli.commands.plans.plan import audited_plan
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Throttle, ThrottleMode
from poolkeeper.model.topology import Cluster
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import MIB, End, Settings

CASES = ("3000:200", "12000:0", "12000:200", "200000:4000:6", "4000:half")
HALF = 12
LARGEST_TOPIC = 1000
"""A request names ten partitions at most of a topic of many thousands: such plans have as many
stages."""
ROW = "{:>12}{:>10}{:>8}{:>8}{:>12}{:>11}{:>10}{:>10}"


def main(cases: tuple[str, ...]) -> None:
    """Print one row per case."""
    heads = ("partitions", "at a time", "moves", "stages", "seconds", "predicted", "cpu s", "MiB")
    print(ROW.format(*heads))
    for case in cases:
        desired, cluster = _case(case)
        begin = time.process_time()
        subject = Subject(cluster, desired, partial(audited_plan, prune=False))
        found = subject.rehearse(Settings())
        spent = time.process_time() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        made = found.plan.makespan
        seconds = f"{found.seconds:.0f}", "" if made is None else f"{made.seconds:.0f}"
        numbers = len(found.plan.moves), len(found.stages), *seconds, f"{spent:.1f}", memory
        print(ROW.format(*case.split(":")[:2], *numbers), flush=True)
        if found.end is not End.FINISHED:
            raise SystemExit(f"{case}: {found.reason}")
        planned: Counter[int] = Counter()
        for move in found.plan.moves:
            for broker in set(move.target) - set(move.source):
                planned[broker] += move.replica_bytes
        copied = Counter({b.broker: b.copied_in for b in found.brokers if b.copied_in})
        # Less than a byte of each copy is not waited for.
        if any(abs(planned[b] - copied[b]) > len(found.plan.moves) for b in planned | copied):
            raise SystemExit(f"{case}: brokers did not copy what the plan says")


def _case(case: str) -> tuple[Desired, Cluster]:
    partitions, *rest = case.split(":")
    if rest == ["half"]:
        drained = frozenset(range(1, HALF + 1))
        found = clusters.cluster(int(partitions), HALF, HALF)
        return clusters.desired(2 * HALF, drain=drained), found
    at_a_time, joined = map(int, (*rest, 4)[:2])
    found = clusters.cluster(int(partitions), joined=joined, largest_topic=LARGEST_TOPIC)
    return _limited(clusters.desired(60 + joined), at_a_time), found


def _limited(desired: Desired, at_a_time: int) -> Desired:
    execution = desired.cluster.execution
    execution = replace(execution, throttle=Throttle(ThrottleMode.FIXED, 100 * MIB))
    if at_a_time:
        per_broker = max(10, at_a_time // 6)
        execution = replace(execution, max_moves=at_a_time, max_moves_per_broker=per_broker)
    return replace(desired, cluster=replace(desired.cluster, execution=execution))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or CASES)
