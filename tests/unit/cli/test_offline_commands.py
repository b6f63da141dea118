"""Whole outputs of the commands that connect to nothing."""

import json
import os
import re
import stat
import subprocess
import sys

import pytest

from poolkeeper.cli import main
from poolkeeper.resources.write.names import resource_name

CLUSTER = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: main}
spec:
  zookeeper: {connect: "127.0.0.1:1/kafka"}
  kafkaVersion: "2.8"
"""
POOLS = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: fast}
spec:
  clusterRef: {name: main}
  brokers: {ids: [1, 2]}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: slow}
spec:
  clusterRef: {name: main}
  brokers: {ids: [3, 4]}
"""
TOPIC = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: t, namespace: shop}
spec:
  poolRef: {name: slow}
  partitions: 1
  replicationFactor: 2
"""
SNAPSHOT = {
    "version": 1,
    "cluster": {"name": "main", "id": "abc", "kafkaVersion": "2.8", "controller": 1},
    "brokers": [{"id": n, "rack": None} for n in (1, 2, 3, 4)],
    "topics": [
        {
            "name": "t",
            "config": {"retention.ms": "1000"},
            "partitions": [
                {
                    "partition": 0,
                    "replicas": [1, 2],
                    "leader": 1,
                    "isr": [1, 2],
                    "bytes": 1048576,
                }
            ],
        }
    ],
}


@pytest.fixture
def manifests(tmp_path):
    folder = tmp_path / "manifests"
    folder.mkdir()
    for name, text in (("cluster", CLUSTER), ("pools", POOLS), ("topics", TOPIC)):
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.fixture
def snapshot(tmp_path):
    for broker in SNAPSHOT["brokers"]:
        broker.pop("rack", None)
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(SNAPSHOT))
    return file


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main.main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_validate_counts_what_it_found(run, manifests):
    assert run("validate", "-f", manifests) == (
        0,
        "valid: 1 KafkaCluster, 2 ResourcePools, 1 Topic\n",
        "",
    )


def test_validate_as_data(run, manifests):
    (manifests / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    code, out, err = run("validate", "-f", manifests, "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "errors": [],
        "documents": {"KafkaCluster": 1, "ResourcePool": 2, "Topic": 1, "Rebalance": 0},
        "ignored": 1,
    }


def test_validate_names_all_problems_with_file_line_and_field(run, manifests):
    file = manifests / "topics.yaml"
    file.write_text(TOPIC.replace("slow", "nowhere").replace("partitions: 1", "partitions: many"))
    code, out, err = run("validate", "-f", manifests, "--output", "json")
    found = json.loads(out)["errors"]
    assert code == 1
    assert [(e["file"], e["line"], e["field"]) for e in found] == [
        (str(file), 5, "spec.poolRef.name"),
        (str(file), 6, "spec.partitions"),
    ]
    assert err.splitlines() == [
        f"{e['file']}:{e['line']}: {e['field']}: {e['message']}" for e in found
    ]


@pytest.mark.parametrize("command", ["validate", "plan", "apply"])
def test_manifests_are_required(run, command):
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert err == (
        f"poolkeeper {command}: Missing option '-f' / '--filename'. "
        f"(see poolkeeper {command} --help)\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "no manifests to follow: give -f DIR, or --kubernetes", id="nothing"),
        pytest.param(
            ["--kubernetes", "-f", "x"],
            "--kubernetes takes manifests from the API server alone",
            id="both",
        ),
        pytest.param(
            ["-f", "x", "--watch-namespace", "shop"],
            "--watch-namespace goes with --kubernetes",
            id="options of the operator with a folder",
        ),
    ],
)
def test_run_follows_a_folder_or_the_api_server(run, words, message):
    expected = f"poolkeeper run: {message} (see poolkeeper run --help)\n"
    assert run("run", *words) == (1, "", expected)


@pytest.mark.parametrize("command", ["status", "stop", "snapshot --out x.json", "import --out x"])
def test_a_cluster_is_required(run, command):
    name = command.partition(" ")[0]
    assert run(*command.split()) == (
        1,
        "",
        f"poolkeeper {name}: no cluster is given: -f DIR [--cluster NAME], or --zookeeper "
        f"(see poolkeeper {name} --help)\n",
    )


@pytest.mark.parametrize("command", ["plan", "status", "stop", "apply"])
def test_a_zookeeper_that_is_absent_is_exit_code_3(run, manifests, command):
    code, out, err = run(command, "-f", manifests, "--timeout", "0.1")
    assert (code, out) == (3, "")
    assert len(err.splitlines()) == 1
    assert "127.0.0.1:1" in err


def test_a_plan_for_a_snapshot_moves_the_topic_into_its_pool(run, manifests, snapshot):
    code, out, err = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    assert (code, err) == (2, "")
    [move] = json.loads(out)["moves"]
    assert (move["topic"], move["from"], sorted(move["to"])) == ("t", [1, 2], [3, 4])
    assert move["bytes"] == 2 * 1048576


def test_a_plan_for_kafkas_own_tool(run, manifests, snapshot):
    code, out, _ = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "reassign-json")
    [line] = out.splitlines()
    [entry] = json.loads(line)["partitions"]
    assert code == 2
    assert (entry["topic"], entry["partition"], sorted(entry["replicas"])) == ("t", 0, [3, 4])


def test_a_plan_is_written_as_it_is_shown(run, manifests, snapshot, tmp_path):
    file = tmp_path / "plan.json"
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--out", file)
    _, shown, _ = run(*words, "--output", "json")
    assert json.loads(file.read_text()) == json.loads(shown)
    _, text, _ = run(*words)
    assert json.loads(shown)["hash"] in text


def test_nothing_to_change_is_exit_code_0(run, manifests, snapshot):
    (manifests / "topics.yaml").unlink()
    code, out, _ = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    assert (code, json.loads(out)["moves"], json.loads(out)["steps"]) == (0, [], [])


def test_where_it_is_asked_for_a_topic_is_taken_over_once_its_hash_is_approved(
    run, manifests, snapshot
):
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    asked = CLUSTER + "  adoption: {policy: Approve}\n"
    (manifests / "cluster.yaml").write_text(asked)
    code, out, _ = run(*words)
    plan = json.loads(out)
    assert (code, plan["moves"], plan["asDeclared"]) == (4, [], False)
    [problem] = [each for each in plan["problems"] if each["reason"] == "AdoptionRequired"]
    [hash_] = re.findall(r"sha256:[0-9a-f]{64}", problem["message"])
    assert "namespace shop asks to take over what exists: t;" in problem["message"]
    assert hash_ in run(*words[:-2])[1]
    approval = f'  approval: {{plans: ["{hash_}"]}}\n'
    (manifests / "cluster.yaml").write_text(asked + approval)
    code, out, _ = run(*words)
    assert (code, [move["topic"] for move in json.loads(out)["moves"]]) == (2, ["t"])
    assert hash_ not in out


def test_a_topic_of_another_namespace_s_name_is_told(run, manifests, snapshot):
    (manifests / "cluster.yaml").write_text(CLUSTER + '  topicNames: {prefix: "{namespace}."}\n')
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    code, out, _ = run(*words)
    assert (code, json.loads(out)["moves"]) == (4, [])
    assert [(p["reason"], p["topic"]) for p in json.loads(out)["problems"]] == [
        ("NameNotAllowed", "t")
    ]


def test_a_broker_may_be_supposed_gone_and_another_there(run, manifests, snapshot):
    pools = manifests / "pools.yaml"
    pools.write_text(pools.read_text().replace("[3, 4]", "[3, 4, 5]"))
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    code, out, _ = run(*words, "--without", 3, "--with-broker", "5:a")
    [move] = json.loads(out)["moves"]
    assert (code, sorted(move["to"])) == (2, [4, 5])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["--with-broker", "4:a"],
            "--with-broker 4: this broker is live already",
            id="it-is-there",
        ),
        pytest.param(
            ["--with-broker", "5:a", "--without", "5"],
            "--with-broker and --without both name broker 5",
            id="both",
        ),
        pytest.param(
            ["--without", "77"],
            "--without 77: there is no such broker (live: 1, 2, 3, 4)",
            id="it-is-not-there",
        ),
        pytest.param(
            ["--with-broker", "x:a"],
            "poolkeeper plan: Invalid value for --with-broker: 'x:a' (expected ID:RACK) "
            "(see poolkeeper plan --help)",
            id="no-id",
        ),
        *(
            pytest.param(
                ["--with-broker", "5:a", "--with-broker", word],
                f"poolkeeper plan: Invalid value for --with-broker: {said}"
                " (see poolkeeper plan --help)",
                id=word,
            )
            for word, said in (
                ("99999999999999999999:a", "'99999999999999999999:a' (expected ID:RACK)"),
                ("2147483648:a", "'2147483648:a' (expected ID:RACK)"),
                ("\uff19:a", "'\uff19:a' (expected ID:RACK)"),
                ("9:", "'9:' (expected ID:RACK)"),
                ("05:b", "broker 5 is given twice (expected once)"),
            )
        ),
    ],
)
def test_suppositions_that_make_no_sense(run, manifests, snapshot, words, message):
    code, out, err = run("plan", "-f", manifests, "--snapshot", snapshot, *words)
    assert (code, out, err) == (1, "", message + "\n")


def test_a_supposed_broker_on_which_nothing_is_placed_is_told(run, manifests, snapshot):
    pools = manifests / "pools.yaml"
    pools.write_text(pools.read_text().replace("[3, 4]}", "[3, 4, 5, 6]}\n  drain: [6]"))
    words = ("plan", "-f", manifests, "--snapshot", snapshot)
    added = ("--with-broker", 5, "--with-broker", 6, "--with-broker", "9:a")
    code, _, err = run(*words, *added)
    assert (code, err) == (
        2,
        "warning: --with-broker 6: pool slow drains this broker, so nothing is placed on it\n"
        "warning: --with-broker 9: no pool has this broker, so nothing is placed on it\n",
    )


def test_a_snapshot_of_another_cluster_is_refused(run, manifests, snapshot):
    file = manifests / "cluster.yaml"
    file.write_text(CLUSTER + "  clusterId: other\n")
    assert run("plan", "-f", manifests, "--snapshot", snapshot) == (
        1,
        "",
        f"{snapshot} is of another cluster: its id is abc, not other\n",
    )


def test_a_plan_tells_what_is_written_to_leaders_where_rates_are_known(run, manifests, tmp_path):
    rated = json.loads(json.dumps(SNAPSHOT))
    rated["topics"][0]["partitions"][0]["bytesInPerSecond"] = 2048.0
    snapshot = tmp_path / "rated.json"
    snapshot.write_text(json.dumps(rated))
    _, out, _ = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    loads = {each.pop("broker"): each for each in json.loads(out)["leaderLoads"]}
    assert loads.pop(1) == {"bytesInPerSecond": 2048.0, "bytesInPerSecondThen": 0.0}
    assert [tuple(each.values()) for each in loads.values()] == [(0.0, 2048.0)]
    _, page, _ = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "html")
    assert "Written to what each broker leads" in page
    assert "2 KiB/s" in page


def test_import_of_a_snapshot_writes_manifests_that_change_nothing(run, snapshot, tmp_path):
    out = tmp_path / "imported"
    files = [str(out / name) for name in ("cluster.yaml", "pools.yaml", "topics.yaml")]
    code, shown, err = run("import", "--snapshot", snapshot, "--out", out, "--output", "json")
    said = {"files": files, "rackPolicy": "Spread", "moves": 0, "movesIfSpread": 0}
    assert (code, json.loads(shown), err) == (0, said, "")
    assert run("validate", "-f", out)[0] == 0
    assert run("plan", "-f", out, "--snapshot", snapshot)[0] == 0


def test_import_says_what_is_left_to_elect(run, tmp_path):
    led_by_another = json.loads(json.dumps(SNAPSHOT))
    led_by_another["topics"][0]["partitions"][0]["leader"] = 2
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(json.dumps(led_by_another))
    out = tmp_path / "imported"
    told = "1 preferred replica to elect as leader, with `apply`: in sync, and not leading\n"
    expected = (0, f"wrote 3 files to {out}\n{told}", "")
    assert run("import", "--snapshot", snapshot, "--out", out) == expected
    assert run("plan", "-f", out, "--snapshot", snapshot)[0] == 2


def test_import_keeps_still_what_racks_would_move(run, tmp_path):
    brokers = [{"id": n, "rack": rack} for n, rack in enumerate("aaabbbccc", 1)]
    partitions = [
        {"partition": n, "replicas": ids, "leader": ids[0], "isr": ids, "bytes": 1024**2}
        for n, ids in enumerate([[1, 2, 3], [4, 5, 6], [1, 4, 7]])
    ]
    snapshot, out = tmp_path / "snapshot.json", tmp_path / "imported"
    topics = [{"name": "t", "partitions": partitions}]
    document = {"version": 1, "cluster": {"name": "c"}, "brokers": brokers, "topics": topics}
    snapshot.write_text(
        json.dumps({**document, "topics": [{"name": "t", "partitions": partitions}]})
    )
    assert run("import", "--snapshot", snapshot, "--out", out) == (
        0,
        f"wrote 3 files to {out}\n"
        "pools.yaml has rackPolicy: AsFound, which keeps replicas where they are: Spread would move"
        " 4 replicas of 2 partitions (4 MiB): 3 replicas are not spread evenly over racks\n",
        "",
    )
    assert "  rackPolicy: AsFound\n" in (out / "pools.yaml").read_text()
    code, shown, _ = run("plan", "-f", out, "--snapshot", snapshot)
    assert code == 0
    assert "2 partitions are not spread evenly over racks, and stay so" in shown


def test_import_overwrites_nothing(run, snapshot, tmp_path):
    (tmp_path / "pools.yaml").write_text("mine")
    code, out, err = run("import", "--snapshot", snapshot, "--out", tmp_path)
    assert (code, out, err) == (1, "", f"{tmp_path / 'pools.yaml'}: exists already\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pools.yaml", "snapshot.json"]


def test_import_takes_a_snapshot_or_a_cluster(run, snapshot, tmp_path):
    code, _, err = run("import", "main", "--snapshot", snapshot, "--out", tmp_path / "x")
    assert code == 1
    assert "--snapshot replaces the live cluster" in err


def test_a_new_topic(run):
    assert run("new", "topic", "orders", "--pool", "fast", "--replica-assignment", "1:2,2:1") == (
        0,
        "apiVersion: poolkeeper.dev/v1alpha1\n"
        "kind: Topic\n"
        "metadata:\n"
        "  name: orders\n"
        "  namespace: default\n"
        "spec:\n"
        "  poolRef:\n"
        "    name: fast\n"
        "  placement:\n"
        "    strategy: Manual\n"
        "    assignment:\n"
        "    - [1, 2]\n"
        "    - [2, 1]\n",
        "",
    )


def test_a_new_topic_as_data(run):
    words = ("new", "topic", "orders", "--pool", "fast", "--partitions", 3, "--output", "json")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "apiVersion": "poolkeeper.dev/v1alpha1",
        "kind": "Topic",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {"poolRef": {"name": "fast"}, "partitions": 3},
    }


def test_a_wrong_assignment_is_refused(run):
    code, out, err = run("new", "topic", "t", "--pool", "fast", "--replica-assignment", "1:1,x")
    assert (code, out) == (1, "")
    assert err.startswith("--replica-assignment: partition 1: 'x' is no broker id")


@pytest.mark.parametrize(
    "words", [("apply", "--plan", "p.json", "--prune"), ("show",), ("show", "a", "b", "c")]
)
def test_words_that_contradict_each_other(run, manifests, words):
    code, out, err = run(*words, "-f", manifests)
    assert (code, out, len(err.splitlines())) == (1, "", 1)


def test_a_paused_cluster_is_not_applied_to(run, manifests):
    (manifests / "cluster.yaml").write_text(CLUSTER + "  mode: Paused\n")
    assert run("apply", "-f", manifests) == (1, "", "KafkaCluster main: spec.mode is Paused\n")


def test_a_file_that_cannot_be_written_is_named(run, manifests, snapshot, tmp_path):
    locked = tmp_path / "locked"
    locked.write_text("a file, not a folder")
    out = locked / "plan.json"
    code, _, err = run("plan", "-f", manifests, "--snapshot", snapshot, "--out", out)
    assert (code, err) == (1, f"{out}: cannot be written (Not a directory)\n")
    assert stat.S_ISREG(locked.stat().st_mode)


@pytest.mark.parametrize(
    "command",
    [("plan",), ("rehearse",), ("whatif", "keys", "--partitions", "2", "--topic", "t")],
    ids=" ".join,
)
def test_a_snapshot_of_a_cluster_of_another_name_is_told(manifests, snapshot, command, capsys):
    words = [*command, "-f", str(manifests), "--snapshot", str(snapshot)]
    main.main(words)
    assert "is a snapshot of cluster" not in capsys.readouterr().err
    other = json.loads(snapshot.read_text())
    other["cluster"]["name"] = "test"
    snapshot.write_text(json.dumps(other))
    told = (
        f"warning: {snapshot} is a snapshot of cluster 'test', and is taken for one of 'main',"
        " which the manifests declare\n"
    )
    main.main(words)
    assert told in capsys.readouterr().err
    # A name that no resource may have is another one in the manifests that `import` writes.
    other["cluster"]["name"] = "My main"
    snapshot.write_text(json.dumps(other))
    declared = manifests / "cluster.yaml"
    for file in (declared, manifests / "pools.yaml"):
        file.write_text(file.read_text().replace("name: main", f"name: {resource_name('My main')}"))
    main.main(words)
    assert "is a snapshot of cluster" not in capsys.readouterr().err
    other["cluster"]["name"] = "test"
    snapshot.write_text(json.dumps(other))
    # The id says which cluster it is, whatever people call it.
    text = declared.read_text()
    declared.write_text(f"{text}  clusterId: abc\n")
    main.main(words)
    assert "is a snapshot of cluster" not in capsys.readouterr().err
    declared.write_text(f"{text}  clusterId: def\n")
    assert main.main(words) == 1
    assert "its id is abc, not def" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param("plan -f {0} --snapshot {1} >&-", 2, "", id="no-output"),
        pytest.param("plan -f {0} --snapshot {1} -o json >&- 2>&-", 2, "", id="no-streams"),
        pytest.param("validate -f {0}/nowhere 2>&-", 1, "", id="no-errors"),
        pytest.param(
            "whatif keys --partitions 2:4 --keys - <&-",
            1,
            "standard input is closed (expected a key a line)\n",
            id="no-input",
        ),
        pytest.param("whatif keys --partitions 2:4 >/dev/null", 0, "", id="latin-1"),
    ],
)
def test_streams_may_be_closed_or_lack_letters(manifests, snapshot, line, code, said):
    words = line.format(manifests, snapshot)
    ran = subprocess.run(
        ["bash", "-c", f"exec '{sys.executable}' -m poolkeeper {words}"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (ran.returncode, ran.stderr) == (code, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "--snapshot", "{snapshot}", "--out", "{long}"), "{long}: cannot be written"),
        (
            ("rehearse", "-f", "{manifests}", "--snapshot", "{snapshot}", "--against", "{long}"),
            "{long}: cannot be read",
        ),
        (("status", "-f", "{manifests}", "--client-config", "{config}"), "names no file"),
        (("apply", "-f", "{manifests}", "--plan", "{config}"), "{config}:1: is not JSON"),
        (("apply", "-f", "{manifests}", "--plan", "{long}"), "{long}: cannot be read"),
    ],
    ids=["out", "against", "tls", "a-plan-that-is-none", "plan"],
)
def test_a_path_that_cannot_be_looked_at_is_told(run, manifests, snapshot, tmp_path, words, said):
    long = tmp_path / ("x" * 300)
    config = tmp_path / "client.yaml"
    config.write_text(f"zookeeper: {{tls: {{ca: {long}}}}}\n")
    given = {"manifests": manifests, "snapshot": snapshot, "long": long, "config": config}
    code, _, err = run(*(word.format(**given) for word in words))
    assert (code, said.format(**given) in err) == (1, True), err
