"""Fleets to plan: clusters of four kinds in turn, with what is declared for each."""

from dataclasses import replace
from pathlib import Path

from bench import clusters
from fleet import cases
from poolkeeper.fleet.storage import snapshot_file
from poolkeeper.resources.write import manifests

KINDS = 4


def names(count: int) -> list[str]:
    """The names of so many clusters, ascending."""
    return [f"c{number:04d}" for number in range(count)]


def case(partitions: int, kind: int) -> cases.Case:
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


def write(folder: Path, count: int, partitions: int) -> None:
    """Write `manifests` and `snapshots` of so many clusters into the folder."""
    kinds = [case(partitions, kind) for kind in range(min(KINDS, count))]
    bodies = []
    for number, name in enumerate(names(count)):
        desired, cluster = cases.named(kinds[number % KINDS], name)
        pool = f"{name}-all"
        connect = replace(desired.cluster.zookeeper, connect=f"zk:2181/{name}")
        spec = replace(desired.cluster, zookeeper=connect, default_pool=pool)
        bodies += [
            manifests.cluster_body(spec),
            manifests.pool_body(replace(desired.pools[0], name=pool)),
        ]
        snapshot_file.write(folder / "snapshots" / f"{name}.parquet", cluster)
    (folder / "manifests").mkdir()
    (folder / "manifests" / "all.yaml").write_text(manifests.text_of(bodies))
