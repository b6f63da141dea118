"""One run of one container as a local process; what happens inside is told in `inside`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from control_plane.building import CHECKOUT
from control_plane.kubelet.podspecs import Identity
from poolkeeper import errors

INSIDE = Path(__file__).with_name("inside")
START_S = 30
MESSAGE_BYTES = 4096
LOG_BYTES_MAX = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of this machine at a path of the container."""

    source: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Launch:
    """All that it takes to start a container. `hidden` is the folder that it must not see."""

    directory: Path
    hidden: Path
    command: Sequence[str]
    env: Mapping[str, str]
    working_dir: str
    host_name: str
    ip: str
    identity: Identity
    read_only_root: bool
    mounts: Sequence[Bind]


class Process:
    """A container's process; ends with the thread that started it."""

    def __init__(self, keeper: subprocess.Popen[bytes], pid: int, output: Thread) -> None:
        self.pid = pid
        self._keeper = keeper
        self._output = output

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return the exit code, 128 + n for signal n, its log complete; None at the deadline."""
        try:
            code = self._keeper.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._output.join(START_S)
        return code if code >= 0 else 128 - code

    def stop(self, grace_s: float) -> None:
        """Ask it to end, and end it after `grace_s`."""
        self._signal(signal.SIGTERM)
        if self.wait(grace_s) is None:
            self.kill()

    def kill(self) -> None:
        """End it and all its descendants now."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        # The keeper waits for the child, so its pid is taken for as long as the keeper lives.
        if self._keeper.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def start(launch: Launch, log: Path) -> Process:
    """Start a container, its output appended to `log`. Raises Refused if it cannot be executed.

    Returns when the command has been executed, and not before.
    """
    description = launch.directory / "launch.json"
    description.write_text(json.dumps(_described(launch)), encoding="utf-8")
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as reports:
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(INSIDE), str(description), str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)
        output = Thread(target=_keep_output, args=(keeper, log), daemon=True)
        output.start()
        facts: dict[str, Any] = {}
        for line in reports:
            facts.update(json.loads(line))
    if "pid" not in facts or "failure" in facts:
        keeper.kill()
        keeper.wait(START_S)
        output.join(START_S)
        raise errors.Refused(facts.get("failure") or f"container did not start; see {log}")
    return Process(keeper, facts["pid"], output)


def searchable(program: str) -> list[str]:
    """Return the folders that any user must be able to pass through to get at a program.

    Those above the program and this interpreter, and above what their links lead to.
    """
    files = [Path(name) for name in (program, sys.executable) if name.startswith("/")]
    return sorted(
        {str(up) for file in files for path in (file, file.resolve()) for up in path.parents}
    )


def _described(launch: Launch) -> dict[str, Any]:
    hosts = f"127.0.0.1 localhost\n{launch.ip} {launch.host_name}\n"
    mounts = [asdict(mount) for mount in launch.mounts]
    return {
        "owner": os.getpid(),
        "directory": str(launch.directory),
        "hidden": str(launch.hidden),
        "command": list(launch.command),
        "env": dict(launch.env),
        "working_dir": launch.working_dir,
        "host_name": launch.host_name,
        "hosts": hosts,
        "identity": asdict(launch.identity),
        "read_only_root": launch.read_only_root,
        "searchable": searchable(launch.command[0]),
        "mounts": mounts,
        "image": covered([mount.path for mount in launch.mounts]),
    }


def covered(paths: Sequence[str]) -> list[str]:
    """Return what the image is made of and a mount of the pod would hide.

    A real image is not of this machine: whoever keeps the checkout below /tmp would otherwise find
    nothing to run in a pod that mounts something there.
    """
    parts = dict.fromkeys((str(CHECKOUT), sys.prefix))
    return [part for part in parts if any(f"{part}/".startswith(f"{path}/") for path in paths)]


def _keep_output(keeper: subprocess.Popen[bytes], log: Path) -> None:
    """Append what a container writes to its log, as much as there is room for.

    It writes to a pipe, as in every container engine: a script may open /dev/stdout anew, and a
    file would be truncated by that.
    """
    assert keeper.stdout
    with keeper.stdout as output, log.open("ab", buffering=0) as file:
        room = LOG_BYTES_MAX - file.tell()
        while chunk := os.read(output.fileno(), 65536):
            file.write(chunk[: max(0, room)])
            room -= len(chunk)


def message_of(path: Path, log: Path, log_from: int, exit_code: int, last_words: bool) -> str:
    """Return what a container left as its message: its file, or if wanted the end of its log."""
    text = _tail(path, 0) if path.exists() else ""
    if not text and last_words and exit_code:
        return _tail(log, log_from)[-2048:]
    return text


def _tail(path: Path, start: int) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(start, size - MESSAGE_BYTES))
        return file.read(MESSAGE_BYTES).decode(errors="replace")
