"""Nodes that an ACL hides from us, or lets nobody write: what is said, and what goes on.

The cluster is hand-written into a ZooKeeper without brokers (`bare`).
"""

import pytest
from kazoo.security import make_acl, make_digest_acl

from real.bare import AS_IT_IS, GROWING, LISTS, Bare, interrupted, put_topic
from real.support import REQUEST, run

pytestmark = pytest.mark.long


def test_an_error_that_ends_apply_in_mid_run_comes_with_what_it_leaves(bare):
    bare.declare(GROWING)
    acl = [make_digest_acl("alice", "right", all=True), make_acl("world", "anyone", read=True)]
    bare.zookeeper.add_auth("digest", "alice:right")
    bare.zookeeper.set_acls("/admin", acl)
    ran = run("apply", "-f", bare.folder, "--yes")
    assert ran.code == 3
    assert "/admin" in ran.err
    assert "throttles stay: `poolkeeper apply" in ran.err
    assert bare.zookeeper.exists("/poolkeeper/run")


def hide(bare: Bare, path: str) -> None:
    bare.zookeeper.add_auth("digest", "alice:right")
    bare.zookeeper.set_acls(path, [make_digest_acl("alice", "right", all=True)])


def test_a_broker_config_that_an_acl_hides_is_not_called_damaged(bare):
    bare.declare(GROWING)
    path = "/config/brokers/1"
    bare.put(path, {"version": 1, "config": {}})
    hide(bare, path)
    ran = run("apply", "-f", bare.folder, "--yes")
    assert ran.code == 4
    assert "the config of broker 1, or our record of its throttles, cannot be read" in ran.err
    assert not bare.zookeeper.exists("/poolkeeper/run")


def test_a_topic_whose_config_an_acl_hides_is_not_said_to_be_as_declared(bare):
    bare.declare(AS_IT_IS | {"config": {"retention.ms": "2000"}})
    hide(bare, "/config/topics/t")
    for words in (("plan",), ("apply", "--yes"), ("status",), ("repair",)):
        ran = run(*words, "-f", bare.folder)
        assert ran.code == (0 if words == ("status",) else 4)
        assert "/config/topics/t: its ACL does not let us read it" in " ".join(
            (ran.out + ran.err).split()
        )


@pytest.mark.parametrize("path", ["/config/topics/t", "/brokers/topics/t"])
def test_a_topic_that_an_acl_hides_in_mid_run_is_held_until_it_is_seen_or_the_run_is_stopped(
    bare, path
):
    bare.declare(GROWING)
    put_topic(bare, "u", LISTS)
    assert interrupted(bare, "stage 1 requested", "apply", "--yes") == 130
    hide(bare, path)
    bare.zookeeper.delete(REQUEST)  # as the controller does once it has ended
    said = f"{path}: its ACL does not let us read it"
    assert interrupted(bare, said, "apply", "--yes") == 130
    assert bare.zookeeper.exists("/poolkeeper/run")
    assert said in " ".join(run("status", "-f", bare.folder).out.split())
    why = " ".join(run("why", "t", "-f", bare.folder).out.split())
    assert "cannot be read" in why
    assert "not created" not in why
    assert run("stop", "-f", bare.folder).code == 0
    stopped = run("apply", "-f", bare.folder, "--yes")
    assert (stopped.code, bare.zookeeper.exists("/poolkeeper/run")) == (1, None)
    stays = "left the throttles on topic t" if "config" in path else "may still be in flight"
    assert stays in stopped.out


def test_a_broker_s_config_that_an_acl_hides_in_mid_run_holds_its_moves_and_no_run(bare):
    bare.declare(GROWING)
    assert interrupted(bare, "stage 1 requested", "apply", "--yes") == 130
    path = next(
        f"/config/brokers/{name}"
        for name in bare.zookeeper.get_children("/config/brokers")
        if b"throttled.rate" in bare.zookeeper.get(f"/config/brokers/{name}")[0]
    )
    hide(bare, path)
    bare.zookeeper.delete(REQUEST)  # as the controller does once it has ended
    hidden = f"{path}: its ACL does not let us read it"
    held = run("apply", "-f", bare.folder, "--yes")
    assert (held.code, bare.zookeeper.exists("/poolkeeper/run")) == (4, None)
    assert "no throttle can limit the moves of t-0, t-1, t-2: the config of broker" in held.out
    assert "left the throttles on broker" in held.out
    assert not bare.zookeeper.exists(REQUEST)
    status = " ".join(run("status", "-f", bare.folder).out.split())
    assert hidden in status
    assert "somebody else set throttles" not in status
    bare.declare(AS_IT_IS)
    again = run("apply", "-f", bare.folder, "--yes")
    assert (again.code, hidden in " ".join((again.out + again.err).split())) == (4, True)
    bare.zookeeper.set_acls(path, [make_acl("world", "anyone", all=True)])
    assert run("apply", "-f", bare.folder, "--yes").code == 0
    assert b"throttled.rate" not in bare.zookeeper.get(path)[0]
