"""`kubectl poolkeeper` against a real API server and an operator at work: every command."""

import json
from functools import partial

import pytest

from operated_resources import Scene
from poolkeeper.cli import main as cli
from poolkeeper.cli.kubectl.main import NAME, root
from poolkeeper.model.names import REQUEST

pytestmark = pytest.mark.long

OLD, NEW = (1, 2, 3), (4, 5, 6)
AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}
MANUAL = {"mode": "Apply", "approval": {"policy": "Manual"}}
DEADLINE_S = 240


@pytest.fixture
def say(scene: Scene, capsys):
    """What a command of the plugin prints; its exit code must be the one that is given."""

    def run(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        named = () if words[0] == "why" else ("--cluster", scene.name)
        kubeconfig = ("--kubeconfig", str(scene.plane.kubeconfig))
        found = cli.main([*words, *named, *kubeconfig, "-n", scene.namespace], root, NAME)
        out, err = capsys.readouterr()
        assert found == code, f"{words}: {out}{err}"
        return out if code == 0 else err

    return run


def resources(scene: Scene, **spec):
    return (
        scene.cluster(**spec),
        scene.pool("old", *OLD),
        scene.pool("new", *NEW),
        scene.topic("t", "new"),
    )


@pytest.fixture
def planned(scene: Scene):
    """A topic that is to move, and waits for a person."""
    scene.create_topic("t", (1, 2), (2, 3), (3, 1))
    scene.apply(*resources(scene, **MANUAL))
    scene.says("cluster", reason="WaitingForApproval")
    return scene


def written(scene, say) -> str:
    """Wait until the plan lies in its ConfigMaps; return it as text."""
    body = scene.wait(lambda: scene.status("cluster").get("planDocument"), "a plan is kept")
    path = "/api/v1/namespaces/{}/configmaps/{}-0".format(*body.split("/"))
    scene.wait(lambda: exists(scene, path), "the plan is written")
    return say("plan")


def exists(scene, path):
    namespace, name = path.split("/")[-3], path.split("/")[-1]
    return scene.kubectl("get", "configmap", name, "-n", namespace, check=False).returncode == 0


def test_a_plan_is_read_approved_and_told_of_afterwards(planned, say):
    text = written(planned, say)
    hash_ = planned.status("cluster")["plan"]["hash"]
    assert "Pool " in text
    assert text.rstrip().endswith(f"{hash_}: Waiting")
    assert json.loads(say("plan", "-o", "json"))["hash"] == hash_
    assert "--- t\n+++ t\n-0: [1, 2]\n+0: [" in say("plan", "--diff")
    why = say("why", "topic/t")
    assert f"KafkaCluster {planned.name}\n  WaitingForApproval: " in why
    assert "  0: [1, 2] → [" in why
    assert "there is no Topic u" in say("why", "topic/u", code=1)
    shown = say("status")
    assert "WaitingForApproval" in shown
    assert "0 of 1 as declared" in shown
    assert "no part of the plan" in say("approve", "nothing", code=1)
    assert "look at it again" in say("approve", "--plan", "f" * 12, code=1)

    assert say("approve", "--plan", hash_[:20]) == (f"approved for {planned.name}: plan {hash_}\n")
    planned.says("cluster")
    assert planned.holders("t") <= set(NEW)
    runs = planned.wait(lambda: json.loads(say("history", "-o", "json"))["runs"], "it is told")
    assert [(run["plan"], run["moves"]) for run in runs] == [(hash_, 3)]
    assert say("plan").startswith("No plan waits or runs")
    assert "needs no approval" in say("approve", code=1) or "no plan" in say("approve", code=1)


def test_who_may_read_only_a_namespace_learns_what_its_topic_says(planned, capsys):
    plane, namespace = planned.plane, planned.namespace
    planned.says("topic", "t", "WaitingForApproval")
    planned.kubectl("create", "serviceaccount", "tenant", "-n", namespace)
    rights = ("--verb=get,list", "--resource=topics.poolkeeper.dev")
    planned.kubectl("create", "role", "tenant", *rights, "-n", namespace)
    bound = ("--role=tenant", f"--serviceaccount={namespace}:tenant")
    planned.kubectl("create", "rolebinding", "tenant", *bound, "-n", namespace)
    kubeconfig = plane.account_kubeconfig(namespace, "tenant")
    words = ["why", "topic/t", "--kubeconfig", str(kubeconfig), "-n", namespace]
    assert cli.main(words, root, NAME) == 0
    said = capsys.readouterr().out
    assert "  WaitingForApproval: " in said
    assert "is not there" not in said
    assert "cannot get resource" in said


def test_under_gitops_the_lines_to_commit_are_printed(planned, say):
    planned.kubectl(
        *("annotate", "kafkacluster", planned.name),
        f"argocd.argoproj.io/tracking-id=kafka:poolkeeper.dev/KafkaCluster:/{planned.name}",
    )
    hash_ = planned.status("cluster")["plan"]["hash"]
    said = say("approve")
    assert said.startswith(f"# Argo CD applies KafkaCluster {planned.name} from Git.")
    assert f"    plans:\n      - {hash_}  # plan\n" in said
    assert planned.get("cluster")["spec"]["approval"].get("plans", []) == []
    say("approve", "--now")
    assert planned.get("cluster")["spec"]["approval"]["plans"] == [hash_]


def test_a_part_is_approved_by_its_name_and_the_others_wait_on(planned, say):
    planned.create_topic("u", (4, 5))
    planned.apply(planned.topic("u", "old"))
    plan = planned.wait(lambda: parted(planned), "a plan has parts")
    part = next(each for each in plan["parts"] if each["name"].endswith("-new"))
    assert "no part of the plan" in say("approve", "pool/none", code=1)
    words = ("approve", planned.name, part["name"], "--kubeconfig", str(planned.plane.kubeconfig))
    assert cli.main(words) == 0  # `poolkeeper approve` does the same
    approval = planned.get("cluster")["spec"]["approval"]
    assert (approval["plans"], approval["by"]) == ([part["hash"]], {part["hash"]: "admin"})
    planned.says("topic", "t")
    planned.says("topic", "u", "WaitingForApproval")
    assert planned.holders("u") == {4, 5}
    runs = planned.wait(lambda: json.loads(say("history", "-o", "json"))["runs"], "it is told")
    assert [run["moves"] for run in runs] == [3]


def test_what_a_namespace_asks_for_is_told_and_approved_by_its_name(scene, say):
    scene.create_topic("t", (1, 2), (2, 3), (3, 1))
    adoption = {"adoption": {"policy": "Approve"}}
    scene.apply(*resources(scene, **AUTO, **adoption))
    scene.says("topic", "t", "AdoptionRequired")
    line = f"`kubectl poolkeeper approve adoption/{scene.namespace} -c {scene.name}`"
    told = f"namespace {scene.namespace} asks to take over 1 existing topic: {line}"
    scene.wait(lambda: told in say("status"), "it is told")
    assert f"(waiting: adoption/{scene.namespace})" in say("approve", "adoption/no", code=1)
    hash_ = scene.status("cluster")["adoptions"][0]["hash"]
    assert say("approve", f"adoption/{scene.namespace}") == (
        f"approved for {scene.name}: adoption/{scene.namespace} {hash_}\n"
    )
    scene.says("topic", "t")
    assert scene.holders("t") <= set(NEW)
    assert "asks to take over" not in say("status")


def parted(scene):
    plan = scene.status("cluster").get("plan") or {}
    return plan if len(plan.get("parts", ())) > 1 else None


def test_a_run_is_stopped_stays_so_whatever_git_says_and_is_let_go_on(scene, say):
    for name in ("a-heavy", "t"):
        scene.create_topic(name, (1, 2), (2, 3), (3, 1))
    scene.make_heavy("a-heavy")
    declared = (*resources(scene, **AUTO, execution={"maxMoves": 6}), scene.topic("a-heavy", "new"))
    scene.apply(*declared)
    scene.wait(lambda: scene.request, "a request is in flight")
    scene.wait(lambda: "stage" in scene.status("cluster").get("plan", {}), "a run is told of")
    assert "ends after the stage in flight" in say("stop")
    scene.wait(lambda: not annotation(scene), "the request is consumed")
    assert ("Normal", "RequestDone", 1) in scene.events("cluster", awaited="RequestDone")
    scene.says(
        "cluster", reason="Moving", about="stopped: the run ends after the stage in flight; "
    )
    assert "is still to end, as was asked for: resume after that" in say("resume")
    scene.make_light("a-heavy")
    scene.wait(lambda: not scene.exists("/poolkeeper/run"), "the run ends")
    scene.apply(*declared)  # as a GitOps controller would
    scene.says("cluster", reason="Waiting", about="kubectl poolkeeper resume")
    assert scene.holders("t") <= set(OLD)
    assert scene.status("cluster")["runs"][0]["ending"] == "stopped"
    assert "no run" in say("stop", code=1)
    assert "may begin again" in say("resume")
    scene.says("cluster", timeout_s=DEADLINE_S)
    assert scene.holders("t") <= set(NEW)


def test_a_stage_is_rolled_back_and_a_request_for_another_run_is_not_carried_out(scene, say):
    scene.create_topic("t", (1, 2), (2, 3), (3, 1))
    scene.make_heavy("t")
    scene.apply(*resources(scene, **AUTO))
    scene.wait(lambda: scene.request, "a request is in flight")
    scene.wait(lambda: "stage" in scene.status("cluster").get("plan", {}), "a run is told of")
    other = f"rollback sha256:{'0' * 64}"
    for text, result in ((other, "OtherRun"), ("now", "Unreadable")):
        annotate = ("annotate", "kafkacluster", scene.name, f"{REQUEST}={text}")
        scene.kubectl(*annotate)
        scene.wait(lambda: not annotation(scene), "the request is consumed")
        scene.wait(partial(answers, scene, result), f"the answer {result}")
    assert scene.exists("/poolkeeper/run")
    assert "is cancelled" in say("rollback", "--allow-controller-failover")
    scene.wait(lambda: not scene.exists("/poolkeeper/run"), "the run ends", DEADLINE_S)
    assert scene.assignment("t") == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
    scene.wait(lambda: scene.status("cluster").get("runs"), "the run that ended is told of")
    assert say("history").count("\n") == 2


def answers(scene, result):
    return scene.status("cluster").get("lastRequest", {}).get("result") == result


def annotation(scene) -> str:
    return scene.get("cluster")["metadata"].get("annotations", {}).get(REQUEST, "")
