"""The table of values in the chart's README, from values.yaml and values.schema.json."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


def as_markdown(schema: Schema, values: Mapping[str, Any]) -> str:
    """Return one row for each value; of what the schema hands through, the whole is one row."""
    rows = ["| value | default | what it is |", "|---|---|---|"]
    for path, default, text in _rows("", schema["properties"], values):
        shown = json.dumps(default, ensure_ascii=False)
        rows.append(f"| `{path}` | `{shown}` | {text} |")
    return "\n".join(rows) + "\n"


def _rows(
    prefix: str, properties: Schema, values: Mapping[str, Any]
) -> Iterator[tuple[str, Any, str]]:
    for name, schema in properties.items():
        if name not in values:
            continue
        path = f"{prefix}{name}"
        if "properties" in schema and isinstance(values[name], Mapping):
            yield from _rows(f"{path}.", schema["properties"], values[name])
        else:
            yield path, values[name], schema["description"]
