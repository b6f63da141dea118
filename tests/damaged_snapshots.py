"""Snapshots that went wrong: a good one, changed at every place in every way, and broken files.

    for damage in changed("null"): damage.id, damage.text      JSON texts, most of them no snapshot
    for damage in torn(): damage.id, damage.text               likewise
    for damage in broken(): damage.id, damage.text             bytes that are no JSON, or strange

`GOOD` says everything that a snapshot can say, so that every field is a place. What a reader owes:
it gives the cluster, or refuses with the file's name; there is nothing else that it may raise.
"""

import copy
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GOOD: dict[str, Any] = {
    "version": 1,
    "cluster": {
        "name": "main",
        "id": "abc",
        "kafkaVersion": "3.9",
        "tracedVersion": "3.4 to 3.9",
        "controller": 1,
    },
    "brokers": [
        {
            "id": number,
            "rack": "a",
            "endpoints": ["PLAINTEXT://h:9092"],
            "config": {"leader.replication.throttled.rate": "10"},
            "logDirs": {"/d1": {"totalBytes": 1 << 40, "usableBytes": 1 << 30}},
            "release": "3.9",
        }
        for number in (1, 2, 3)
    ],
    "topics": [
        {
            "name": name,
            "id": "def",
            "config": {"retention.ms": "1000"},
            "partitions": [
                {
                    "partition": 0,
                    "replicas": [1, 2, 3],
                    "adding": [1],
                    "removing": [3],
                    "leader": 1,
                    "isr": [1, 2],
                    "bytes": 1048576,
                    "bytesInPerSecond": 10.5,
                    "logDirs": {"1": "/d1"},
                },
                {"partition": 1, "replicas": [2, 3], "leader": 2, "isr": [2, 3]},
            ],
        }
        for name in ("t", "u")
    ],
    "reassignment": [{"topic": "t", "partition": 0, "replicas": [1, 2, 4]}],
    "deleting": ["gone"],
    "torn": ["torn"],
    "damaged": {"broken": "is not JSON"},
    "electing": True,
}
Place = tuple[str | int, ...]
DEEP = 100_000
NAMES = ("\ud800", "", "a\nb", "2147483648", "-1", "9" * 5000)
REMOVED, RENAMED, TWICE = object(), object(), object()
VALUES: dict[str, str] = {
    "null": "null",
    "true": "true",
    "false": "false",
    "zero": "0",
    "minus zero": "-0",
    "minus one": "-1",
    "minus two": "-2",
    "one and a half": "1.5",
    "one with a point": "1.0",
    "one with an exponent": "1e0",
    "the largest id": "2147483647",
    "32 bits": "2147483648",
    "53 bits": "9007199254740992",
    "54 bits": "9007199254740993",
    "64 bits": "9223372036854775808",
    "65 bits": "18446744073709551616",
    "64 bits below zero": "-9223372036854775809",
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
    "a large number": "1e300",
    "too large a number": "1e400",
    "not a number": "NaN",
    "infinity": "-Infinity",
    "an empty text": '""',
    "a text": '"x"',
    "a digit as text": '"1"',
    "half a character": '"\\ud800"',
    "half a character, bare": '"\ud800"',
    "the other half": '"a\\udfff"',
    "two halves in the wrong order": '"\\udc00\\ud800"',
    "a character of two halves": '"\\ud83d\\ude00"',
    "a zero character": '"\\u0000"',
    "line ends and colours": '"a\\nb\\u001b[31m"',
    "a path": '"../../etc"',
    "a name of a thousand": f'"{"n" * 1000}"',
    "an empty list": "[]",
    "a list of nothing": "[null]",
    "a list of lists": "[[]]",
    "a list of numbers": "[7, 8]",
    "a list of one twice": "[7, 7]",
    "a list of texts": '["a", "b"]',
    "a list of half a character": '["\\ud800"]',
    "a list of 65 bits": "[18446744073709551616]",
    "an empty object": "{}",
    "an object": '{"a": "b"}',
    "an object of nothing": '{"a": null}',
    "an object of objects": '{"a": {}}',
    "an object with an id": '{"1": "/d"}',
    "an object with half a character": '{"\\ud800": "b"}',
    "an object with half a character inside": '{"a": "\\ud800"}',
    "an object with a key of 65 bits": '{"18446744073709551616": "b"}',
    "an object with a key of 32 bits": '{"2147483648": "b"}',
    "an object with a key of 5000 digits": f'{{"{"9" * 5000}": "b"}}',
    "a list, deep enough": "[" * 900 + '"\\ud800"' + "]" * 900,
    "an object, deep enough": '{"a":' * 900 + '"\\ud800"' + "}" * 900,
    "a list, deep": "[" * DEEP + "]" * DEEP,
    "an object, deep": '{"a":' * 5000 + "1" + "}" * 5000,
}
"""What stands in the place of a field, as JSON."""
_PLACE = "@here@"


@dataclass(frozen=True, slots=True)
class Damage:
    """What was done to the snapshot, and what it is now."""

    id: str
    text: bytes


