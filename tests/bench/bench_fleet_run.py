"""The whole of `poolkeeper fleet run` as a process, from its start to its end.

    python tests/bench/bench_fleet_run.py [--clusters 8] [--partitions 20000] [--slots 2]
        [--pages 50] [--folder DIR]

`--clusters 100 --partitions 100000` is ten million partitions: two minutes and five GiB of disk.

Spark's start, snapshots from files, features, plans, budget, the report, and the pages of the plans
that begin first, each with its `plan.json`. Processor seconds are of the process and of all that it
started, Java and Python workers; MiB are the largest sum of their resident sets, with some 40 of
this process.

With `--folder` manifests and snapshots stay there, and are used by the next run; tables of the last
run stay as well. Nothing is asserted but that the run ends well and has written its pages.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measuring import adopt_orphans, heads, measured

DAY = "2026-03-01"


def main(arguments: Sequence[str] | None = None) -> None:
    """Make files, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--partitions", type=int, default=20_000, help="of each")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where files stay")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        _measure(options.folder or Path(name), options)


def _measure(folder: Path, options: argparse.Namespace) -> None:
    made = folder / f"{options.clusters}x{options.partitions}"
    if not made.exists():
        # A process of its own: what it holds is none of the memory of a run.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            apart.submit(_write, made, options.clusters, options.partitions).result()
    out = folder / "tables"
    shutil.rmtree(out, ignore_errors=True)
    words = [sys.executable, "-m", "poolkeeper", "fleet", "run", "--day", DAY]
    words += ["-f", str(made / "manifests"), "--snapshots", str(made / "snapshots")]
    words += ["--out", str(out), "--processes", str(options.slots), "--pages", str(options.pages)]
    adopt_orphans()
    heads("partitions/s")
    total = options.clusters * options.partitions
    told = folder / "told.txt"
    with told.open("w") as told_to:
        found = measured(
            "fleet run, report and pages",
            total,
            lambda: subprocess.run(words, stdout=told_to, check=False).returncode,
        )
    if found.done:
        sys.exit(f"poolkeeper fleet run ended with {found.done}: {told.read_text()}")
    pages = len(list((out / f"report-{DAY}").glob("*.html")))
    rate = total / found.cpu_s * options.slots
    print(f"{pages} pages; {rate:,.0f} partitions/s on {options.slots} processors kept busy")
    if not pages and options.pages:
        sys.exit("no page was written")


def _write(folder: Path, count: int, partitions: int) -> None:
    from bench import fleets

    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fleets.write(part, count, partitions)
    part.rename(folder)


if __name__ == "__main__":
    main()
