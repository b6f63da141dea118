"""A run with a real Spark as a person sees it: progress, the page of Spark, its events, Ctrl-C."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

import poolkeeper
from builders import cluster_spec
from conditions import until
from fleet.conftest import lake_at
from poolkeeper.resources.write import manifests

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
SHOWN_S = 300.0
ENDED_S = 120.0
LINE = re.compile(r"snapshot \S+: (\d+) of (\d+) tasks, \d.*, about \d.* left")


@pytest.fixture
def silent() -> Iterator[str]:
    """A ZooKeeper that takes connections and never says anything."""
    taken = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])

        Thread(target=take, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    for each in taken:
        each.close()


class Terminal:
    """A pseudo-terminal that a process writes to; `shown` is what it wrote."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        self.shown = ""
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError):
            while some := os.read(self._ours, 4096):
                self.shown += some.decode("utf-8", "replace")


def told(run: subprocess.Popen[bytes], terminal: Terminal) -> bool:
    """Whether the line was shown of a run that is under way."""
    assert run.poll() is None, terminal.shown
    return LINE.search(terminal.shown) is not None


def jobs(port: int) -> list[dict]:
    """The jobs that Spark's page tells of; none before it is there."""
    address = f"http://127.0.0.1:{port}/api/v1/applications"
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            (application,) = json.load(answer)
        with urllib.request.urlopen(f"{address}/{application['id']}/jobs", timeout=30) as answer:
            found: list[dict] = json.load(answer)
    except (OSError, ValueError):
        return []
    return found


def test_progress_then_an_interrupt(silent: str, tmp_path: Path, java_options: str) -> None:
    names = {f"c{number}": f"127.0.0.1:1/c{number}" for number in range(5)} | {"silent": silent}
    bodies = [manifests.cluster_body(cluster_spec(name, at)) for name, at in names.items()]
    (tmp_path / "all.yaml").write_text(manifests.text_of(bodies))
    (tmp_path / "events").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": port,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (tmp_path / "events").as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java_options,
    }
    given = [f"--conf={key}={value}" for key, value in conf.items()]
    words = ["-f", tmp_path / "all.yaml", "--out", tmp_path / "out", "--timeout", "600"]
    words += ["--deadline", "600", "--processes", "2", *given]
    terminal = Terminal()
    with subprocess.Popen(
        [sys.executable, "-m", "poolkeeper", "fleet", "run", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=terminal.theirs,
        start_new_session=True,
        # Who was started in the background ignores it, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={
            **os.environ,
            "PYTHONPATH": str(Path(poolkeeper.__file__).parents[1]),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
    ) as run:
        try:
            until(lambda: told(run, terminal), "the line with the time left", SHOWN_S)
            running = until(lambda: jobs(port), "Spark's page tells of jobs", SHOWN_S)
            assert any(
                each["description"].startswith("snapshot ") and each["status"] == "RUNNING"
                for each in running
                if "description" in each
            )
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does
            code = run.wait(ENDED_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
    assert code == 130
    last = terminal.shown.replace("\r\033[K", "\n").splitlines()[-1]
    assert last == "interrupted"
    until(lambda: jobs(port) == [], "Spark has ended", ENDED_S)
    lake = lake_at(tmp_path / "out")
    assert lake.days("snapshot") == ()
    (events,) = (tmp_path / "events").rglob("*local-*")
    assert '"SparkListenerJobStart"' in events.read_text()
