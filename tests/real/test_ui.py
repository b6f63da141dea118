"""Live pages of a real cluster: what they tell during a run, and that they write nothing."""

import http.client
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import txnlog
from authors import broker_by_session
from conditions import until
from poolkeeper.cli.commands.ui import live_pages
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.controller.loops.drive import drive
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.ui.registry import LivePages
from poolkeeper.ui.server import LiveServer
from real.support import (
    HOLDER,
    access,
    command,
    create,
    declare,
    desired,
    history,
    last_zxid,
    move,
    of_path,
    plan_of,
)

PAGES = ("run", "pools", "plan", "history")


class Viewer(Thread):
    """Reads the events of a page until the server ends; `contents` are its pages, in order."""

    def __init__(self, server: LiveServer, path: str) -> None:
        super().__init__(daemon=True)
        self.contents: list[str] = []
        self._connection = http.client.HTTPConnection(*server.address, timeout=60)
        self._connection.request("GET", path, headers=cookies(server))
        self._response = self._connection.getresponse()
        self.start()

    def run(self) -> None:
        while line := self._response.readline():
            if line.startswith(b'data: {"title"'):
                self.contents.append(json.loads(line[6:])["content"])

    def await_told(self, *parts: str) -> None:
        until(
            lambda: any(all(part in each for part in parts) for each in list(self.contents)),
            f"the page tells {parts}",
            60,
        )


def cookies(server: LiveServer) -> dict[str, str]:
    return {"Cookie": f"{server.access.cookie}={server.access.token}"}


def page(server: LiveServer, path: str) -> str:
    connection = http.client.HTTPConnection(*server.address, timeout=60)
    connection.request("GET", path, headers=cookies(server))
    response = connection.getresponse()
    assert response.status == 200
    text = response.read().decode()
    connection.close()
    return text


@contextmanager
def serving(address: ClusterSelection) -> Iterator[LiveServer]:
    with LiveServer.listening(0, LivePages(live_pages.all_pages(address))) as server:
        yield server


def test_the_pages_follow_a_run_and_write_nothing(kafka, topic_name, tmp_path):
    sandbox = kafka()
    create(sandbox, topic_name, (1, 2), (1, 2))
    wanted = desired(topic_name)
    moves = [move(sandbox, topic_name, p, (1, 2), (3, 2)) for p in range(2)]
    plan = plan_of(wanted, sandbox, moves=moves)
    pool = {"old": {"brokers": {"ids": [1, 2, 3]}}}
    declare(tmp_path, sandbox, pool, {})
    began = last_zxid(sandbox)
    with serving(ClusterSelection((tmp_path,))) as server:
        viewers = {name: Viewer(server, f"/clusters/main/{name}/events") for name in PAGES}
        viewers["run"].await_told("No run is under way.")
        viewers["history"].await_told("History of cluster main")
        viewers["plan"].await_told("Plan for cluster main")
        viewers["pools"].await_told("Pools of cluster main", "3 brokers")
        assert history(sandbox, began) == (), "who looks writes nothing"

        def report(outcome: Outcome) -> None:
            """Hold the run up until the page has told of it."""
            progress = outcome.progress
            if progress is not None and progress.phase is Phase.MOVING and progress.stage:
                viewers["run"].await_told("Moving, stage 1: ", "of 2 moves done", plan.hash)

        ended = drive(access(sandbox), wanted, plan, report)
        assert ended.state is State.CONVERGED
        until(lambda: "No run is under way." in viewers["run"].contents[-1], "it has ended", 60)
        viewers["history"].await_told(plan.hash[:15])
    for viewer in viewers.values():
        viewer.join(30)
    changes = history(sandbox, began)
    brokers = broker_by_session(txnlog.read_folder(sandbox.transaction_log()))
    executors = {change.session for change in of_path(changes, HOLDER) if change.kind == "CREATE"}
    assert len(executors) == 1
    assert {change.session for change in changes} <= {*brokers, *executors}


def test_the_command_prints_an_address_and_ends_at_ctrl_c(kafka):
    sandbox = kafka()
    with subprocess.Popen(
        command("ui", sandbox.connect, "--port", 0),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            address = process.stdout.readline()
            assert address.startswith("http://127.0.0.1:")
            host, _, rest = address.removeprefix("http://").rstrip().partition("/")
            connection = http.client.HTTPConnection(host, timeout=30)
            connection.request("GET", f"/{rest}")
            response = connection.getresponse()
            assert (response.status, b"/clusters/kafka/run" in response.read()) == (200, True)
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=30)
            assert (process.returncode, out, err) == (130, "", "\ninterrupted\n")
        finally:
            process.kill()
