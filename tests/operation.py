"""An operator as a process of a test, beside a real API server.

    with OperatorProcess(control_plane, namespace, "a") as operator:
        operator.await_role("leader")
        operator.kill() | .stop() | .freeze() | .thaw()
        operator.page("/metrics")

It is the command itself, `poolkeeper run --kubernetes`, with a kubeconfig: the administrator's, or
that of a service account. Its log is at `operator.log`.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from conditions import SERVER_POLL_S, until
from control_plane.planes import ControlPlane
from frozen import freeze

START_S = 120.0
ANSWER_S = 20.0


class OperatorProcess:
    """One instance; a context, in which it runs until it is stopped or killed."""

    def __init__(
        self,
        plane: ControlPlane,
        namespace: str,
        identity: str,
        arguments: Sequence[str] = (),
        kubeconfig: Path | None = None,
    ) -> None:
        self.plane = plane
        self.namespace = namespace
        self.identity = identity
        self.kubeconfig = kubeconfig or plane.kubeconfig
        self.port = _free_port()
        self.log = Path(tempfile.mkdtemp(prefix="operator-", dir=plane.folder)) / "log"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._asked_to_end = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.stop()
        if error is not None:
            error.add_note(f"log of operator {self.identity}:\n{self.log.read_text()[-6000:]}")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process; it must have been started."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, with an empty memory."""
        command = [
            *(sys.executable, "-m", "poolkeeper", "run", "--kubernetes"),
            *("--namespace", self.namespace, "--identity", self.identity),
            *("--listen", f"127.0.0.1:{self.port}", *self._arguments),
        ]
        self._asked_to_end = False
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def stop(self) -> int:
        """Ask it to end, and return its exit code."""
        self._asked_to_end = True
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_S)

    def kill(self) -> None:
        """SIGKILL: nothing is said to anybody."""
        self._asked_to_end = True
        self.process.kill()
        self.process.wait(START_S)

    def assert_alive(self) -> None:
        """Fail at once if it ended by itself: nobody has to wait for what it does not do."""
        code = None if self._asked_to_end else self.process.poll()
        assert code is None, f"operator {self.identity} ended by itself, with {code}"

    def freeze(self) -> None:
        """SIGSTOP: its connections stay open, and it says nothing."""
        freeze(self.process.pid)

    def thaw(self) -> None:
        """SIGCONT: it goes on with what it thinks it knows."""
        self.process.send_signal(signal.SIGCONT)

    def page(self, path: str) -> tuple[int, str]:
        """Return status and text of one of its pages; (0, reason) if it does not answer."""
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()
        except OSError as silent:
            return 0, str(silent)

    def await_role(self, role: str, timeout_s: float = START_S) -> None:
        """Wait until it says that it is ready, and as what: `leader`, `standby`."""
        said = f"ready: {role}"
        until(
            lambda: self.page("/readyz")[1].startswith(said),
            f"operator {self.identity} is {role}",
            timeout_s,
            SERVER_POLL_S,
        )

    def metric(self, series: str) -> float | None:
        """Return the value of one series, named as on the page."""
        for line in self.page("/metrics")[1].splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        return None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
