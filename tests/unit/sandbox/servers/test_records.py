"""Records of sandboxes: who is an orphan, and what becomes of it."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from poolkeeper import errors
from poolkeeper.sandbox.servers import processes, records
from poolkeeper.sandbox.servers.processes import Identity
from poolkeeper.sandbox.servers.records import BrokerPort, SandboxRecord


def state(name="s", **changes):
    blank = SandboxRecord(
        name=name,
        owner=processes.identify(os.getpid()),
        boot_id=processes.boot_id(),
        created="2024-01-01T00:00:00+00:00",
        kafka="3.9.2",
        chroot="/kafka",
        zookeeper_port=0,
    )
    return replace(blank, **changes)


DEAD = Identity(os.getpid(), 1)


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
    yield processes.identify(process.pid)
    process.kill()
    process.wait()


def record_child(root, name, identity):
    line = {"name": "broker-1", "pid": identity.pid, "started_ticks": identity.started_ticks}
    records.records(root, name).write_text(json.dumps(line) + "\n")


def test_a_record_survives_being_written_and_read(tmp_path):
    written = state(zookeeper_port=1, brokers=(BrokerPort(1, "a", 2), BrokerPort(2, None, 3)))
    records.write(tmp_path, written)
    assert records.read(tmp_path, "s") == written
    assert records.all_states(tmp_path) == (written,)
    assert records.read(tmp_path, "other") is None


@pytest.mark.parametrize("write", [records.write, lambda root, new: records.claim(root, new, ())])
def test_a_folder_that_takes_no_record_is_named(tmp_path, write):
    root = tmp_path / "file"
    root.write_text("no folder")
    with pytest.raises(
        errors.Refused, match=f"^{re.escape(str(root))}.*: cannot be (made|written)"
    ):
        write(root, state())


def test_addresses_follow_from_ports():
    known = state(zookeeper_port=1, brokers=(BrokerPort(1, "a", 2), BrokerPort(2, None, 3)))
    assert (known.zookeeper, known.connect, known.bootstrap) == (
        "127.0.0.1:1",
        "127.0.0.1:1/kafka",
        "127.0.0.1:2,127.0.0.1:3",
    )


@pytest.mark.parametrize(
    ("changes", "child_lives", "expected"),
    [
        pytest.param({}, False, True, id="owner-lives"),
        pytest.param({"owner": DEAD}, True, False, id="owner-dead"),
        pytest.param({"owner": DEAD, "detached": True}, True, True, id="detached-with-children"),
        pytest.param({"detached": True}, False, False, id="detached-all-dead"),
        pytest.param({"boot_id": "another"}, True, False, id="of-another-boot"),
    ],
)
def test_who_is_in_use(tmp_path, child, changes, child_lives, expected):
    records.claim(tmp_path, state(), [])
    record_child(tmp_path, "s", child if child_lives else replace(child, started_ticks=1))
    assert records.is_in_use(tmp_path, state(**changes)) is expected


def test_a_sweep_ends_orphans_and_leaves_the_rest(tmp_path, child):
    kept = records.claim(tmp_path, state("kept"), [(1, "a")])
    records.claim(tmp_path, state("orphan"), [])
    record_child(tmp_path, "orphan", child)
    records.write(tmp_path, state("orphan", owner=DEAD))
    assert records.sweep(tmp_path) == ("orphan",)
    assert not processes.is_alive(child)
    assert records.all_states(tmp_path) == (kept,)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "kept", "kept.json"}


def test_after_a_reboot_pids_mean_nothing(tmp_path, child):
    records.claim(tmp_path, state("old"), [])
    record_child(tmp_path, "old", child)
    records.write(tmp_path, state("old", owner=DEAD, boot_id="another"))
    assert records.sweep(tmp_path) == ("old",)
    assert processes.is_alive(child)


def test_a_name_in_use_is_refused_and_one_of_an_orphan_is_not(tmp_path):
    records.claim(tmp_path, state(), [])
    with pytest.raises(errors.Refused, match="a sandbox named 's' is up"):
        records.claim(tmp_path, state(), [])
    records.write(tmp_path, state(owner=DEAD))
    records.claim(tmp_path, state(), [])


def test_no_two_sandboxes_share_a_port(tmp_path):
    made = [records.claim(tmp_path, state(f"s{n}"), [(1, "a"), (2, None)]) for n in range(5)]
    with records.hold_lock(tmp_path):
        made[0] = records.extend(tmp_path, made[0], [(3, "c")])
    ports = [port for one in made for port in one.ports]
    assert len(set(ports)) == len(ports) == 16
    assert made[0].brokers[-1] == BrokerPort(3, "c", ports[3])
    assert records.read(tmp_path, "s0") == made[0]


def test_a_file_that_is_no_record_is_named(tmp_path):
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(errors.Refused, match=r"x\.json is not the record of a sandbox"):
        records.all_states(tmp_path)
