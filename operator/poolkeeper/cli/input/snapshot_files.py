"""Snapshot files of every kind; Parquet where the fleet extra is installed."""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from poolkeeper.errors import Refused
from poolkeeper.model import snapshots
from poolkeeper.model.topology import Cluster

EXTRA = "pip install 'poolkeeper[fleet]'"
PARQUET = ".parquet"


def writer(path: Path) -> Callable[[Path, Cluster], None]:
    """What writes such a file; raises `Refused` before anything is read that could not be kept."""
    if path.suffix != PARQUET:
        return snapshots.write
    write: Callable[[Path, Cluster], None] = fleet("storage.snapshot_file").write
    return write


def read(path: Path) -> Cluster:
    """Read a snapshot; raises `Refused` or `InvalidInput`."""
    if path.suffix != PARQUET:
        return snapshots.read(path)
    cluster: Cluster = fleet("storage.snapshot_file").read(path)
    return cluster


def fleet(module: str) -> ModuleType:
    """A module of the room `fleet`; raises `Refused` where what it needs is not installed."""
    try:
        return importlib.import_module(f"poolkeeper.fleet.{module}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("poolkeeper"):
            raise
        raise Refused(f"{missing.name} is not installed (expected {EXTRA})") from missing
