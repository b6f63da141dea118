"""How much a rehearsal costs; cases as arguments, such as 12000:200 or 200000:4000:6.

A case is partitions, moves at a time (0: the default limits), and how many of the brokers are new
and empty, beside 60 others; 4 if nothing is said.

One row per case: partitions, moves, stages, seconds of the rehearsed run, CPU seconds of the whole
rehearsal with its plan, peak memory. Asserted is that it ends, and that each broker copied what the
plan says.
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
from poolkeeper.rehearsal.results.outcomes import Subject
from poolkeeper.rehearsal.values import MIB, End, Settings

CASES = ("3000:200", "12000:0", "12000:200", "200000:4000:6")
LARGEST_TOPIC = 1000
"""A request names ten partitions at most of a topic of many thousands: such plans have as many
stages."""
ROW = "{:>12}{:>10}{:>8}{:>8}{:>12}{:>10}{:>10}"


def main(cases: tuple[str, ...]) -> None:
    """Print one row per case."""
    heads = ("partitions", "at a time", "moves", "stages", "seconds", "cpu s", "MiB")
    print(ROW.format(*heads))
    for case in cases:
        partitions, at_a_time, joined = map(int, (*case.split(":"), 4)[:3])
        desired = _limited(clusters.desired(60 + joined), at_a_time)
        cluster = clusters.cluster(partitions, joined=joined, largest_topic=LARGEST_TOPIC)
        begin = time.process_time()
        subject = Subject(cluster, desired, partial(audited_plan, prune=False))
        found = subject.rehearse(Settings())
        spent = time.process_time() - begin
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        numbers = (at_a_time, len(found.plan.moves), len(found.stages), f"{found.seconds:.0f}")
        print(ROW.format(partitions, *numbers, f"{spent:.1f}", memory), flush=True)
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


def _limited(desired: Desired, at_a_time: int) -> Desired:
    execution = desired.cluster.execution
    execution = replace(execution, throttle=Throttle(ThrottleMode.FIXED, 100 * MIB))
    if at_a_time:
        per_broker = max(10, at_a_time // 6)
        execution = replace(execution, max_moves=at_a_time, max_moves_per_broker=per_broker)
    return replace(desired, cluster=replace(desired.cluster, execution=execution))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or CASES)
