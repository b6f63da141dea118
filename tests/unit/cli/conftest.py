"""A command is run on a small cluster, of which there are manifests and a snapshot."""

import json

import pytest

from poolkeeper.cli import main
from unit.cli.small_cluster import CLUSTER, POOLS, SNAPSHOT, TOPIC


@pytest.fixture
def manifests(tmp_path):
    """The manifests of the small cluster."""
    folder = tmp_path / "manifests"
    folder.mkdir()
    for name, text in (("cluster", CLUSTER), ("pools", POOLS), ("topics", TOPIC)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture
def snapshot(tmp_path):
    """The small cluster as it is."""
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(SNAPSHOT))
    return file


@pytest.fixture
def run(capsys):
    """Run a command; gives its exit code and what it wrote to both streams."""

    def call(*words, command=main.root):
        code = main.main([str(word) for word in words], command)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call
