"""A run whose node or document cannot be read: what is refused, and where people are sent."""

import json

import pytest

from poolkeeper.model.execution.runs import Phase
from simulation import our_tree
from simulation.damage import CHUNK, RUN, Say, damaged
from simulation.our_tree import OF_RUN, OURS, OurTree


@pytest.mark.parametrize("phase", list(Phase))
def test_a_run_without_its_document_is_discarded_only_while_it_is_stored(
    say: Say, phase: Phase
) -> None:
    tree = OurTree.plant({**OURS, RUN: our_tree.run_with(phase=phase)})
    said = say(tree, "apply", "--yes")
    stored = phase is Phase.STORING
    assert said.code == (0 if stored else 1), said
    assert (tree.read(RUN) is None) is stored
    assert stored or CHUNK in said.err


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"step": ((1, 1),)}, id="no-such-move"),
        pytest.param({"step": ((0, 2),)}, id="no-such-step"),
        pytest.param({"step": ((0, 0),)}, id="where-it-begins"),
        pytest.param({"plan": "sha256:0"}, id="another-plan"),
    ],
)
def test_a_run_node_that_does_not_fit_its_document_is_damage(
    say: Say, changes: dict[str, object]
) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN, RUN: our_tree.run_with(**changes)})
    assert damaged(tree).keys() == {RUN}
    assert say(tree, "apply", "--yes").code == 1


REQUESTED = json.dumps(
    {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}
).encode()


@pytest.mark.parametrize("path", [RUN, CHUNK])
def test_status_of_a_run_that_cannot_be_read_sends_nobody_to_apply(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = OurTree.plant(
        {
            **OURS,
            **OF_RUN,
            "/brokers/topics/t": b'{"version":1,"partitions":{"0":[3,2],"1":[2,3]}}',
            "/admin/reassign_partitions": REQUESTED,
            path: b"null",
        }
    )
    said = " ".join(tree.said(capsys, "status", "fake:2181").out.split())
    assert "to resume it, start" not in said
    assert f"in {path} cannot be read" in said
    mended = "once `poolkeeper repair --zookeeper fake:2181` has mended it"
    assert f"{mended}, `poolkeeper apply -f DIR` or `run` takes it up" in said
