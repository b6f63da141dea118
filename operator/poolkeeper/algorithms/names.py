"""Which topic names Kafka takes, which collide, and which are its own.

A name has 1 to 249 characters (255 before 0.10.0) of letters, digits, `.`, `_` and `-`, and is
neither `.` nor `..` (three dots are a name). Metric names replace every `.` by `_`, so Kafka 0.9
and later refuses a new topic whose name becomes equal to another's by that; it looks only if the
new name has one of the two characters. Kafka's own topics must not be created, deleted or shrunk
by anyone else.

Every function answers None if all is well, else a sentence without the name in front.
"""

import re
from collections.abc import Iterable

from poolkeeper.model.versions import SUPPORTED, Version

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Topics that brokers create for themselves (the last since 0.11, the middle one since 3.9)."""

RESERVED_TOPICS = frozenset({"__cluster_metadata"})
"""Names that are no topic of a ZooKeeper cluster and must never become one."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_problem(name: str, version: Version = SUPPORTED) -> str | None:
    """Why Kafka refuses the name, or None."""
    length_max = version.high.topic_name_length_max
    if not name:
        return "is empty (expected a topic name)"
    if name in {".", ".."}:
        return "is no topic name (expected anything but . and ..)"
    if len(name) > length_max:
        return f"has {len(name)} characters (expected at most {length_max})"
    if not _LEGAL.fullmatch(name):
        illegal = sorted({character for character in name if not _LEGAL.fullmatch(character)})
        return f"contains {', '.join(map(repr, illegal))} (expected letters, digits, '.', '_', '-')"
    return None


def collides(a: str, b: str) -> bool:
    """Whether Kafka's metrics could not tell the two apart: `a.b` and `a_b` (and equal names)."""
    return metric_name(a) == metric_name(b)


def collision_problem(name: str, existing: Iterable[str]) -> str | None:
    """Which other topic the name collides with, or None. The name itself does not count."""
    if "." not in name and "_" not in name:
        return None
    others = sorted(other for other in existing if other != name and collides(name, other))
    if not others:
        return None
    return f"collides with topic {others[0]!r} (expected another difference than '.' for '_')"


def is_internal(name: str) -> bool:
    """Whether brokers create that topic for themselves."""
    return name in INTERNAL_TOPICS


def ownership_problem(name: str) -> str | None:
    """Why nobody but Kafka may create, delete or shrink that topic, or None."""
    if name in INTERNAL_TOPICS:
        return "is an internal topic of Kafka (expected a name of your own)"
    if name in RESERVED_TOPICS:
        return "is reserved by Kafka (expected a name of your own)"
    return None


def metric_name(name: str) -> str:
    """The topic's name in Kafka's metrics, which cannot tell `.` from `_`."""
    return name.replace(".", "_")
