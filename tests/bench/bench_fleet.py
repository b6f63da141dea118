"""A fleet on Spark: planning, the whole run from snapshot files, features, and the budget.

    python tests/bench/bench_fleet.py [--clusters 8] [--partitions 20000] [--samples 2000000]
        [--slots 2] [--only plan|features|budget]

`--clusters 100 --partitions 100000` is ten million partitions: some minutes and two GiB of disk.
`--only features --clusters 100 --samples 100000000` are a hundred million samples.

* *floor*: `make_plan` and the audit of a cluster of each kind, in this process, from objects that
  are there already, and from columns as a task reads them.
* *plan*: the step, from tables to tables, after Spark has started and every worker has done
  something; the hashes are compared with the floor's.
* *growth*: all clusters against half of them, and all samples against half of each cluster's; at
  most 10 % beyond linear.
* *whole run*: snapshot (from files), features, plan and budget of all clusters, step by step.
* *features*: from samples in files, half-hourly; of a giant that alone has as many as all others.
* *budget*: the schedule of 3.4 million moves: the driver reads stages, never moves.
* *straggler*: a giant, last by name, among small ones; how much longer than an even share the whole
  takes when runs start by weight, and by name, computed from the weights.
* memory: the largest sum of resident sets over all processes below this one.

Nothing but ratios is asserted: growth, and that no plan differs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import fleets
from bench.measuring import Measured, heads, measured, together
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.fleet.engines import engines, task_groups
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake, StepRun
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.schedule.budget import Budget, ScheduledStage
from poolkeeper.fleet.stages import pipeline, waves
from poolkeeper.fleet.stages.features.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import PLAN, FleetOutcome, Step, make_and_publish
from poolkeeper.fleet.stages.snapshot import SnapshotTask
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas, snapshot_file
from poolkeeper.load.prometheus import BYTES, RATE
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.planner import make_plan
from poolkeeper.zk.client.gc_pause import collector_paused
from unit.fleet.slots import makespan

GROWTH_MAX = 2.2
TINY = 20
SAMPLES_PER_SERIES = 336
"""A week, half-hourly."""
STEP_MS = 1_800_000
MOVES, MOVES_PER_STAGE, PLANS = 3_400_000, 200, 100


def main(arguments: Sequence[str] | None = None) -> None:
    """Make files, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=20_000, help="of each")
    parser.add_argument("--samples", type=int, default=2_000_000, help="of all together")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--only", choices=("plan", "features", "budget"))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.only in (None, "budget"):
            _budget(folder / "budget")
        if options.only == "budget":
            return
        with engines.open_engine(f"local[{options.slots}]") as engine:
            begin = time.perf_counter()
            tiny = {f"t{n:04d}": fleets.case(20, 0) for n in range(TINY)}
            lake, tasks = _prepared(folder / "tiny", tiny)
            pipeline.snapshot(engine, lake, cases.DAY, tasks)
            print(f"Spark's workers are ready after {time.perf_counter() - begin:.1f} s")
            if options.only in (None, "plan"):
                _planning(engine, folder / "plan", options.clusters, options.partitions)
                _straggler(options.partitions, options.slots)
            if options.only in (None, "features"):
                _features(engine, folder / "features", options.clusters, options.samples)


