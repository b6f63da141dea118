"""What every task of a step knows: where the tables are, and how they are opened."""

from functools import lru_cache

from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.reading import Reader
from poolkeeper.frozen import frozen


@frozen
class Tables:
    """The root of the tables, the settings with which it is opened, and the run that reads.

    What tasks of one run keep of files is not used by another run: a file may be damaged since.
    """

    root: str
    storage: Storage
    run: str

    def reader(self) -> Reader:
        """The reader of this process, for one thread."""
        return _reader(self)


@lru_cache(maxsize=1)
def _reader(tables: Tables) -> Reader:
    return Reader(tables.root, tables.storage)


def files_of(entry: ClusterEntry | None, table: str) -> tuple[str, ...]:
    """The paths of the files that hold a cluster's rows of a table."""
    return tuple(f.path for f in entry.files if f.table == table) if entry else ()
