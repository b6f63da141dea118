"""Text to a pipe is plain and as wide as it is; on a terminal tables fit and have colours."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.cli.output import ink
from poolkeeper.cli.output.ink import PLAIN, Ink
from poolkeeper.text import visible

ROWS = (
    ("POOL", "BROKER", "REPLICAS"),
    ("fast", "1 (not live, drained)", "1,000"),
    ("fast", "all", "1"),
    (),
    ("-", "9", ""),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_for_a_pipe() -> None:
    assert PLAIN.table(ROWS) == [
        "  POOL  BROKER                 REPLICAS",
        "  fast  1 (not live, drained)     1,000",
        "  fast  all                           1",
        "",
        "  -     9",
    ]


def test_a_table_for_a_pipe_is_as_wide_as_it_is() -> None:
    (heading, row) = PLAIN.table((("A", "B", "C"), ("x" * 200, "y", "1")))
    assert row == f"  {'x' * 200}  y  1"
    assert len(heading) == len(row)


@pytest.mark.parametrize("ink", [PLAIN, Ink(60, terminal=True)], ids=["pipe", "terminal"])
def test_what_cannot_be_seen_is_an_escape_in_its_column(ink: Ink) -> None:
    rows = (("RACK", "LEADERS"), ("a\n- b\x1b[31m", "0"), ("\u202eevil", "1"), ("é", "2"))
    assert ink.table(rows, names=1) == [
        "  RACK            LEADERS",
        r"  a\n- b\x1b[31m        0",
        r"  \u202eevil            1",
        "  é                     2",
    ]


@pytest.mark.parametrize(
    "command",
    [
        """kubectl patch kafkacluster main --type=json -p '[{"op": "add"}]'""",
        "kubectl annotate kafkacluster main poolkeeper.dev/deletion=Abandon --overwrite",
        "`poolkeeper repair -f manifests --yes --allow-controller-failover`",
    ],
)
def test_a_command_stays_on_one_line_for_people_to_paste(command: str) -> None:
    lines = Ink(40).fold(f"main: waits for a person; to let it begin: {command}; or wait", 2)
    assert any(command in line for line in lines)
    assert all(len(line) <= 40 for line in lines if command not in line)


def test_what_cannot_be_seen_counts_as_its_escape_where_lines_end() -> None:
    for line in Ink(40).fold("rack \u202eevil " * 9):
        assert len(line) <= 40
        assert "\u202e" not in line


CELLS = st.text(
    st.characters(max_codepoint=126, categories=("L", "N", "P", "S", "Zs"))
    | st.sampled_from("≥→…é"),
    max_size=9,
)


@given(st.lists(st.lists(CELLS, max_size=4), max_size=4), st.integers(0, 3))
def test_a_table_for_a_pipe_is_what_rich_draws(others: list[list[str]], names: int) -> None:
    rows = [["A", "BROKER", "C", "D"], *others]
    assert PLAIN.table(rows, names) == Ink(width=100_000, terminal=True).table(rows, names)


def test_a_table_fits_a_terminal() -> None:
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in Ink(32, True, True).table(ROWS)]
    assert lines == [
        "  POOL  BROKER          REPLICAS",
        "  fast  1 (not live,       1,000",
        "        drained)",
        "  fast  all                    1",
        "",
        "  -     9",
    ]


def test_a_word_that_is_wider_than_its_column_goes_on_in_the_next_line() -> None:
    rows = (("TOPIC", "BYTES"), ("shop.orders.v1", "1.75 GiB"))
    assert Ink(19, terminal=True).table(rows, names=1) == [
        "  TOPIC       BYTES",
        "  shop.or  1.75 GiB",
        "  ders.v1",
    ]


RUNS = (
    ("ended", "plan", "executor", "took", "moves"),
    ("2026-11-26T20:02:20Z", "sha256:0bc52d89", "poolkeeper apply on vm", "1 min 9 s", "480"),
    ("2026-11-25T20:02:20Z", "sha256:1bc52d89", "", "9 s", "1"),
)


def test_cells_wrap_between_words_where_words_fit() -> None:
    assert Ink(68, terminal=True).table(RUNS[:2], names=3) == [
        "  ended                 plan             executor        took  moves",
        "  2026-11-26T20:02:20Z  sha256:0bc52d89  poolkeeper   1 min 9    480",
        "                                         apply on           s",
        "                                         vm",
    ]


def test_a_table_most_words_of_which_would_be_broken_is_written_cell_by_cell() -> None:
    assert Ink(40, terminal=True).table(RUNS, names=3) == [
        "  ended     2026-11-26T20:02:20Z",
        "  plan      sha256:0bc52d89",
        "  executor  poolkeeper apply on vm",
        "  took      1 min 9 s",
        "  moves     480",
        "",
        "  ended     2026-11-25T20:02:20Z",
        "  plan      sha256:1bc52d89",
        "  took      9 s",
        "  moves     1",
    ]


def test_every_colour_of_ours_is_left_in_what_is_written() -> None:
    ink = Ink(100, colour=True, terminal=True)
    written = [ink.bold("x"), ink.yellow("x"), *(ink.sign(sign, "x") for sign in "+~→-!")]
    written += [*ink.table(ROWS), *ink.facts([("a", "b")], 4)]
    assert [visible(line, coloured=True) for line in written] == written
    assert all("\x1b" in line for line in written[:7])


def test_headings_are_bold_and_nothing_else_is() -> None:
    heading, *others = Ink(100, True, True).table(ROWS)
    assert "\x1b[1m" in heading
    assert not any("\x1b" in line for line in others)


def test_facts_hang_behind_their_names() -> None:
    rows = [("cluster", "main"), ("", "and 3 more"), ("waits for", "a long while")]
    assert PLAIN.facts(rows, 12) == [
        "cluster     main",
        "            and 3 more",
        "waits for   a long while",
    ]
    assert Ink(22, False, True).facts(rows, 12)[2:] == ["waits for   a long", "            while"]


@pytest.mark.parametrize(
    ("stream", "no_color", "term", "expected"),
    [
        pytest.param(io.StringIO(), "", "xterm", PLAIN, id="a-pipe"),
        pytest.param(Terminal(), "", "xterm", Ink(70, colour=True, terminal=True), id="a-terminal"),
        pytest.param(Terminal(), "1", "xterm", Ink(70, terminal=True), id="without-colours"),
        pytest.param(Terminal(), "", "dumb", Ink(70, terminal=True), id="it-knows-no-colours"),
    ],
)
def test_what_standard_output_is(monkeypatch, stream, no_color, term, expected) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert ink.of_output() == expected
