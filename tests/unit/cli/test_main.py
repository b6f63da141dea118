import json
import os
import signal
import subprocess
import sys

import click
import pytest

import poolkeeper
from poolkeeper.cli import main
from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Problem, Refused, Unavailable


def run(capsys, *words, command=main.root):
    code = main.main(list(words), command)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_version(capsys):
    code, out, err = run(capsys, "version")
    assert (code, err) == (0, "")
    assert out.startswith(f"poolkeeper {poolkeeper.__version__} (Python 3.")


CRASH = """
import os, signal
from poolkeeper import __main__
from poolkeeper.cli import main
from poolkeeper.cli.input import options
main.main = lambda: os.kill(os.getpid(), signal.SIGSEGV)
__main__.main()
"""


IMPORTS = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Struck:
    def find_spec(self, name, path=None, target=None):
        if name == {struck!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Struck())
from poolkeeper import __main__
sys.argv = ["poolkeeper", "version"]
__main__.{entry}()
"""


@pytest.mark.parametrize("entry", ["main", "plugin"])
@pytest.mark.parametrize("struck", ["poolkeeper.cli", "click", "poolkeeper.cli.input.interrupts"])
def test_an_interrupt_while_a_command_is_still_imported_ends_it_as_any_other(struck, entry):
    words = [sys.executable, "-c", IMPORTS.format(struck=struck, entry=entry)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_process_that_a_library_takes_along_says_where_its_threads_were():
    told = subprocess.run(
        [sys.executable, "-c", CRASH], capture_output=True, text=True, timeout=60, check=False
    )
    assert told.returncode == -signal.SIGSEGV
    assert told.stderr.startswith("Fatal Python error: Segmentation fault\n")
    assert "in main\n" in told.stderr


def test_version_as_data(capsys):
    code, out, err = run(capsys, "version", "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["version"] == poolkeeper.__version__


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["nope"], "poolkeeper: No such command 'nope'. (see poolkeeper --help)", id="command"
        ),
        pytest.param(
            ["version", "--nope"],
            "poolkeeper version: No such option '--nope'. (see poolkeeper version --help)",
            id="option",
        ),
        pytest.param(
            ["version", "--output", "html"],
            "poolkeeper version: Invalid value for '-o' / '--output': 'html' is not one of "
            "'text', 'json'. (see poolkeeper version --help)",
            id="choice",
        ),
        pytest.param(
            ["version", "more"],
            "poolkeeper version: Got unexpected extra argument (more) (see poolkeeper version "
            "--help)",
            id="argument",
        ),
    ],
)
def test_usage_errors_are_one_line_and_exit_code_1(capsys, words, message):
    assert run(capsys, *words) == (1, "", message + "\n")


def test_usage_errors_as_data(capsys):
    code, out, err = run(capsys, "version", "--nope", "--output", "json")
    message = err.rstrip("\n")
    assert code == 1
    assert json.loads(out) == {
        "errors": [{"file": None, "line": None, "field": "--nope", "message": message}]
    }


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["plan", "--without", "x", "-f", "."], "--without"),
        (["plan", "--filename="], "--filename"),
        (["rehearse", "--rate", "fast", "-f", "."], "--rate"),
        (["simulate", "nothing"], "KIND"),
        (["import", "--out", "", "--zookeeper", "z"], "--out"),
        (["version", "--output"], "--output"),
        (["version", "more"], None),
        (["plan", "-f", ".", "--zookeeper", "z"], "--zookeeper"),
    ],
)
def test_usage_errors_as_data_have_their_option(capsys, words, option):
    code, out, err = run(capsys, *words, "--output=json")
    (error,) = json.loads(out)["errors"]
    assert (code, error["field"], error["message"]) == (1, option, err.rstrip("\n"))


def test_a_misspelt_command_is_guessed(capsys):
    code, out, err = run(capsys, "aply")
    said = "poolkeeper: No such command 'aply'. Did you mean 'apply'? (see poolkeeper --help)\n"
    assert (code, out, err) == (1, "", said)


def test_help_without_a_command_is_an_error_and_lists_all(capsys):
    code, out, err = run(capsys)
    assert (code, out) == (1, "")
    assert all(name in err for name in main.COMMANDS)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["validate", "-f", ""], "-f"),
        (["plan", "--filename="], "--filename"),
        (["import", "--zookeeper", "", "--out", "x"], "--zookeeper"),
    ],
)
def test_an_empty_value_is_refused(capsys, words, option):
    said = f"{option} has an empty value (expected one; is a variable of the shell not set?)\n"
    assert run(capsys, *words) == (1, "", said)


@pytest.mark.parametrize("words", [["fleet", "show", ""], ["why", ""], [""], ["show", "a", ""]])
def test_an_empty_argument_is_refused(capsys, words):
    said = "an argument is empty (expected one; is a variable of the shell not set?)\n"
    assert run(capsys, *words) == (1, "", said)


def test_empty_words_that_are_no_values_are_left_to_the_command(capsys):
    code, _, err = run(capsys, "version", "--", "--output", "")
    assert code == 1
    assert "Got unexpected extra argument" in err


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_can_be_imported_and_has_help(capsys, name):
    code, out, err = run(capsys, name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: poolkeeper {name}")


def failing(error):
    @click.command()
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        pytest.param(
            InvalidInput([Problem("b.yaml", 2, "spec", "x"), Problem("a.yaml", 1, "", "y")]),
            1,
            ["a.yaml:1: y", "b.yaml:2: spec: x"],
            id="all-problems-by-place",
        ),
        pytest.param(Unavailable("no  server"), 3, ["no server"], id="unavailable"),
        pytest.param(Refused("unlawful:\none\ntwo"), 1, ["unlawful:", "one", "two"], id="lines"),
    ],
)
def test_errors_of_ours_become_lines_and_codes(capsys, error, code, lines):
    found = run(capsys, command=failing(error))
    assert found == (code, "", "".join(line + "\n" for line in lines))


def test_an_interrupt_is_130(capsys):
    code, out, err = run(capsys, command=failing(KeyboardInterrupt()))
    assert (code, out, err.strip()) == (130, "", "interrupted")


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
def test_the_output_is_one_document_however_it_ends(capsys, name, code, document):
    found, out, err = run(capsys, name, "-o", "json", command=writing)
    assert (found, json.loads(out)) == (code, document)
    assert err.strip() == ("no" if code == 1 else "interrupted")


@pytest.mark.parametrize(
    ("name", "code", "documents"),
    [
        pytest.param("interrupted-lines", 130, [{"a": 1}], id="interrupted"),
        pytest.param("refused-lines", 1, [{"a": 1}, {"a": 2}, error("no")], id="refused"),
    ],
)
def test_each_line_of_an_output_in_lines_is_a_document(capsys, name, code, documents):
    found, out, _ = run(capsys, name, "-o", "json", command=writing)
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
def test_a_standard_error_that_takes_nothing_changes_no_result(unbuffered, name):
    with open("/dev/full", "wb") as full:
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


def test_a_problem_as_data():
    assert printing.as_data(Problem("f.yaml", 3, "spec.x", "wrong")) == {
        "file": "f.yaml",
        "line": 3,
        "field": "spec.x",
        "message": "wrong",
    }
