"""`status --watch` without a terminal: a look that shows nothing new, for nobody."""

import os
import sys
from dataclasses import dataclass

import pytest

from poolkeeper.cli.commands.plans import status
from poolkeeper.cli.output.standard_streams import ReaderGone


@dataclass
class Look:
    """As much of a status as is looked at here."""

    text: str
    run: None = None


def test_a_watch_ends_with_its_reader_though_nothing_changes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("poolkeeper.cli.output.runs.status_text.render", lambda found: found.text)
    reading, writing = os.pipe()
    with os.fdopen(reading) as reader, os.fdopen(writing, "w") as writer:
        monkeypatch.setattr(sys, "stdout", writer)
        printer = status._LookPrinter()
        for _ in range(2):
            printer.show(Look("all is well"))
        writer.flush()
        assert reader.readline() == "all is well\n"
        reader.close()
        with pytest.raises(ReaderGone):
            printer.show(Look("all is well"))
