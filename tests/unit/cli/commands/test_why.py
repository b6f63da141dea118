"""`poolkeeper why` makes no more of a plan than it shows."""

import json
from pathlib import Path

import pytest

from poolkeeper.cli.commands.plans import why as why_command
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


def test_nothing_is_planned_for_a_name_that_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = our_tree.write_manifests(tmp_path)
    monkeypatch.delattr(why_command, "current_plan")
    tree = OurTree.plant({**our_tree.RECORDS, "/brokers/topics/orders": b"null"})
    said = tree.said(capsys, "why", "order", "-f", str(folder))
    told = "topic order is neither in the cluster nor declared (is it orders?)"
    assert (said.code, said.out, said.err) == (1, "", f"{told}\n")


def test_a_topic_that_cannot_be_read_is_not_called_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = our_tree.write_manifests(tmp_path)
    tree = OurTree.plant({**our_tree.RECORDS, "/brokers/topics/orders": b"null"})
    said = tree.said(capsys, "why", "orders", "-f", str(folder))
    assert said.code == 1
    assert said.err.startswith("topic orders cannot be read: ")
