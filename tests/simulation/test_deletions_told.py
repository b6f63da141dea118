"""What `plan` and `apply` tell of a deletion that is under way, and of an interrupt meanwhile."""

import json
from collections.abc import Mapping

import pytest

from poolkeeper.cli.commands.plans import apply
from poolkeeper.model.execution.outcomes import Outcome, State
from simulation.damage import Say
from simulation.our_tree import OURS, OurTree


def _json(**body: object) -> bytes:
    return json.dumps(body).encode()


GOES: Mapping[str, bytes] = {
    "/brokers/topics/x": _json(version=1, partitions={"0": [1, 9]}),
    "/brokers/topics/x/partitions/0/state": _json(leader=1, leader_epoch=0, isr=[1]),
    "/admin/delete_topics/x": b"",
}
RECORD = {
    "/poolkeeper/records/topics/x": _json(
        version=1, owner="default/x", declared=[], deletion_policy="Delete"
    )
}


@pytest.mark.parametrize(
    ("nodes", "code", "told"),
    [
        pytest.param({**GOES, **RECORD}, 4, True, id="ours"),
        pytest.param(GOES, 0, False, id="somebody-else-s"),
        pytest.param(
            {**GOES, **RECORD, "/brokers/topics/x": _json(version=1, partitions={"0": [1]})},
            0,
            False,
            id="it-ends-by-itself",
        ),
    ],
)
@pytest.mark.parametrize("command", ["plan", "apply"])
def test_a_deletion_that_a_dead_broker_holds_up_is_told_again(
    say: Say, command: str, nodes: Mapping[str, bytes], code: int, told: bool
) -> None:
    tree = OurTree.plant({**OURS, **nodes})
    said = say(tree, command, *(["--yes", "--prune"] if command == "apply" else []))
    words = " ".join(said.out.split())
    assert ("topic x is being deleted, and broker 9 is not live" in words) == told, said
    assert said.code == code
    listed = say(tree, command, "-o", "json", *(["--yes"] if command == "apply" else []))
    found = json.loads(listed.out)
    reasons = [each["reason"] for each in found["blocked" if command == "plan" else "undone"]]
    assert (reasons == ["DeletionAwaitsBrokers"]) == told
    assert listed.code == code


def test_an_interrupt_promises_to_resume_no_run_where_none_is_recorded(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where `apply` waits for the end of a deletion."""

    def drive(_connections, _desired, plan, report, **_more):
        report(Outcome(State.PROGRESSED, plan=plan))
        raise KeyboardInterrupt

    monkeypatch.setattr(apply, "drive", drive)
    bare = {"/config/topics/t": _json(version=1, config={})}
    said = say(OurTree.plant({**OURS, **bare}), "apply", "--yes")
    words = " ".join(said.err.split())
    assert (said.code, "no run was under way" in words, "resumes" in words) == (130, True, False)
