"""A damaged record stops what needs it and nothing else: topics, brokers, throttles, the id."""

import json
from pathlib import Path

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.algorithms.throttles import BROKER_KEYS
from poolkeeper.errors import DamagedNode
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Heal
from poolkeeper.reconcile.observe import gone_brokers
from poolkeeper.zk import throttling, znodes
from poolkeeper.zk.journal import journal
from poolkeeper.zk.journal import records as zk_records
from simulation import our_tree
from simulation.damage import DEFAULT, Say, declared_as_is
from simulation.our_tree import OURS, OurTree


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
