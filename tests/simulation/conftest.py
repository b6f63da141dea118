"""Fixtures that several files of the simulation take."""

from pathlib import Path

import pytest

from simulation.damage import Say
from simulation.offered_plans import Ground, made
from simulation.our_tree import OurTree, Repair, Said, write_manifests


@pytest.fixture
def repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Repair:
    """Run `poolkeeper repair` on a tree; the backup goes to `backup.json`."""

    def run(tree: OurTree, *words: str) -> Said:
        file = str(tmp_path / "backup.json")
        return tree.said(capsys, "repair", "fake:2181", "--backup", file, *words)

    return run


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifests of the trees' cluster, as it is."""
    return write_manifests(tmp_path_factory.mktemp("declared"))


@pytest.fixture
def say(declared: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command on a tree."""

    def run(tree: OurTree, *words: str) -> Said:
        return tree.said(capsys, *words, "-f", str(declared))

    return run


@pytest.fixture
def ground() -> Ground:
    """An uneven cluster, with a plan to offer."""
    return made()
