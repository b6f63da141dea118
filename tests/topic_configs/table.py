"""The table of topic config keys, made of what every supported release says itself.

`PYTHONPATH=tests .venv/bin/python -m topic_configs.table` writes it into the package.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poolkeeper.model.topic_config import table
from topic_configs.releases import LAST_PATCHES, Key, ask

Row = dict[str, Any]
FILE = Path(table.__file__).with_name("keys.json")


def row(key: Key, before: Row | None = None) -> Row:
    """Return a key of one release as the table has it; words of the release before come first."""
    number = float if key.type == "DOUBLE" else int
    bounds = {name: getattr(key, name) for name in ("low", "high", "beside")}
    found: Row = {"type": key.type, "default": key.default}
    found |= {name: number(text) for name, text in bounds.items() if text}
    if not key.words:
        return found
    known = [word for word in (before or {}).get("words", ()) if word in key.words]
    return found | {"words": [*known, *(word for word in key.words if word not in known)]}


def history(keys: Mapping[str, Mapping[str, Key]]) -> dict[str, dict[str, Row]]:
    """Return the table of keys by release, oldest first: each key with its changes."""
    found: dict[str, dict[str, Row]] = {}
    for release, known in keys.items():
        for name, key in known.items():
            changes = found.setdefault(name, {})
            last = list(changes.values())[-1] if changes else None
            now = row(key, last)
            if now != last:
                changes[release] = now
    return dict(sorted(found.items()))


def at(release: str) -> dict[str, Row]:
    """Return what the package's table says of a release."""
    order = list(LAST_PATCHES)
    until = order.index(release)
    found = {}
    for name, changes in json.loads(FILE.read_text(encoding="utf-8")).items():
        held = [entry for since, entry in changes.items() if order.index(since) <= until]
        if held:
            found[name] = held[-1]
    return found


if __name__ == "__main__":
    made = history({release: ask(release).keys for release in LAST_PATCHES})
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
