"""Kafka's hash of many keys at once.

`algorithms.partitioners.murmur2` takes microseconds a key, and a file of real keys has millions of
them. Keys of one length are rows of a table here, and each step of the hash is done for all rows:
the same numbers, a tenth of the time. Words are unsigned and wrap at 32 bits, as numpy's do.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint32]
"""Positive hashes, below 2^31."""

_SEED = np.uint32(0x9747B28C)
_FACTOR = np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)


def positive_hashes(keys: Sequence[bytes]) -> Hashes:
    """Return the positive murmur2 of each key, in their order: hash mod partitions is its place."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        places[len(key)].append(place)
    found = np.empty(len(keys), dtype=np.uint32)
    for length, alike in places.items():
        rows = np.frombuffer(b"".join([keys[place] for place in alike]), dtype=np.uint8)
        found[alike] = _hashes(rows.reshape(len(alike), length))
    return found & _POSITIVE


def _hashes(keys: NDArray[np.uint8]) -> Hashes:
    """The unsigned murmur2 of each row."""
    count, length = keys.shape
    whole = length & ~3
    hashed = np.full(count, _SEED ^ np.uint32(length), dtype=np.uint32)
    words = np.ascontiguousarray(keys[:, :whole]).view("<u4")
    for column in range(whole // 4):
        k = words[:, column] * _FACTOR
        hashed = (hashed * _FACTOR) ^ ((k ^ (k >> np.uint32(24))) * _FACTOR)
    if length > whole:
        tail = np.zeros(count, dtype=np.uint32)
        for place in range(length - whole):
            tail |= keys[:, whole + place].astype(np.uint32) << np.uint32(8 * place)
        hashed = (hashed ^ tail) * _FACTOR
    hashed = (hashed ^ (hashed >> np.uint32(13))) * _FACTOR
    return hashed ^ (hashed >> np.uint32(15))
