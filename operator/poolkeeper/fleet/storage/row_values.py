"""What the rows of a lake never hold: another program wrote a file that has it.

Parquet's types let more through than Poolkeeper writes: null in a list of brokers, an infinite
rate, a size below zero. A plan of such rows would be of nothing that there is.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.schemas import OK
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.model.plans import Urgency

Limits = tuple[int, int]
_COUNT: Limits = (0, 2**63 - 1)
_AMOUNT: Limits = (0, 2**53)
"""Of bytes, or of bytes per second: of one replica."""
_MOMENT: Limits = (0, 253_402_300_799_999)
"""In milliseconds since 1970, up to the year 9999."""
_URGENCY: Limits = (min(Urgency), max(Urgency))
_COUNTS = ("index", "bytes", "partitions", "moves", "steps", "problems", "stages")
_LIMITS: Mapping[str, Mapping[str, Limits]] = {
    schemas.CLUSTERS.name: {"read_ms": _MOMENT},
    schemas.PARTITIONS.name: {"partition": _COUNT, "bytes": _AMOUNT, "bytes_in_per_s": _AMOUNT},
    schemas.FEATURES.name: dict.fromkeys(("p50", "p95", "max", "last"), _AMOUNT),
    schemas.MOVES.name: {"partition": _COUNT, "urgency": _URGENCY},
    schemas.STAGES.name: {"least_ms": _COUNT, "urgency": _URGENCY},
    schemas.BUDGETS.name: {"begin_ms": _MOMENT},
}


def require_sound(content: pa.Table, table: TableSchema, file: str) -> None:
    """Raise `Refused` for values that no column of the table can have.

    `content`: some columns of the table, of its types. Samples may be anything: whoever makes
    features of them leaves out what is no sample.
    """
    if table is schemas.SAMPLES:
        return
    limits = {**dict.fromkeys(_COUNTS, _COUNT), **_LIMITS.get(table.name, {})}
    for name, column in zip(content.column_names, content.columns, strict=True):
        if pa.types.is_list(column.type):
            _require_whole_lists(column, name, file)
            continue
        if pa.types.is_floating(column.type):
            _require_finite(column, name, file)
        if name in limits and not pa.types.is_nested(column.type):
            _require_between(column, name, limits[name], file)
    if table is schemas.PLANS:
        _require_whole_plans(content, file)


def _require_whole_lists(column: pa.ChunkedArray, name: str, file: str) -> None:
    found = column
    while pa.types.is_list(found.type):
        found = pc.list_flatten(found)
        if found.null_count:
            raise Refused(f"{file}: column {name} has nulls in its lists (expected none)")


def _require_finite(column: pa.ChunkedArray, name: str, file: str) -> None:
    if not pc.all(pc.is_finite(column), min_count=0).as_py():
        raise Refused(f"{file}: column {name} holds what is no finite number")


def _require_between(column: pa.ChunkedArray, name: str, limits: Limits, file: str) -> None:
    found, (least, most) = pc.min_max(column).as_py(), limits
    for value in (found["min"], found["max"]):
        if value is not None and not least <= value <= most:
            raise Refused(f"{file}: column {name} holds {value} (expected {least} to {most})")


def _require_whole_plans(content: pa.Table, file: str) -> None:
    """Raise `Refused` for a row that has a plan and does not say all of it."""
    for row in content.to_pylist():
        lacking = [name for name, value in row.items() if value is None and name != "reason"]
        if row["status"] == OK and lacking:
            raise Refused(f"{file}: column {lacking[0]} has nulls (expected none in a plan)")
