"""Has msgspec look a declared type up in one thread, before any other thread reads that type.

msgspec looks a type up when it first meets it, and a class is in its cache from the moment this
begins, so that a class may hold itself. It asks Python for annotations meanwhile, so that another
thread may go on: one that reads the same class then follows a pointer that is not there yet, and
the process ends with a segmentation fault (msgspec 0.22.0, `StructInfo_Convert`). The loops of two
clusters, which begin at once and read the same nodes, are such threads.

A type that was looked up whole is read by any number of threads.
"""

from threading import RLock
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_known: set[Any] = set()
_looking_up = RLock()


def look_up(kind: type[T]) -> type[T]:
    """Return the type once msgspec can decode it, with all types that it consists of."""
    if kind not in _known:
        with _looking_up:
            msgspec.json.Decoder(kind)
            _known.add(kind)
    return kind
