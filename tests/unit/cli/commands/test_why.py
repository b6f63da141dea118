"""`poolkeeper why` makes no more of a plan than it shows."""

import json
from pathlib import Path

import pytest

from poolkeeper.report import predicted
from simulation import our_tree
from simulation.our_tree import OurTree


def test_stages_are_not_foretold_that_nobody_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may take longer than the plan."""
    folder = our_tree.write_manifests(tmp_path)
    foretold: list[object] = []
    monkeypatch.setattr(predicted, "with_prediction", lambda made, _: foretold.append(made) or made)
    tree = OurTree.plant(our_tree.RECORDS)
    said = tree.said(capsys, "why", "t", "-f", str(folder), "--output", "json")
    assert json.loads(said.out)["planState"] == "made now"
    assert foretold == []
