"""Plans of a running operator, as a person meets them: shown, approved, executed."""

import pytest

from operated_resources import HASH
from real.support import REQUEST, of_path, run

OLD, NEW = (1, 2, 3), (4, 5, 6)


def migration(scene, **cluster):
    """A live topic in one pool that is declared to be in another, and one that does not exist."""
    scene.create_topic("orders", (1, 2), (2, 3), (3, 1))
    scene.create_topic("other", (1, 2), (2, 3))
    return (
        scene.cluster(**cluster),
        scene.pool("old", *OLD),
        scene.pool("new", *NEW),
        scene.topic("orders", "new"),
        scene.topic("fresh", "old", partitions=2, replicationFactor=2),
        scene.topic("other", "old", config={"retention.ms": "900000000"}),
    )


def requested(scene):
    """All (topic, partition) that were ever asked to move."""
    created = [c for c in of_path(scene.changes(), REQUEST) if c.kind == "CREATE"]
    return [(e["topic"], e["partition"]) for c in created for e in c.body["partitions"]]


def test_the_first_apply_on_a_live_cluster_writes_nothing_and_says_what_it_would_do(scene):
    bodies = migration(scene)
    before = scene.changes()
    scene.apply(*bodies)
    message = scene.says("cluster", reason="PlanOnly")
    for topic in ("orders", "fresh", "other"):
        scene.says("topic", topic, "PlanOnly")
    scene.says("pool", "new", "PlanOnly")
    would = "would create 1 topic, configure 1 topic, move 3 partitions (6 MiB)"
    apply = """kubectl patch kafkacluster main --type=merge -p '{"spec":{"mode":"Apply"}}'"""
    assert scene.table("cluster", "-o", "wide") == [
        "NAME | MODE | READY | REASON | BROKERS | WAITS | MOVES | MOVED | KAFKA | PLAN | MESSAGE",
        "main | PlanOnly | False | PlanOnly | 9/9 |  | 3 |  | 2.8 to 3.3 | sha256:PLAN"
        f" | {would}; the mode is PlanOnly: {apply}",
    ]
    assert scene.table("pool") == [
        "NAME | CLUSTER | BROKERS | TOPICS | READY | REASON | DRAINING",
        "new | main | 3/3 | 1 | False | PlanOnly | ",
        "old | main | 3/3 | 1 | True | InPlace | ",
    ]
    assert scene.table("topic") == [
        "NAME | POOL | PARTITIONS | RF | READY | REASON | MOVING | MOVED",
        "fresh | old |  |  | False | PlanOnly |  | ",
        "orders | new | 3 | 2 | False | PlanOnly |  | ",
        "other | old | 2 | 2 | False | PlanOnly |  | ",
    ]
    assert [row.rpartition(" | ")[2] for row in scene.table("topic", "-o", "wide")[1:]] == [
        "KafkaCluster main is in mode PlanOnly; would create topic fresh in pool old with 2"
        " partitions; set spec.mode to Apply to go on",
        "KafkaCluster main is in mode PlanOnly; would move 3 partitions into pool new; set"
        " spec.mode to Apply to go on",
        "KafkaCluster main is in mode PlanOnly; would set config retention.ms; set spec.mode to"
        " Apply to go on",
    ]
    assert scene.changes() == before
    scene.run_printed(message)
    scene.says("cluster", reason="WaitingForApproval")


def test_creations_and_configs_go_at_once_and_moves_wait_for_the_line_that_is_printed(scene):
    scene.apply(*migration(scene, mode="Apply"))
    scene.says("topic", "fresh")
    scene.says("topic", "other")
    assert scene.config("other") == {"retention.ms": "900000000"}
    message = scene.says("cluster", reason="WaitingForApproval")
    plan = scene.status("cluster")["plan"]
    assert plan == {**plan, "moves": 3, "approval": "Waiting", "hash": HASH.findall(message)[0]}
    assert scene.text(message) == (
        "waits to move 3 partitions (6 MiB); approve sha256:PLAN: kubectl patch kafkacluster main"
        """ --type=json -p '[{"op":"add","path":"/spec/approval/plans/-","value":"sha256:PLAN"}]'"""
    )
    waits = scene.says("topic", "orders", "WaitingForApproval")
    assert scene.text(waits) == (
        "approve plan sha256:PLAN in KafkaCluster main to move 3 partitions into pool new"
    )
    waits = scene.says("pool", "new", "WaitingForApproval")
    assert scene.text(waits) == (
        "approve plan sha256:PLAN in KafkaCluster main; 3 partitions to move"
    )

    scene.patch("cluster", approval={"plans": ["sha256:" + "0" * 64]})
    scene.barrier("old")
    waits = scene.says("cluster", reason="WaitingForApproval", about="fits no plan that waits")
    assert f"the approval of sha256:{'0' * 64} fits no plan that waits" in waits
    assert waits.index(f"; approve {plan['hash']}: kubectl ") > waits.index("fits no plan")
    assert requested(scene) == []

    scene.run_printed(waits)
    for kind in ("kafkacluster", "resourcepools", "topics"):
        named = [scene.name] if kind == "kafkacluster" else ["--all", "-n", scene.namespace]
        scene.kubectl("wait", "--for=condition=Ready", kind, *named, "--timeout=180s")
    assert sorted(requested(scene)) == [("orders", 0), ("orders", 1), ("orders", 2)]
    assert scene.holders("orders") == set(NEW)
    assert scene.holders("other") == set(OLD)
    assert "plan" not in scene.status("cluster")
    assert scene.table("cluster")[1] == "main | Apply | True | InPlace | 9/9 |  |  | "
    assert scene.table("pool")[1:] == [
        "new | main | 3/3 | 1 | True | InPlace | ",
        "old | main | 3/3 | 3 | True | InPlace | ",
    ]
    assert scene.table("topic")[2:] == [
        "fresh | old | 2 | 2 | True | InPlace |  | ",
        "orders | new | 3 | 2 | True | InPlace |  | ",
        "other | old | 2 | 2 | True | InPlace |  | ",
    ]


