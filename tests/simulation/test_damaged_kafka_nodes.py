"""Whatever one node of Kafka's holds: commands end in a result, or in an error that names it."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from poolkeeper.zk import znodes
from simulation import our_tree
from simulation.damage import DEFAULT, JSON, Say, declared_as_is
from simulation.our_tree import KEPT, OURS, OurTree, Poisons, poisons

RATE_OF_ALL = b'{"version":1,"config":{"follower.replication.throttled.rate":"9"}}'


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


@pytest.mark.parametrize("path", [znodes.topic_config("t"), znodes.broker_config(1)])
def test_throttles_left_in_a_config_that_nobody_may_read_are_no_success(
    say: Say, path: str
) -> None:
    tree = OurTree.plant({**OURS, **our_tree.IN_FORCE})
    tree.client.log_in("alice", "right")
    tree.client.set_acl(path, [make_digest_acl("alice", "right", all=True)])
    for words in (["status"], ["plan"], ["apply", "--yes"], ["apply", "--yes"]):
        said = say(tree, *words)
        told = " ".join((said.out + said.err).split())
        assert f"cannot be read or written ({path}: its ACL does not let us read it)" in told, (
            words,
            said,
        )
        assert said.code == (4 if words[0] == "apply" else said.code), (words, said)
    tree.client.set_acl(path, [*OPEN_ACL_UNSAFE])
    assert say(tree, "apply", "--yes").code == 0
    assert not tree.client.children(znodes.RECORDS_OF_THROTTLES)


@pytest.mark.parametrize("path", ["/controller", "/brokers/ids/1", "/config/changes"])
def test_apply_that_cannot_go_on_with_a_run_says_what_stays(say: Say, path: str) -> None:
    tree = OurTree.plant({**OURS, **our_tree.OF_RUN, **our_tree.IN_FORCE})
    tree.client.set_acl(path, [make_digest_acl("alice", "right", all=True)])
    said = say(tree, "apply", "--yes")
    assert said.code == 3
    assert f"{path} is not allowed for this ZooKeeper identity" in said.err
    ended = tree.read(znodes.RUN) is None
    assert ("moves in flight go on and throttles stay" in said.err) is not ended, said


@pytest.mark.parametrize("output", ["text", "json"])
def test_throttles_that_no_run_accounts_for_are_named_at_the_end(say: Say, output: str) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    throttled = {**KEPT, "leader.replication.throttled.replicas": "0:1"}
    tree.put("/config/topics/t", json.dumps({"version": 1, "config": throttled}).encode())
    tree.put("/config/topics/u", b'{"version":1,"config":{}}')
    said = say(tree, "apply", "--yes", "--output", output)
    told = "no run accounts for the throttles on topic t"
    if output == "text":
        assert (said.code, told in said.err) == (0, True), said
    else:
        body = json.loads(said.out)
        assert (said.code, body["undone"]) == (0, [])
        assert any(told in wait for wait in body["waits"]), body


@pytest.mark.parametrize("command", ["status", "plan", "repair"])
def test_a_list_as_no_cluster_has_is_named_and_spoils_nothing_else(say: Say, command: str) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    node = {"version": 1, "partitions": {"0": [*range(10_001)]}}
    tree.put(znodes.topic("t"), json.dumps(node).encode())
    said = say(tree, command)
    assert "names 10,001 brokers" in " ".join(said.out.split()), said
    assert "Traceback" not in said.err


@pytest.mark.parametrize("below", ["", "/partitions/0/state"], ids=["list", "state"])
def test_a_topic_that_nobody_may_read_is_named_and_the_rest_goes_on(say: Say, below: str) -> None:
    tree = OurTree.plant(OURS)
    say(tree, "apply", "--yes")
    path = f"{znodes.topic('t')}{below}"
    tree.client.set_acl(path, [make_digest_acl("alice", "right", all=True)])
    for command, code in (("status", 0), ("plan", 4), ("repair", 4)):
        said = say(tree, command)
        wrong = " wrong" if command == "repair" else ":"
        assert f"{path}{wrong} its ACL does not let us read it" in " ".join(said.out.split()), said
        assert (said.code, said.err) == (code, "")
    tree.put("/config/topics/u", b'{"version":1,"config":{}}')
    said = say(tree, "apply", "--yes")
    assert (said.code, json.loads(tree.read("/config/topics/u") or b"")["config"]) == (4, KEPT)


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


@pytest.mark.parametrize("path", STRICT)
def test_a_topic_that_is_in_no_snapshot_and_not_imported_is_told(
    say: Say, path: str, tmp_path: Path
) -> None:
    name = path.split("/")[3]
    tree = OurTree.plant({**OURS, path: b"{"})
    for words in (
        ("snapshot", "--out", str(tmp_path / "s.json")),
        ("import", "--out", str(tmp_path / "i")),
    ):
        assert f"warning: topic {name} is left out: {path}" in say(tree, *words).err


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


@pytest.mark.parametrize("partition", [-1, -7, 2**31 - 1])
def test_a_request_for_a_partition_that_cannot_be_is_named(say: Say, partition: int) -> None:
    entry = {"topic": "t", "partition": partition, "replicas": [2, 3]}
    request = json.dumps({"version": 1, "partitions": [entry]}).encode()
    for words in (("status",), ("plan",), ("repair",)):
        said = say(OurTree.plant({**OURS, znodes.REASSIGNMENT: request}), *words)
        assert said.code in (0, 2, 4), said
        assert f"t-{partition}" in said.out + said.err or words == ("repair",), said
