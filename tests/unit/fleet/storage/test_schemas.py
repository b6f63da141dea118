"""Schemas may grow, and nothing else, without a new version."""

import json
import re
from pathlib import Path

import pytest

from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import schemas, table_schema

RELEASED = Path(__file__).parents[3] / "golden" / "fleet" / "schemas.json"


def released() -> dict:
    return json.loads(RELEASED.read_text())


def described() -> dict:
    return {
        name: {
            "version": table.version,
            "by": list(table.by),
            "columns": [
                {"name": each.name, "type": each.type, "nullable": each.nullable}
                for each in table.columns
            ],
        }
        for name, table in sorted(schemas.TABLES.items())
    }


def test_the_file_of_released_schemas_is_up_to_date(update_golden):
    if update_golden:
        RELEASED.write_text(json.dumps(described(), indent=1) + "\n")
    assert released() == described(), "pytest --update-golden, if this is meant"


def broken(before: dict, now: dict) -> list[str]:
    """What of the change makes files unreadable that were written before it."""
    if now["version"] != before["version"]:
        return []
    old, new = before["columns"], now["columns"]
    wrong = [] if before["by"] == now["by"] else ["lies in other folders"]
    if new[: len(old)] != old:
        wrong.append("changes, drops or reorders columns")
    wrong += [f"column {c['name']} cannot be null" for c in new[len(old) :] if not c["nullable"]]
    return wrong


@pytest.mark.parametrize("name", sorted(released()))
def test_no_table_breaks_what_was_released(name):
    assert broken(released()[name], described()[name]) == []


def test_columns_name_tables_and_columns_that_there_are() -> None:
    """In backticks are also values."""
    tables = schemas.TABLES
    named = {
        (table.name, column.name, word)
        for table in tables.values()
        for column in table.columns
        for word in re.findall(r"(?:[Rr]ows of|As in) `([a-z_]+)`", column.doc)
    }
    assert named
    assert [each for each in sorted(named) if each[2] not in tables] == []


COLUMN = {"name": "a", "type": "int", "nullable": False}
NULLABLE = {"name": "b", "type": "int", "nullable": True}
BEFORE = {"version": 1, "by": ["day"], "columns": [COLUMN]}


@pytest.mark.parametrize(
    ("now", "wrong"),
    [
        pytest.param(BEFORE | {"columns": [COLUMN, NULLABLE]}, [], id="a-nullable-column-more"),
        pytest.param(
            BEFORE | {"columns": [COLUMN, NULLABLE | {"nullable": False}]},
            ["column b cannot be null"],
            id="a-required-column-more",
        ),
        pytest.param(
            BEFORE | {"columns": [COLUMN | {"type": "string"}]},
            ["changes, drops or reorders columns"],
            id="another-type",
        ),
        pytest.param(
            BEFORE | {"columns": []}, ["changes, drops or reorders columns"], id="a-column-less"
        ),
        pytest.param(BEFORE | {"by": []}, ["lies in other folders"], id="other-folders"),
        pytest.param({"version": 2, "by": [], "columns": []}, [], id="a-new-version-may-all"),
    ],
)
def test_the_check_itself(now, wrong):
    assert broken(BEFORE, now) == wrong


def test_ddl_names_the_columns_of_the_path_first():
    assert schemas.REQUESTS.ddl == (
        "day string, run string, cluster string NOT NULL, topic string NOT NULL,"
        " partition int NOT NULL, replicas array<int> NOT NULL"
    )
    assert schemas.MANIFESTS.ddl == (
        "cluster string NOT NULL, published bigint NOT NULL, desired string NOT NULL,"
        " digest string NOT NULL"
    )


def test_every_column_is_documented_and_named_once():
    for table in schemas.TABLES.values():
        names = [*table.by, *(column.name for column in table.stored)]
        assert len(set(names)) == len(names)
        assert all(column.doc.endswith((".", "…")) for column in table.columns)


def test_another_version_is_refused_by_number():
    with pytest.raises(Refused, match=r"^f: table moves has version 2 \(expected version 1\)"):
        table_schema.check_version(schemas.MOVES, "2", "f")
    with pytest.raises(Refused, match="has no version"):
        table_schema.check_version(schemas.MOVES, None, "f")
