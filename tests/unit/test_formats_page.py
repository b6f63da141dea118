"""`docs/formats.md` has every key of the files that other tools build on; its example is one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import fields

from poolkeeper.errors import InvalidInput
from poolkeeper.model import snapshots
from poolkeeper.model.snapshots import snapshot_fields
from poolkeeper.planning.proposals import plan_reading

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text()


def section(title: str) -> str:
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def keys(kind: Any) -> Iterator[str]:
    """The keys of a type that is read, and of all types in it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        tag = kind.__struct_config__.tag
        yield from [] if tag is None else [str(kind.__struct_config__.tag_field), str(tag)]
        for each in fields(kind):
            yield each.encode_name
            yield from keys(each.type)
    for inner in get_args(kind):
        yield from keys(inner)


@pytest.mark.parametrize(
    ("title", "kind"),
    [("Snapshot", snapshot_fields._Snapshot), ("Plan", plan_reading.PlanJson)],
)
def test_every_key_is_told(title: str, kind: type) -> None:
    read = set(keys(kind))
    assert len(read) > 20
    assert read - set(re.findall(r"`([A-Za-z]+)`", section(title))) == set()


def test_what_a_snapshot_needs_is_told() -> None:
    body = {"version": 1, "cluster": {"name": "main"}}
    (told,) = re.findall(r"^Required are (.*?)\. ", section("Snapshot"), re.DOTALL | re.MULTILINE)
    assert re.findall(r"`([^`]+)`", told) == [
        *("version", "cluster.name", "brokers[].id", "topics[].name"),
        *("partitions[].partition", "partitions[].replicas", "reassignment[]"),
    ]
    topic = {"name": "t", "partitions": [{"partition": 0, "replicas": [1]}]}
    snapshots.from_json({**body, "brokers": [{"id": 1}], "topics": [topic]})
    with pytest.raises(InvalidInput) as refused:
        snapshots.from_json(
            {"cluster": {}, "brokers": [{}], "topics": [{"partitions": [{}]}], "reassignment": [{}]}
        )
    assert {problem.field for problem in refused.value.problems} == {
        *("version", "cluster.name", "brokers[0].id", "topics[0].name"),
        *("topics[0].partitions[0].partition", "topics[0].partitions[0].replicas"),
        *("reassignment[0].topic", "reassignment[0].partition", "reassignment[0].replicas"),
    }


def test_the_example_is_a_snapshot() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", section("Snapshot"), re.DOTALL)
    cluster = snapshots.from_json(json.loads(example))
    assert snapshots.to_json(cluster) == {**json.loads(example), "deleting": []}


WRITERS = {
    "plan_output.py": r'body\["(\w+)"\]',
    "plans/groups_table.py": r'^ +"(\w+)":',
    "plans/capacity_table.py": r'^ {8}"(\w+)":',
    "plans/brokers_table.py": r'^ {12}"(\w+)":',
}
"""Where `plan --output json` adds to the keys of the file, and how they stand there."""


@pytest.mark.parametrize("writer", WRITERS)
def test_what_only_the_command_writes_is_told(writer: str) -> None:
    room = "commands/plans" if "/" not in writer else "output"
    source = (ROOT / "operator/poolkeeper/cli" / room / writer).read_text()
    added = set(re.findall(WRITERS[writer], source, re.MULTILINE))
    assert len(added) > 2
    assert added - set(re.findall(r"`([A-Za-z]+)`", section("Plan"))) == set()


@pytest.mark.parametrize(
    "module",
    [
        *("plans/apply.py", "plans/apply_result.py", "plans/stop.py"),
        *("repair.py", "validate.py", "import_.py", "snapshot.py", "version.py"),
    ],
)
def test_what_other_commands_write_is_told(module: str) -> None:
    source = (ROOT / "operator/poolkeeper/cli/commands" / module).read_text()
    written = set(re.findall(r'[{,| ]"([A-Za-z]+)": ', source))
    kinds = {"KafkaCluster", "ResourcePool", "Topic", "Rebalance"}
    assert len(written) > 1
    assert written - kinds - set(re.findall(r"`([A-Za-z]+)`", section("Other commands"))) == set()
