"""Lines of the audit trail, and where they go."""

import json
import os
import stat
from pathlib import Path

import pytest

from poolkeeper import output_files
from poolkeeper.errors import Refused
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import AuditLog, AuditTrail


def test_a_line_says_what_was_done_for_what_and_by_whom(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog.open(str(file))
    trail = AuditTrail(log.emit, "main", "apply", user="jane")
    trail.concern("sha256:ab", 2, "confirmed by jane")
    trail.wrote([{"do": "Set", "path": "/poolkeeper/run", "version": 3}], answered=True)
    trail.wrote([], answered=False)
    trail.concern("sha256:cd")
    trail.note_decision("DeleteTopic", "topic t deleted", topic="t", broker=None, count=0)
    log.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        assert line.pop("time").endswith("Z")
        by = line.pop("executor")
        assert (by["command"], by["user"], set(by)) == (
            "apply",
            "jane",
            {"command", "host", "process", "user"},
        )
    under = {"cluster": "main", "plan": "sha256:ab", "stage": 2, "approvedBy": "confirmed by jane"}
    nodes = [{"do": "Set", "path": "/poolkeeper/run", "version": 3}]
    assert lines == [
        {**under, "event": "Write", "result": "Done", "nodes": nodes},
        {**under, "event": "Write", "result": "Unknown", "nodes": []},
        {
            "cluster": "main",
            "plan": "sha256:cd",
            "event": "Decision",
            "action": "DeleteTopic",
            "topic": "t",
            "message": "topic t deleted",
        },
    ]


def test_a_file_is_appended_to_and_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    for _ in range(2):
        log = AuditLog.open(str(file))
        log.emit({"a": "ü"})
        log.close()
    assert file.read_text() == '{"a":"ü"}\n' * 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_without_a_trail_nothing_is_made() -> None:
    trail = AuditTrail()
    trail.note_decision("RunBegun", "run begun")
    assert trail.emit is audit.discard


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"--audit-log .*/none/x: cannot be written to \(No such"):
        AuditLog.open(str(tmp_path / "none" / "x"))


@pytest.mark.timeout(20)
def test_a_pipe_that_nobody_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "READER_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match=r"--audit-log .*/pipe: .* \(nobody reads this pipe\)"):
        AuditLog.open(str(tmp_path / "pipe"))


@pytest.mark.parametrize("rotated", [True, False], ids=["moved away", "deleted"])
def test_a_file_that_goes_is_made_anew_for_the_next_line(tmp_path: Path, rotated: bool) -> None:
    file, earlier = tmp_path / "audit.jsonl", tmp_path / "audit.jsonl.1"
    log = AuditLog.open(str(file))
    log.emit({"line": 1})
    log.emit({"line": 2})
    if rotated:
        file.rename(earlier)
    else:
        file.unlink()
    log.emit({"line": 3})
    log.close()
    assert file.read_text() == '{"line":3}\n'
    assert file.stat().st_mode & 0o777 == 0o600
    assert not rotated or earlier.read_text() == '{"line":1}\n{"line":2}\n'


def test_without_a_place_for_the_file_nothing_is_done(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    log = AuditLog.open(str(tmp_path / "logs" / "audit.jsonl"))
    log.emit({"line": 1})
    (tmp_path / "logs").rename(tmp_path / "earlier")
    with pytest.raises(Refused, match="cannot be written"):
        log.emit({"line": 2})
    (tmp_path / "logs").mkdir()
    log.emit({"line": 3})
    log.close()
    assert (tmp_path / "logs" / "audit.jsonl").read_text() == '{"line":3}\n'


def test_a_full_disk_ends_the_work() -> None:
    full = AuditLog.open("/dev/full")
    with pytest.raises(Refused, match="the audit trail cannot be written to /dev/full"):
        full.emit({"a": 1})
    full.close()


def test_standard_output_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    log = AuditLog.open("-")
    log.emit({"a": 1})
    log.close()
    log.emit({"a": 2})
    assert capsys.readouterr().out == '{"a":1}\n{"a":2}\n'


def test_what_steers_a_terminal_is_escaped_and_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = AuditLog.open(str(file))
    log.emit({"topic": "\x9b2J\u202eelif"})
    log.close()
    line = file.read_text()
    assert line == '{"topic":"\\u009b2J\\u202eelif"}\n'
    assert json.loads(line) == {"topic": "\x9b2J\u202eelif"}
