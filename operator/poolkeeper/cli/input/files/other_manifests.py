"""What is declared by other manifests, to compare with: a folder, or a file of some resources.

A file's resources take the place of those of the same kind and name, where they stand. So the lines
that problems name are those of the files.
"""

import os
import re
from itertools import pairwise
from pathlib import Path

from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.errors import InvalidInput
from poolkeeper.model.desired import Desired
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import files, yaml_documents

_SEPARATOR = re.compile(r"^---.*$", re.MULTILINE)


def desired_of(address: ClusterSelection, other: Path) -> Desired:
    """Return what is declared with the other manifests; raises like `folder.load`."""
    if os.path.isdir(other):  # the method raises where it may not be looked for
        return folder.load([other]).desired(address.cluster)
    added, problems = files.texts([other])
    if problems:
        raise InvalidInput(problems)
    replaced = {name for text in added.values() for name in _names(text)}
    texts, problems = files.texts(address.folders)
    rest = {file: _without(text, replaced) for file, text in texts.items()}
    return folder.load_texts({**rest, **added}, problems).desired(address.cluster)


def _names(text: str) -> list[tuple[str, str]]:
    """The kind and the name of each document."""
    found = []
    for document in yaml_documents.parse(text, "")[0]:
        body = document.body if isinstance(document.body, dict) else {}
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        found.append((str(body.get("kind")), str(name)))
    return found


def _without(text: str, replaced: set[tuple[str, str]]) -> str:
    """The text with the replaced documents left blank, line for line."""
    begins = [0, *(match.end() for match in _SEPARATOR.finditer(text)), len(text)]
    parts = [text[a:b] for a, b in pairwise(begins)]
    kept = []
    for part in parts:
        body = _SEPARATOR.sub("", part)
        gone = any(name in replaced for name in _names(body))
        separator = "---" if gone and _SEPARATOR.search(part) else ""
        kept.append("\n" * part.count("\n") + separator if gone else part)
    return "".join(kept)