def changed(*values: str) -> Iterator[Damage]:
    """The good snapshot with each of these `VALUES` at each of its places."""
    for place in places(GOOD):
        yield from (changed_at(place, name) for name in values)


def changed_at(place: Place, name: str) -> Damage:
    """The good snapshot with this of `VALUES` at that place."""
    return Damage(f"{dotted(place)}: {name}", with_value(GOOD, place, name))


def with_value(good: Any, place: Place, name: str) -> bytes:
    """Any JSON value with this of `VALUES` at that place, as text."""
    text = json.dumps(_with(place, _PLACE, good=good))
    return text.replace(f'"{_PLACE}"', VALUES[name]).encode(errors="surrogatepass")


def torn() -> Iterator[Damage]:
    """The good snapshot with each of its fields missing, misnamed, or there twice."""
    for place in places(GOOD):
        if not place:
            continue
        yield Damage(f"{dotted(place)}: missing", json.dumps(_with(place, REMOVED)).encode())
        if isinstance(place[-1], str):
            for name in NAMES:
                text = json.dumps(_with(place, RENAMED, name)).encode()
                yield Damage(f"{dotted(place)}: named {name[:12]!a}", text)
        else:
            yield Damage(f"{dotted(place)}: twice", json.dumps(_with(place, TWICE)).encode())


def broken() -> Iterator[Damage]:
    """Files that are no JSON of one object, and strange ones that are."""
    good = json.dumps(GOOD).encode()
    for name, text in {
        "empty": b"",
        "blank": b" \n",
        "zeros": bytes(100),
        "cut off": good[:-40],
        "cut off in a text": good[: good.index(b"PLAIN") + 3],
        "followed by more": good + b"{}",
        "there twice": good + good,
        "with a mark of its order of bytes": b"\xef\xbb\xbf" + good,
        "UTF-16": good.decode().encode("utf-16"),
        "UTF-32": good.decode().encode("utf-32"),
        "Latin-1": good.replace(b'"a"', '"é"'.encode("latin-1")),
        "half a character in UTF-8": good.replace(b'"a"', b'"\xed\xa0\x80"'),
        "too long a form of a character": good.replace(b'"a"', b'"\xc0\xaf"'),
        "a bare line end in a text": good.replace(b'"a"', b'"a\nb"'),
        "with a comma too many": good[:-1] + b",}",
        "with a comment": good[:-1] + b" // why\n}",
        "with one key twice": good[:-1] + b', "topics": []}',
        "with keys of 65 bits": good[:-1] + b', "18446744073709551616": 1}',
        "an unknown deep key": good[:-1] + b', "x": ' + VALUES["a list, deep"].encode() + b"}",
        "an unknown deep enough key": good[:-1]
        + b', "x": '
        + VALUES["an object, deep enough"].encode()
        + b"}",
        "an unknown long number": good[:-1] + b', "x": ' + b"9" * 5000 + b"}",
        "an unknown half character": good[:-1] + b', "x": "\\ud800"}',
        "compressed": gzip.compress(good),
        "YAML": b"version: 1\ncluster: {name: main}\n",
    }.items():
        yield Damage(name, text)


def compressed() -> Iterator[Damage]:
    """Files that `.json.gz` would be the name of, and that are not whole."""
    good = gzip.compress(json.dumps(GOOD).encode(), mtime=0)
    for name, text in {
        "empty": b"",
        "not compressed": json.dumps(GOOD).encode(),
        "the head alone": good[:10],
        "cut off in its head": good[:5],
        "cut off in its middle": good[: len(good) // 2],
        "without its end": good[:-8],
        "without its last byte": good[:-1],
        "a wrong sum": good[:-8] + bytes(4) + good[-4:],
        "a wrong length": good[:-4] + bytes(4),
        "a byte turned": good[:60] + bytes([good[60] ^ 255]) + good[61:],
        "another method": good[:2] + b"\x07" + good[3:],
        "rubbish behind it": good + b"rubbish",
        "compressed rubbish": gzip.compress(b"\xff\xfe{"),
        "compressed twice": gzip.compress(good),
        "a bomb": gzip.compress(b"[" * 10_000_000),
    }.items():
        yield Damage(name, text)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """The place of every value below, the whole first; of lists of alike, the first item."""
    yield place
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:1]):
            yield from places(item, (*place, index))


def dotted(place: Place) -> str:
    """The place as problems name it: `brokers[0].id`."""
    words = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(words).removeprefix(".")


def _with(place: Place, value: object, name: str = "", good: Any = GOOD) -> Any:
    if not place:
        return value
    body: Any = copy.deepcopy(good)
    *way, last = place
    holder = body
    for step in way:
        holder = holder[step]
    if value is REMOVED:
        del holder[last]
    elif value is RENAMED:
        holder[name] = holder.pop(last)
    elif value is TWICE:
        holder.append(holder[last])
    else:
        holder[last] = value
    return body
