"""JSON read into declared types; every problem is reported with its place.

In come texts and a type; out come values of that type, or `InvalidInput` with every problem.

Read `reading` (texts and plain values into a type), `declared_types` (what types can say), then
`mistakes` (what is not as declared), `repeated_keys` (what parsers do not tell), `plain_values`
(Python's own parser), `descriptions` (their words) and `type_lookup` (why types are looked up
in one thread).
"""

from poolkeeper.typed_json.declared_types import (
    INTEGER_MAX,
    BrokerId,
    BrokerIds,
    ByteSum,
    Finite,
    FormatVersion,
    JsonObject,
    Milliseconds,
    Natural,
    PartitionNumber,
    ReplicaList,
    SparseObject,
    refuse_twice,
    unique,
)
from poolkeeper.typed_json.descriptions import description, word
from poolkeeper.typed_json.plain_values import json_error
from poolkeeper.typed_json.reading import convert, decode, parse
from poolkeeper.typed_json.type_lookup import look_up

__all__ = [
    "INTEGER_MAX",
    "BrokerId",
    "BrokerIds",
    "ByteSum",
    "Finite",
    "FormatVersion",
    "JsonObject",
    "Milliseconds",
    "Natural",
    "PartitionNumber",
    "ReplicaList",
    "SparseObject",
    "convert",
    "decode",
    "description",
    "json_error",
    "look_up",
    "parse",
    "refuse_twice",
    "unique",
    "word",
]
