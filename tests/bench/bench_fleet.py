"""Planning a fleet on Spark beside the local engine, over the same Parquet, in one run.

    python tests/bench/bench_fleet.py [--clusters 8] [--partitions 20000] [--slots 2]

`--clusters 100 --partitions 100000` is ten million partitions: some minutes and two GiB of disk.

* *local*: as many processes as slots. *spark*: `local[slots]`, after Spark has started and every
  worker has done something. Both plan every cluster and write every table; the hashes are compared.
* *growth*: all clusters against half of them, on Spark; at most 10 % beyond linear.
* *per task*: what a task costs beside its plan, from many clusters of 20 partitions.
* *straggler*: a giant, last by name, among small ones; how much longer than an even share the whole
  takes when runs start by weight, and by name, from the times that their tasks took.
* *through the JVM*: the same rows of `partitions` grouped by cluster with `applyInArrow` whose
  function only counts them: what planning would cost in addition, were the rows shuffled.
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

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from bench import clusters
from fleet import cases
from poolkeeper.fleet.engines import spark, task_groups
from poolkeeper.fleet.engines.engines import Local, Spark, TaskEngine
from poolkeeper.fleet.stages import pipeline, plan
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.store import Store

GROWTH_MAX = 2.2
KINDS = 4
TINY = 200
ROW = "{:<34}{:>10}{:>12}{:>12}{:>10}{:>12}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make tables, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=20_000, help="of each")
    parser.add_argument("--slots", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder), options.clusters, options.partitions, options.slots)


def _run(folder: Path, count: int, partitions: int, slots: int) -> None:
    store, tiny = Store(folder / "fleet"), Store(folder / "tiny")
    names = [f"c{n:04d}" for n in range(count)]
    cases_of = [_case(partitions, kind) for kind in range(min(KINDS, count))]
    for n, name in enumerate(names):
        cases.put(store, cases.named(cases_of[n % KINDS], name))
    small = [f"t{n:04d}" for n in range(TINY)]
    for name in small:
        cases.put(tiny, cases.named(_case(20, 0), name))
    size = sum(file.stat().st_size for file in store.root.rglob("*.parquet"))
    total = count * partitions
    print(f"{count} clusters of {partitions:,} partitions: {size / total:.0f} bytes a partition")
    print(ROW.format("", "seconds", "cpu s", "partitions/s", "MiB", "of local"))
    # Processes that are new for every step are a part of it, with us and with Spark's first tasks.
    local = Local(slots)
    (beside, _), hashes = _planned("local", local, store, names, total)
    begin = time.perf_counter()
    with spark.session(f"local[{slots}]") as session:
        engine = Spark(session)
        started = time.perf_counter() - begin
        pipeline.plan(engine, tiny, cases.DAY, small[: 4 * slots])
        warm = time.perf_counter() - begin
        print(f"Spark has started after {started:.1f} s, its workers after {warm:.1f} s")
        (_, half), _ = _planned(
            "spark, half of them", engine, store, names[: count // 2], total // 2
        )
        (seconds, whole), found = _planned("spark", engine, store, names, total, beside)
        if found != hashes:
            sys.exit("the plans of Spark are not those of the local engine")
        _per_task(engine, Local(1), tiny, small)
        _through_jvm(session, store, total, seconds)
    growth = whole / half * 2 * (count // 2) / count
    print(f"growth with twice the clusters, in CPU seconds: {growth:.2f} (at most {GROWTH_MAX})")
    rate = total / beside
    even = (warm * rate * slots) / (slots - 1) if slots > 1 else float("inf")
    print(
        f"break-even with one local process: {warm:.1f} s of start are worth"
        f" {warm * rate / slots:,.0f} partitions, made good at {even / slots:,.0f}"
    )
    _straggler(partitions, slots)
    if count > 1 and growth > GROWTH_MAX:
        sys.exit("planning on Spark does not grow linearly")


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


def _planned(
    label: str,
    engine: TaskEngine,
    store: Store,
    names: Sequence[str],
    total: int,
    beside: float | None = None,
) -> tuple[tuple[float, float], dict[str, object]]:
    """Wall and CPU seconds, and the hashes by cluster."""
    with _memory() as peak:
        begin, before = time.perf_counter(), _of_family(_cpu_s)
        outcome = pipeline.plan(engine, store, cases.DAY, names, again=True)
        seconds, cpu_s = time.perf_counter() - begin, _of_family(_cpu_s) - before
    assert not outcome.failed, outcome.failed
    ratio = "" if beside is None else f"{seconds / beside:.2f}"
    rate = f"{total / seconds:,.0f}"
    print(ROW.format(label, f"{seconds:.1f}", f"{cpu_s:.1f}", rate, peak(), ratio))
    sys.stdout.flush()
    return (seconds, cpu_s), {line.cluster: line.figures["hash"] for line in outcome.lines}


def _per_task(engine: TaskEngine, local: TaskEngine, store: Store, names: Sequence[str]) -> None:
    spent = {}
    for label, each in (("spark", engine), ("local", local)):
        begin = time.perf_counter()
        pipeline.plan(each, store, cases.DAY, names, again=True)
        spent[label] = (time.perf_counter() - begin) / len(names)
    print(
        f"a cluster of 20 partitions: {spent['spark'] * 1000:.1f} ms on Spark,"
        f" {spent['local'] * 1000:.1f} ms in one local process"
    )


def _through_jvm(session: object, store: Store, total: int, whole: float) -> None:
    def count(group: pa.Table) -> pa.Table:
        return pa.table({"rows": [group.num_rows]})

    rows = session.read.schema(schemas.PARTITIONS.ddl).parquet(  # type: ignore[attr-defined]
        str(store.root / schemas.PARTITIONS.name)
    )
    wanted = rows.select("cluster", "topic", *plan.NEEDED)
    begin = time.perf_counter()
    counted = wanted.groupBy("cluster").applyInArrow(count, "rows bigint").toArrow()
    seconds = time.perf_counter() - begin
    assert sum(counted.column(0).to_pylist()) == total
    print(
        f"the rows through the JVM, by groupBy(cluster).applyInArrow: {seconds:.1f} s"
        f" ({seconds / whole:.2f} of planning)"
    )


def _straggler(partitions: int, slots: int) -> None:
    """From weights alone: a slot that waits is the same in processes and executors."""
    weights = [max(1, partitions // 100)] * 400 + [partitions * 2]
    bound = max(max(weights), sum(weights) / slots)
    by_weight = task_groups.runs(weights, spark.TASKS_PER_SLOT * slots)
    by_name = list(range(len(weights)))
    found = [
        task_groups.makespan(weights, placed, slots) / bound for placed in (by_weight, by_name)
    ]
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
