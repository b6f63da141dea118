"""A file system that is full in mid-step: one clear error, and the next run goes on.

The real one needs no rights: a process may not write files above a length. Where a run is then
depends on lengths alone, so that every write of a run is the first to fail in a second test.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.conftest import IMPORTED, lake_at
from fleet.whole_fleet import CODE, DAY, contents, made, whole, words
from matrices import soak
from poolkeeper import output_files
from poolkeeper.cli import main
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.fleet.lake.objects import ArrowObjects

__all__ = ["made", "whole"]

LENGTHS = (600, 40_000)
PROGRAM = """
import contextlib, io, json, resource, sys
from fleet.in_process import InProcess
from poolkeeper.cli import main
from poolkeeper.fleet.engines import engines

engines.open_engine = InProcess.opened
told = []
for length in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, resource.RLIM_INFINITY))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.main([word.format(length=length) for word in sys.argv[2:]])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    told.append((length, code, err.getvalue()))
print(json.dumps(told))
"""


def test_no_file_may_be_longer(made: Path, whole: Path, tmp_path: Path, without_spark) -> None:
    command = words(made, tmp_path / "of-{length}", "run")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(LENGTHS), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, IMPORTED), *sys.path[1:]]),
            # Python would leave the first bytes of bytecode, for everybody to import.
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert ran.returncode == 0, ran.stderr
    for length, code, err in json.loads(ran.stdout):
        root = tmp_path / f"of-{length}"
        assert code in (Refused.exit_code, Unavailable.exit_code), err
        assert (err.count("\n"), str(root) in err) == (1, True), err
        assert "cannot be written" in err
        assert "File too large" in err
        assert not list(root.rglob("*.part")), "what is half written is taken away"
        assert main.main([word.format(length=length) for word in command]) == CODE
        assert contents(lake_at(root)) == contents(lake_at(whole))


WRITES = 25
"""Of a run of all steps: marks, what is declared, tables, what counts, pages."""


@pytest.mark.parametrize(
    "place",
    [*range(2, WRITES, 7), *soak(*(n for n in range(WRITES) if n % 7 != 2))],
)
def test_a_write_and_all_after_it_fail(
    place: int, made: Path, whole: Path, tmp_path: Path, capsys, monkeypatch, without_spark
) -> None:
    command = words(made, tmp_path / "out", "run")
    lake, written = lake_at(tmp_path / "out"), 0
    put, write = ArrowObjects.put, output_files.write

    def fits() -> bool:
        nonlocal written
        written += 1
        return written <= place

    def put_if_it_fits(self: ArrowObjects, path: str, body: bytes) -> None:
        if not fits():
            raise Unavailable(f"{self.root}/{path}: cannot be written: No space left on device")
        put(self, path, body)

    def write_if_it_fits(file: Path, body: str | bytes, mode: int = 0o666) -> None:
        if not fits():
            raise Refused(f"{file}: cannot be written (No space left on device)")
        write(file, body, mode)

    with monkeypatch.context() as patched:
        patched.setattr(ArrowObjects, "put", put_if_it_fits)
        patched.setattr(output_files, "write", write_if_it_fits)
        code = main.main(command)
        err = capsys.readouterr().err
        assert code in (Refused.exit_code, Unavailable.exit_code), err
        assert (err.count("\n"), "No space left on device" in err) == (1, True)
    for step in ("snapshot", "features", "plan"):
        found = lake.current(step, DAY)
        assert found.keys() in (set(), {"east", "west"})
        assert lake.whole(found).keys() == found.keys(), "what counts is there"
    assert main.main(command) == CODE
    assert contents(lake) == contents(lake_at(whole))
    assert written <= WRITES + 1
