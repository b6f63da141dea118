import json
import os
import signal
import subprocess
import sys

import click
import pytest

import poolkeeper
from poolkeeper.cli import main
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Problem, Refused, Unavailable


def test_version(run):
    code, out, err = run("version")
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


def test_version_as_data(run):
    code, out, err = run("version", "--output", "json")
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
        pytest.param(
            ["plan", "--without", "1,2"],
            "poolkeeper plan: Invalid value for '--without': '1,2' is no whole number. (see "
            "poolkeeper plan --help)",
            id="whole-number",
        ),
        pytest.param(
            ["status", "--timeout", "10s"],
            "poolkeeper status: Invalid value for '--timeout': '10s' is no number. (see "
            "poolkeeper status --help)",
            id="number",
        ),
    ],
)
def test_usage_errors_are_one_line_and_exit_code_1(run, words, message):
    assert run(*words) == (1, "", message + "\n")


def test_usage_errors_as_data(run):
    code, out, err = run("version", "--nope", "--output", "json")
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
def test_usage_errors_as_data_have_their_option(run, words, option):
    code, out, err = run(*words, "--output=json")
    (error,) = json.loads(out)["errors"]
    assert (code, error["field"], error["message"]) == (1, option, err.rstrip("\n"))


def test_a_misspelt_command_is_guessed(run):
    code, out, err = run("aply")
    said = "poolkeeper: No such command 'aply'. Did you mean 'apply'? (see poolkeeper --help)\n"
    assert (code, out, err) == (1, "", said)


def test_help_without_a_command_is_an_error_and_lists_all(run):
    code, out, err = run()
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
def test_an_empty_value_is_refused(run, words, option):
    said = f"{option} has an empty value (expected one; is a variable of the shell not set?)\n"
    assert run(*words) == (1, "", said)


@pytest.mark.parametrize("words", [["fleet", "show", ""], ["why", ""], [""], ["show", "a", ""]])
def test_an_empty_argument_is_refused(run, words):
    said = "an argument is empty (expected one; is a variable of the shell not set?)\n"
    assert run(*words) == (1, "", said)


def test_empty_words_that_are_no_values_are_left_to_the_command(run):
    code, _, err = run("version", "--", "--output", "")
    assert code == 1
    assert "Got unexpected extra argument" in err


@pytest.mark.parametrize("name", list(main.COMMANDS))
def test_every_command_can_be_imported_and_has_help(run, name):
    code, out, err = run(name, "--help")
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
def test_errors_of_ours_become_lines_and_codes(run, error, code, lines):
    found = run(command=failing(error))
    assert found == (code, "", "".join(line + "\n" for line in lines))


def test_an_interrupt_is_130(run):
    code, out, err = run(command=failing(KeyboardInterrupt()))
    assert (code, out, err.strip()) == (130, "", "interrupted")


def test_an_interrupt_that_a_library_takes_for_an_error_of_its_own_is_130(run):
    @click.command()
    def reading():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        except KeyboardInterrupt:
            raise Unavailable("the ZooKeeper session expired") from None

    assert run(command=reading) == (130, "", "interrupted\n")


def test_a_problem_as_data():
    assert printing.as_data(Problem("f.yaml", 3, "spec.x", "wrong")) == {
        "file": "f.yaml",
        "line": 3,
        "field": "spec.x",
        "message": "wrong",
    }
