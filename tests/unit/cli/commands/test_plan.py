"""Whole outputs of `plan` for a snapshot."""

import json
import re

import pytest

from poolkeeper.cli import main
from poolkeeper.cli.commands.plans.plan import stage_waits
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.readings import ClusterReading
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.resources.write.names import resource_name
from unit.cli.small_cluster import CLUSTER, SNAPSHOT, TOPIC
from unit.reconcile import situations


def test_a_plan_for_a_snapshot_moves_the_topic_into_its_pool(run, manifests, snapshot):
    code, out, err = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "json")
    assert (code, err) == (2, "")
    [move] = json.loads(out)["moves"]
    assert (move["topic"], move["from"], sorted(move["to"])) == ("t", [1, 2], [3, 4])
    assert move["bytes"] == 2 * 1048576


@pytest.mark.parametrize("command", ["plan", "rehearse"])
def test_documents_of_others_are_told(run, manifests, snapshot, command):
    (manifests / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    _, _, err = run(command, "-f", manifests, "--snapshot", snapshot)
    assert err == "note: 1 other document left alone: ConfigMap of v1\n"


def test_a_plan_for_kafkas_own_tool(run, manifests, snapshot):
    code, out, _ = run("plan", "-f", manifests, "--snapshot", snapshot, "--output", "reassign-json")
    [line] = out.splitlines()
    [entry] = json.loads(line)["partitions"]
    assert code == 2
    assert (entry["topic"], entry["partition"], sorted(entry["replicas"])) == ("t", 0, [3, 4])


def test_what_no_stage_can_take_is_in_no_file_for_kafkas_own_tool(run, manifests, snapshot):
    full = json.loads(snapshot.read_text())
    for broker in full["brokers"]:
        broker["logDirs"] = {"/d": {"totalBytes": 10 * 1048576, "usableBytes": 0}}
    snapshot.write_text(json.dumps(full))
    code, out, err = run("plan", "-f", manifests, "--snapshot", snapshot, "-o", "reassign-json")
    assert (code, out) == (2, "")
    assert err.startswith("warning: 1 of 1 move is in no file: t-0 needs 1 MiB on broker ")


def test_what_is_no_reassignment_is_told_beside_kafkas_own_files(run, manifests, snapshot):
    (manifests / "new.yaml").write_text(TOPIC.replace("name: t,", "name: new,"))
    _, out, err = run("plan", "-f", manifests, "--snapshot", snapshot, "-o", "reassign-json")
    assert (out.count("\n"), err) == (
        1,
        "warning: in no file, as it is no reassignment: 1 topic to create\n",
    )


def test_what_is_left_undone_is_told_beside_kafkas_own_files(run, manifests, snapshot):
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--without", 3)
    _, told, _ = run(*words, "-o", "json")
    _, _, err = run(*words, "-o", "reassign-json")
    messages = [problem["message"] for problem in json.loads(told)["problems"]]
    assert messages
    assert err.count("\n") == len(messages)
    assert all(message in err for message in messages)


def test_a_plan_is_written_as_it_is_shown(run, manifests, snapshot, tmp_path):
    file = tmp_path / "plan.json"
    words = ("plan", "-f", manifests, "--snapshot", snapshot, "--out", file)
    _, shown, _ = run(*words, "--output", "json")
    assert json.loads(file.read_text()) == json.loads(shown)
    _, text, _ = run(*words)
    assert json.loads(shown)["hash"] in text


def test_sizes_that_are_guessed_are_told_in_each_form(run, manifests, snapshot):
    words = ("plan", "-f", manifests, "--snapshot", snapshot)
    said = "The sizes of 1 of 1 partition to copy are unknown"
    assert said not in run(*words)[1]
    assert "movesOfUnknownSize" not in json.loads(run(*words, "-o", "json")[1])
    unsized = json.loads(snapshot.read_text())
    del unsized["topics"][0]["partitions"][0]["bytes"]
    snapshot.write_text(json.dumps(unsized))
    assert said in run(*words)[1]
    assert json.loads(run(*words, "-o", "json")[1])["movesOfUnknownSize"] == 1
    for page in ("html", "markdown"):
        assert said in run(*words, "-o", page)[1]


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
            "--with-broker 5: --without 5 takes it away (expected one of the two)",
            id="both",
        ),
        pytest.param(
            ["--without", "77"],
            "--without 77: there is no such broker (live: 1, 2, 3, 4)",
            id="it-is-not-there",
        ),
        pytest.param(
            ["--with-broker", "9:", "--with-broker", "5:a", "--with-broker", "5"],
            "poolkeeper plan: Invalid value for --with-broker: '9:' (expected ID:RACK); broker 5 is"
            " given twice (expected once) (see poolkeeper plan --help)",
            id="all-that-is-wrong",
        ),
        pytest.param(
            ["--without", "77", "--without", "78", "--with-broker", "4:a"],
            "--with-broker 4: this broker is live already\n"
            "--without 77: there is no such broker (live: 1, 2, 3, 4)\n"
            "--without 78: there is no such broker (live: 1, 2, 3, 4)",
            id="all-that-does-not-fit",
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
        f"{snapshot}: cluster.id: is of another cluster: abc (expected other)\n",
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


@pytest.mark.slow
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
    assert "cluster.id: is of another cluster: abc (expected def)" in capsys.readouterr().err


@pytest.mark.parametrize("live", [(1, 2), (1, 2, 3)])
def test_a_plan_tells_whom_all_of_its_moves_wait_for(live):
    """No run of it begins."""
    seen = situations.cluster(live=live)
    observed = Observation(ClusterReading(seen), seen, Records(), frozenset())
    waits = stage_waits(situations.PLAN, situations.desired(), observed)
    assert [(wait.reason, wait.brokers) for wait in waits] == (
        [] if 3 in live else [(WaitReason.TARGET_NOT_LIVE, (3,))]
    )
