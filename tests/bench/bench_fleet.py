"""Planning a fleet on Spark, beside what the planner and the audit alone take.

    python tests/bench/bench_fleet.py [--clusters 8] [--partitions 20000] [--slots 2]

`--clusters 100 --partitions 100000` is ten million partitions: some minutes and two GiB of disk.

* *floor*: `make_plan` and the audit of a cluster of each kind, in this process, from objects that
  are there already.
* *plan*: the step, from tables to tables, after Spark has started and every worker has done
  something; the hashes are compared with the floor's.
* *growth*: all clusters against half of them; at most 10 % beyond linear.
* *whole run*: snapshot (from files), features, plan and budget of all clusters.
* *straggler*: a giant, last by name, among small ones; how much longer than an even share the whole
  takes when runs start by weight, and by name, computed from the weights.
* memory: the largest sum of resident sets over all processes below this one.

Nothing but ratios is asserted: growth, and that no plan differs.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench import clusters
from fleet import cases
from poolkeeper.fleet.engines import engines, task_groups
from poolkeeper.fleet.engines.engines import Engine
from poolkeeper.fleet.lake import manifests
from poolkeeper.fleet.lake.filesystems import root_of
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.fleet.stages import pipeline, waves
from poolkeeper.fleet.stages.load_features import HistoryOptions
from poolkeeper.fleet.stages.publishing import FleetOutcome
from poolkeeper.fleet.stages.snapshot import SnapshotTask
from poolkeeper.fleet.storage import snapshot_file
from poolkeeper.model.execution.records import Records
from poolkeeper.planning.audit import audit
from poolkeeper.planning.planner import make_plan
from unit.fleet.slots import makespan

GROWTH_MAX = 2.2
KINDS = 4
TINY = 20
ROW = "{:<34}{:>10}{:>12}{:>14}{:>10}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make files, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=20_000, help="of each")
    parser.add_argument("--slots", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder), options.clusters, options.partitions, options.slots)


def _run(folder: Path, count: int, partitions: int, slots: int) -> None:
    kinds = [_case(partitions, kind) for kind in range(min(KINDS, count))]
    names = [f"c{n:04d}" for n in range(count)]
    lake, tasks = _prepared(folder / "fleet", dict(zip(names, kinds * count, strict=False)))
    tiny, small = _prepared(folder / "tiny", {f"t{n:04d}": _case(20, 0) for n in range(TINY)})
    total = count * partitions
    print(ROW.format("", "seconds", "cpu s", "partitions/s", "MiB"))
    hashes = _floor(kinds, partitions)
    begin = time.perf_counter()
    with engines.open_engine(f"local[{slots}]") as engine:
        pipeline.snapshot(engine, tiny, cases.DAY, small)
        print(f"Spark's workers are ready after {time.perf_counter() - begin:.1f} s")
        whole = _measured("whole run", total, lambda: _all_steps(engine, lake, tasks))
        half_of = names[: count // 2]
        half = _measured("plan, half of them", total // 2, lambda: _plan(engine, lake, half_of))
        made = _measured("plan", total, lambda: _plan(engine, lake, names))
    found = {line.cluster: line.figures["hash"] for line in made[0].lines}
    assert whole[0].lines
    if [found[name] for name in names[: len(hashes)]] != hashes:
        sys.exit("the plans of Spark are not those of the planner")
    growth = made[1] / half[1] * 2 * (count // 2) / count
    print(f"growth with twice the clusters, in CPU seconds: {growth:.2f} (at most {GROWTH_MAX})")
    _straggler(partitions, slots)
    if count > 1 and growth > GROWTH_MAX:
        sys.exit("planning on Spark does not grow linearly")


def _prepared(folder: Path, fleet: dict[str, cases.Case]) -> tuple[Lake, list[SnapshotTask]]:
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
                root_of(files),
                file.name,
                file.stat().st_size,
                "bench",
            )
        )
    return lake, tasks


def _floor(kinds: Sequence[cases.Case], partitions: int) -> list[str]:
    """The hashes of the plans of each kind, under the names of the first clusters."""
    hashes = []

    def plan_all() -> None:
        for number, case in enumerate(kinds):
            desired, cluster = cases.named(case, f"c{number:04d}")
            made = make_plan(desired, cluster, Records())
            audit.enforce(made, desired, cluster, Records(), frozenset(), fresh=True)
            hashes.append(made.hash)

    _measured("planner and audit alone, one slot", len(kinds) * partitions, plan_all)
    return hashes


def _all_steps(engine: Engine, lake: Lake, tasks: Sequence[SnapshotTask]) -> FleetOutcome:
    pipeline.snapshot(engine, lake, cases.DAY, tasks, again=True)
    pipeline.features(engine, lake, cases.DAY, HistoryOptions(), again=True)
    made = _plan(engine, lake, [task.cluster for task in tasks])
    begin = cases.BEGIN
    waves.schedule_day(lake, engine.storage, cases.DAY, Budget(), {}, begin)
    return made


def _plan(engine: Engine, lake: Lake, names: Sequence[str]) -> FleetOutcome:
    outcome = pipeline.plan(engine, lake, cases.DAY, names, again=True)
    assert not outcome.failed, outcome.failed
    return outcome


def _measured(label: str, total: int, action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action returns, and its CPU seconds."""
    with _memory() as peak:
        begin, before = time.perf_counter(), _of_family(_cpu_s)
        done = action()
        seconds, cpu_s = time.perf_counter() - begin, _of_family(_cpu_s) - before
    rate = f"{total / seconds:,.0f}"
    print(ROW.format(label, f"{seconds:.1f}", f"{cpu_s:.1f}", rate, peak()))
    sys.stdout.flush()
    return done, cpu_s


