"""The sandbox comes up, says so only when it is true, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kazoo.client import KazooClient

import txnlog
from conditions import until
from poolkeeper import errors
from poolkeeper.sandbox import BrokerSpec, Sandbox, SandboxSpec, spread, take_down
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, TransactionKind
from poolkeeper.sandbox.servers import processes, records
from real.support import registrations

COMMAND = [sys.executable, "-c", "from poolkeeper.cli.commands.sandbox import sandbox; sandbox()"]


GUARD = """
import pathlib, sys
from poolkeeper import sandbox
sys.stdin.read()
sandbox.take_down_all(pathlib.Path(sys.argv[1]))
"""


@pytest.fixture
def guarded(tmp_path):
    """A root whose sandboxes end with this test, even one that was left up, even if we are killed.

    The guard waits for the end of its input, which comes with our end at the latest.
    """
    with subprocess.Popen(
        [sys.executable, "-c", GUARD, str(tmp_path)], stdin=subprocess.PIPE, start_new_session=True
    ):
        yield tmp_path


def children(root):
    return [
        child for state in records.all_states(root) for child in records.children(root, state.name)
    ]


@pytest.mark.soak
def test_brokers_come_and_go(fresh_kafka):
    sandbox = fresh_kafka(brokers=2, session_timeout_ms=6_000)
    before = registrations(sandbox)[0]
    sandbox.kill(1)
    assert 1 in registrations(sandbox)[0]  # until its session times out
    sandbox.await_gone(1)
    sandbox.stop(2)
    assert sandbox.broker(2).exit_code() is not None
    sandbox.start_broker(1)
    sandbox.add_broker(BrokerSpec(9, "z"))
    found, controller = registrations(sandbox)
    assert {n: (broker["port"], broker["rack"]) for n, broker in found.items()} == {
        1: (before[1]["port"], "a"),
        9: (sandbox.state.brokers[-1].port, "z"),
    }
    assert controller in found
    with pytest.raises(errors.Refused, match="broker 1 is running"):
        sandbox.start_broker(1)
    with pytest.raises(errors.Refused, match="no broker 5"):
        sandbox.kill(5)


def test_zookeeper_keeps_its_nodes_over_a_crash(chroot, tmp_path):
    with Sandbox.start(SandboxSpec(root=tmp_path)) as sandbox:
        client = KazooClient(sandbox.zookeeper)
        client.start(timeout=120)
        client.create("/kept", b"x")
        sandbox.kill_zookeeper()
        sandbox.start_zookeeper()
        assert client.retry(client.get, "/kept")[0] == b"x"
        client.stop()
        client.close()


def test_the_transaction_log_tells_who_did_what(zookeeper, chroot):
    prefix = chroot.removeprefix(zookeeper.zookeeper)
    client = KazooClient(chroot)
    client.start(timeout=120)
    session = client.client_id[0]
    client.create("/a", b"1", ephemeral=True)
    transaction = client.transaction()
    transaction.check("/a", 0)
    transaction.set_data("/a", b"2")
    transaction.commit()
    failing = client.transaction()
    failing.set_data("/a", b"3")
    failing.check("/a", 9)
    failing.commit()
    client.stop()
    client.close()
    ours = [
        transaction
        for transaction in txnlog.read_folder(zookeeper.transaction_log())
        if transaction.session == session
    ]
    kinds = TransactionKind
    assert [(t.kind, t.failed) for t in ours] == [
        (kinds.OPEN_SESSION, False),
        (kinds.CREATE, False),
        (kinds.MULTI, False),
        (kinds.MULTI, True),
        (kinds.CLOSE_SESSION, False),
    ]
    path = f"{prefix}/a"
    assert [t.changes for t in ours] == [
        (),
        (Operation(kinds.CREATE, path, b"1", ephemeral=True),),
        (Operation(kinds.SET, path, b"2", version=1),),
        (),
        (Operation(kinds.DELETE, path),),
    ]
    assert ours[2].operations[0] == Operation(kinds.CHECK, path, version=0)
    assert abs(ours[1].time_ms / 1000 - time.time()) < 60


def test_nothing_is_left_after_the_end(tmp_path):
    sandbox = Sandbox.start(SandboxSpec(brokers=spread(1, racks=""), root=tmp_path))
    assert "rack" not in registrations(sandbox)[0][1]
    started = children(tmp_path)
    assert len(started) == 2
    assert all(map(processes.is_alive, started))
    sandbox.close()
    assert not any(map(processes.is_alive, started))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    sandbox.close()


def test_a_start_that_fails_leaves_nothing(tmp_path):
    broken = BrokerSpec(1, "a", (("log.cleaner.threads", "none"), ("broker.id", "x")))
    with pytest.raises(errors.Unavailable, match=r"(?s)broker-1 ended \(1\).*broker\.id"):
        Sandbox.start(SandboxSpec(brokers=(broken,), root=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_without_java_and_maven_it_says_what_to_install(tmp_path):
    with pytest.raises(errors.Unavailable) as caught:
        Sandbox.start(SandboxSpec(root=tmp_path), search_path=str(tmp_path))
    assert str(caught.value) == (
        "the sandbox needs java and mvn, not found on the search path: "
        "apt-get install default-jre-headless maven"
    )
    assert list(tmp_path.iterdir()) == []


def foreground(root: Path) -> subprocess.Popen[bytes]:
    arguments = ["up", "--foreground", "--brokers", "1", "--root", str(root), "--output", "json"]
    return subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_one_whose_owner_was_killed_is_cleaned_by_the_next(tmp_path):
    with foreground(tmp_path) as owner:
        up = json.loads(owner.stdout.readline())
        started = children(tmp_path)
        assert len(started) == 2
        owner.kill()
        owner.wait()
    until(lambda: not any(map(processes.is_alive, started)), "children to die with their owner")
    assert Path(up["folder"]).is_dir()
    with Sandbox.start(SandboxSpec(root=tmp_path)):
        assert not Path(up["folder"]).exists()
        assert len(records.all_states(tmp_path)) == 1


def test_one_killed_while_it_was_being_brought_up_is_cleaned_by_the_next(guarded):
    """Its processes are not tied to it: they shall live when `up` returns, which it never did."""
    up = subprocess.Popen([*COMMAND, "up", "--root", str(guarded)], stdout=subprocess.PIPE)
    until(lambda: children(guarded), "the first child")
    up.kill()
    up.communicate()
    assert any(map(processes.is_alive, children(guarded)))
    orphans = children(guarded)
    with Sandbox.start(SandboxSpec(root=guarded)):
        assert not any(map(processes.is_alive, orphans))
        assert [state.name for state in records.all_states(guarded)] != ["sandbox"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_one_in_the_foreground(tmp_path, number):
    with foreground(tmp_path) as owner:
        owner.stdout.readline()
        started = children(tmp_path)
        os.kill(owner.pid, number)
        _, complaint = owner.communicate(timeout=120)
    assert (owner.returncode, complaint) == (0, b"ending\n")
    assert not any(map(processes.is_alive, started))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_one_in_the_background_lives_until_it_is_taken_down(guarded):
    def run(*arguments: str) -> str:
        line = [*COMMAND, *arguments, "--root", str(guarded), "--name", "mine"]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout

    text = run("up", "--brokers", "1", "--racks", "r", "--kafka", "2.8.2")
    connect = re.search(r"ZooKeeper: (\S+)", text)[1]
    assert f'zookeeper: {{connect: "{connect}"}}' in text
    with Sandbox.start(SandboxSpec(root=guarded)):
        client = KazooClient(connect)  # the next sandbox has left it alone
        client.start(timeout=120)
        assert client.get_children("/brokers/ids") == ["1"]
        client.stop()
        client.close()
    started = children(guarded)
    assert run("down") == "ended: mine\n"
    assert not any(map(processes.is_alive, started))
    assert run("down") == "nothing to end\n"
    assert take_down("mine", guarded) is False
    assert [path.name for path in guarded.iterdir()] == [".lock"]
