"""Processes are known by pid and start time, and tied children end with their owner."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from conditions import until
from poolkeeper import errors
from poolkeeper.sandbox.servers import processes
from poolkeeper.sandbox.servers.processes import Identity, ProcessGroup

SLEEP = (sys.executable, "-S", "-c", "import time; time.sleep(60)")


@pytest.fixture
def records(tmp_path):
    file = tmp_path / "processes.jsonl"
    file.touch()
    yield file
    processes.kill(recorded(file))


def recorded(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [Identity(line["pid"], line["started_ticks"]) for line in lines]


def test_we_are_alive_and_somebody_with_our_pid_is_not():
    me = processes.identify(os.getpid())
    assert processes.is_alive(me)
    assert not processes.is_alive(replace(me, started_ticks=me.started_ticks - 1))


def test_a_system_that_does_not_tell_boots_apart_is_refused(tmp_path):
    with pytest.raises(errors.Unavailable, match=f"needs Linux.* by {tmp_path}/boot_id: No such"):
        processes.boot_id(tmp_path / "boot_id")


def test_a_dead_child_not_waited_for_is_nobody():
    child = subprocess.Popen([sys.executable, "-c", ""])
    until(lambda: processes.identify(child.pid) is None, "the child to end")
    child.wait()


def test_only_the_very_process_is_killed():
    child = subprocess.Popen(SLEEP)
    identity = processes.identify(child.pid)
    processes.kill([replace(identity, started_ticks=identity.started_ticks + 1)])
    assert child.poll() is None
    processes.kill([identity])
    assert child.wait() == -signal.SIGKILL
    processes.kill([identity])  # gone already


def test_a_child_records_itself_before_it_is_what_it_shall_be(records, tmp_path):
    nursery = ProcessGroup(records, tied=True)
    children = [nursery.start(f"c{n}", SLEEP, tmp_path / "log") for n in range(5)]
    until(lambda: len(recorded(records)) == 5, "five records")
    assert {identity.pid for identity in recorded(records)} == {child.pid for child in children}
    assert all(map(processes.is_alive, recorded(records)))
    for child in children:
        child.signal(signal.SIGKILL)
        child.wait(10)
    nursery.close()


def test_a_child_outlives_the_thread_that_asked_for_it(records, tmp_path):
    nursery = ProcessGroup(records, tied=True)
    started = []
    worker = threading.Thread(
        target=lambda: started.append(nursery.start("c", SLEEP, tmp_path / "log"))
    )
    worker.start()
    worker.join()
    until(lambda: recorded(records), "the record")
    assert started[0].exit_code() is None
    nursery.close()  # … but not the nursery
    started[0].wait(10)


OWNER = """
import sys, pathlib, time
from poolkeeper.sandbox.servers.processes import ProcessGroup
records = pathlib.Path(sys.argv[1])
nursery = ProcessGroup(records, tied=sys.argv[2] == "tied")
nursery.start("c", [sys.executable, "-c", "import time; time.sleep(60)"], records.parent / "log")
while not records.read_text(): time.sleep(0.01)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("tied", [True, False], ids=["tied-dies", "untied-lives"])
def test_when_the_owner_is_killed_a_child_that_is(records, tied):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(records), "tied" if tied else "free"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        assert owner.stdout.readline() == b"ready\n"
        (child,) = recorded(records)
        owner.kill()
        owner.wait()
    if tied:
        until(lambda: not processes.is_alive(child), "the child to die with its owner")
    else:
        assert processes.is_alive(child)


def test_last_words_are_the_end_of_the_log(records, tmp_path):
    nursery = ProcessGroup(records, tied=True)
    child = nursery.start("c", [sys.executable, "-c", "print('x' * 50 + 'end')"], tmp_path / "log")
    child.wait(10)
    nursery.close()
    assert (child.exit_code(), child.last_words(4)) == (0, "end")
