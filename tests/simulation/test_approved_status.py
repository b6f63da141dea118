"""What `status` tells of a plan that was approved beside an operator, and is not begun."""

import json
from pathlib import Path

import pytest

from poolkeeper.zk import znodes
from poolkeeper.zk.codecs import json_bodies
from simulation.our_tree import HOLDER, OURS, PLAN, OurTree, write_manifests

WINDOW = {"cron": "0 3 29 2 *", "duration": "1m"}


@pytest.fixture
def tree() -> OurTree:
    body = json_bodies.encode({"version": 1, "plans": [PLAN.hash]})
    return OurTree.plant({**OURS, znodes.APPROVALS: body}, holder=HOLDER)


def test_it_is_named_with_what_keeps_it_from_being_begun(
    tree: OurTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = write_manifests(tmp_path, execution={"windows": [WINDOW]})
    said = tree.said(capsys, "status", "-f", str(manifests))
    assert (said.code, said.err) == (0, "")
    assert f"approved    {PLAN.hash}, which is not begun yet" in said.out
    assert "outside spec.execution.windows: the next window opens " in said.out
    data = json.loads(tree.said(capsys, "status", "-f", str(manifests), "-o", "json").out)
    assert data["approved"] == [PLAN.hash]
    assert len(data["waits"]) == 1


def test_without_an_approval_windows_keep_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = write_manifests(tmp_path, execution={"windows": [WINDOW]})
    tree = OurTree.plant({**OURS, znodes.APPROVALS: None}, holder=HOLDER)
    said = tree.said(capsys, "status", "-f", str(manifests), "-o", "json")
    assert (json.loads(said.out)["approved"], json.loads(said.out)["waits"]) == ([], [])
