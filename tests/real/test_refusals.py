"""What is refused, or waited for, on a live ZooKeeper: what is said, how it ends, and no write.

The cluster is hand-written into a ZooKeeper without brokers: nobody else writes, so whatever the
transaction log holds is ours. Commands run in this process where they end by themselves.
"""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kazoo.security import make_acl, make_digest_acl

from poolkeeper.planning.proposals import plan_json
from poolkeeper.reconcile.act import stall_recovery
from real.bare import AS_IT_IS, GROWING, JOURNAL, LISTS, POOL, Bare, interrupted, put_topic
from real.support import REQUEST, declare, run

pytestmark = pytest.mark.long


def entry(topic: str, partition: int, replicas: list[int]) -> str:
    """A request of one entry."""
    named = {"topic": topic, "partition": partition, "replicas": replicas}
    return json.dumps({"version": 1, "partitions": [named]})


def with_plan(bare: Bare, edit: Callable[[dict], object] = lambda plan: None) -> Path:
    """Plan growth, edit the plan's file, and return it."""
    bare.declare(GROWING)
    file = bare.folder.parent / "plan.json"
    assert run("plan", "-f", bare.folder, "--out", file).code == 2
    body = json.loads(file.read_text())
    edit(body)
    file.write_text(json.dumps(body))
    return file


# Manifests that only a live cluster shows to be wrong, or that are refused there


@dataclass(frozen=True)
class Wrong:
    """Declared things, the exit codes of `plan` and `apply`, and what both say."""

    said: str
    plan: int = 1
    apply: int = 1
    topic: dict | None = None
    pool: dict | None = None
    cluster: dict | None = None


WRONG = {
    "partitions-shrink": Wrong(
        "topic t, pool p: stays at 3 partitions instead of 2: partitions never shrink",
        plan=4,
        apply=4,
        topic=AS_IT_IS | {"partitions": 2},
    ),
    "keyed-partitions-grow": Wrong(
        "topic t, pool p: stays at 3 partitions instead of 4: 75 % of its keys would change",
        plan=4,
        apply=4,
        topic=AS_IT_IS | {"partitions": 4, "keyed": True},
    ),
    "a-broker-that-nobody-has-seen": Wrong(
        "pool p: broker 42 is not live and holds nothing (live: 1, 2, 3): start it, or correct",
        plan=4,
        apply=4,
        pool=POOL | {"brokers": {"ids": [*POOL["brokers"]["ids"], 42]}},
    ),
    "another-cluster-id": Wrong(
        "this is another cluster: its id is the-bare-one, spec.clusterId says the-right-one",
        cluster={"clusterId": "the-right-one"},
    ),
    "paused": Wrong("spec.mode is Paused", plan=0, cluster={"mode": "Paused"}),
}


@pytest.mark.parametrize("wrong", [pytest.param(w, id=id_) for id_, w in WRONG.items()])
def test_what_a_live_cluster_shows_to_be_wrong_is_said_and_not_done(bare, wrong):
    bare.declare(wrong.topic or AS_IT_IS, wrong.pool or POOL, **(wrong.cluster or {}))
    bare.settle()
    ran = run("plan", "-f", bare.folder)
    assert (ran.code, bare.written()) == (wrong.plan, ())
    assert wrong.plan == 0 != wrong.apply or wrong.said in ran.out + ran.err
    ran = run("apply", "-f", bare.folder, "--yes")
    assert ran.code == wrong.apply
    assert wrong.said in ran.out + ran.err
    assert not [c for c in bare.written() if not c.path.startswith("/poolkeeper")]


@pytest.mark.parametrize(
    ("topic", "ids", "reasons"),
    [
        pytest.param(
            {"partitions": 2}, (), {"PartitionsNeverShrink"}, id="others-added-partitions"
        ),
        pytest.param({}, (42,), {"BrokersMissing"}, id="a-broker-that-nobody-has-seen"),
    ],
)
def test_what_one_topic_or_pool_asks_in_vain_keeps_no_other_from_anything(
    bare, topic, ids, reasons
):
    put_topic(bare, "u", LISTS)
    pools = {"p": POOL | {"brokers": {"ids": [*POOL["brokers"]["ids"], *ids]}}}
    topics = {"t": AS_IT_IS | topic, "u": AS_IT_IS | {"config": {"retention.ms": "1000"}}}
    declare(bare.folder, bare.connect, pools, topics)
    planned = json.loads(run("plan", "-f", bare.folder, "--output", "json").out)
    assert [(step["kind"], step["topic"]) for step in planned["steps"]] == [("SetConfig", "u")]
    assert {problem["reason"] for problem in planned["problems"]} == reasons
    assert run("apply", "-f", bare.folder, "--yes").code == 4
    config = json.loads(bare.zookeeper.get("/config/topics/u")[0])["config"]
    assert config == {"retention.ms": "1000"}


