"""What commands have written when they end, however they end and whoever reads."""

import json
import os
import subprocess
import sys

import click
import pytest

from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused


@click.group()
def writing():
    """Commands that write, and then end as they are told."""


def _ends(error):
    def add(function):
        @writing.command(function.__name__.replace("_", "-"))
        @options.output()
        def command(output):
            function()
            raise error

        return function

    return add


@_ends(KeyboardInterrupt())
def interrupted():
    pass


@_ends(KeyboardInterrupt())
def interrupted_after():
    printing.emit_json({"a": 1})


@_ends(Refused("no"))
def refused_after():
    printing.emit_json({"a": 1})


@_ends(KeyboardInterrupt())
def interrupted_lines():
    printing.write_lines()
    printing.emit_json({"a": 1})


@_ends(Refused("no"))
def refused_lines():
    printing.write_lines()
    printing.emit_json({"a": 1})
    printing.emit_json({"a": 2})


def error(message):
    return {"errors": [{"file": None, "line": None, "field": None, "message": message}]}


@pytest.mark.parametrize(
    ("name", "code", "document"),
    [
        pytest.param("interrupted", 130, error("interrupted"), id="before-the-document"),
        pytest.param("interrupted-after", 130, {"a": 1}, id="interrupted-after-it"),
        pytest.param("refused-after", 1, {"a": 1}, id="refused-after-it"),
    ],
)
def test_the_output_is_one_document_however_it_ends(run, name, code, document):
    found, out, err = run(name, "-o", "json", command=writing)
    assert (found, json.loads(out)) == (code, document)
    assert err.strip() == ("no" if code == 1 else "interrupted")


def test_a_command_begins_its_own_output(run):
    """Whatever else of this process has written a document, or lines."""
    printing.write_lines()
    printing.emit_json({"a": 1})
    _, out, _ = run("interrupted", "-o", "json", command=writing)
    assert json.loads(out.removeprefix('{"a":1}')) == error("interrupted")


@pytest.mark.parametrize(
    ("name", "code", "documents"),
    [
        pytest.param("interrupted-lines", 130, [{"a": 1}], id="interrupted"),
        pytest.param("refused-lines", 1, [{"a": 1}, {"a": 2}, error("no")], id="refused"),
    ],
)
def test_each_line_of_an_output_in_lines_is_a_document(run, name, code, documents):
    found, out, _ = run(name, "-o", "json", command=writing)
    assert (found, list(map(json.loads, out.splitlines()))) == (code, documents)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_document_is_utf_8_in_an_old_locale(encoding):
    ran = subprocess.run(
        [sys.executable, "-m", "poolkeeper", "validate", "-f", "/é/→/nowhere", "-o", "json"],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert json.loads(ran.stdout)["errors"][0]["file"] == "/é/→/nowhere"


WRITES_MUCH = """
import resource, sys
import click
from poolkeeper.cli import main
from poolkeeper.cli.output import printing

@click.command()
def command():
    printing.emit("x" * 1_000_000)

resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
sys.exit(main.main([], command))
"""


WARNS = """
import sys
import click
from poolkeeper.cli import main
from poolkeeper.cli.output import printing
from poolkeeper.errors import Unavailable

@click.command()
@click.argument("name")
def command(name):
    printing.emit("first")
    printing.warn(["something"])
    if name == "refused":
        raise Unavailable("nobody answers")
    printing.emit("second")
    return 2

sys.exit(main.main(None, command))
"""


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as-usual", "unbuffered"])
def test_what_is_not_written_whole_is_an_error(tmp_path, unbuffered):
    """As on a full disk: a write that takes a part of it is none that failed."""
    with (tmp_path / "out").open("wb") as out:
        ran = subprocess.run(
            [sys.executable, "-c", WRITES_MUCH],
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    told = b"standard output: cannot be written (File too large)\n"
    assert (ran.returncode, ran.stderr) == (1, told)


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as-usual", "unbuffered"])
def test_a_reader_that_goes_is_no_success(unbuffered):
    program = WRITES_MUCH.replace("resource.setrlimit", "list")
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    ) as command:
        assert command.stdout is not None
        command.stdout.read(10)
        command.stdout.close()
        assert command.wait(60) == 1


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as-usual", "unbuffered"])
@pytest.mark.parametrize("name", ["warned", "refused"])
@pytest.mark.parametrize(
    ("file", "mode"),
    [
        pytest.param("/dev/full", "wb", id="full"),
        # Where it was closed, a shell leaves the script that it reads there.
        pytest.param(__file__, "rb", id="open-for-reading"),
    ],
)
def test_a_standard_error_that_takes_nothing_changes_no_result(unbuffered, name, file, mode):
    with open(file, mode) as full:
        ran = subprocess.run(
            [sys.executable, "-c", WARNS, name],
            stdout=subprocess.PIPE,
            stderr=full,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    expected = {"warned": (2, b"first\nsecond\n"), "refused": (3, b"first\n")}
    assert (ran.returncode, ran.stdout) == expected[name]


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as-usual", "unbuffered"])
def test_a_command_ends_with_whoever_reads_its_standard_error(unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", WARNS, "warned"],
            stdout=subprocess.PIPE,
            stderr=writer,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    finally:
        os.close(writer)
    assert (ran.returncode, ran.stdout) == (1, b"first\n")
