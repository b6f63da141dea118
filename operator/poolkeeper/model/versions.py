"""Kafka versions, what each of them can do, and ranges of them.

A cluster's version is declared, asked of the brokers, or only inferred from what its znodes look
like. In the last case it is a range, and only what is safe for the whole range may be done. So a
range has the same shape as a version: `low` and `high`. A feature came at some release and stayed,
hence

    version.low.has_adding_removing       the feature is there for certain
    version.high.has_adding_removing      the feature may be there

and a plain version is its own `low` and `high`.

A release is what has a line of its own: 2.8, 3.9, and below 1.0 three numbers, 0.10.1. Patch
releases change nothing that is told apart here. `KafkaVersion` compares part by part, so 2.8 comes
before 2.8.0, and 3.9.2 lies after 3.9; ranges compare by release, so 3.9.2 is inside "to 3.9".

Sources: the protocol of apache/kafka 0.8.0 to 3.9, and live brokers of 0.10.2, 1.1, 2.0, 2.3, 2.8
and 3.9.
"""

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen

_SHAPE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,3}")


@dataclass(frozen=True, slots=True, order=True)
class KafkaVersion:
    """One version: `parse("2.8")`, `parse("3.9.2")`, `parse("0.10.2.2")`."""

    parts: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "KafkaVersion":
        """Read a version; `Refused` if it has not the shape of one or names no single release.

        "0.9" and "0.11" are taken for 0.9.0 and 0.11.0; "0.10" could be any of three.
        """
        if not _SHAPE.fullmatch(text):
            raise Refused(f"{text!r} is not a Kafka version (expected such as 2.8 or 3.9.2)")
        parts = tuple(int(part) for part in text.split("."))
        if parts[0] == 0 and len(parts) == 2:
            lines = [release for release in RELEASES if release.parts[:2] == parts]
            if len(lines) != 1:
                names = ", ".join(str(line) for line in lines) or "none"
                raise Refused(f"{text!r} names no single Kafka release (expected one of: {names})")
            return lines[0]
        return cls(parts)

    def __str__(self) -> str:
        return ".".join(str(part) for part in self.parts)

    @property
    def release(self) -> "KafkaVersion":
        """The release without its patch: 3.9 of 3.9.2, 0.10.2 of 0.10.2.2."""
        return KafkaVersion(self.parts[: 3 if self.parts[0] == 0 else 2])

    @property
    def low(self) -> "KafkaVersion":
        """Itself; the lower end where a range may stand instead."""
        return self

    @property
    def high(self) -> "KafkaVersion":
        """Itself; the upper end where a range may stand instead."""
        return self

    @property
    def topic_name_length_max(self) -> int:
        """249 characters; 255 before 0.10.0."""
        return 249 if self.parts >= (0, 10, 0) else 255

    @property
    def has_adding_removing(self) -> bool:
        """A move under way is in the topic node, survives failover, and has an API (2.4)."""
        return self.parts >= (2, 4)


@frozen
class VersionRange:
    """All releases from `low` to `high`, both included, `high` with all its patches."""

    low: KafkaVersion
    high: KafkaVersion

    def __post_init__(self) -> None:
        if self.low.release > self.high.release:
            raise Refused(f"{self.low} to {self.high} is no range of versions (expected low first)")

    def __contains__(self, version: KafkaVersion) -> bool:
        return self.low.release <= version.release <= self.high.release

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


Version: TypeAlias = KafkaVersion | VersionRange
"""What is known of a cluster's version."""

_RELEASE_NAMES = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1",
    "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8",
    "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9",
)  # fmt: skip

RELEASES = tuple(
    KafkaVersion(tuple(int(part) for part in name.split("."))) for name in _RELEASE_NAMES
)
"""Every Kafka release that knows ZooKeeper, oldest first (before 0.8 there was no replication)."""

SUPPORTED = VersionRange(KafkaVersion((0, 10, 1)), KafkaVersion((3, 9)))
"""The releases that Poolkeeper works with."""


@functools.lru_cache(maxsize=64)
def releases(version: Version) -> tuple[KafkaVersion, ...]:
    """The releases that a cluster may run, oldest first; of a plain version its own one."""
    if isinstance(version, KafkaVersion):
        return (version.release,)
    return tuple(release for release in RELEASES if release in version)


def version_of(text: str | None) -> Version | None:
    """The version, or the range of them, as observed or declared; None where it says nothing."""
    if text is None:
        return None
    low, _, high = text.partition(" to ")
    try:
        return span((KafkaVersion.parse(low), KafkaVersion.parse(high or low)))
    except Refused:
        return None


def span(found: Iterable[Version]) -> Version:
    """The range from the lowest to the highest; a single release is no range."""
    ends = [end for version in found for end in (version.low, version.high)]
    low, high = min(ends), max(ends)
    return low if low.release == high.release else VersionRange(low, high)


def records_moves(text: str | None) -> bool | None:
    """Whether topic nodes say what is added and removed (2.4); None where it is not known.

    `text` is a version or a range of them, as observed.
    """
    version = version_of(text)
    if version is None:
        return None
    ends = {end.has_adding_removing for end in (version.low, version.high)}
    return ends.pop() if len(ends) == 1 else None


def support_problem(version: KafkaVersion) -> str | None:
    """Why a cluster of that version cannot be kept, or None."""
    expected = f"(expected {SUPPORTED})"
    if version.parts >= (4,):
        return f"Kafka {version} has no ZooKeeper mode {expected}"
    if version.release not in RELEASES:
        return f"there is no Kafka {version} {expected}"
    if version not in SUPPORTED:
        return f"Kafka {version} is too old {expected}"
    return None


def observed_problem(text: str | None) -> str | None:
    """Why a cluster of a version, or range of them, as observed cannot be kept; None if unknown."""
    if text is None:
        return None
    version = version_of(text)
    if version is None:
        return f"{text!r} is no Kafka version (expected {SUPPORTED})"
    return support_problem(version.low) or support_problem(version.high)