# Systems that cannot be reached


def closed_port(bare: Bare) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def wrong_chroot(bare: Bare) -> str:
    return f"{bare.connect}/deeper"


def guarded(bare: Bare) -> str:
    """Everything is Alice's, as with `zookeeper.set.acl`; the world may read."""
    bare.zookeeper.add_auth("digest", "alice:right")
    acl = [make_digest_acl("alice", "right", all=True), make_acl("world", "anyone", read=True)]
    for path in ("/brokers/topics", "/brokers/ids", "/admin", "/config/topics", "/brokers"):
        bare.zookeeper.set_acls(path, acl)
    return bare.connect


@pytest.mark.parametrize(
    ("where", "said"),
    [
        pytest.param(closed_port, "no ZooKeeper answers at 127.0.0.1:", id="absent"),
        pytest.param(wrong_chroot, "is no Kafka cluster: it does not exist", id="wrong-chroot"),
        pytest.param(guarded, "this ZooKeeper identity", id="wrong-password"),
    ],
)
def test_what_cannot_be_reached_is_exit_code_3_and_nothing_is_created(bare, where, said):
    connect = where(bare)
    declare(bare.folder, connect, {"p": POOL}, {"t": GROWING})
    client = bare.folder.parent / "client.yaml"
    client.write_text("zookeeper: {username: alice, password: wrong}\n")
    bare.settle()
    words = ("apply", "-f", bare.folder, "--yes", "--timeout", "2", "--client-config", client)
    ran = run(*words)
    assert (ran.code, bare.written()) == (3, ())
    assert said in ran.out + ran.err


# Plans that do not fit any more, or never did


def moved_on(bare: Bare) -> Path:
    file = with_plan(bare)
    put_topic(bare, "t", [[2, 1], *LISTS[1:]])
    return file


def other_manifests(bare: Bare) -> Path:
    file = with_plan(bare)
    bare.declare(GROWING, POOL | {"drain": [3]})
    bare.declare(AS_IT_IS)
    return file


def another_cluster(bare: Bare) -> Path:
    return with_plan(bare, lambda plan: plan.update(cluster="other"))


def tampered(bare: Bare) -> Path:
    """A plan with other moves than those that its hash names."""

    def edit(body: dict) -> None:
        body["moves"][0].update(to=[2, 1], path=[[1, 2], [2, 1]])

    return with_plan(bare, edit)


def unlawful(bare: Bare) -> Path:
    """A plan with a right hash that takes a replica away."""

    def edit(body: dict) -> None:
        plan = plan_json.from_json(body, "plan.json")
        moves = tuple(m._replace(path=(m.source, m.source[:1])) for m in plan.moves)
        changed = replace(plan, moves=moves, hash=plan_json.plan_hash(moves, plan.steps))
        del body["parts"]
        body.update(plan_json.to_json(replace(changed, parts=())))

    return with_plan(bare, edit)


def no_plan(bare: Bare) -> Path:
    file = with_plan(bare)
    file.write_text("a plan")
    return file


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(
            moved_on, "t-0 has replicas [2, 1], planned from [1, 2]", id="cluster-moved-on"
        ),
        pytest.param(other_manifests, "was made for other manifests", id="other-manifests"),
        pytest.param(another_cluster, "is a plan for cluster other", id="another-cluster"),
        pytest.param(tampered, "hash", id="not-what-its-hash-names"),
        pytest.param(unlawful, "the plan is unlawful", id="unlawful"),
        pytest.param(no_plan, "is not JSON", id="no-plan"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(bare, make, said):
    file = make(bare)
    bare.settle()
    ran = run("apply", "-f", bare.folder, "--plan", file, "--yes")
    assert (ran.code, bare.written()) == (1, ())
    assert said in ran.out + ran.err


def test_without_a_terminal_nothing_is_done_unless_told_so(bare):
    bare.declare(GROWING)
    bare.settle()
    ran = run("apply", "-f", bare.folder)
    assert (ran.code, bare.written()) == (1, ())
    assert "there is no terminal to confirm at (give --yes)" in ran.err


# What is waited for


def controller_gone(bare: Bare) -> None:
    bare.zookeeper.delete("/controller")


def migrating(bare: Bare) -> None:
    body = {"version": 2, "brokerid": 3000, "timestamp": "1", "kraftControllerEpoch": 4}
    bare.put("/controller", body)


def requested(bare: Bare) -> None:
    entry = {"topic": "t", "partition": 1, "replicas": [2, 1]}
    bare.put(REQUEST, {"version": 1, "partitions": [entry]})


def moved_by_api(bare: Bare) -> None:
    lists = [LISTS[0], [1, 2, 3], LISTS[2]]
    put_topic(bare, "t", lists, adding_replicas={"1": [1]}, removing_replicas={"1": [3]})


def unreadable_request(bare: Bare) -> None:
    bare.put(REQUEST, "what?")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        pytest.param(controller_gone, "no controller is elected", id="no-controller"),
        pytest.param(migrating, "the cluster is migrating to KRaft", id="kraft"),
        pytest.param(requested, "names t-1, and the controller has not begun", id="request"),
        pytest.param(moved_by_api, "a foreign reassignment moves t-1", id="api-move"),
        pytest.param(unreadable_request, "cannot be read (the node is", id="unreadable"),
    ],
)
def test_while_the_cluster_is_not_ours_to_write_it_is_said_why(bare, prepare, said):
    prepare(bare)
    bare.declare(GROWING | {"config": {"retention.ms": "1000"}})
    bare.settle()
    # The plan names it first; then it is waited for.
    assert interrupted(bare, "waits: ", "apply", "--yes") == 130
    assert said in " ".join((bare.folder.parent / "output").read_text().split())
    assert bare.written_paths() == JOURNAL


