"""Reads of a few bytes from a store of S3, which may say that it has too much to do.

Arrow's client asks again by itself, unless what the store says does not fit into the buffer of the
read: some bytes of a footer, of a small column, of the length of a batch. Then all that the client
knows is that it could not keep the answer, and it gives up at once. So more is read in its place,
beside what was asked for: what the store says fits into that, and is tried again or told.
"""

from typing import Any

import pyarrow as pa

_TOO_LONG = "Failed to flush response stream"
ROOM = 64 * 1024
"""More than any store has to say."""


def s3_file(opened: Any) -> Any:
    """A file of Arrow's, read so."""
    return pa.PythonFile(_Reads(opened), mode="r")


class _Reads:
    """What `pyarrow.PythonFile` asks of a file of Python's."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.closed = False
        self.seek, self.tell = opened.seek, opened.tell

    def read(self, length: int = -1) -> bytes:
        try:
            return bytes(self._opened.read(None if length < 0 else length))
        except OSError as failed:
            if _TOO_LONG not in str(failed):  # their words: no number and no class says it
                raise
        return self._read_with_more(length)

    def _read_with_more(self, length: int) -> bytes:
        at, size = self._opened.tell(), self._opened.size()
        end = size if length < 0 else min(at + length, size)
        begin = max(0, min(at, size - ROOM))
        self._opened.seek(begin)
        try:
            found: bytes = self._opened.read(max(end - begin, ROOM))[at - begin : end - begin]
        except OSError:
            self._opened.seek(at)
            raise
        self._opened.seek(end)
        return found

    def close(self) -> None:
        self.closed = True
        self._opened.close()
