"""Processes that stand still, until somebody sends them SIGCONT.

A SIGSTOP acts once one thread of the process has taken it. On a busy machine that thread may wait
for a processor while the others go on and answer, so that a process is frozen only when all of its
threads are seen to be stopped.
"""

import os
import signal
from pathlib import Path

from conditions import until


def freeze(pid: int) -> None:
    """Stop the process where it stands, and wait until none of its threads runs any more."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: set(_states(pid)) == {"T"}, f"all threads of process {pid} are stopped")


def _states(pid: int) -> list[str]:
    """Return the state of each thread, as proc(5) has it; a thread that has ended has none."""
    states = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            stat = (thread / "stat").read_text(encoding="ascii", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        states.append(stat.rpartition(")")[2].split()[0])
    return states