# Nothing to do, and yet not as declared


BLOCKED = {
    "unreadable": ("{", "UnreadableRequest", "cannot be read"),
    "for an unknown topic": (entry("no", 0, [1]), "RequestPartitionUnknown", "names no-0, which"),
    "for an unknown broker": (entry("t", 0, [9, 2]), "RequestBrokerUnknown", "on broker 9, of"),
    "not begun": (entry("t", 0, [3, 2]), "RequestNotBegun", "the controller has not begun"),
}


@pytest.mark.parametrize(
    ("body", "reason", "said"), [pytest.param(*each, id=id_) for id_, each in BLOCKED.items()]
)
def test_a_request_that_nobody_works_on_is_named_by_every_command(bare, body, reason, said):
    bare.declare()
    bare.zookeeper.create(REQUEST, body.encode(), makepath=True)
    bare.settle()
    planned = run("plan", "-f", bare.folder)
    assert (planned.code, planned.out.splitlines()[0]) == (4, "Blocked")
    assert said in " ".join(planned.out.split())
    assert said in run("status", "-f", bare.folder).out
    document = json.loads(run("plan", "-f", bare.folder, "--output", "json").out)
    assert document["asDeclared"] is False
    assert document["blocked"][0]["reason"] == reason
    assert bare.written() == ()
    applied = run("apply", "-f", bare.folder, "--yes", "--output", "json")
    assert (applied.code, json.loads(applied.out)["undone"][0]["reason"]) == (4, reason)
    assert bare.zookeeper.exists(REQUEST)


def test_a_stuck_request_is_withdrawn_by_apply_where_that_is_allowed(bare, monkeypatch):
    monkeypatch.setattr(stall_recovery, "STALL_MS", 1_000)
    bare.declare(execution={"remedies": {"removeStaleRequests": True}})
    bare.zookeeper.create(REQUEST, b"{", makepath=True)
    applied = run("apply", "-f", bare.folder, "--yes")
    assert (applied.code, bare.zookeeper.exists(REQUEST)) == (0, None)
    assert "withdrew the request" in applied.out


def test_a_damaged_topic_is_not_as_declared(bare):
    bare.declare()
    bare.put("/brokers/topics/damaged", [1])
    planned = run("plan", "-f", bare.folder)
    assert planned.code == 4
    assert "topic damaged is damaged" in planned.out


@pytest.mark.parametrize("command", ["status", "stop", "rollback", "history"])
def test_what_is_wrong_in_manifests_keeps_nobody_from_seeing_or_ending_a_run(bare, command):
    bare.declare(AS_IT_IS | {"pool": "gone"})
    bare.settle()
    ran = run(command, "-f", bare.folder)
    assert (ran.code, bare.written()) == (0, ())
    assert f"`poolkeeper validate -f {bare.folder}` says where" in ran.err
    assert run("apply", "-f", bare.folder, "--yes").code == 1


@pytest.mark.parametrize("command", [("stop",), ("rollback",), ("repair", "--yes")])
def test_a_run_of_another_cluster_than_the_declared_one_is_not_ended(bare, command):
    """The address was edited, or a server belongs to another ensemble."""
    bare.declare(GROWING)
    assert interrupted(bare, "stage 1 requested", "apply", "--yes") == 130
    bare.declare(GROWING, clusterId="the-right-one")
    bare.settle()
    ran = run(*command, "-f", bare.folder)
    assert (ran.code, bare.written()) == (1, ())
    assert "its id is the-bare-one, spec.clusterId says the-right-one" in ran.err


@pytest.mark.parametrize("command", ["status", "history", "why t"])
def test_who_looks_at_another_cluster_than_the_declared_one_is_warned(bare, command):
    bare.declare(AS_IT_IS, clusterId="the-right-one")
    ran = run(*command.split(), "-f", bare.folder)
    assert ran.code == (1 if command == "why t" else 0)  # it makes a plan
    assert "its id is the-bare-one, spec.clusterId says the-right-one" in ran.err
