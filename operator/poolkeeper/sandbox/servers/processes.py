"""Processes by identity: a pid together with the time at which it started.

A pid alone names whoever has it now. With the start time (in clock ticks since boot, as
`/proc/<pid>/stat` tells it) and the boot it belongs to, it names one process for ever; only such
identities are recorded, asked about and killed here. Linux only, like the sandbox as a whole.

Children of a living owner are started from a thread of their own (`ProcessGroup`), because the
kernel's "kill me when my parent dies" means the parent *thread*: a sandbox that is started by a
worker thread would otherwise lose its brokers when that worker ends.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from poolkeeper import errors
from poolkeeper.frozen import frozen

LAUNCHER = Path(__file__).with_name("launch.py")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
POLL_S = 0.01


@frozen
class Identity:
    """One process of this boot: its pid and its start in clock ticks since boot."""

    pid: int
    started_ticks: int


def boot_id(file: Path = BOOT_ID) -> str:
    """Return the name of this boot of the machine; start times of other boots mean nothing.

    Raises Unavailable where there is no such file: on systems other than Linux.
    """
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        why = f"a sandbox needs Linux, which tells processes apart by {file}"
        raise errors.Unavailable(f"{why}: {error.strerror}") from error


def identify(pid: int) -> Identity | None:
    """Return who has `pid` now; None if nobody, or only a dead process not yet waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
    return None if fields[0] in "ZX" else Identity(pid, int(fields[19]))


def is_alive(identity: Identity) -> bool:
    """Whether exactly this process still runs."""
    return identify(identity.pid) == identity


def kill(identities: Iterable[Identity], timeout_s: float = 10) -> None:
    """Kill these processes and wait until they are gone; those gone already are no error.

    Raises Unavailable naming the pids that outlive the deadline.
    """
    doomed = tuple(identities)
    for identity in doomed:
        if is_alive(identity):
            with suppress(ProcessLookupError):
                os.kill(identity.pid, signal.SIGKILL)
    deadline = time.monotonic() + timeout_s
    while left := [identity.pid for identity in doomed if is_alive(identity)]:
        if time.monotonic() > deadline:
            raise errors.Unavailable(f"processes {left} were killed but are still there")
        time.sleep(POLL_S)


class Child:
    """A process that we started and can wait for."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.pid = process.pid
        self.log = log
        self._process = process

    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; a process that has ended does not get it."""
        self._process.send_signal(number)

    def wait(self, timeout_s: float) -> None:
        """Wait until it has ended. Raises Unavailable at the deadline."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as slow:
            raise errors.Unavailable(f"{self.name} did not end in {timeout_s:g} s") from slow

    def last_words(self, length: int = 2000) -> str:
        """Return the end of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-length:].strip()


class ProcessGroup:
    """Starts children that are recorded in the file `records` and, if tied, die with the owner.

    Tied children live as long as this object at the most: its thread is what they are tied to.
    """

    def __init__(self, records: Path, *, tied: bool) -> None:
        self._records = records
        self._owner = os.getpid() if tied else 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sandbox-nursery")

    def start(self, name: str, command: Sequence[str], log: Path) -> Child:
        """Start `command` (its first item an absolute path), its output appended to `log`.

        Raises Refused where the log cannot be made.
        """
        return self._thread.submit(self._start, name, command, log).result()

    def _start(self, name: str, command: Sequence[str], log: Path) -> Child:
        launcher = [sys.executable, "-I", "-S", str(LAUNCHER), str(self._records), name]
        try:
            out = log.open("ab")
        except OSError as error:
            raise errors.Refused(f"{log}: cannot be made ({error.strerror})") from error
        with out:
            process = subprocess.Popen(
                [*launcher, str(self._owner), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is the owner's to act on
            )
        return Child(name, process, log)

    def close(self) -> None:
        """End the thread, and with it whatever tied child still runs."""
        self._thread.shutdown()
