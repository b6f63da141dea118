"""Load features that `poolkeeper fleet features` made, for the plan of one cluster.

With them `poolkeeper plan` makes the plan, to the hash, that `fleet plan` makes of the same
snapshot. They are read without Spark; where tables are in a store, its credentials are those of the
environment.
"""

from typing import TYPE_CHECKING

from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.errors import Refused
from poolkeeper.load.apply import with_loads

if TYPE_CHECKING:
    from poolkeeper.model.topology import Cluster


def with_features(cluster: "Cluster", uri: str, name: str) -> "Cluster":
    """The cluster with its latest features below a URI; raises `Refused` where there are none."""
    waves = snapshot_files.fleet("stages.waves")
    lakes, objects, filesystems = (
        snapshot_files.fleet(f"lake.{module}") for module in ("lake", "objects", "filesystems")
    )
    lake = lakes.Lake(objects.ArrowObjects(filesystems.root_of(uri)))
    for day in reversed(lake.days("features")):
        loads = waves.loads_of(lake, filesystems.Storage(), day, name)
        if loads is not None:
            return with_loads(cluster, loads)
    raise Refused(f"{uri}: holds no features of {name} (poolkeeper fleet features makes them)")
