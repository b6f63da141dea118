"""`poolkeeper repair` of nodes of ours: all is shown, mended with consent, and stays mended."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from poolkeeper.model.execution.runs import Health, Phase, Run, RunDocument, Saved
from poolkeeper.model.plans import Move, Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import journal, runs
from poolkeeper.zk.reading import observe
from poolkeeper.zk.repair import mend
from poolkeeper.zk.repair.values import Examined
from simulation import our_tree
from simulation.our_tree import (
    HOLDER,
    OF_RUN,
    OURS,
    THROTTLES,
    OurTree,
    Poisons,
    Repair,
    Said,
    poisons,
)

RUN, CHUNK = znodes.RUN, znodes.plan_chunk(0)
PENDING = znodes.plan_chunk(0, znodes.ASKED)
REPAIRED = [path for path in (*OURS, *OF_RUN, *THROTTLES) if path != PENDING]
OF_TOPIC, OF_BROKER = THROTTLES
FLAG = "--remove-unaccounted-throttles"


def damage_of(tree: OurTree) -> list[str]:
    return [damage.path for damage in journal.read_status(tree.session()).damage]


def test_nothing_is_wrong_with_whole_nodes(repair: Repair) -> None:
    said = repair(OurTree.plant({**OURS, **OF_RUN}), "--yes")
    assert (said.code, said.out) == (0, "Nothing is wrong with the nodes of this cluster.\n")


@pytest.mark.parametrize("path", REPAIRED)
@poisons
def test_our_nodes_are_shown_and_then_mended(
    repair: Repair, tmp_path: Path, path: str, poisons: Poisons
) -> None:
    whole = {**OURS, **OF_RUN, **THROTTLES}[path]
    turn = [*REPAIRED].index(path)
    for name, poison in our_tree.in_turn(poisons, turn).items():
        bad = poison(whole)
        tree = OurTree.plant({**OURS, **(OF_RUN if path.startswith(RUN) else {}), path: bad})
        if not damage_of(tree):
            continue
        later = name == "later" and whole.startswith(b"{")
        shown = repair(tree)
        assert shown.code == (4 if later else 2), (name, shown)
        assert path in shown.out
        assert tree.read(path) == bad
        said = repair(tree, "--yes", "--output", "json")
        assert said.code == (4 if later else 0), (name, said)
        assert damage_of(tree) == ([path] if later else [])
        if not later:
            kept = json.loads((tmp_path / "backup.json").read_text())["nodes"]
            assert base64.b64decode(kept[path]["base64"]) == bad
        assert repair(tree).code == (4 if later else 0)


def test_an_entry_of_the_history_is_removed(repair: Repair) -> None:
    path = znodes.finished_run(3)
    tree = OurTree.plant({**OURS, path: b"{"})
    assert repair(tree).code == 2
    assert repair(tree, "--yes").code == 0
    assert tree.read(path) is None


def test_the_audit_trail_has_what_was_written(repair: Repair, tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, znodes.EPOCH: b"", znodes.STOPPED: b"?"})
    trail = tmp_path / "audit.jsonl"
    assert repair(tree, "--yes", "--audit-log", str(trail)).code == 0
    begun, *lines = (json.loads(line) for line in trail.read_text().splitlines())
    assert begun["action"] == "CommandBegun"
    written = [[(node["do"], node["path"]) for node in line["nodes"]] for line in lines]
    took_over, (epoch, holding, mended) = written
    assert took_over == [("Set", znodes.EPOCH)]
    assert epoch == ("Check", znodes.EPOCH)
    assert holding[0] == "Check"
    assert holding[1].startswith(f"{znodes.HOLDER}-")
    assert mended == ("Delete", znodes.STOPPED)


def test_a_chunk_of_the_pending_plan_is_mended(repair: Repair) -> None:
    tree = OurTree.plant({**OURS, znodes.plan_chunk(0, znodes.ASKED): b"x"})
    assert repair(tree).code == 0  # it counts as absent, as one that is being written
    later = runs.encode_plan(our_tree.PLAN)[0][:-3]
    body = {"version": 1, "plan": "p", "digest": runs.digest_of([later]), "chunks": 1}
    tree.put(znodes.ASKED, json.dumps(body).encode())
    tree.put(znodes.plan_chunk(0, znodes.ASKED), later)
    assert repair(tree).code == 2
    assert repair(tree, "--yes").code == 0
    assert tree.read(znodes.ASKED) is None


def test_a_gone_epoch_and_a_holder_of_nobody_are_mended(repair: Repair) -> None:
    tree = OurTree.plant({**OURS, znodes.HOLDER: HOLDER})
    tree.delete(znodes.EPOCH)
    assert repair(tree).code == 2
    assert repair(tree, "--yes").code == 0
    assert damage_of(tree) == []
    assert tree.read(znodes.HOLDER) is None


def test_a_live_holder_is_not_repaired_away(repair: Repair) -> None:
    tree = OurTree.plant({**OURS, znodes.RECORD_OF_BALANCE: b"{"}, holder=b"{")
    shown = repair(tree)
    assert shown.code == 2
    assert "stop that process" in shown.out
    said = repair(tree, "--yes")
    assert said.code == 1
    assert znodes.HOLDER in said.err
    assert tree.read(znodes.RECORD_OF_BALANCE) == b"{"


def test_a_run_node_is_written_again_from_its_plan(repair: Repair, tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN, RUN: b"{"})
    assert repair(tree, "--yes").code == 0
    run = journal.read_run(tree.session())
    assert run is not None
    assert (run.phase, run.plan, run.step) == (Phase.RESTORING, our_tree.PLAN.hash, ())
    folder = our_tree.write_manifests(tmp_path)
    assert tree.command("apply", "--yes", "-f", str(folder)) == 0
    assert tree.read(RUN) is None


def test_a_run_node_that_is_written_again_finishes_what_is_in_flight_and_restores_throttles(
    repair: Repair,
) -> None:
    moves = (Move("t", None, 0, ((3, 2), (1, 2)), 1, "moved"),)
    plan = Plan("main", plan_json.plan_hash(moves, ()), f"sha256:{'f' * 64}", moves=moves)
    leader, follower = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
    saved = Saved({"t": {}}, {1: {leader: None, follower: None}})
    chunks = runs.encode_document(RunDocument(plan, saved, Health()))
    tree = OurTree.plant(
        {
            **OURS,
            RUN: b"{",
            CHUNK: chunks[0],
            "/brokers/topics/t": json.dumps(
                {
                    "version": 2,
                    "partitions": {"0": [1, 2, 3], "1": [2, 3]},
                    "adding_replicas": {"0": [1]},
                    "removing_replicas": {"0": [3]},
                }
            ).encode(),
            "/config/brokers/1": json.dumps(
                {"version": 1, "config": {leader: "777", follower: "777"}}
            ).encode(),
        }
    )
    assert repair(tree, "--yes").code == 0
    run = journal.read_run(tree.session())
    assert run is not None
    assert (run.phase, run.step, run.rates) == (Phase.MOVING, ((0, 1),), (777,))


def test_a_run_without_its_plan_is_removed(repair: Repair) -> None:
    run = Run("p", "f", "c", Phase.MOVING, "0" * 64, 2, 1)
    tree = OurTree.plant({**OURS, RUN: runs.encode_run(run), CHUNK: b"x"})
    assert repair(tree, "--yes").code == 0
    assert tree.read(RUN) is None


# Throttles


def configs(tree: OurTree) -> list[dict[str, str]]:
    """Return the configs of topic t and broker 1."""
    found = [tree.read(path) for path in ("/config/topics/t", "/config/brokers/1")]
    return [json.loads(data or b"{}")["config"] for data in found]


AS_BEFORE = [our_tree.KEPT, {our_tree.LEADER_RATE: "9", "log.cleaner.threads": "2"}]
SET = [
    {**our_tree.KEPT, our_tree.LEADER_LIST: "0:1"},
    {our_tree.LEADER_RATE: "777", "log.cleaner.threads": "2"},
]


def findings_of(said: Said, key: str = "findings") -> dict[str, dict[str, str]]:
    return {each["path"]: each for each in json.loads(said.out)[key]}


def test_throttles_that_a_run_left_are_restored(repair: Repair, tmp_path: Path) -> None:
    tree = OurTree.plant({**OURS, **our_tree.IN_FORCE})
    assert configs(tree) == SET
    shown = repair(tree, "--output", "json")
    assert shown.code == 2
    assert list(findings_of(shown).values()) == [
        {
            "path": OF_TOPIC,
            "found": "a run that is gone left throttles on topic t:"
            " leader.replication.throttled.replicas=0:1",
            "remedy": "Restore",
            "effect": "what was before is restored: leader.replication.throttled.replicas unset",
        },
        {
            "path": OF_BROKER,
            "found": "a run that is gone left throttles on broker 1:"
            " leader.replication.throttled.rate=777",
            "remedy": "Restore",
            "effect": "what was before is restored: leader.replication.throttled.rate=9",
        },
    ]
    assert configs(tree) == SET
    # What was before on the broker is somebody else's, and stays.
    said = repair(tree, "--yes", "--output", "json")
    assert said.code == 4
    assert json.loads(said.out)["mended"] == [OF_TOPIC, OF_BROKER]
    assert findings_of(said, "left").keys() == {"/config/brokers/1"}
    assert configs(tree) == AS_BEFORE
    assert not tree.client.children("/poolkeeper/records/throttles")
    kept = json.loads((tmp_path / "backup.json").read_text())["nodes"]
    assert {path: base64.b64decode(node["base64"]) for path, node in kept.items()} == (
        our_tree.IN_FORCE
    )
    told = [
        tree.read(f"/config/changes/{name}") for name in tree.client.children("/config/changes")
    ]
    assert [json.loads(data or b"")["entity_path"] for data in told] == ["topics/t", "brokers/1"]


def test_records_of_throttles_that_are_gone_are_removed(repair: Repair) -> None:
    tree = OurTree.plant({**OURS, **THROTTLES})
    assert repair(tree).code == 2
    assert repair(tree, "--yes").code == 0
    assert not tree.client.children("/poolkeeper/records/throttles")
    assert not tree.client.children("/config/changes")


@pytest.mark.parametrize(
    "records",
    [
        pytest.param({}, id="no-records"),
        pytest.param(dict.fromkeys(THROTTLES, b"{"), id="damaged-records"),
    ],
)
def test_throttles_that_nobody_accounts_for_are_unset_on_request_alone(
    repair: Repair, tmp_path: Path, records: Mapping[str, bytes]
) -> None:
    nodes = {path: data for path, data in our_tree.IN_FORCE.items() if path not in THROTTLES}
    tree = OurTree.plant({**OURS, **nodes, **records})
    shown = repair(tree)
    assert shown.code == (2 if records else 4)
    assert "left   somebody else may have set them and need them" in shown.out
    assert f"{our_tree.LEADER_RATE}=777" in shown.out
    said = repair(tree, "--yes", "--output", "json")
    assert said.code == 4
    assert findings_of(said, "left" if records else "findings").keys() == nodes.keys()
    assert json.loads(said.out).get("mended", []) == sorted(records)
    assert configs(tree) == SET
    assert repair(tree, FLAG).code == 2
    assert configs(tree) == SET
    assert repair(tree, FLAG, "--yes").code == 0
    assert configs(tree) == [our_tree.KEPT, {"log.cleaner.threads": "2"}]
    kept = json.loads((tmp_path / "backup.json").read_text())["nodes"]
    assert {path: base64.b64decode(node["base64"]) for path, node in kept.items()} == nodes


@pytest.mark.parametrize("harm", ["none", "run-node", "later-run"])
def test_no_throttle_is_touched_while_a_run_is_recorded(repair: Repair, harm: str) -> None:
    poisoned = {
        "none": {},
        "run-node": {RUN: b"{"},
        "later-run": {RUN: b'{"version":2}'},
    }[harm]
    tree = OurTree.plant({**OURS, **OF_RUN, **our_tree.IN_FORCE, **poisoned})
    repair(tree, FLAG, "--yes")
    assert tree.client.exists(RUN) is not None
    assert configs(tree) == SET
    assert {path: tree.read(path) for path in THROTTLES} == THROTTLES
    tree.put(OF_TOPIC, b"{")
    assert (
        findings_of(repair(tree, FLAG, "--yes", "--output", "json"))[OF_TOPIC]["remedy"] == "None"
    )
    assert tree.read(OF_TOPIC) == b"{"


def test_a_run_that_is_lost_is_removed_and_then_its_throttles_are_restored(
    repair: Repair,
) -> None:
    tree = OurTree.plant({**OURS, **OF_RUN, **our_tree.IN_FORCE, CHUNK: b"x"})
    said = repair(tree, "--yes", "--output", "json")
    assert json.loads(said.out)["mended"] == [RUN, OF_TOPIC, OF_BROKER]
    assert configs(tree) == AS_BEFORE
    assert tree.read(RUN) is None


def test_throttles_wait_for_a_config_that_cannot_be_read(repair: Repair) -> None:
    tree = OurTree.plant({**OURS, **our_tree.IN_FORCE, "/config/topics/t": b"{"})
    said = repair(tree, "--yes", "--output", "json")
    assert said.code == 4
    assert findings_of(said, "left")[OF_TOPIC]["remedy"] == "None"
    assert tree.read(OF_TOPIC) == THROTTLES[OF_TOPIC]
    assert configs_of_broker(tree) == AS_BEFORE[1]


def configs_of_broker(tree: OurTree) -> dict[str, str]:
    config: dict[str, str] = json.loads(tree.read("/config/brokers/1") or b"{}")["config"]
    return config


@pytest.mark.parametrize("changed", [OF_BROKER, RUN])
def test_what_changed_since_it_was_shown_is_left(changed: str) -> None:
    tree = OurTree.plant({**OURS, **our_tree.IN_FORCE})
    session = tree.session()
    reading = observe.cluster(session, "main")
    found = {each.path: each for each in mend.find(Examined(session, reading, None, 0))}
    tree.put(changed, {**THROTTLES, **OF_RUN}[changed])
    with journal.hold(session, "repair", 0, patience_s=1) as held:
        assert not mend.carry_out(held, found[OF_BROKER])
    assert configs(tree) == SET
