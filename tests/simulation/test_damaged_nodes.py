"""Whatever one node of ours holds: no command fails otherwise than with an error that names it.

Only what needs the node stops. `STOPPED_BY` says which commands that is; all others do their work
and name the node.
"""

import io
import json
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster_spec, pool_spec
from poolkeeper.algorithms.throttles import BROKER_KEYS
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.errors import DamagedNode, Internal, NodeDamage
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.specs import Heal
from poolkeeper.reconcile.observe import gone_brokers
from poolkeeper.resources.checks import folder
from poolkeeper.zk import fencing, throttling, znodes
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.journal import journal, pending_plan
from poolkeeper.zk.journal import records as zk_records
from simulation import our_tree
from simulation.our_tree import (
    HOLDER,
    OF_RUN,
    OURS,
    PLAN,
    POISONS,
    THROTTLES,
    OurTree,
    Poisons,
    Said,
    poisons,
)

RUN, CHUNK = znodes.RUN, znodes.plan_chunk(0)
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


Say = Callable[..., Said]


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return our_tree.write_manifests(tmp_path_factory.mktemp("declared"))


@pytest.fixture
def say(declared: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command on a tree."""

    def run(tree: OurTree, *words: str) -> Said:
        return tree.said(capsys, *words, "-f", str(declared))

    return run


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


def damaged(tree: OurTree) -> dict[str, NodeDamage]:
    """Return what is found damaged."""
    return {each.path: each for each in journal.read_status(tree.session()).damage}


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
    loop.run_loop(loop.LoopConfig(connections, lambda: desired, report, wake, stop))
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


# Only what needs it stops


def test_a_topic_whose_record_is_damaged_is_left_alone_and_the_others_are_not(
    say: Say, tmp_path: Path
) -> None:
    tree = OurTree.plant({**OURS, znodes.record_of_topic("t"): b"{"})
    our_tree.write_manifests(tmp_path, config={"retention.ms": "2000"})
    assert tree.command("apply", "--yes", "-f", str(tmp_path)) == 4
    config = tree.read("/config/topics/u")
    assert config is not None
    assert json.loads(config)["config"] == {"retention.ms": "2000"}
    assert tree.read("/config/topics/t") == our_tree.KAFKA["/config/topics/t"]
    assert tree.read(znodes.record_of_topic("t")) == b"{"
    assert "topic t: nothing is done about it" in say(tree, "plan").out


def test_a_declared_id_replaces_the_record_of_it(tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, znodes.RECORD_OF_CLUSTER: b"{"})
    for declared_id, code in (("NbXc", 4), ("other", 1)):
        our_tree.write_manifests(tmp_path, clusterId=declared_id)
        assert tree.command("plan", "-f", str(tmp_path)) == code
        assert tree.command("apply", "--yes", "-f", str(tmp_path)) == code


@pytest.mark.parametrize("record", ["whole", "damaged"])
def test_no_broker_is_gone_while_the_record_of_them_is_damaged(record: str) -> None:
    missing = {"3": {"rack": "r3", "missing_since_s": 1}}
    body = json.dumps({"version": 1, "brokers": missing}).encode()
    tree = OurTree.plant({**OURS, znodes.RECORD_OF_BROKERS: body if record == "whole" else b"{"})
    desired = Desired(
        cluster_spec("main", heal=Heal(enabled=True, after_s=1)), (pool_spec("p", 1, 2, 3),)
    )
    records = zk_records.read(tree.session())
    gone = gone_brokers.gone_brokers(records, desired, 10_000)
    assert gone == ({3} if record == "whole" else set())


@pytest.mark.parametrize("poison", [b"{", b'{"version":2}'])
def test_a_run_does_not_begin_on_what_the_damaged_record_tells_of(poison: bytes) -> None:
    path = znodes.throttles_of_topic("t")
    tree = OurTree.plant({**OURS, path: poison})
    with journal.hold(tree.session(), "apply", 0, patience_s=1) as held:
        assert throttling.save(held, ["u"], {1: BROKER_KEYS}).topics.keys() == {"u"}
        with pytest.raises(DamagedNode, match=path):
            throttling.save(held, ["t", "u"], {1: BROKER_KEYS})
    assert tree.read(path) == poison


def declared_as_is(tree: OurTree, say: Say) -> None:
    """See that nothing is to be done but for what the test plants."""
    said = say(tree, "plan", "--output", "json")
    assert (said.code, json.loads(said.out)["asDeclared"]) == (0, True)


DEFAULT = "/config/brokers/<default>"
RATE_OF_ALL = b'{"version":1,"config":{"follower.replication.throttled.rate":"9"}}'


@pytest.mark.parametrize(
    ("path", "data"),
    [
        pytest.param(znodes.throttles_of_topic("t"), b"{", id="a-record-of-a-topic"),
        pytest.param(znodes.throttles_of_broker(2), b'{"version":2}', id="a-later-record"),
        pytest.param("/config/brokers/2", b"{", id="a-broker's-config"),
        pytest.param(DEFAULT, b"{", id="the-default-config"),
    ],
)
def test_damage_that_only_repair_mends_is_no_success(say: Say, path: str, data: bytes) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    declared_as_is(tree, say)
    tree.put(path, data)
    for words in (["plan"], ["apply", "--yes"]):
        said = say(tree, *words, "--output", "json")
        assert said.code == 4, (words, said)
        body = json.loads(said.out)
        told = body["throttlesLeft"] if words == ["plan"] else body["undone"]
        assert any(path in each["message"] for each in told), told
        assert body.get("asDeclared", False) is False
    assert tree.read(path) == data


def test_a_list_that_lacks_what_is_in_sync_is_no_success(say: Say) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    declared_as_is(tree, say)
    state = "/brokers/topics/t/partitions/0/state"
    tree.put(state, b'{"version":1,"leader":1,"leader_epoch":0,"isr":[1,2,3]}')
    for words in (["plan"], ["apply", "--yes"]):
        said = say(tree, *words, "--output", "json")
        assert said.code == 4, (words, said)
        body = json.loads(said.out)
        told = body["blocked"] if words == ["plan"] else body["undone"]
        assert [each["reason"] for each in told] == ["IsrOutsideReplicas"]
    said = say(tree, "status")
    assert "broker 3 is in sync for t-0 and not among the replicas there" in said.out


def test_throttles_of_the_default_of_all_brokers_are_named_and_removed_on_request(
    say: Say, tmp_path: Path
) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    tree.put(DEFAULT, RATE_OF_ALL)
    for command in ("status", "plan"):
        said = say(tree, command)
        assert f"the default of all brokers ({DEFAULT})" in " ".join(said.out.split()), said
        assert said.code == 0
    flag, backup = "--remove-unaccounted-throttles", str(tmp_path / "backup.json")
    words = ("repair", "fake:2181", "--backup", backup, "--yes")
    assert tree.command(*words) == 4
    assert tree.read(DEFAULT) == RATE_OF_ALL
    assert tree.command(*words, flag) == 0
    assert json.loads(tree.read(DEFAULT) or b"")["config"] == {}
    told = tree.client.children("/config/changes") or ()
    notices = [json.loads(tree.read(f"/config/changes/{name}") or b"") for name in told]
    assert notices[-1] == {"version": 2, "entity_path": "brokers/<default>"}


# The document of a run


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


# Laws


@given(path=st.sampled_from(NODES), data=st.binary(max_size=200))
def test_any_bytes_are_read_or_are_damage(path: str, data: bytes) -> None:
    read_all(planted(path, data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


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
        our_nodes.tried(lambda read=read: read(session))


# Kafka's nodes

KAFKA = [path for path, data in our_tree.KAFKA.items() if data]
REQUESTS = {
    znodes.REASSIGNMENT: b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}',
    znodes.PREFERRED_ELECTION: b'{"version":1,"partitions":[{"topic":"t","partition":0}]}',
    znodes.MIGRATION: b'{"version":0,"kraft_controller_id":-1,"kraft_controller_epoch":-1}',
}
STRICT = [path for path in KAFKA if "/topics/" in path]
"""The nodes of topics: a topic with a damaged one is left alone, and named with its path."""


@pytest.mark.parametrize("path", [*KAFKA, *REQUESTS])
@poisons
def test_kafkas_nodes_may_hold_anything_as_well(
    say: Say, path: str, tmp_path: Path, poisons: Poisons
) -> None:
    original = {**our_tree.KAFKA, **REQUESTS}[path]
    turn = [*KAFKA, *REQUESTS].index(path)
    for number, (name, poison) in enumerate(our_tree.in_turn(poisons, turn).items()):
        tree = OurTree.plant({**OURS, path: poison(original)})
        for words in (
            ("status",),
            ("plan",),
            ("stop",),
            ("import", "--out", str(tmp_path / f"i{number}")),
            ("snapshot", "--out", str(tmp_path / f"{number}.json")),
        ):
            said = say(tree, *words)
            assert said.code in (0, 1, 2, 4), (name, said)
            assert said.code != 1 or path in ("/cluster/id",) or words[0] == "plan", (name, said)


@pytest.mark.parametrize("path", STRICT)
def test_a_damaged_node_of_a_topic_leaves_that_topic_alone(say: Say, path: str) -> None:
    name = path.split("/")[3]
    for bad in (b"{", b"[]", b'{"partitions":{"0":["1",2]},"config":{"a":1}}'):
        tree = OurTree.plant({**OURS, path: bad})
        assert path in say(tree, "status").out
        assert f"topic {name}: left out of this plan: its znode is damaged: {path}" in " ".join(
            say(tree, "plan").out.split()
        )


@given(data=st.data(), path=st.sampled_from([*KAFKA, *REQUESTS]))
def test_any_json_in_kafkas_nodes_ends_in_a_result_or_an_error(
    declared: Path, data: st.DataObject, path: str
) -> None:
    body = data.draw(JSON | st.binary(max_size=50))
    original = {**our_tree.KAFKA, **REQUESTS}[path]
    if original.startswith(b"{") and data.draw(st.booleans()):
        whole_body = json.loads(original)
        key = data.draw(st.sampled_from(sorted(whole_body)))
        body = {**whole_body, key: data.draw(JSON)}
    poison = body if isinstance(body, bytes) else json.dumps(body).encode()
    tree = OurTree.plant({**OURS, path: poison})
    for command in ("status", "plan"):
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert tree.command(command, "-f", str(declared)) in (0, 1, 2, 4)


# A person who asks again


@pytest.mark.parametrize(
    ("asked", "said", "stored"),
    [
        pytest.param(["stop"], "is ended by the next", {}, id="once"),
        pytest.param(["stop", "stop"], "is ended by the next", {}, id="twice"),
        pytest.param(["stop", "rollback"], "is rolled back", {"at_once": True}, id="more"),
        pytest.param(["stop --now", "stop --now"], "is rolled back", {"at_once": True}, id="all"),
        pytest.param(["rollback", "stop"], "is rolled back", {"at_once": True}, id="less"),
        pytest.param(
            ["rollback --allow-controller-failover", "rollback"],
            "is rolled back",
            {"at_once": True, "allow_failover": True},
            id="less-is-allowed",
        ),
    ],
)
def test_what_a_person_asked_for_before_is_not_taken_back(
    say: Say, asked: list[str], said: str, stored: dict[str, bool]
) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN})
    for words in asked:
        told = say(tree, *words.split())
        assert (told.code, told.err) == (0, "")
    assert said in told.out
    found = tree.read(znodes.RUN_STOP)
    assert found is not None
    whole_stop = {"version": 1, "at_once": False, "allow_failover": False, **stored}
    assert json.loads(found or "{}") == (whole_stop if stored else {})


@pytest.mark.parametrize("command", ["stop", "rollback"])
def test_who_asks_notes_the_write_and_what_it_was_for(
    say: Say, tmp_path: Path, command: str
) -> None:
    tree, audit = OurTree.plant({**OURS, **OF_RUN}), tmp_path / "audit.jsonl"
    for _ in range(2):
        assert say(tree, command, "--audit-log", str(audit)).code == 0
    notes = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [note["event"] for note in notes] == ["Write", "Decision", "Decision"]
    assert {note["plan"] for note in notes} == {PLAN.hash}
    assert {note["executor"]["command"] for note in notes} == {command}
    epoch, stop = notes[0]["nodes"]
    assert (epoch["do"], epoch["path"]) == ("Check", znodes.EPOCH)
    assert (stop["do"], stop["path"], notes[0]["result"]) == ("Create", znodes.RUN_STOP, "Done")
    assert notes[1]["action"] == "StopRequested"


# What others may write to Kafka's own nodes


@pytest.mark.parametrize("partition", [-1, -7, 2**31 - 1])
def test_a_request_for_a_partition_that_cannot_be_is_named(say: Say, partition: int) -> None:
    entry = {"topic": "t", "partition": partition, "replicas": [2, 3]}
    request = json.dumps({"version": 1, "partitions": [entry]}).encode()
    for words in (("status",), ("plan",), ("repair",)):
        said = say(OurTree.plant({**OURS, znodes.REASSIGNMENT: request}), *words)
        assert said.code in (0, 2, 4), said
        assert f"t-{partition}" in said.out + said.err or words == ("repair",), said


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
    assert "once `poolkeeper repair` has mended it, `poolkeeper apply` or `run` takes it up" in said


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
