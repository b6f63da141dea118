"""Load features that `poolkeeper fleet features` made, for the plan of one cluster.

With them `poolkeeper plan` makes the plan, to the hash, that `fleet plan` makes of the same
snapshot. They are read without Spark; where tables are in a store, its credentials are those of the
environment.
"""

from typing import TYPE_CHECKING

from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.errors import wrong_file
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import with_loads

if TYPE_CHECKING:
    from poolkeeper.model.topology import Cluster


@frozen
class FeaturedCluster:
    """A cluster with its latest features; `warnings`: why those are not of the latest day."""

    cluster: "Cluster"
    warnings: tuple[str, ...] = ()


def with_features(cluster: "Cluster", uri: str, name: str) -> FeaturedCluster:
    """The cluster with its latest features below a URI; raises `Refused` where there are none."""
    waves = snapshot_files.fleet("stages.waves")
    lakes, objects, filesystems = (
        snapshot_files.fleet(f"lake.{module}") for module in ("lake", "objects", "filesystems")
    )
    lake = lakes.Lake(objects.ArrowObjects(filesystems.root_of(uri)))
    latest = ""
    for day in lake.latest_days("features"):
        latest = latest or day
        loads = waves.loads_of(lake, filesystems.Storage(), day, name)
        if loads is not None:
            old = (
                f"{uri}: features of {name} are those of {day}: it has none of {latest}, for which"
                " `fleet plan` takes none (`poolkeeper fleet features` makes them)"
            )
            return FeaturedCluster(with_loads(cluster, loads), () if day == latest else (old,))
    raise wrong_file(uri, f"holds no features of {name} (`poolkeeper fleet features` makes them)")