def _case(partitions: int, kind: int) -> cases.Case:
    """Expanded, drained, weighted or settled, in turn."""
    joined = 4 if kind == 0 else 0
    cluster = clusters.cluster(partitions, joined=joined, seed=kind + 1)
    more: dict[str, object] = {}
    if kind == 1:
        more["drain"] = frozenset({clusters.fullest(cluster)})
    if kind == 2:
        more["capacity_of"] = clusters.weights(60)
    if kind == 3:
        more["goals"] = ()
    return clusters.desired(60 + joined, **more), cluster


def _straggler(partitions: int, slots: int) -> None:
    """From weights alone: a slot that waits is the same in processes and executors."""
    weights = [max(1, partitions // 100)] * 400 + [partitions * 2]
    bound = max(max(weights), sum(weights) / slots)
    by_weight = task_groups.runs(weights, pipeline.TASKS_PER_SLOT * slots)
    by_name = list(range(len(weights)))
    found = [makespan(weights, placed, slots) / bound for placed in (by_weight, by_name)]
    print(f"a giant among 400: {found[0]:.2f} of an even share by weight, {found[1]:.2f} by name")


@contextmanager
def _memory() -> Iterator[Callable[[], str]]:
    """The peak of all processes below this one, this one included, in MiB."""
    ended, most = Event(), [0]

    def look() -> None:
        while not ended.wait(0.2):
            most[0] = max(most[0], int(_of_family(_resident_kib)))

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: str(most[0] // 1024)
    finally:
        ended.set()
        thread.join()


def _of_family(figure: Callable[[list[str]], float]) -> float:
    """The sum of a figure of this process and of all below it; `figure` takes /proc's `stat`."""
    parents, figures = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            figures[int(folder.name)] = figure(stat)
            parents[int(folder.name)] = int(stat[1])
        except (OSError, IndexError, ValueError):  # it has ended meanwhile
            continue
    ours, total = os.getpid(), 0.0
    for process, found in figures.items():
        at = process
        while at in parents and at != ours:
            at = parents[at]
        total += found if at == ours else 0
    return total


def _resident_kib(stat: list[str]) -> float:
    return int(stat[21]) * os.sysconf("SC_PAGESIZE") / 1024


def _cpu_s(stat: list[str]) -> float:
    """Of the process, and of its children that have ended."""
    return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
