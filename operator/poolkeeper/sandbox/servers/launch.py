"""Becomes a child of a sandbox: records itself, ties its life to the owner's, executes the command.

Run as a file by a bare interpreter: `launch.py RECORDS NAME OWNER COMMAND…`, so it imports nothing
of ours. It does in the child what would otherwise need code between fork and exec, which is not
safe in an owner that has threads:

* one line is appended to the file RECORDS *before* the command starts, so that there is no moment
  at which a child lives and nobody knows of it;
* with OWNER (a pid, 0 for none) the kernel is told to kill this process when the thread that
  started it ends. The request survives exec. If the owner was gone before the request was made,
  nothing is started.

Pid and start time stay the same across exec, so the record is that of the command.
"""

import ctypes
import json
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(records: str, name: str, owner: int, command: list[str]) -> None:
    """Record, tie, execute; does not return."""
    if owner:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != owner:
            sys.exit(1)
    with open("/proc/self/stat", encoding="ascii") as stat:
        started = int(stat.read().rpartition(")")[2].split()[19])
    line = json.dumps({"name": name, "pid": os.getpid(), "started_ticks": started})
    # One write to a file opened for appending: lines of children that start together do not mix.
    out = os.open(records, os.O_WRONLY | os.O_APPEND)
    os.write(out, f"{line}\n".encode())
    os.close(out)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
