"""Fixtures that several files of the simulation take."""

from pathlib import Path

import pytest

from simulation.our_tree import OurTree, Repair, Said


@pytest.fixture
def repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Repair:
    """Run `poolkeeper repair` on a tree; the backup goes to `backup.json`."""

    def run(tree: OurTree, *words: str) -> Said:
        file = str(tmp_path / "backup.json")
        return tree.said(capsys, "repair", "fake:2181", "--backup", file, *words)

    return run
