"""Small objects below a root: read whole, put whole or not at all, listed, deleted.

`ArrowObjects` reaches them by Arrow's file systems, without a JVM. A driver with a session reaches
them as Spark does, by Hadoop's (`engines.hadoop`). Paths are relative to the root.
"""

import contextlib
import os
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyarrow import fs

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.filesystems import (
    FILE,
    S3_SCHEMES,
    Storage,
    open_file,
    open_filesystem,
    scheme_of,
)
from poolkeeper.text import first_line

PUT_AT_ONCE = (*S3_SCHEMES, "gs")
"""Schemes of stores in which an object is there when it is complete; a rename is a copy there."""
PART = ".part"
"""The end of a name, elsewhere, of what is not complete yet."""


@dataclass(frozen=True, slots=True, order=True)
class StoredObject:
    """An object or a folder below the root: its path there, its length, when it was changed.

    `tag`: what the store says of its content, if it says anything.
    """

    path: str
    is_folder: bool = False
    bytes: int = 0
    modified_ms: int = 0
    tag: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def is_hidden(self) -> bool:
        """Whether it or a folder of it begins with `.` or `_`, as what is being written does.

        Spark and Hive leave the same out. A column's folder may begin with `_`: `_x=1`.
        """
        return any(
            part.startswith(".") or (part.startswith("_") and "=" not in part)
            for part in self.path.split("/")
        )


class Objects(Protocol):
    """Objects below a root; all methods raise `Unavailable` where the store does not answer."""

    @property
    def root(self) -> str:
        """The URI of the root."""

    def read(self, path: str) -> bytes | None:
        """The content of an object, or None where there is none.

        Raises `DamagedFile` for a folder, a pipe or a device in its place.
        """

    def put(self, path: str, body: bytes) -> None:
        """Make an object that is not there yet: whole, or not at all."""

    def children(self, path: str) -> list[StoredObject]:
        """Objects and folders in a folder, sorted; none where there is no such folder."""

    def files(self, path: str) -> list[StoredObject]:
        """All objects below a folder, sorted; none where there is no such folder."""

    def delete(self, path: str) -> None:
        """Delete an object, or a folder with all that is below it, if it is there."""


def replace_object(objects: Objects, path: str, body: bytes) -> None:
    """Put an object over the one that may be there; raises `Unavailable`.

    Where a store takes it at once, or a rename replaces, that one stays if this one cannot be put.
    """
    if scheme_of(objects.root) not in (FILE, *PUT_AT_ONCE):
        objects.delete(path)
    objects.put(path, body)


class ArrowObjects:
    """`Objects` by Arrow's file systems."""

    def __init__(self, root: str, storage: Storage | None = None) -> None:
        self._root = root
        self._fs, self._base = open_filesystem(root, storage or Storage())

    @property
    def root(self) -> str:
        """The URI of the root."""
        return self._root

    def read(self, path: str) -> bytes | None:
        """See `Objects`."""
        try:
            with open_file(self._fs, self._at(path)) as opened:
                return bytes(opened.read())
        except FileNotFoundError:
            return None
        except IsADirectoryError as wrong:
            raise DamagedFile(path, first_line(wrong)) from wrong
        except (OSError, pa.ArrowException) as failed:
            raise self._failed(path, "read", failed) from failed

    def put(self, path: str, body: bytes) -> None:
        """See `Objects`; on a file system beside its place and renamed."""
        at = self._at(path)
        whole = scheme_of(self._root) in PUT_AT_ONCE
        folder, _, name = at.rpartition("/")
        part = at if whole else f"{folder}/.{name}.{os.getpid()}{PART}"
        try:
            if not whole:
                self._fs.create_dir(folder, recursive=True)
            # Otherwise Arrow would compress what has a name like x.gz, and not when it reads it.
            with self._fs.open_output_stream(part, compression=None) as opened:
                opened.write(body)
            if not whole:
                self._fs.move(part, at)
        except (OSError, pa.ArrowException) as failed:
            if not whole:
                with contextlib.suppress(OSError):
                    self._fs.delete_file(part)
            raise self._failed(path, "written", failed) from failed

    def children(self, path: str) -> list[StoredObject]:
        """See `Objects`."""
        return self._list(path, recursive=False)

    def files(self, path: str) -> list[StoredObject]:
        """See `Objects`."""
        return [found for found in self._list(path, recursive=True) if not found.is_folder]

    def delete(self, path: str) -> None:
        """See `Objects`."""
        at = self._at(path)
        try:
            kind = self._fs.get_file_info(at).type
            if kind == fs.FileType.Directory:
                self._fs.delete_dir(at)
            elif kind != fs.FileType.NotFound:
                self._fs.delete_file(at)
        except FileNotFoundError:
            return
        except (OSError, pa.ArrowException) as failed:
            raise self._failed(path, "deleted", failed) from failed

    def _list(self, path: str, *, recursive: bool) -> list[StoredObject]:
        base = self._at(path)
        wanted = fs.FileSelector(base, allow_not_found=True, recursive=recursive)
        try:
            found = self._fs.get_file_info(wanted)
        except (OSError, pa.ArrowException) as failed:
            raise self._failed(path, "listed", failed) from failed
        return sorted(stored for info in found if (stored := self._stored(info)) is not None)

    def _stored(self, info: Any) -> StoredObject | None:
        """The object; None for a name that is no UTF-8, which nothing here has."""
        try:
            path = info.path
        except UnicodeDecodeError:
            return None
        return StoredObject(
            path.removeprefix(self._base).lstrip("/"),
            info.type == fs.FileType.Directory,
            info.size or 0,
            (info.mtime_ns or 0) // 1_000_000,
        )

    def _at(self, path: str) -> str:
        return f"{self._base}/{path}" if path else self._base

    def _failed(self, path: str, done: str, failed: Exception) -> Unavailable:
        place = f"{self._root}/{path}".rstrip("/")
        return Unavailable(f"{place}: cannot be {done}: {first_line(failed)}")
