"""Errors of standard output are told from those of any other file that is full."""

import errno
import io
import os
import subprocess
import sys
from contextlib import nullcontext

import click
import pytest

from poolkeeper.cli import main
from poolkeeper.cli.kubectl.main import root as plugin
from poolkeeper.cli.output import standard_streams

FILLS = """
import sys
import click
from poolkeeper.cli import main
from poolkeeper.cli.output import printing

@click.command()
def command():
    printing.emit("first")
    with open("/dev/full", "w") as full:
        full.write("second")

sys.exit(main.main([], command))
"""
"""A command with a fault: it lets the error of a file of its own pass."""


INTERRUPTED = """
import signal
import sys
from poolkeeper.cli.output import standard_streams

writing = False

def interrupt(*_):
    if writing:
        raise KeyboardInterrupt

standard_streams.complete()
signal.signal(signal.SIGALRM, interrupt)
for number in range(3000):
    try:
        writing = True
        signal.setitimer(signal.ITIMER_REAL, 1e-6 + number % 50 * 1e-6)  # once
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
        writing = False
    except KeyboardInterrupt:
        writing = False
signal.setitimer(signal.ITIMER_REAL, 0)  # as it ends, Python lets the signal kill it
"""


@pytest.mark.slow
def test_what_a_signal_interrupts_is_not_written_twice() -> None:
    """A program read two documents of JSON where Ctrl-C had come right after the first."""
    words = [sys.executable, "-c", INTERRUPTED]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    numbers = list(map(int, ran.stdout.split()))
    assert numbers == sorted(set(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["as-usual", "unbuffered"])
def test_another_file_that_is_full_is_not_told_as_standard_output(unbuffered: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", FILLS],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert (ran.returncode, ran.stdout) == (1, "first\n")
    last = ran.stderr.splitlines()[-1]
    assert last == f"OSError: [Errno {errno.ENOSPC}] {os.strerror(errno.ENOSPC)}"


@pytest.mark.parametrize("error", [BrokenPipeError(errno.EPIPE, "Broken pipe"), EOFError()])
def test_a_pipe_or_an_end_of_others_is_no_silent_end_and_no_interrupt(error: Exception) -> None:
    @click.command()
    def failing() -> None:
        raise error

    group = main.CommandGroup("group", {"failing": failing})
    with pytest.raises(RuntimeError, match="group let an error pass") as raised:
        main.main(["failing"], group, "group")
    assert raised.value.__cause__ is error


def test_all_commands_are_in_such_a_group() -> None:
    assert isinstance(main.root, main.CommandGroup)
    assert isinstance(plugin, main.CommandGroup)


@pytest.mark.parametrize("is_read", [True, False])
def test_whoever_has_nothing_to_write_hears_that_nobody_reads_any_more(
    monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as reader, os.fdopen(writing, "w") as writer:
        monkeypatch.setattr(sys, "stdout", writer)
        if not is_read:
            reader.close()
        gone = nullcontext() if is_read else pytest.raises(standard_streams.ReaderGone)
        with gone:
            standard_streams.require_reader()


def test_a_file_a_terminal_and_what_is_no_file_have_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal, its_end = os.openpty()
    with open(os.devnull, "w") as nothing, os.fdopen(its_end, "w") as shown:
        for stream in (nothing, shown, io.StringIO()):
            monkeypatch.setattr(sys, "stdout", stream)
            standard_streams.require_reader()
    os.close(terminal)
