"""The types that documents declare: objects, numbers with their bounds, lists without doubles.

Annotations say more than types do: `Meta(description=…)` what is expected, in words; `unique` the
field in which no two items of a list may be alike; and `FormatVersion` that a number is the version
of the document's format.
"""

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

INTEGER_MAX = 2**31 - 1
"""Of what Kafka keeps as an integer: broker ids, numbers of partitions."""
Natural = Annotated[int, Meta(ge=0, le=2**53, description="an integer from 0 to 2^53")]
"""A count, or bytes: as far as every reader of JSON has it exactly, and sums fit into 64 bits."""
ByteSum = Annotated[int, Meta(ge=0, le=2**63 - 1, description="an integer from 0 to 2^63 - 1")]
"""Bytes of several replicas: what fits into 64 bits."""
Milliseconds = Annotated[
    int, Meta(ge=0, le=253_402_300_799_999, description="milliseconds since 1970")
]
"""A point in time that a calendar has: up to the end of the year 9999."""
Finite = Annotated[
    float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a number")
]
BrokerId = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description="a broker id")]
PartitionNumber = Annotated[
    int, Meta(ge=0, le=INTEGER_MAX, description="the number of a partition")
]
BrokerIds = Annotated[tuple[BrokerId, ...], Meta(description="a list of broker ids")]
ReplicaList = Annotated[
    tuple[BrokerId, ...], Meta(min_length=1, description="a list of at least one broker id")
]
UNIQUE = "unique"
FORMAT = "format"
FormatVersion = Annotated[Literal[1], Meta(extra={FORMAT: 1})]
"""The version of a document's format. A later release of ours writes a higher one."""


class JsonObject(Struct, gc=False, rename="camel"):
    """A JSON object whose keys are the fields' names in camel case."""


class SparseObject(JsonObject, gc=False, omit_defaults=True):
    """An object that is written with the keys that are not as by default.

    If all objects of a document are such ones, repeated keys are looked for at little cost.
    """


def unique(field: str) -> Meta:
    """Annotate a list of objects, no two of which may have the same value in that field.

    Types cannot forbid it: the object that holds the list calls `refuse_twice` when it is made.
    """
    return Meta(extra={UNIQUE: field})


def refuse_twice(names: Iterable[object]) -> None:
    """Raise `ValueError` if a name is there twice, for an object's `__post_init__`."""
    for name in duplicates_of(names):
        raise ValueError(f"has {name} twice")


def duplicates_of(names: Iterable[object]) -> list[object]:
    """The names that occur more than once, each of them once."""
    return [name for name, count in Counter(names).items() if count > 1]
