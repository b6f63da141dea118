"""Small objects by Hadoop's file systems, through the driver's JVM: all that Spark reaches.

Every call has a deadline: a store that does not answer must not stop a driver for ever.
"""

import contextlib
import os
from collections.abc import Callable, Container
from concurrent.futures import TimeoutError as Late
from typing import Any, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines.deadlines import in_background
from poolkeeper.fleet.lake.filesystems import scheme_of
from poolkeeper.fleet.lake.objects import PART, PUT_AT_ONCE, StoredObject

T = TypeVar("T")
DEADLINE_S = 120.0
_ABSENT = "java.io.FileNotFoundException"
READ_TRIES = 3
_CUT_OFF = (
    "java.io.EOFException",
    "org.apache.http.ConnectionClosedException",
    "software.amazon.awssdk.thirdparty.org.apache.http.ConnectionClosedException",
)
"""What is said of an answer that ends too soon: s3a has tried everything else again by itself."""
_NO_CLIENT = (
    "java.lang.ClassNotFoundException",
    "org.apache.hadoop.fs.UnsupportedFileSystemException",
)
"""What is said where Hadoop has no class of a scheme's file system, or knows it by name at most."""


class HadoopObjects:
    """`Objects` by Hadoop's file systems."""

    def __init__(self, session: Any, root: str, deadline_s: float = DEADLINE_S) -> None:
        self._root = root
        self._jvm = session.sparkContext._jvm
        self._conf = session.sparkContext._jsc.hadoopConfiguration()
        self._deadline_s = deadline_s

    @property
    def root(self) -> str:
        """The URI of the root."""
        return self._root

    def read(self, path: str) -> bytes | None:
        """See `Objects`; an answer that is cut off is asked for again."""

        def read() -> bytes:
            stream = self._fs().open(self._path(path))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

        for _ in range(READ_TRIES - 1):
            with contextlib.suppress(_CutOff):
                return self._call(path, "read", read, None)
        return self._call(path, "read", read, None)

    def put(self, path: str, body: bytes) -> None:
        """See `Objects`; where a rename costs nothing, beside its place and renamed."""
        folder, _, name = path.rpartition("/")
        whole = scheme_of(self._root) in PUT_AT_ONCE
        part = path if whole else f"{folder}/.{name}.{os.getpid()}{PART}"

        def put() -> None:
            files = self._fs()
            stream = files.create(self._path(part), True)
            try:
                stream.write(bytearray(body))
            finally:
                stream.close()
            if not whole and not files.rename(self._path(part), self._path(path)):
                files.delete(self._path(part), False)
                raise Unavailable(f"{self._root}/{path}: is there already")

        self._call(path, "written", put, None)

    def children(self, path: str) -> list[StoredObject]:
        """See `Objects`."""

        def listed() -> list[StoredObject]:
            return sorted(map(self._stored, self._fs().listStatus(self._path(path))))

        return self._call(path, "listed", listed, [])

    def files(self, path: str) -> list[StoredObject]:
        """See `Objects`."""

        def listed() -> list[StoredObject]:
            found = self._fs().listFiles(self._path(path), True)
            files = []
            while found.hasNext():
                files.append(self._stored(found.next()))
            return sorted(files)

        return self._call(path, "listed", listed, [])

    def delete(self, path: str) -> None:
        """See `Objects`."""

        def delete() -> None:
            self._fs().delete(self._path(path), True)

        self._call(path, "deleted", delete, None)

    def _call(self, path: str, done: str, action: Callable[[], T], absent: T) -> T:
        """Do it within the deadline; `absent` is returned for what is not there."""
        place = f"{self._root}/{path}".rstrip("/")
        try:
            return in_background(action).result(self._deadline_s)
        except Py4JJavaError as failed:
            error = failed.java_exception
            if error.getClass().getName() == _ABSENT:
                return absent
            said = str(error.getMessage() or error.getClass().getName()).partition("\n")[0]
            if _is_of(error, _CUT_OFF):
                raise _CutOff(f"{place}: cannot be {done}: {said}") from failed
            if _is_of(error, _NO_CLIENT):
                said = (
                    f"Spark has no client of {scheme_of(self._root)} ({said}); docs/fleet.md,"
                    " Object stores, has the options that bring one"
                )
            raise Unavailable(f"{place}: cannot be {done}: {said}") from failed
        except Late as late:
            raise Unavailable(
                f"{place}: cannot be {done}: no answer within {self._deadline_s:g} s"
            ) from late
        except Py4JError as failed:
            raise Unavailable(f"{place}: cannot be {done}: {failed}") from failed

    def _fs(self) -> Any:
        return self._path("").getFileSystem(self._conf)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root}/{path}".rstrip("/"))

    def _stored(self, status: Any) -> StoredObject:
        full = status.getPath().toString()
        return StoredObject(
            _below(full, self._root),
            bool(status.isDirectory()),
            int(status.getLen()),
            int(status.getModificationTime()),
            str(status.getEtag()) if hasattr(status, "getEtag") else "",
        )


class _CutOff(Unavailable):
    """An answer ended too soon."""


def _is_of(error: Any, classes: Container[str]) -> bool:
    """Whether an error, or what caused it, is of one of these classes."""
    while error is not None:
        if error.getClass().getName() in classes:
            return True
        error = error.getCause()
    return False


def _below(full: str, root: str) -> str:
    """The path below the root; Hadoop writes `file:/a` where we write `file:///a`."""
    plain = root.partition("://")
    start = root if full.startswith(root) else f"{plain[0]}:{plain[2]}"
    return full.removeprefix(start).lstrip("/")
