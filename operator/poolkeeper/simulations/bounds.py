"""How large an input may be, and types of values that several kinds share.

A line is answered in seconds, or refused: whoever drives the command as a coprocess waits for it.
"""

from collections.abc import Iterable
from itertools import chain, islice
from typing import Annotated

from msgspec import Meta

from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.typed_json import INTEGER_MAX

LINE_BYTES_MAX = 16 * 2**20
ERROR_CHARACTERS_MAX = 10_000
PROBLEMS_MAX = 100
PARTITIONS_MAX = 1_000_000
"""Of a topic, and of all topics of a consumer group together."""
STICKY_PARTITIONS_MAX = 200_000
"""Of all topics of a group whose assignor looks at every partition many times."""
BROKERS_MAX = 10_000
MEMBERS_MAX = 10_000
REPLICAS_MAX = 5_000_000
"""All replicas that one line may ask for."""
START_INDEX_MAX = 200_000
"""So that Kafka's 32-bit numbers hold the shift of as many racks as there may be brokers."""
STEPS_MAX = 100_000_000
"""Partitions times brokers, with racks: a partition's walk may pass every broker."""

Partitions = Annotated[
    int, Meta(ge=1, le=PARTITIONS_MAX, description=f"an integer from 1 to {PARTITIONS_MAX}")
]
ReplicationFactor = Annotated[
    int, Meta(ge=1, le=2**15 - 1, description=f"an integer from 1 to {2**15 - 1}")
]
Integer = Annotated[
    int, Meta(ge=0, le=INTEGER_MAX, description=f"an integer from 0 to {INTEGER_MAX}")
]


def count_problem(field: str, number: int, most: int, what: str) -> Iterable[Problem]:
    """Give a problem if there are more than may be: `brokers: has 20000 brokers (…)`."""
    if number > most:
        yield Problem("", 0, field, f"has {number} {what} (expected at most {most})")


def refuse(*found: Iterable[Problem]) -> None:
    """Raise InvalidInput if there is any problem, with the first ones of very many."""
    if problems := list(islice(chain.from_iterable(found), PROBLEMS_MAX)):
        raise InvalidInput(problems)
