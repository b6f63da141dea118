"""What may happen to a file of the lake: each damage returns what is there then.

That is other bytes, nothing, or what makes something else of that name.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

Damage = Callable[[bytes], bytes | Callable[[Path], object] | None]


def cut_off(body: bytes) -> bytes:
    return body[: len(body) // 2]


def emptied(_: bytes) -> bytes:
    return b""


def garbled(body: bytes) -> bytes:
    """Of the same length, so that nobody sees it in a listing."""
    return bytes(len(body))


def of_another_schema(body: bytes) -> bytes:
    """Whole Parquet with other columns, of the same length where that can be."""
    column = pa.field("unknown", pa.int64())

    def written(filler: int) -> bytes:
        sink = pa.BufferOutputStream()
        schema = pa.schema([column], {b"filler": b"x" * filler})
        table = pa.table({"unknown": [1]}, schema=schema)
        pq.write_table(table, sink, compression="none", store_schema=False)
        return sink.getvalue().to_pybytes()

    return written(max(0, len(body) - len(written(0))))


def gone(_: bytes) -> None:
    return None


def a_folder(_: bytes) -> Callable[[Path], object]:
    return Path.mkdir


def a_pipe(_: bytes) -> Callable[[Path], object]:
    """Whoever opens it waits for ever."""
    return os.mkfifo


DAMAGES = (garbled, cut_off, emptied, of_another_schema, gone, a_folder, a_pipe)


def spoil(file: Path, damage: Damage) -> None:
    body = damage(file.read_bytes())
    file.unlink()
    if isinstance(body, bytes):
        file.write_bytes(body)
    elif body is not None:
        body(file)
