"""What plans and forecasts of clusters of odd shapes cost (`odd_clusters`); arguments: sizes.

One row per size: over all seeds the processor seconds of a plan and of its forecast, the median,
the one in ten that takes longest, and the longest, with its seed. Nothing is asserted: a shape that
takes a hundred times the median is what is looked for. `--seed N` prints one of them alone.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from odd_clusters import odd_cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.staging import next_stage

SEEDS = 40
ROW = "{:>11}{:>10}{:>10}{:>10}{:>10}{:>10}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="*", default=[1000, 2000])
    parser.add_argument("--seed", type=int)
    options = parser.parse_args(arguments)
    seeds = range(SEEDS) if options.seed is None else [options.seed]
    print(ROW.format("partitions", "of", "median s", "tenth s", "most s", "seed"), flush=True)
    for size in options.sizes:
        taken = [(*_taken(seed, size), seed) for seed in seeds]
        for number, what in enumerate(("plan", "forecast")):
            column = sorted((row[number], row[2]) for row in taken)
            most, seed = column[-1]
            times = [each for each, _ in column]
            tenth = times[-max(1, len(times) // 10)]
            middle = statistics.median(times)
            numbers = (f"{middle:.2f}", f"{tenth:.2f}", f"{most:.2f}", seed)
            print(ROW.format(size, what, *numbers), flush=True)


def _taken(seed: int, size: int) -> tuple[float, float]:
    """Processor seconds of the plan and of the forecast."""
    wanted, seen = odd_cluster(seed, size)
    began = time.process_time()
    plan = make_plan(wanted, seen)
    planned = time.process_time()
    next_stage.predict(plan, seen, wanted)
    return planned - began, time.process_time() - planned


if __name__ == "__main__":
    main()
