"""The command: lines in, lines out, one by one, and how it ends."""

import io
import json
import os
import signal
import subprocess
import sys

import pytest

import simulate_page
from poolkeeper.cli import main
from poolkeeper.simulations.kinds import KINDS
from simulate_page import PAGE

GOOD = '{"id": 1, "kind": "topic_name", "input": {"name": "t"}}\n'
BAD = '{"id": 2, "kind": "topic_name", "input": {}}\n'
ENDS_IN_S = 30


@pytest.fixture
def run(capfd, monkeypatch):
    def run_with(text, *words):
        lines = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
        code = main.main(["simulate", *words])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run_with


def process(*words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "poolkeeper", "simulate", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def test_answers_come_in_order_and_an_error_is_the_exit_code(run):
    code, out, err = run(GOOD + BAD + "\n" + GOOD)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        '{"id":1,"output":true}',
        '{"id":2,"error":"input.name: is missing (expected a string)"}',
        '{"id":null,"error":"the line is empty (expected an object)"}',
        '{"id":1,"output":true}',
    ]


@pytest.mark.parametrize("words", [(), ("topic_name",), ("--output", "json")])
def test_nothing_in_is_nothing_out(run, words):
    assert run("", *words) == (0, "", "")


def test_the_last_line_needs_no_end(run):
    assert run('{"name": "t"}\n{"name": ""}', "topic_name") == (
        0,
        '{"id":1,"output":true}\n{"id":2,"output":false}\n',
        "",
    )


def test_an_unknown_kind_is_a_usage_error(run):
    code, out, err = run(GOOD, "murmur")
    assert (code, out) == (1, "")
    assert "'murmur' is not one of 'assign_replicas'" in err


def test_standard_input_may_be_closed(monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", None)
    assert main.main(["simulate"]) == 1
    assert capfd.readouterr().err == "standard input is closed (expected lines of JSON)\n"


def test_the_help_names_every_kind(capfd):
    main.main(["simulate", "--help"])
    said = capfd.readouterr().out
    assert [kind for kind in KINDS if kind not in said] == []


@pytest.mark.slow
def test_a_program_may_ask_line_by_line_and_ctrl_c_ends_it():
    with process(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler)) as it:
        try:
            for number in range(3):
                line = json.dumps({"id": number, "kind": "topic_name", "input": {"name": ".."}})
                it.stdin.write(f"{line}\n".encode())
                it.stdin.flush()
                assert json.loads(it.stdout.readline()) == {"id": number, "output": False}
            it.send_signal(signal.SIGINT)
            assert it.wait(ENDS_IN_S) == 130
            assert it.stderr.read().strip() == b"interrupted"
        finally:
            it.kill()


@pytest.mark.slow
def test_it_ends_quietly_when_nobody_reads():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "poolkeeper", "simulate"],
        input=GOOD.encode() * 10_000,
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=ENDS_IN_S,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.slow
def test_it_ends_quietly_with_a_closed_standard_output():
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m poolkeeper simulate >&-"],
        input=GOOD.encode(),
        capture_output=True,
        timeout=ENDS_IN_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_page_shows_what_the_command_answers(run, update_golden):
    page = PAGE.read_text(encoding="utf-8")
    answers = {}
    for example in simulate_page.examples(page):
        text = "".join(f"{line}\n" for line in example.lines)
        code, out, err = run(text, *([example.kind] if example.kind else []))
        assert (code, err) == (int('"error"' in out), "")
        answers[example.command] = out
    told = simulate_page.answered(page, answers)
    if update_golden:
        PAGE.write_text(told, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == told


def test_the_page_has_an_example_of_every_kind():
    page = PAGE.read_text(encoding="utf-8")
    shown = [each.kind for each in simulate_page.examples(page)]
    assert sorted(kind for kind in shown if kind) == sorted(KINDS)
    assert [kind for kind in KINDS if f"`{kind}`" not in page] == []