def test_a_part_is_approved_alone_and_who_approved_it_is_told(scene):
    scene.create_topic("orders", (1, 2), (2, 3), (3, 1))
    scene.create_topic("other", (1, 2), (2, 3))
    scene.apply(
        scene.cluster(mode="Apply"),
        scene.pool("old", *OLD, drain=[3]),
        scene.pool("new", *NEW),
        scene.topic("orders", "new"),
        scene.topic("other", "old"),
    )
    scene.says("cluster", reason="WaitingForApproval", about="move 4 partitions")
    pool = f"pool/{scene.full('pool', 'new')}"
    parts = {part["name"]: part for part in scene.status("cluster")["plan"]["parts"]}
    assert {name: (part["moves"], part.get("after", [])) for name, part in parts.items()} == {
        "drain": (3, []),
        pool: (1, ["drain"]),
    }
    scene.patch("cluster", approval={"plans": [parts[pool]["hash"]]})
    scene.says("cluster", reason="WaitingForApproval", about=f"part {pool} is approved and comes")
    assert requested(scene) == []

    drain = parts["drain"]["hash"]
    scene.patch("cluster", approval={"plans": [drain], "by": {drain: "jane"}})
    scene.says("cluster", reason="WaitingForApproval", about="move 1 partition")
    assert sorted(requested(scene)) == [("orders", 1), ("orders", 2), ("other", 1)]
    assert scene.holders("other") == {1, 2}
    plan = scene.status("cluster")["plan"]
    assert (plan["hash"], plan["approval"]) == (parts[pool]["hash"], "Waiting")
    told = scene.events("cluster", awaited="RunEnded")
    assert "RunBegun" in [reason for _, reason, _ in told]
    described = scene.kubectl("describe", "kafkacluster", scene.name).stdout
    assert "part drain approved by jane (unverified)" in described
    scene.approve()
    scene.says("cluster")
    assert scene.holders("orders") == set(NEW)


def test_an_approval_is_of_what_was_shown_and_of_nothing_else(scene):
    scene.apply(*migration(scene, mode="Apply"))
    scene.says("topic", "other")
    shown = scene.says("cluster", reason="WaitingForApproval")
    scene.patch("topic", "other", poolRef={"name": scene.full("pool", "new")})
    scene.says("topic", "other", "WaitingForApproval")
    scene.run_printed(shown)
    scene.barrier("old")
    assert requested(scene) == []
    approved = {*HASH.findall(shown)}

    def moved() -> bool:
        """The barrier changed the plan once more: whoever approves reads again what is shown."""
        condition = {"reason": "", "message": "", **scene.condition("cluster")}
        asked = HASH.findall(condition["message"])
        if condition["reason"] == "WaitingForApproval" and not approved.issuperset(asked):
            scene.run_printed(condition["message"])
            approved.update(asked)
        return condition["reason"] == "InPlace"

    scene.wait(moved, "what is shown is approved", instead=lambda: scene.status("cluster"))
    assert len(approved) > 1
    assert scene.holders("orders") == scene.holders("other") == set(NEW)


def test_nobody_is_asked_where_approval_is_automatic(scene):
    scene.apply(*migration(scene, mode="Apply", approval={"policy": "Auto"}))
    scene.says("topic", "orders")
    scene.says("cluster")
    assert scene.holders("orders") == set(NEW)
    assert "WaitingForApproval" not in [reason for _, reason, _ in scene.events("cluster")]


def test_a_plan_is_approved_on_the_command_line_beside_the_operator(scene, tmp_path):
    bodies = migration(scene, mode="Apply")
    scene.apply(*bodies)
    scene.says("cluster", reason="WaitingForApproval")
    scene.says("topic", "fresh")
    ran = run("apply", "-f", scene.folder(tmp_path, *bodies), "--yes")
    assert (ran.code, ran.err) == (0, "")
    scene.says("topic", "orders")
    scene.says("cluster")
    assert scene.holders("orders") == set(NEW)


@pytest.mark.parametrize("first", [(), (f"sha256:{'1' * 64}",)], ids=["none", "another"])
def test_the_printed_line_keeps_what_was_approved_since_it_was_printed(scene, first):
    before, since = ({"plans": [*first]} if first else {}), f"sha256:{'2' * 64}"
    scene.create_topic("orders", [1, 2], [2, 3])
    body = scene.cluster(mode="Apply", approval={"policy": "Manual", **before})
    scene.apply(body, scene.pool("p", 4, 5, 6), scene.topic("orders", "p"))
    message = scene.says("cluster", reason="WaitingForApproval", about="kubectl patch")
    scene.patch("cluster", approval={"plans": [*first, since]})
    scene.run_printed(message)
    *others, added = scene.get("cluster")["spec"]["approval"]["plans"]
    assert others == [*first, since]
    assert added in message
    scene.wait(lambda: scene.holders("orders") <= {4, 5, 6}, "what was approved moves")
