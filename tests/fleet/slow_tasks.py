"""A driver whose tasks can be slow, as a process of its own: what Spark does then is on record.

    python -m fleet.slow_tasks MASTER OUT CONF      # CONF: settings as JSON

It makes the step `snapshot` of `CLUSTERS`: of each one row of `requests` for a partition. The first
attempt at `SLOW` sleeps.
"""

import json
import secrets
import sys
import time
from collections.abc import Sequence

from pyspark import TaskContext

from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.stages.publishing import SNAPSHOT, Step, make_and_publish
from poolkeeper.fleet.storage import parquet, schemas

DAY = "2026-03-01"
CLUSTERS = tuple(f"c{number:02}" for number in range(24))
SLOW = CLUSTERS[-1]
SLEEP_S = 300.0
ROWS = 3


def perform(name: str) -> StepResult:
    """Three rows that name this attempt."""
    if name == SLOW and TaskContext.get().attemptNumber() == 0:
        time.sleep(SLEEP_S)
    token = secrets.token_hex(8)
    found = parquet.from_rows(schemas.REQUESTS, [(token, n, (n,)) for n in range(ROWS)])
    return StepResult(ClusterOutcome(name), {schemas.REQUESTS.name: found})


def main(master: str, out: str, conf: str) -> None:
    """Make the step."""
    with engines.open_engine(master, conf=json.loads(conf)) as engine:
        inputs = {name: "as it is" for name in CLUSTERS}
        lake = Lake(ArrowObjects(root_of(out)))
        step = Step(engine, lake, SNAPSHOT, DAY, inputs)

        def make(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
            places = list(range(len(names)))
            return engine.make(Job("slow", list(names), places, perform, step.destination(run)))

        outcome = make_and_publish(step, make)
    print(len(outcome.lines), len(outcome.failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