def _planning(engine: Engine, folder: Path, count: int, partitions: int) -> None:
    names, total = fleets.names(count), count * partitions
    heads("partitions/s")
    # A process of its own: what it holds is none of the memory of a run.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        tasks, hashes = apart.submit(_ready, folder, count, partitions).result()
    lake = Lake(ArrowObjects(root_of(folder / "lake")))
    steps = _all_steps(engine, lake, tasks, total)
    half_of = names[: count // 2]
    half = measured("plan, half of them", total // 2, lambda: _plan(engine, lake, half_of))
    made = measured("plan", total, lambda: _plan(engine, lake, names))
    found = {line.cluster: line.figures["hash"] for line in made.done.lines}
    assert all(line.status == schemas.OK for line in steps[2].done.lines)
    if [found[name] for name in names[: len(hashes)]] != hashes:
        sys.exit("the plans of Spark are not those of the planner")
    if count > 1:
        _compare("clusters", made.cpu_s, half.cpu_s * 2 * (count // 2) / count)


def _ready(folder: Path, count: int, partitions: int) -> tuple[list[SnapshotTask], list[str]]:
    """Make what is declared and snapshot files; return tasks, and hashes by the planner alone."""
    kinds = [fleets.case(partitions, kind) for kind in range(min(fleets.KINDS, count))]
    _, tasks = _prepared(folder, dict(zip(fleets.names(count), kinds * count, strict=False)))
    return tasks, _floor(kinds, partitions)


def _compare(what: str, all_cpu_s: float, half_cpu_s: float) -> None:
    growth = all_cpu_s / half_cpu_s
    print(f"growth with twice the {what}, in CPU seconds: {growth:.2f} (at most {GROWTH_MAX})")
    if growth > GROWTH_MAX:
        sys.exit(f"the work does not grow linearly with {what}")


def _prepared(folder: Path, fleet: Mapping[str, cases.Case]) -> tuple[Lake, list[SnapshotTask]]:
    """A lake with what is declared, and tasks that read snapshot files."""
    lake, files = Lake(ArrowObjects(root_of(folder / "lake"))), folder / "snapshots"
    files.mkdir(parents=True)
    tasks = []
    manifests.write(lake, [cases.named(case, name)[0] for name, case in fleet.items()])
    declared = manifests.read(lake)
    for name, case in fleet.items():
        file = files / f"{name}.parquet"
        snapshot_file.write(file, case[1])
        tasks.append(
            SnapshotTask(
                name,
                declared[name].text,
                cases.NOW_MS,
                folder=root_of(files),
                file=file.name,
                bytes=file.stat().st_size,
                input="bench",
            )
        )
    return lake, tasks


def _floor(kinds: Sequence[cases.Case], partitions: int) -> list[str]:
    """The hashes of the plans of each kind, under the names of the first clusters."""
    named = [cases.named(case, f"c{number:04d}") for number, case in enumerate(kinds)]
    stored = [(desired, _as_stored(cluster)) for desired, cluster in named]
    total = len(kinds) * partitions
    found = [
        measured(f"planner and audit alone, from {form}", total, lambda c=given: _plan_all(c)).done
        for form, given in (("objects", named), ("columns", stored))
    ]
    assert found[0] == found[1]
    return found[1]


def _as_stored(cluster: Cluster) -> Cluster:
    return cluster_rows.cluster_of_rows(cluster.name, cluster_rows.rows_of_cluster(cluster))


def _plan_all(given: Sequence[cases.Case]) -> list[str]:
    hashes = []
    for desired, cluster in given:
        with collector_paused():
            made = make_plan(desired, cluster, Records())
            audit.enforce(made, desired, cluster, Records(), frozenset(), fresh=True)
        hashes.append(made.hash)
    return hashes


def _all_steps(
    engine: Engine, lake: Lake, tasks: Sequence[SnapshotTask], total: int
) -> list[Measured]:
    """Every step that makes tables, and all of them together."""
    names = [task.cluster for task in tasks]
    storage, options = engine.storage, HistoryOptions()
    steps: dict[str, Callable[[], object]] = {
        "snapshots": lambda: pipeline.snapshot(engine, lake, cases.DAY, tasks, again=True),
        "features": lambda: pipeline.features(engine, lake, cases.DAY, options, again=True),
        "plans": lambda: _plan(engine, lake, names),
        "budget": lambda: waves.schedule_day(lake, storage, cases.DAY, Budget(), {}, cases.BEGIN),
    }
    found = [measured(f"run: {name}", total, step) for name, step in steps.items()]
    together("whole run", total, found)
    return found


def _plan(engine: Engine, lake: Lake, names: Sequence[str]) -> FleetOutcome:
    outcome = pipeline.plan(engine, lake, cases.DAY, names, again=True)
    assert not outcome.failed, outcome.failed
    return outcome


def _features(engine: Engine, folder: Path, count: int, samples: int) -> None:
    """Of many clusters, of half of them, of half of the samples of each, and of one giant."""
    heads("samples/s")
    each = samples // count

    def features_of(label: str, clusters_of: int, samples_of: int) -> float:
        place = folder / f"{clusters_of}-{samples_of}"
        series = max(1, samples_of // SAMPLES_PER_SERIES)
        case = fleets.case(series, 3)
        fleet = {f"f{n:04d}": case for n in range(clusters_of)}
        lake, tasks = _prepared(place, fleet)
        made = _write_samples(place / "samples", fleet)
        pipeline.snapshot(engine, lake, cases.DAY, tasks)
        root, options = root_of(place / "samples"), HistoryOptions()
        done = measured(
            label,
            made,
            lambda: pipeline.features(engine, lake, cases.DAY, options, root, again=True),
        )
        assert not done.done.failed, done.done.failed
        assert done.done.total("samples") >= made
        return done.cpu_s

    features_of("features, warming up", 2, each // 8)
    half = features_of("features, half of the clusters", count // 2, each)
    thin = features_of("features, half of the samples", count, each // 2)
    full = features_of("features", count, each)
    features_of("features of a giant", 1, count * each)
    _compare("clusters", full, half * 2 * (count // 2) / count)
    _compare("samples", full, thin)


def _write_samples(folder: Path, fleet: Mapping[str, cases.Case]) -> int:
    """Rates and sizes of all partitions at each time; returns how many samples there are."""
    total = 0
    for name, (_, cluster) in fleet.items():
        names = [(t.name, p.partition) for t in cluster.topics.values() for p in t.partitions]
        topics, numbers = zip(*names, strict=True)
        own = folder / f"cluster={name}"
        own.mkdir(parents=True)
        place = np.arange(len(names))
        series = {
            "topic": pa.array(topics, pa.string()).dictionary_encode(),
            "partition": pa.array(numbers, pa.int32()),
        }
        with pq.ParquetWriter(own / "samples.parquet", _SAMPLES, compression="zstd") as file:
            for step in range(SAMPLES_PER_SERIES):
                metric = RATE if step % 2 else BYTES
                rows = {
                    **series,
                    "metric": pa.array([metric] * len(names)).dictionary_encode(),
                    "at_ms": np.full(len(names), cases.NOW_MS - STEP_MS * step),
                    "value": np.random.default_rng(step).random(len(names)) * 1e6 + place,
                }
                file.write_table(pa.table(rows).cast(_SAMPLES))
                total += len(names)
    return total


_SAMPLES = parquet.arrow(schemas.SAMPLES).remove_metadata()


def _budget(folder: Path) -> None:
    """The schedule of plans whose stages are in a lake already, in this process."""
    folder.mkdir()
    lake, engine = Lake(ArrowObjects(root_of(folder))), InProcess()
    stages = MOVES // MOVES_PER_STAGE // PLANS
    dice = np.random.default_rng(1)
    made = []
    for number in range(PLANS):
        sizes = (dice.pareto(1.2, stages) * 10**10).astype(np.int64).tolist()
        rows = [(n, *ScheduledStage(size, size // 10**5)) for n, size in enumerate(sizes)]
        tables = {schemas.STAGES.name: parquet.from_rows(schemas.STAGES, rows)}
        made.append(StepResult(ClusterOutcome(f"b{number:04d}"), tables))
    inputs = {result.outcome.cluster: "made" for result in made}
    step = Step(engine, lake, PLAN, cases.DAY, inputs, again=True)

    def put(run: StepRun, names: Sequence[str]) -> Sequence[ClusterOutcome]:
        return engine.make(Job("put", made, list(range(PLANS)), _same, step.destination(run)))

    make_and_publish(step, put)
    rate = Budget(bytes_per_s=10**9)
    heads("moves/s")
    measured(
        "budget",
        MOVES,
        lambda: waves.schedule_day(lake, engine.storage, cases.DAY, rate, {}, cases.BEGIN),
    )


def _same(result: StepResult) -> StepResult:
    return result


def _straggler(partitions: int, slots: int) -> None:
    """From weights alone: a slot that waits is the same in processes and executors."""
    weights = [max(1, partitions // 100)] * 400 + [partitions * 2]
    bound = max(max(weights), sum(weights) / slots)
    by_weight = task_groups.runs(weights, task_groups.TASKS_PER_SLOT * slots)
    by_name = list(range(len(weights)))
    found = [makespan(weights, placed, slots) / bound for placed in (by_weight, by_name)]
    print(f"a giant among 400: {found[0]:.2f} of an even share by weight, {found[1]:.2f} by name")


if __name__ == "__main__":
    main()
