"""Values of topic configs, read as Kafka's ConfigDef reads them.

A config value is a string in ZooKeeper. The broker trims it (every character up to the space, at
both ends), then parses: an INT has 32 bits, a LONG 64, both decimal with an optional sign; a
DOUBLE is Java's; a BOOLEAN is `true` or `false` in any case; a LIST is split at commas with the
blanks around them, and is empty if the text is; a STRING is compared exactly after trimming.

A running broker only logs an error for a bad value and keeps the old one, but a broker that starts
with it does not load its logs. So what is refused here is at least what any broker would refuse:
- Java's parsers also take digits of other scripts, "NaN" and hexadecimal fractions; we do not.
- `message.format.version` may be any text for the validator before 2.1, yet a log cannot be opened
  with one that the broker does not know. Only known ones pass, up to the broker's own release.

Each kind of value answers `problem(value, release)`: None, or what came and what was expected.
"""

import re
from typing import Protocol

from poolkeeper.frozen import frozen
from poolkeeper.model.versions import KafkaVersion

_BLANKS = "".join(chr(code) for code in range(0x21))
_COMMA = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")

_INTERNAL_VERSIONS = {
    "0.8.0": 0, "0.8.1": 0, "0.8.2": 0, "0.9.0": 0, "0.10.0": 2, "0.10.1": 3, "0.10.2": 1,
    "0.11.0": 3, "1.0": 1, "1.1": 1, "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1,
    "2.6": 1, "2.7": 3, "2.8": 2, "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3,
    "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1,
}  # fmt: skip
"""How many internal versions (-IV0, -IV1, …) each release has."""


SHOWN_MAX = 60


class ValueKind(Protocol):
    """The type of a config key's values."""

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """What is wrong with the value for a broker of that release, or None."""


@frozen
class Anything:
    """A config value that may be any text."""

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Return None."""
        return None


@frozen
class Whole:
    """A whole number from `low` to `high`, both included, or the one number `beside` them."""

    low: int
    high: int
    beside: int | None = None

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse texts that are no number, and numbers out of range."""
        beside = "" if self.beside is None else f"{self.beside}, or "
        expected = f"(expected {beside}a whole number from {self.low} to {self.high})"
        number = parse_whole(value)
        if number is None:
            return f"{quote(value)} is not a whole number {expected}"
        if number != self.beside and not self.low <= number <= self.high:
            return f"{quote(value)} is out of range {expected}"
        return None


@frozen
class Fraction:
    """A number from `low` to `high`, both included."""

    low: float
    high: float

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse texts that are no number, and numbers out of range."""
        expected = f"(expected a number from {self.low:g} to {self.high:g})"
        text = trim(value)
        if not _FRACTION.fullmatch(text):
            return f"{quote(value)} is not a number {expected}"
        if not self.low <= float(text.rstrip("fFdD")) <= self.high:
            return f"{quote(value)} is out of range {expected}"
        return None


@frozen
class Flag:
    """`true` or `false`; with `only_false` the brokers of a ZooKeeper cluster refuse `true`."""

    only_false: bool = False

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse other words, and `true` if brokers refuse it."""
        answer = flag(value)
        if self.only_false:
            expected = "(expected false: a cluster on ZooKeeper refuses anything else)"
            return None if answer is False else f"{quote(value)} is not possible {expected}"
        return (
            f"{quote(value)} is no truth value (expected true or false)" if answer is None else None
        )


@frozen
class OneOf:
    """One of the words, in exact case."""

    words: tuple[str, ...]

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse any other word."""
        if trim(value) in self.words:
            return None
        return f"{quote(value)} is unknown (expected one of {', '.join(self.words)})"


@frozen
class SomeOf:
    """A list of the words, in exact case; the empty list passes, as it does in Kafka."""

    words: tuple[str, ...]

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse a list with any other word."""
        if all(element in self.words for element in elements(value)):
            return None
        return f"{quote(value)} is unknown (expected a list of {', '.join(self.words)})"


@frozen
class FormatVersion:
    """A message format: a release such as 0.11.0 or 2.8, patch ignored, or one such as 2.1-IV1."""

    def problem(self, value: str, release: KafkaVersion) -> str | None:
        """Refuse a format that a broker of that release does not know."""
        text = trim(value)
        segments = text.split(".")
        name, dash, internal = ".".join(segments[: 3 if text.startswith("0.") else 2]).partition(
            "-"
        )
        count = _INTERNAL_VERSIONS.get(name)
        expected = f"(expected a Kafka version up to {release})"
        if count is None or (dash and internal not in {f"IV{number}" for number in range(count)}):
            return f"{quote(value)} is no message format {expected}"
        if KafkaVersion.parse(name) > release.release:
            return f"{quote(value)} is newer than the broker {expected}"
        return None


def quote(value: str) -> str:
    """The value in quotes, shortened: whoever may create Topics may write 8,000 characters."""
    return repr(value) if len(value) <= SHOWN_MAX else f"{value[:SHOWN_MAX]!r}…"


def trim(value: str) -> str:
    """The text without Java's blanks (all characters up to the space) at both ends."""
    return value.strip(_BLANKS)


def parse_whole(value: str) -> int | None:
    """The whole number that Kafka reads, or None: "1_000" and "1.0" are none."""
    text = trim(value)
    return int(text) if len(text) < 100 and _WHOLE.fullmatch(text) else None


def flag(value: str) -> bool | None:
    """The truth value that Kafka reads, or None."""
    return {"true": True, "false": False}.get(trim(value).lower())


def elements(value: str) -> tuple[str, ...]:
    """The elements of a list: "a, b" gives a and b, "" none, "a," gives a and an empty one."""
    text = trim(value)
    return tuple(_COMMA.split(text)) if text else ()
