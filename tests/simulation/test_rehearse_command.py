"""The command: the page that explains it, bad input, exit codes, pages, and what it writes."""

import json
import re
from pathlib import Path

import pytest

from poolkeeper.cli import main
from poolkeeper.cli.output import ink
from poolkeeper.cli.output.ink import Ink
from poolkeeper.model import snapshots
from rehearsed import seven

PAGE = Path(__file__).parents[2] / "docs" / "rehearse.md"
CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec:
  zookeeper: {connect: "zk:2181"}
  unmanagedTopics: Manage
  defaultPool: all
  execution:
    throttle: {mode: Fixed, rate: 50Mi}
"""
POOL = """\
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: all}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2, 3, 4, 5, 6, 7]}
"""
EXAMPLES = re.findall(r"```console\n\$ poolkeeper ([^\n]*)\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "main.yaml").write_text(CLUSTER + POOL)
    faster = CLUSTER.replace("rate: 50Mi", "rate: 100Mi").replace(
        "execution:\n", "execution:\n    maxMoves: 4\n"
    )
    (tmp_path / "faster.yaml").write_text(faster)
    snapshots.write(tmp_path / "cluster.json", seven(1e6))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *words):
    code = main.main(["rehearse", "-f", "manifests", "--snapshot", "cluster.json", *words])
    return code, capsys.readouterr()


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=["a-fault", "against", "suggest"])
@pytest.mark.usefixtures("folder")
def test_the_page_says_what_commands_print(capsys, command, output):
    assert main.main(command.split()) == 0
    assert capsys.readouterr().out == output


@pytest.mark.usefixtures("folder")
def test_json_is_one_document_with_the_keys_of_the_page(capsys):
    code, said = run(capsys, "--fail", "controller@50%", "--output", "json")
    assert code == 0
    body = json.loads(said.out)
    told = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.M)))
    )
    assert body["version"] == 1
    assert body.keys() - {"version"} <= told
    assert body["faults"][0]["fault"] == "controller@50%"
    assert body["seconds"] == pytest.approx(body["withoutFaults"]["seconds"], abs=5)


@pytest.mark.parametrize(
    "words", [(), ("--suggest", "--max-network", "90%")], ids=["plain", "suggest"]
)
def test_where_sizes_are_unknown_times_are_told_to_be_guesses(capsys, folder, words):
    """As in a snapshot of ZooKeeper alone: a rehearsal of terabytes took seconds."""
    snapshot = json.loads((folder / "cluster.json").read_text())
    for topic in snapshot["topics"]:
        for partition in topic["partitions"]:
            del partition["bytes"]
    (folder / "cluster.json").write_text(json.dumps(snapshot))
    _, said = run(capsys, *words)
    assert "warning: The sizes of " in said.err
    assert "so bytes and times are guesses" in said.err


def test_the_page_loads_nothing_and_has_a_lane_for_each_broker(capsys, folder):
    code, _ = run(capsys, "--out", "page.html")
    page = (folder / "page.html").read_text()
    assert code == 0
    assert "http" not in page.replace("http-equiv", "")
    assert all(f">broker {broker}<" in page for broker in range(1, 8))
    assert 'type="range"' in page


def test_the_page_shows_when_a_fault_begins(capsys, folder):
    code, _ = run(capsys, "--fail", "broker=7@40%,for=10m", "--out", "page.html")
    page = (folder / "page.html").read_text()
    assert code == 0
    (begins,) = set(re.findall("<title>broker=7@40%,for=10m, at ([^<]+)</title>", page))
    (moment,) = re.findall("<li>([^<]+); broker=7@40%,for=10m begins; ", page)
    assert (begins, moment) == ("3 min 6 s", "3 min: stage 1")
    assert '</ol></div><div class="scroll"><svg' in page, "the slider does not scroll away"


@pytest.mark.usefixtures("folder")
def test_a_run_that_never_ends_is_exit_code_4(capsys):
    code, said = run(capsys, "--fail", "broker=7@40%,for=ever")
    assert code == 4
    assert "start broker 7, or drain what is gone for good" in said.out


@pytest.fixture
def empty_plan(folder):
    manifest = CLUSTER.replace("  unmanagedTopics: Manage\n", "") + POOL
    (folder / "manifests" / "main.yaml").write_text(manifest)


@pytest.mark.usefixtures("empty_plan")
def test_an_empty_plan_says_so_and_ends_well(capsys):
    code, said = run(capsys)
    assert (code, said.out) == (0, "nothing to rehearse: the plan for main is empty\n")


def declare_three(folder, states, live=(1, 2, 3), **config):
    """Three brokers and a topic; `states`: replicas, ISR and leader of each partition."""
    names = ("replicas", "isr", "leader")
    partitions = [
        {"partition": n, **dict(zip(names, state, strict=True))} for n, state in enumerate(states)
    ]
    topics = [{"name": "t", "config": config, "partitions": partitions}]
    brokers = [{"id": id_} for id_ in live]
    seen = {"version": 1, "cluster": {"name": "main"}, "brokers": brokers, "topics": topics}
    (folder / "cluster.json").write_text(json.dumps(seen), encoding="utf-8")
    pool = POOL.replace(", 4, 5, 6, 7", "")
    (folder / "manifests" / "main.yaml").write_text(CLUSTER + pool)


@pytest.fixture
def leaderless(folder):
    """A cluster as declared, but for a leader that its controller elects before anybody asks."""
    ring = [(n % 3 + 1, (n + 1) % 3 + 1) for n in range(3)]
    declare_three(folder, [(ids, ids, ids[0] if n else -1) for n, ids in enumerate(ring)])


@pytest.mark.usefixtures("leaderless")
def test_a_plan_that_the_controller_does_by_itself_is_not_called_empty(capsys):
    planned = main.main(["plan", "-f", "manifests", "--snapshot", "cluster.json"])
    assert (planned, "1 leader to elect" in capsys.readouterr().out) == (2, True)
    code, said = run(capsys)
    told = "nothing to rehearse: the controller of the copy does all of the plan for main by itself"
    assert (code, told in said.out) == (0, True)
    code, said = run(capsys, "--output", "json")
    assert (code, told in said.err, json.loads(said.out)["stages"]) == (0, True, 0)


@pytest.mark.parametrize(
    ("state", "least"),
    [
        pytest.param(((3, 1), (3,), -1), "1", id="it-is-offline"),
        pytest.param(((1, 3), (1, 3), 1), "2", id="a-dead-broker-is-still-in-its-isr"),
    ],
)
def test_what_was_wrong_before_is_not_the_plans_doing(capsys, folder, state, least):
    """The plan elects the leader of another partition."""
    states = [((2, 1), (1, 2), 1), state]
    declare_three(folder, states, live=(1, 2), **{"min.insync.replicas": least})
    code, said = run(capsys, "--output", "json")
    found = json.loads(said.out)
    assert (code, found["end"], found["ownBelowMinIsr"]) == (0, "Finished", 0)
    causes = {(each["partition"], each["cause"]) for each in found["belowMinIsrPartitions"]}
    assert causes == {(1, "Before")}


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.usefixtures("folder")
def test_no_line_is_longer_than_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setattr(ink, "of_output", lambda: Ink(columns))
    code, said = run(capsys, "--fail", "broker=2@10%,for=1m")
    lines = said.out.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= columns
    assert any(re.match(" {13}[^ ]", line) for line in lines), "under the fact of a fault"


@pytest.mark.usefixtures("empty_plan")
def test_no_fault_is_too_late_for_an_empty_plan(capsys):
    code, said = run(capsys, "--fail", "broker=7@10m", "--fail", "controller@40%")
    assert (code, said.err) == (0, "")
    code, said = run(capsys, "--fail", "broker=9@10m")
    assert (code, "there is no broker '9'" in said.err) == (1, True)


@pytest.mark.usefixtures("empty_plan")
def test_an_empty_plan_has_a_page_that_takes_the_place_of_the_one_before(capsys, folder):
    (folder / "page.html").write_text("of the plan before")
    assert run(capsys, "--out", "page.html")[0] == 0
    code, said = run(capsys, "--output", "html")
    assert code == 0
    assert said.out == (folder / "page.html").read_text()
    assert "0 moves" in said.out


@pytest.mark.usefixtures("empty_plan")
def test_an_empty_plan_needs_no_limits(capsys):
    code, said = run(capsys, "--suggest")
    assert (code, said.err) == (0, "warning: nothing to rehearse: the plan is empty\n")


@pytest.mark.usefixtures("folder")
def test_limits_that_are_not_found_are_a_document_as_well(capsys):
    code, said = run(capsys, "--suggest", "--max-network", "1%", "--output", "json")
    body = json.loads(said.out)
    assert (code, body["version"], body["execution"]) == (4, 1, None)
    assert body["reason"] in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(
            ["--fail", "broker=9@40%", "--fail", "rack=z@9h"],
            [
                "--fail broker=9@40%: there is no broker '9' (live: 1, 2, 3, 4, 5 and 2 more)",
                "--fail rack=z@9h: there is no rack 'z' (there are: a, b, c)",
            ],
            id="two-wrong-faults",
        ),
        pytest.param(
            ["--storm", "3", "--fail", "controller@1%", "--max-network", "50%", "--out", "x.txt"],
            [
                "--max-network: goes with --suggest",
                "--out: x.txt (expected a file whose name ends in .html)",
                "--storm: draws its own faults: leave --fail out",
            ],
            id="options-that-contradict",
        ),
        pytest.param(
            ["--suggest", "--fail", "controller@1%", "--out", "x.html"],
            [
                "--suggest: has no page: leave --out and --output html out",
                "--suggest: searches without faults: leave --fail out",
            ],
            id="a-search-has-no-page-and-no-faults",
        ),
        pytest.param(
            ["--against", "faster.yaml", "--output", "html"],
            ["--against: has no page: leave --out and --output html out"],
            id="a-comparison-has-no-page",
        ),
        pytest.param(["--seed", "3"], ["--seed: goes with --storm"], id="a-seed-of-nothing"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_all_that_is_wrong_is_told_at_once(capsys, words, told):
    code, said = run(capsys, *words)
    assert (code, said.err.splitlines(), said.out) == (1, told, "")


@pytest.mark.usefixtures("folder")
def test_a_seed_replays_one_run_of_a_storm_exactly(capsys):
    snapshots.write("cluster.json", seven(1e6, partitions=3))
    words = ["--output", "json", "--storm"]
    storm = json.loads(run(capsys, *words, "2", "--seed", "5")[1].out)["storm"]
    replayed = {seed: run(capsys, *words, "1", "--seed", seed)[1].out for seed in ("5", "6")}
    runs = [json.loads(each)["storm"]["runs"][0] for each in replayed.values()]
    assert runs == sorted(storm["runs"], key=lambda each: each["seed"])


def test_a_snapshot_that_cannot_be_read_is_refused(capsys, folder):
    (folder / "cluster.json").write_text("{")
    code, said = run(capsys)
    assert code == 1
    assert "cluster.json" in said.err


@pytest.mark.usefixtures("folder")
def test_a_plan_is_rehearsed_beside_itself(capsys):
    snapshots.write("cluster.json", seven(1e6, partitions=6))  # seven rehearsals
    words = ["plan", "-f", "manifests", "--snapshot", "cluster.json", "--rehearse"]
    assert main.main([*words, "--output", "json"]) == 2
    body = json.loads(capsys.readouterr().out)["rehearsal"]
    assert (body["end"], body["ownBelowMinIsr"]) == ("Finished", 0)
    assert body["worstSingleFault"]["faults"][0]["fault"] == "disk=7:/d1@50%"
