"""Beside another executor, on a live ZooKeeper: what `apply` and `run` do, say, and do not write.

The cluster is hand-written into a ZooKeeper without brokers, as in `test_refusals`.
"""

import os
import socket
from contextlib import ExitStack
from threading import Timer

import pytest

from poolkeeper.cli.commands.plans import operator_approval
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal
from real.bare import AS_IT_IS, GROWING, POOL, interrupted
from real.support import run

pytestmark = pytest.mark.long


def test_beside_another_apply_nothing_is_done_and_it_is_named(bare):
    bare.declare(GROWING)
    with Session.open(bare.connect) as session, journal.hold(session, "apply", 0, patience_s=1):
        bare.settle()
        ran = run("apply", "-f", bare.folder, "--yes")
        assert (ran.code, bare.written()) == (1, ())
    assert f"poolkeeper apply on {socket.gethostname()}, process {os.getpid()}" in ran.err


def test_beside_another_apply_nothing_is_shown_that_would_be_refused(bare):
    bare.declare(GROWING)
    with Session.open(bare.connect) as session, journal.hold(session, "apply", 0, patience_s=1):
        ran = run("apply", "-f", bare.folder)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("another executor is active on this cluster: poolkeeper apply on")


@pytest.mark.parametrize("what", ["apply", "run"])
def test_a_run_for_other_manifests_is_not_said_to_be_ended_beside_who_carries_it_out(bare, what):
    bare.declare(GROWING)
    assert interrupted(bare, "stage 1 requested", "apply", "--yes") == 130
    bare.declare(GROWING, pool=POOL | {"demote": [1]})
    with Session.open(bare.connect) as session, journal.hold(session, what, 0, patience_s=1):
        plan = journal.read_run(session).plan
        bare.settle()
        ran = run("apply", "-f", bare.folder, "--yes")
        assert (ran.code, ran.out, bare.written()) == (1, "", ())
    assert ran.err == (
        f"another executor is active on this cluster: poolkeeper {what} on {socket.gethostname()},"
        f" process {os.getpid()}: it carries out {plan}, a plan for other manifests: give it these"
        " manifests, or end it first\n"
    )


def test_an_executor_that_is_about_to_let_go_is_waited_for(bare, monkeypatch):
    """Its session ends a while after it was killed; it seems to be on another machine."""
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    bare.declare(AS_IT_IS | {"config": {"retention.ms": "1000"}})
    with ExitStack() as stack:
        session = stack.enter_context(Session.open(bare.connect))
        stack.enter_context(journal.hold(session, "apply", 0, patience_s=1))
        monkeypatch.undo()
        timer = Timer(1.0, stack.pop_all().close)
        timer.start()
        assert run("apply", "-f", bare.folder, "--yes").code == 0
        timer.join()


def test_beside_an_operator_the_approval_is_handed_over_and_nothing_else_is_done(bare, monkeypatch):
    monkeypatch.setattr(operator_approval, "BEGIN_WITHIN_S", 0)
    bare.declare(GROWING)
    with Session.open(bare.connect) as session, journal.hold(session, "run", 0, patience_s=1):
        bare.settle()
        ran = run("apply", "-f", bare.folder, "--yes")
        assert [change.path for change in bare.written()] == ["/poolkeeper/approvals"]
        (approved,) = journal.read_approvals(session)
    assert ran.code == 0
    assert f"approved {approved}; poolkeeper run on" in ran.out


def test_an_operator_that_may_only_plan_writes_nothing_at_all(bare):
    bare.declare(GROWING, mode="PlanOnly")
    bare.settle()
    assert interrupted(bare, "the mode is PlanOnly: nothing is written", "run") == 0
    assert bare.written() == ()
