"""Starts one container: `python -I -S inside LAUNCH REPORT`, run from the kubelet.

LAUNCH is a file that describes the container (`containers.Launch`), REPORT the number of an open
pipe. This process, the keeper, makes namespaces of mounts, of the host's name and of pids, and a
child in them that prepares the root, takes on the user and executes the command. On REPORT go one
line with the pid of that child as the machine sees it, and one with a failure if the command could
not be executed; the pipe is closed once it is. The keeper ends with the exit code of the command,
128 + n for signal n.

The command is pid 1 of its pid namespace. So, as in any container, all its descendants end with
it, and signals that it has no handler for do not reach it, except SIGKILL and SIGSTOP.

Nothing outlives the kubelet: the kernel kills the keeper when the kubelet's thread ends, and the
child when the keeper ends. Changing the user makes the kernel forget the latter, hence a second
request; `kept` notices if the keeper ended in between.
"""

import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any

import credentials
import roots
import syscalls

NAMESPACES = (
    syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWPID
)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
COULD_NOT_START = 128


def main(path: str, report: int) -> int:
    """Start the container, wait for its end and return its exit code."""
    with open(path, encoding="utf-8") as file:
        launch = json.load(file)
    syscalls.die_with_parent()
    if os.getppid() != launch["owner"]:
        return COULD_NOT_START
    syscalls.unshare(NAMESPACES)
    kept, keeping = os.pipe()
    child = os.fork()
    if not child:
        os.close(keeping)
        os._exit(become(launch, report, kept))
    os.close(kept)
    tell(report, {"pid": child})
    os.close(report)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def become(launch: Mapping[str, Any], report: int, kept: int) -> int:
    """Become the container's command; return only if that fails, after saying why on `report`."""
    os.set_inheritable(report, False)
    try:
        syscalls.die_with_parent()
        socket.sethostname(launch["host_name"])
        roots.enter(launch)
        os.chdir(launch["working_dir"])
        credentials.take_on(launch["identity"])
        syscalls.die_with_parent()
        for number in IGNORED_BY_PYTHON:  # or the command would inherit that
            signal.signal(number, signal.SIG_DFL)
        if not select.select([kept], [], [], 0)[0]:
            command = launch["command"]
            os.execvpe(command[0], command, launch["env"])
    except OSError as failure:
        tell(report, {"failure": explain(failure, launch)})
    return COULD_NOT_START


def explain(failure: OSError, launch: Mapping[str, Any]) -> str:
    """Say what failed; of a program that this user may not run, that it is the user."""
    uid, program = launch["identity"]["uid"], launch["command"][0]
    if isinstance(failure, PermissionError) and os.getuid() == uid != 0:
        return f"user {uid} may not read or execute {program} as it lies on this machine"
    return f"{program}: {failure.strerror}"


def tell(report: int, fact: Mapping[str, Any]) -> None:
    """Write one line to the kubelet."""
    os.write(report, json.dumps(fact).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
