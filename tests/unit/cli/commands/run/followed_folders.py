"""Folders that `run -f` follows in tests, and the loops that their threads would run.

The fixtures `loops` and `watch` are imported by the files that take them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import manifests
from poolkeeper.cli.commands.run import run_folder
from poolkeeper.cli.commands.run.run_folder import FolderWatch
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.controller.loops.loop_config import LoopConfig


class Loops:
    """The loops that a folder's threads would run, by cluster."""

    def __init__(self) -> None:
        self.configs: list[LoopConfig] = []

    def run(self, config: LoopConfig) -> None:
        self.configs.append(config)
        config.stop.wait(60)

    def of(self, name: str) -> LoopConfig:
        return next(c for c in self.configs if c.desired().cluster.name == name)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loops]:
    found = Loops()
    monkeypatch.setattr(run_folder.loop, "run_loop", found.run)
    yield found
    for config in found.configs:
        config.end()


def declare(folder: Path, *clusters: str, mode: str = "Apply", port: int = 2181) -> None:
    """Write manifests of these clusters, and nothing of others."""
    for file in folder.iterdir():
        file.unlink()
    (folder / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    for name in clusters:
        spec = {"zookeeper": {"connect": f"{name}:{port}"}, "mode": mode}
        body = manifests.body("KafkaCluster", name, spec)
        (folder / f"{name}.yaml").write_text(json.dumps(body))


def look(watch: FolderWatch) -> None:
    """Look at the folder until what changed there has not changed for one look."""
    for _ in range(2):
        watch.reconcile()


def followed(*folders: Path) -> FolderWatch:
    return FolderWatch(ClusterSelection(folders=folders), "text", lambda line: None)


@pytest.fixture
def watch(tmp_path: Path, loops: Loops) -> FolderWatch:
    declare(tmp_path, "a", "b")
    found = followed(tmp_path)
    found.read()
    return found
