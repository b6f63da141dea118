"""The audit trail: one JSON line for each decision that was carried out and for each write.

    {"time": "2026-01-02T03:04:05.678Z", "cluster": "main", "event": "Write", "plan": "sha256:…",
     "stage": 2, "result": "Done", "nodes": [{"do": "Check", "path": "/poolkeeper/epoch",
     "version": 7}, …], "executor": {"command": "apply", "host": "ops-1", "process": 4711,
     "user": "jane"}}
    {…, "event": "Decision", "action": "StageRequested", "plan": "sha256:…", "stage": 2,
     "count": 27, "message": "stage 2 requested: 27 partitions", …}

A line is written when ZooKeeper has answered, before anything that follows from it: what a killed
process did is in its trail, except for the write that it died at. The result of such a write, and
of one whose connection was lost, is not known; where the process lives on, it says `Unknown`. What
was written says nothing of what Kafka did: later decisions tell.

The first line of an executor says that it took the cluster's journal: `JournalTaken`. That of a
command that asks an executor for something, or repairs, says that it begins: `CommandBegun`.

Bodies of nodes are not in the trail, as configs and credentials are not its business.
"""

import contextlib
import getpass
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from poolkeeper import output_files
from poolkeeper.errors import Refused, wrong_field
from poolkeeper.text import visible_json

STANDARD_OUTPUT = "-"

Fields = Mapping[str, Any]
Emit = Callable[[Fields], None]


def discard(fields: Fields) -> None:
    """Keep no trail."""


class AuditLog:
    """A file of JSON lines, or standard output; any number of threads may write to it.

    A file that was moved away, as logs are rotated, or deleted is made anew for the next line.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._lock = Lock()

    @classmethod
    def open(cls, name: str) -> "AuditLog":
        """Open a file to append to, readable by its owner alone, or `-`, standard output.

        Raises `Refused` where that cannot be done.
        """
        if name == STANDARD_OUTPUT:
            return cls(sys.stdout, "standard output")
        try:
            return cls(_appending(name), name)
        except OSError as error:
            raise wrong_field(
                f"--audit-log {name}", f"cannot be written to ({error.strerror})"
            ) from error

    def emit(self, fields: Fields) -> None:
        """Write a line, and hand it to the operating system.

        Raises `Refused`: who asks for a trail does not want anything done without it.
        """
        line = visible_json(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
        try:
            with self._lock:
                if self._moved_away():
                    before, self._stream = self._stream, _appending(self._name)
                    before.close()
                self._stream.write(f"{line}\n")
                self._stream.flush()
        except OSError as error:
            raise Refused(
                f"the audit trail cannot be written to {self._name} ({error.strerror}):"
                " make room there, or leave --audit-log out"
            ) from error

    def _moved_away(self) -> bool:
        """Whether the file that is open no longer has its name; pipes and terminals have none."""
        if self._stream is sys.stdout:
            return False
        ours = os.fstat(self._stream.fileno())
        if not stat.S_ISREG(ours.st_mode):
            return False
        try:
            return not os.path.samestat(ours, os.stat(self._name))
        except FileNotFoundError:
            return True

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._stream is not sys.stdout:
            # What could not be written was told when it was noted.
            with contextlib.suppress(OSError):
                self._stream.close()


def _appending(name: str) -> TextIO:
    number = output_files.open_to_write(Path(name), os.O_APPEND, 0o600)
    return os.fdopen(number, "a", encoding="utf-8")


def current_user() -> str:
    """Return the name of the user who runs this process, or the number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


@dataclass(slots=True)
class AuditTrail:
    """What one executor notes about one cluster.

    `plan`, `stage`, `approved_by`: of what is being done, as `concern` was told last.
    """

    emit: Emit = discard
    cluster: str = ""
    command: str = ""
    plan: str = ""
    stage: int = 0
    approved_by: str = ""
    user: str = field(default_factory=current_user)

    @property
    def executor(self) -> str:
        """Who this is, for people to read."""
        return f"poolkeeper {self.command} of {self.user} on {os.uname().nodename}"

    def concern(self, plan: str, stage: int = 0, approved_by: str = "") -> None:
        """Say what the next writes are for: a plan's hash, and its run's stage and approval."""
        self.plan, self.stage, self.approved_by = plan, stage, approved_by

    def began(self) -> None:
        """Note that this executor took the cluster's journal, before its first write.

        An executor that tries again after the trail could not be written ends here, with nothing
        done.
        """
        self.note_decision("JournalTaken", f"{self.executor} executes from here on")

    def begins(self) -> None:
        """Note that this command begins, before its first write: without a trail it does none."""
        self.note_decision("CommandBegun", f"{self.executor} begins")

    def wrote(self, nodes: Sequence[Fields], *, answered: bool) -> None:
        """Note a transaction; `answered`: whether it is known to be done."""
        result = "Done" if answered else "Unknown"
        self._note("Write", {"result": result, "nodes": list(nodes)})

    def note_decision(self, action: str, message: str, **details: object) -> None:
        """Note a decision that was carried out: its kind, its sentence, and its values."""
        told = {key: value for key, value in details.items() if value not in (None, "", 0, ())}
        self._note("Decision", {"action": action, **told, "message": message})

    def _note(self, event: str, fields: Fields) -> None:
        if self.emit is discard:
            return
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"plan": self.plan, "stage": self.stage, "approvedBy": self.approved_by}
        executor = {
            "command": self.command,
            "host": os.uname().nodename,
            "process": os.getpid(),
            "user": self.user,
        }
        self.emit(
            {
                "time": moment,
                "cluster": self.cluster,
                "event": event,
                **{key: value for key, value in about.items() if value},
                **fields,
                "executor": executor,
            }
        )
