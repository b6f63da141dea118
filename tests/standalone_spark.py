"""A standalone Spark of tests: a master and two workers, on two hosts that are this machine.

    def test_tables(standalone_spark):
        done = standalone_spark.submit("run", "-f", folder, "--out", out)     # by spark-submit
        with standalone_spark.submitted("run", "-f", folder, "--out", out) as driver: ...
        standalone_spark.applications()     # what the master has seen: {"poolkeeper-fleet": …}
        standalone_spark.kill_executor(0)   # of the worker on 127.0.0.1

The workers' hosts have different names, 127.0.0.1 and 127.0.0.2: Spark starts a second attempt of a
slow task only on another host. Each has a core. Executors are children of their worker.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from conditions import until
from control_plane.building import CHECKOUT
from poolkeeper.cli.submitted import FILE
from poolkeeper.sandbox.servers.processes import Child, ProcessGroup

HOSTS = ("127.0.0.1", "127.0.0.2")
START_S = 300.0
SUBMIT_S = 900.0
STOP_S = 60.0
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
CLASSES = "org.apache.spark.deploy"
CONF: Mapping[str, object] = {
    "spark.driver.host": HOSTS[0],
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JAVA,
}
"""Settings that fit onto a small machine."""


class StandaloneSpark:
    """The processes of a standalone Spark; their logs and workers' files are below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "processes").touch()
        self._group = ProcessGroup(folder / "processes", tied=True)
        self._master_port, self._page_port = _free_port(), _free_port()
        self._children: list[Child] = []

    @property
    def master(self) -> str:
        """The master's URL."""
        return f"spark://{HOSTS[0]}:{self._master_port}"

    def start(self) -> None:
        """Start the master and a worker on each host."""
        ports = ["--port", self._master_port, "--webui-port", self._page_port]
        self._run("master", f"{CLASSES}.master.Master", "--host", HOSTS[0], *ports)
        until(lambda: self._state() is not None, "the master answers", START_S)
        for number, host in enumerate(HOSTS):
            words = ["--host", host, "--webui-port", 0, "--cores", 1, "--memory", "1g"]
            words += ["-d", self.folder / f"worker-{number}", self.master]
            self._run(f"worker-{number}", f"{CLASSES}.worker.Worker", *words)
        until(lambda: self._live_workers() == len(HOSTS), "both workers are there", START_S)

    def submit(
        self, *words: object, conf: Mapping[str, object] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `poolkeeper fleet WORDS` by `spark-submit`, in client mode."""
        with self.submitted(*words, conf=conf) as driver:
            out, err = driver.communicate(timeout=SUBMIT_S)
        return subprocess.CompletedProcess(driver.args, driver.returncode, out, err)

    @contextmanager
    def submitted(
        self, *words: object, conf: Mapping[str, object] | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """Begin to; the driver does not outlive the block."""
        driver = subprocess.Popen(
            self._command(words, conf or {}),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with driver:
            try:
                yield driver
            finally:
                driver.kill()

    def _command(self, words: Iterable[object], conf: Mapping[str, object]) -> list[str]:
        settings = {**CONF, **conf}
        given = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        submit = [spark_home() / "bin" / "spark-submit", "--master", self.master]
        return [str(word) for word in (*submit, "--deploy-mode", "client", *given, FILE, *words)]

    def applications(self) -> dict[str, str]:
        """Return the states of all applications that the master has seen, by name."""
        state = self._state() or {}
        every = (*state.get("activeapps", ()), *state.get("completedapps", ()))
        return {each["name"]: each["state"] for each in every}

    def executors(self, worker: int) -> list[int]:
        """Return the processes of executors that this worker has started."""
        return _children_of(self._children[1 + worker].pid)

    def kill_executor(self, worker: int) -> None:
        """Kill the executors of a worker, as soon as there is one."""
        for pid in until(lambda: self.executors(worker), "an executor", START_S):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """End all processes; workers first, which end their executors."""
        for child in reversed(self._children):
            if child.exit_code() is None:
                child.signal(signal.SIGTERM)
                child.wait(STOP_S)
        self._group.close()

    def _run(self, name: str, of: str, *words: object) -> None:
        settings = (f"{key}={value}" for key, value in environment().items())
        program = [*settings, spark_home() / "bin" / "spark-class", of, *words]
        command = ["/usr/bin/env", "-i", *map(str, program)]
        self._children.append(self._group.start(name, command, self.folder / f"{name}.log"))

    def _state(self) -> dict[str, Any] | None:
        for child in self._children:
            assert child.exit_code() is None, f"{child.name}: {child.last_words()}"
        address = f"http://{HOSTS[0]}:{self._page_port}/json/"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                found = json.load(answer)
        except (OSError, ValueError):  # its pages come after its port: until then there is no JSON
            return None
        assert isinstance(found, dict)
        return found

    def _live_workers(self) -> int:
        workers = (self._state() or {}).get("workers", ())
        return sum(each["state"] == "ALIVE" for each in workers)


def spark_home() -> Path:
    """Return the folder of pyspark, which is a whole Spark but for its start scripts."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def environment() -> dict[str, str]:
    """Return what processes of Spark are told: this interpreter, and this checkout's package."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return {
        **kept,
        "SPARK_HOME": str(spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(CHECKOUT / "operator"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA,
        "SPARK_LOCAL_DIRS": str(Path(os.environ.get("TMPDIR", "/tmp"))),
    }


def _children_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == parent and fields[0] not in "ZX":
                found.append(int(stat.parent.name))
    return found


def _free_port() -> int:
    with socket.create_server((HOSTS[0], 0)) as free:
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def standalone_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneSpark]:
    standalone = StandaloneSpark(tmp_path_factory.mktemp("standalone") / "spark")
    try:
        standalone.start()
        yield standalone
    finally:
        standalone.close()
