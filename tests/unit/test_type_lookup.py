"""Threads that read the same type for the first time, each of them at once."""

import subprocess
import sys
from pathlib import Path

import pytest

import poolkeeper

READERS = """
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from msgspec import Struct

from poolkeeper import typed_json
from poolkeeper.zk.codecs import our_nodes

begun = Event()

def slowly(kind):
    begun.set()
    time.sleep(0.3)  # other threads run, as whenever Python evaluates annotations
    return kind

class Inner(Struct):
    broker: "slowly(int)"

class Outer(Struct):
    inner: Inner
    name: str = ""

def first(read):
    try:
        return read()
    finally:
        begun.set()

def second(read):
    assert begun.wait(20)
    return read()

BODY = b'{"inner": {"broker": 1}, "name": "n"}'
ways = {
    "a-text": lambda: typed_json.decode(BODY, Outer),
    "plain-values": lambda: typed_json.convert({"inner": {"broker": 1}, "name": "n"}, Outer),
    "a-node-of-ours": lambda: our_nodes.decode("/poolkeeper/x", BODY, Outer),
}
read = ways[WAY]
with ThreadPoolExecutor(2) as threads:
    found = [threads.submit(first, read), threads.submit(second, read)]
    assert [each.result() for each in found] == [Outer(Inner(1), "n")] * 2
print("both read it")
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["a-text", "plain-values", "a-node-of-ours"])
def test_the_second_reader_waits_until_the_first_has_looked_the_type_up(way: str) -> None:
    """Without the lock the process ends with a segmentation fault."""
    code = f"WAY = {way!r}\n{READERS}"
    path = str(Path(poolkeeper.__file__).parent.parent)
    read = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": path},
    )
    assert (read.returncode, read.stdout.strip()) == (0, "both read it"), read.stderr


def test_nobody_else_has_msgspec_read_a_type() -> None:
    root = Path(poolkeeper.__file__).parent
    told = [
        f"{file.relative_to(root)}: {line.strip()}"
        for file in sorted(root.rglob("*.py"))
        for line in file.read_text().splitlines()
        if any(each in line for each in ("json.decode(", "msgspec.convert(", ".Decoder("))
        and "typed_json.decode(" not in line
        and "plan_json.decode(" not in line
        and "look_up(" not in line
    ]
    assert told == ["typed_json/type_lookup.py: msgspec.json.Decoder(kind)"]
