"""Files of real keys, one a line, read as a stream: they may be larger than memory.

A line is the UTF-8 text of a key, or its bytes in hexadecimal. An empty line is the empty key,
which is a key for Kafka; nothing after the last line feed is no line. A carriage return before a
line feed belongs to the end of the line, and the mark by which some programs begin a file in UTF-8
to no key. `.gz` is decompressed, `-` is standard input.
"""

import binascii
import gzip
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from poolkeeper.errors import InvalidInput, Problem, Refused, wrong_file
from poolkeeper.text import size

BLOCK_BYTES = 1 << 20
KEY_BYTES_MAX = 1 << 20
"""The longest key: producers refuse larger records by default."""
PROBLEMS_MAX = 10
"""After so many wrong lines the rest is not read."""

_STANDARD_INPUT = Path("-")


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def name_of(path: Path | None) -> str:
    """What a file is called in sentences."""
    return "standard input" if path == _STANDARD_INPUT else str(path)


def batches(path: Path, *, hexadecimal: bool) -> Iterator[Sequence[bytes]]:
    """Yield the keys of a file, many at a time.

    Raises `Refused` for a file that cannot be read, `InvalidInput` with its wrong lines for one
    that holds no keys.
    """
    name = name_of(path)
    problems: list[Problem] = []
    number = 0
    try:
        with _opened(path) as stream:
            for lines in _lines(stream, name, KEY_BYTES_MAX * (2 if hexadecimal else 1)):
                if not number and lines:
                    lines[0] = lines[0].removeprefix(BOM_UTF8)
                yield _keys(lines, name, number, problems, hexadecimal=hexadecimal)
                number += len(lines)
    except (EOFError, zlib.error, gzip.BadGzipFile) as wrong:
        raise wrong_file(name, "is not a gzip file, or cut off") from wrong
    except OSError as failed:
        raise wrong_file(name, f"cannot be read: {failed.strerror}") from failed
    if not number:
        problems.append(Problem(name, 0, "", "is empty (expected a key a line)"))
    if problems:
        raise InvalidInput(problems)


@contextmanager
def _opened(path: Path) -> Iterator[_Stream]:
    if path == _STANDARD_INPUT:
        if sys.stdin is None:
            raise Refused("standard input is closed (expected a key a line)")
        yield sys.stdin.buffer
        return
    if path.suffix == ".gz":
        with gzip.open(path) as unpacked:
            yield unpacked
    else:
        with path.open("rb") as stream:
            yield stream


def _lines(stream: _Stream, name: str, bytes_max: int) -> Iterator[list[bytes]]:
    """Yield the lines of block after block; one with more bytes is refused."""
    rest = b""
    number = 0
    while block := stream.read(BLOCK_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        lengths = [len(line) for line in (*lines, rest)]
        if max(lengths) > bytes_max:
            longer = next(place for place, each in enumerate(lengths, 1) if each > bytes_max)
            message = f"is longer than {size(bytes_max)} (expected a key a line)"
            raise InvalidInput([Problem(name, number + longer, "", message)])
        number += len(lines)
        yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest]


def _keys(
    lines: list[bytes], name: str, before: int, problems: list[Problem], *, hexadecimal: bool
) -> Sequence[bytes]:
    """The keys of some lines; wrong ones are added to the problems, and too many raise."""
    if not hexadecimal and _is_text(b"\n".join(lines)):
        return lines
    found = []
    for number, line in enumerate(lines, before + 1):
        try:
            found.append(binascii.unhexlify(line) if hexadecimal else line)
            wrong = (
                None if hexadecimal or _is_text(line) else "is not UTF-8 (expected it, or --hex)"
            )
        except ValueError:
            wrong = "is not hexadecimal (expected two digits for each byte)"
        if wrong:
            problems.append(Problem(name, number, "", wrong))
        if len(problems) >= PROBLEMS_MAX:
            raise InvalidInput(problems)
    return found


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
