"""Standard output and standard error, as every command has them.

They take any letter, and all of them: a stream that was closed before we began is none to Python,
and an old locale lacks arrows. With PYTHONUNBUFFERED, which our images set, Python takes a write of
which a full disk or a pipe without a reader took a part for a whole one: the rest would be lost in
silence.

The error of a write names no file. That of a standard stream is a `StreamError`, so that no other
full disk is told as the one that standard output is on.

Standard error carries no result: where its disk is full, or a shell left nothing there that can be
written, the command goes on.
"""

import errno
import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_LOST = (errno.EBADF, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write to standard error may meet while the command goes on."""


class StreamError(OSError):
    """A standard stream could not be written."""


class ReaderGone(StreamError, BrokenPipeError):
    """Nobody reads a standard stream any more."""


def complete() -> None:
    """Give this process streams that take whatever is written, unless somebody replaced them."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
        elif stream is getattr(sys, f"__{name}__"):
            setattr(sys, name, _completed(stream, name))


def require_reader() -> None:
    """Raise `ReaderGone` if standard output is a pipe that nobody reads any more.

    For whoever has nothing to write for long, and would hear of it with the next write.
    """
    try:
        number = sys.stdout.fileno()
    except OSError:  # somebody has replaced it by what is no file
        return
    looked = select.poll()
    looked.register(number, 0)
    if any(event & select.POLLERR for _, event in looked.poll(0)):
        raise ReaderGone(errno.EPIPE, os.strerror(errno.EPIPE))


def lose_output() -> None:
    """Let standard output take the rest, and lose it: the last flush would fail, too."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _OutputBuffer(io.BufferedWriter):
    """The buffer of standard output; raises `StreamError`.

    Errors are marked above the buffer, not in a raw stream below it: a signal that comes between a
    write in Python and its return would let the buffer write the same again.
    """

    def write(self, letters: Any) -> int:
        """Take letters, and write what is too much for the buffer."""
        with _stream_errors():
            return super().write(letters)

    def flush(self) -> None:
        """Write what is in the buffer."""
        with _stream_errors():
            super().flush()


class _StandardError(io.RawIOBase):
    """The descriptor of standard error, below its buffer; loses what it does not take.

    Without a reader it fails: `run` ends with whoever reads its standard error.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def fileno(self) -> int:
        """The descriptor: others may write to it by themselves."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Whether a person sees it."""
        return self._raw.isatty()

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, letters: Any) -> int | None:
        """Write letters, or lose them; returns how many were taken."""
        try:
            with _stream_errors():
                return self._raw.write(letters)
        except StreamError as error:
            if error.errno not in _LOST:
                raise
            return memoryview(letters).nbytes


@contextmanager
def _stream_errors() -> Iterator[None]:
    try:
        yield
    except StreamError:
        raise
    except OSError as error:
        kind = ReaderGone if error.errno == errno.EPIPE else StreamError
        raise kind(error.errno, error.strerror) from error


def _completed(stream: TextIO, name: str) -> TextIO:
    assert isinstance(stream, io.TextIOWrapper)
    is_unbuffered = isinstance(stream.buffer, io.RawIOBase)
    raw = stream.buffer if is_unbuffered else stream.buffer.raw
    return io.TextIOWrapper(
        _OutputBuffer(raw) if name == "stdout" else io.BufferedWriter(_StandardError(raw)),
        encoding=stream.encoding,
        errors="backslashreplace" if stream.errors == "strict" else stream.errors,
        line_buffering=is_unbuffered or stream.line_buffering,
    )
