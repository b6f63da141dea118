"""Whatever one node of ours holds: no command fails otherwise than with an error that names it.

Only what needs the node stops. `STOPPED_BY` says which commands that is; all others do their work
and name the node.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.security import make_digest_acl

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.errors import DamagedNode, Internal, NodeDamage
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.resources.checks import folder
from poolkeeper.zk import fencing, znodes
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.journal import journal, pending_plan
from poolkeeper.zk.journal import records as zk_records
from simulation import our_tree
from simulation.damage import CHUNK, JSON, RUN, Say, damaged
from simulation.our_tree import (
    HOLDER,
    OF_RUN,
    OURS,
    PLAN,
    POISONS,
    THROTTLES,
    OurTree,
    Poisons,
    poisons,
)

NODES = (*OURS, *OF_RUN, *THROTTLES, znodes.HOLDER)
FINISHED = znodes.finished_run(3)
UNNAMED = {znodes.plan_chunk(0, znodes.ASKED), FINISHED}
"""What counts as absent: a pending plan whose chunk is damaged, an entry of the history."""

STOPPED_BY: Mapping[str, tuple[str, ...]] = {
    znodes.EPOCH: ("apply", "stop", "rollback"),
    RUN: ("apply", "stop", "rollback"),
    CHUNK: ("apply", "stop", "rollback"),
    znodes.HOLDER: ("apply",),
    znodes.RECORD_OF_CLUSTER: ("plan", "apply"),
}
"""The commands that end with exit code 1, and name the node, when it is damaged."""

MEANINGFUL: Mapping[str, set[str]] = {
    znodes.RECORD_OF_CLUSTER: {"fields-null", "fields-texts"},
    znodes.RECORD_OF_BROKERS: {"fields-objects"},
    RUN: {"field-missing"},
}
"""Poisons that mean something in these nodes: no id or another one, no brokers, a default."""


def planted(path: str, data: bytes | None) -> OurTree:
    """Plant all that there can be beside the node, which holds this; no data leaves it out."""
    with_run = path.startswith(RUN)
    nodes: dict[str, bytes | None] = {**OURS, **(OF_RUN if with_run else {})}
    if path == znodes.HOLDER:
        return OurTree.plant(nodes, holder=data)
    return OurTree.plant({**nodes, path: data})


def whole(path: str) -> bytes:
    """Return what the node holds when it is whole."""
    return {**OURS, **OF_RUN, **THROTTLES, znodes.HOLDER: HOLDER}[path]


@pytest.mark.parametrize("path", NODES)
def test_whole_nodes_are_not_damaged(path: str) -> None:
    assert damaged(planted(path, whole(path))) == {}


@pytest.mark.parametrize("path", [path for path in NODES if path not in UNNAMED])
def test_every_poison_is_damage(path: str) -> None:
    found = {name: damaged(planted(path, poison(whole(path)))) for name, poison in POISONS.items()}
    passed = {name for name, damage in found.items() if set(damage) != {path}}
    assert passed == MEANINGFUL.get(path, set())
    later = found["later"][path].later_version
    assert later == (2 if whole(path).startswith(b"{") else 0)
    assert max(len(str(each)) for damage in found.values() for each in damage.values()) < 400


COMMANDS = {
    "status": ("status",),
    "status-json": ("status", "--output", "json"),
    "plan": ("plan",),
    "plan-json": ("plan", "--output", "json"),
    "show": ("show", PLAN.hash),
    "stop": ("stop",),
    "rollback": ("rollback",),
    "apply": ("apply", "--yes"),
    "apply-json": ("apply", "--yes", "--output", "json"),
}


BRAKES = ("stop", "rollback")


@pytest.mark.parametrize("command", BRAKES)
@pytest.mark.parametrize("path", NODES)
def test_a_run_can_be_stopped_whatever_else_nobody_may_read(
    say: Say, command: str, path: str
) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN, **THROTTLES}, holder=HOLDER)
    tree.client.set_acl(path, [make_digest_acl("alice", "right", all=True)])
    said = say(tree, command)
    asked = tree.read(znodes.RUN_STOP) is not None
    needs = command in STOPPED_BY.get(path, ())
    assert (said.code, asked) == ((3, False) if needs else (0, True)), said
    assert not needs or path in said.err


@pytest.mark.parametrize("path", NODES)
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
@poisons
def test_commands_name_it_and_only_those_stop_that_need_it(
    say: Say, path: str, words: tuple[str, ...], poisons: Poisons
) -> None:
    turn = NODES.index(path) + [*COMMANDS.values()].index(words)
    for name, poison in our_tree.in_turn(poisons, turn).items():
        tree = planted(path, poison(whole(path)))
        before = tree.read(path)
        is_damaged = path in damaged(tree)
        said = say(tree, *words)
        stops = words[0] in STOPPED_BY.get(path, ())
        assert said.code in ((1,) if is_damaged and stops else (0, 1, 2, 4)), (name, said)
        if is_damaged and words[0] in ("status", "plan", "apply"):
            assert said.code != 1 or stops, (name, said)
            assert path in said.out + said.err, (name, said)
        if said.code == 1:
            errors = [line for line in said.err.splitlines() if not line.startswith("warning: ")]
            assert len(errors) == 1, (name, said)
        if "json" in words and said.out:
            json.loads(said.out)
        if is_damaged and path not in (znodes.ASKED, znodes.STOPPED, znodes.APPROVALS):
            assert tree.read(path) == before, name


@pytest.mark.parametrize("path", NODES)
@pytest.mark.parametrize("words", [("import", "--out"), ("snapshot", "--out")])
@poisons
def test_readers_of_kafka_alone_do_not_care(
    say: Say, tmp_path: Path, path: str, words: tuple[str, ...], poisons: Poisons
) -> None:
    turn = 2 * NODES.index(path) + (words[0] == "snapshot")
    for number, (name, poison) in enumerate(our_tree.in_turn(poisons, turn).items()):
        said = say(planted(path, poison(whole(path))), *words, str(tmp_path / f"{number}.json"))
        assert (said.code, said.err) == (0, ""), name


def pass_once(tree: OurTree, desired: Desired) -> Outcome:
    """Let the loop of `run` work until it reports."""
    seen: list[Outcome] = []
    wake, stop = Event(), Event()

    def report(outcome: Outcome) -> None:
        seen.append(outcome)
        stop.set()
        wake.set()

    connections = ClusterConnections(tree.session, lambda: None)
    loop.run_loop(LoopConfig(connections, lambda: desired, report, wake, stop))
    return seen[0]


@pytest.mark.parametrize("path", [path for path in NODES if path != znodes.HOLDER])
@poisons
def test_a_loop_goes_on_or_names_it(declared: Path, path: str, poisons: Poisons) -> None:
    desired = folder.load((declared,)).desired("main")
    needed = (znodes.EPOCH, RUN, CHUNK, znodes.RECORD_OF_CLUSTER)
    for name, poison in poisons.items():
        tree = planted(path, poison(whole(path)))
        is_damaged = path in damaged(tree)
        outcome = pass_once(tree, desired)
        assert not isinstance(outcome.error, Internal), name
        if is_damaged and path in needed:
            assert isinstance(outcome.error, DamagedNode), (name, outcome)
            assert outcome.error.damage.path == path
        elif name not in MEANINGFUL.get(path, ()):
            assert outcome.error is None, (name, outcome)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(znodes.EPOCH, "it is gone, and the journal is there", id="epoch"),
        pytest.param(CHUNK, "it is gone", id="chunk"),
    ],
)
def test_a_node_that_is_gone_is_damage_where_others_need_it(
    say: Say, path: str, found: str
) -> None:
    tree = planted(path, whole(path))
    tree.delete(path)
    assert damaged(tree) == {path: NodeDamage(path, found)}
    for words in (("stop",), ("apply", "--yes")):
        said = say(tree, *words)
        assert (said.code, path in said.err) == (1, True)


def test_a_holder_that_no_session_ends_is_damage(say: Say) -> None:
    tree = OurTree.plant({**OURS, znodes.HOLDER: HOLDER})
    assert damaged(tree).keys() == {znodes.HOLDER}
    assert say(tree, "apply", "--yes").code == 1


@poisons
def test_a_damaged_entry_of_the_history_is_named_there(say: Say, poisons: Poisons) -> None:
    for name, poison in poisons.items():
        tree = planted(FINISHED, poison(whole(FINISHED)))
        said = say(tree, "history")
        assert (said.code, FINISHED in said.err) == (0, True), (name, said)


@given(path=st.sampled_from(NODES), data=st.binary(max_size=200))
def test_any_bytes_are_read_or_are_damage(path: str, data: bytes) -> None:
    read_all(planted(path, data))


@given(data=st.data(), path=st.sampled_from([p for p in NODES if whole(p).startswith(b"{")]))
def test_any_json_in_a_field_is_read_or_is_damage(data: st.DataObject, path: str) -> None:
    body = json.loads(whole(path))
    key = data.draw(st.sampled_from(sorted(body)))
    body[key] = data.draw(JSON)
    read_all(planted(path, json.dumps(body).encode()))


def read_all(tree: OurTree) -> None:
    """Read all that there is; a part that cannot be read is `DamagedNode`."""
    session = tree.session()
    journal.read_status(session)
    for read in (
        zk_records.read_balance,
        journal.read_approvals,
        journal.read_stopped,
        fencing.read_holder,
        fencing.read_epoch,
        pending_plan.read,
    ):
        our_nodes.try_reading(lambda read=read: read(session))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"null", "null"),
        (b"[]", "a list"),
        (b'"x"', "a string"),
        (b"7", "an integer"),
        (b"0.5", "a number"),
        (b"true", "true"),
    ],
)
def test_what_is_no_object_is_told_in_the_words_of_json(body: bytes, told: str) -> None:
    with pytest.raises(DamagedNode, match=f": it is {told} \\(expected an object\\)"):
        our_nodes.parse(RUN, body)
