"""A fleet of two clusters of which every step has rows, and its lake after a run.

A module that uses the fixtures imports them: each of them is made once a module.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import clusters
from builders import topic_spec
from fleet import cases
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.engines import engines
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.storage import schemas
from poolkeeper.model import snapshots
from poolkeeper.model.topology import ReassignmentEntry
from poolkeeper.resources.write import manifests as write_manifests

DAY = cases.DAY
CODE = 4
"""Of a run that goes well: its budget leaves something out."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of two clusters with rows in every table that its steps read."""
    folder = tmp_path_factory.mktemp("damaged")
    bodies = []
    for kind in ("snapshots", "manifests"):
        (folder / kind).mkdir()
    for seed, name in enumerate(("east", "west")):
        cluster = clusters.cluster(18, brokers=6, joined=1, seed=seed)
        moving = ReassignmentEntry("gone", 0, (1, 2))
        cluster = replace(cluster, name=name, reassignment=(moving,), read_ms=cases.NOW_MS)
        snapshots.write(folder / "snapshots" / f"{name}.json", cluster)
        desired = clusters.desired(7, capacity=clusters.disks(cluster, 0.2))
        connect = replace(desired.cluster.zookeeper, connect=f"127.0.0.1:1/{name}")
        spec = replace(desired.cluster, name=name, zookeeper=connect, default_pool=f"{name}-all")
        pool = replace(desired.pools[0], name=f"{name}-all", cluster=name)
        new = topic_spec(f"new-{name}", pool.name, partitions=2, replication_factor=2)
        bodies += [write_manifests.cluster_body(spec), write_manifests.pool_body(pool)]
        bodies.append(write_manifests.topic_body(new))
    (folder / "manifests" / "all.yaml").write_text(write_manifests.text_of(bodies))
    return folder


def words(made: Path, out: Path, step: str) -> list[str]:
    """A command with its options."""
    read = ["-f", made / "manifests", "--snapshots", made / "snapshots"]
    # Nothing fits into a window of a minute: the budget leaves something out.
    limits = ["--rate", "1", "--window", "0 22 * * * 1m"]
    of_steps = {
        "run": [*read, *limits, "--pages", "0"],
        "snapshot": read,
        "budget": limits,
        "report": ["--pages", "0"],
        "show": ["east", "--plan", out.parent / "plan.json"],
    }
    return [str(w) for w in ("fleet", step, *of_steps.get(step, ()), "--out", out, "--day", DAY)]


@pytest.fixture(scope="module")
def whole(made: Path) -> Path:
    """The lake of that fleet."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engines, "open_engine", InProcess.opened)
        assert main.main(words(made, made / "out", "run")) == CODE
    return made / "out"


def contents(lake: Lake) -> dict:
    """Rows that count, but for those that hold times of writing."""
    left = {(schemas.CLUSTERS.name, name) for name in ("east", "west")}
    return {k: rows for k, rows in cases.rows_of_all(lake).items() if k not in left}
