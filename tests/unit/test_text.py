"""Numbers and lists as people read them."""

from collections.abc import Iterator

import pytest

from poolkeeper import text


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (98.44 * 1024**2, "98.4 MiB"),
        (120 * 1024**3, "120 GiB"),
        (2**60, "1 EiB"),
        (2**80, "1048576 EiB"),
        (-1536, "-1.5 KiB"),
    ],
)
def test_sizes_have_three_digits(size_bytes: float, expected: str) -> None:
    assert text.size(size_bytes) == expected


@pytest.mark.parametrize(
    ("mib", "expected"),
    [
        (0, "0 MiB"),
        (900, "900 MiB"),
        (1023, "1023 MiB"),
        (1024, "1 GiB"),
        (1536, "1.5 GiB"),
        (12_700, "12.4 GiB"),
        (1_258_291, "1.2 TiB"),
        (2**40, "1 EiB"),
    ],
)
def test_sizes_in_mib_have_three_digits(mib: int, expected: str) -> None:
    assert text.size_of_mib(mib) == expected


def test_sizes_that_differ_read_differently() -> None:
    assert text.sizes_of_mib(2048, 1024) == ("2 GiB", "1 GiB")
    assert text.sizes_of_mib(2048, 2048) == ("2 GiB", "2 GiB")
    assert text.sizes_of_mib(1_048_577, 1_048_576) == ("1,048,577 MiB", "1,048,576 MiB")


def test_what_is_needed_is_rounded_up() -> None:
    assert text.size_of_mib(15_817_736) == "15.1 TiB"
    assert text.size_of_mib(15_817_736, up=True) == "15.1 TiB"
    assert text.size_of_mib(15_900_000) == "15.2 TiB"
    assert text.size_of_mib(1025, up=True) == "1.01 GiB"


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0 B"),
        (994, "990 B"),
        (1536, "1.5 KiB"),
        (40 * 1024**3, "40 GiB"),
        (123 * 1024**3, "120 GiB"),
        (1000 * 1024**3, "1 TiB"),
    ],
)
def test_coarse_sizes_have_two_digits(size_bytes: int, expected: str) -> None:
    assert text.coarse_size(size_bytes) == expected


@pytest.mark.parametrize(
    ("duration_s", "expected"),
    [
        (-1, "0 s"),
        (0, "0 s"),
        (0.4, "0 s"),
        (8, "8 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3_600 * 3 + 20 * 60 + 59, "3 h 20 min"),
        (3_600 * 3 + 59, "3 h"),
        (86_400 * 2 + 3_600 * 4, "2 d 4 h"),
    ],
)
def test_durations_have_two_units(duration_s: float, expected: str) -> None:
    assert text.duration(duration_s) == expected


@pytest.mark.parametrize(
    ("duration_s", "expected"),
    [(0, "0 s"), (0.01, "0.1 s"), (0.41, "0.4 s"), (0.96, "1 s"), (125, "2 min 5 s")],
)
def test_fine_durations_have_tenths(duration_s: float, expected: str) -> None:
    assert text.fine_duration(duration_s) == expected


@pytest.mark.parametrize(
    ("duration_s", "expected"),
    [(10, "about 10 s"), (120, "about 2 min"), (5400, "about 1 h 30 min"), (32_400, "about 9 h")],
)
def test_coarse_durations(duration_s: int, expected: str) -> None:
    assert text.about(duration_s) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 %"),
        (2.5, "2.5 %"),
        (99.9, "99.9 %"),
        (100, "100 %"),
        (1300, "1,300 %"),
        (99.97, "99.97 %"),
        (99.999, "99.999 %"),
        (100.03, "100.03 %"),
        (0.003, "0.003 %"),
        (100 * (1 - 1e-15), "100 %"),
    ],
)
def test_percent(value: float, expected: str) -> None:
    assert text.percent(value) == expected


@pytest.mark.parametrize(
    ("number", "grouped", "ungrouped"),
    [
        (0, "0 topics", "0 topics"),
        (1, "1 topic", "1 topic"),
        (200_000, "200,000 topics", "200000 topics"),
    ],
)
def test_counts_with_their_noun(number: int, grouped: str, ungrouped: str) -> None:
    assert text.count(number, "topic") == grouped
    assert text.count(number, "topic", grouped=False) == ungrouped
    assert text.part_of(number, number, "topic") == f"{number:,} of {grouped}"


def test_what_is_not_shown() -> None:
    assert text.more(0, "pool") == text.more(-1) == ""
    assert text.more(1, "pool") == "and 1 more pool"
    assert text.more(1200, "pool") == "and 1,200 more pools"
    assert text.more(1200, grouped=False) == "and 1200 more"


def test_the_first_of_many() -> None:
    assert text.few(["a", "b"], 2) == text.first(["a", "b"], 2) == "a, b"
    assert text.few(["a", "b", "c"], 2) == "a, b and 1 more"
    assert text.few(range(1002), 2) == "0, 1 and 1,000 more"
    assert text.few(range(1002), 2, grouped=False) == "0, 1 and 1000 more"
    assert text.few([]) == ""
    assert text.first(["a", "b", "c"], 2, "; ") == "a; b; …"


def test_all_of_some() -> None:
    assert text.listed(["a"]) == "a"
    assert text.listed(["a", "b", "c"]) == "a, b and c"
    assert text.listed(["a", "b"], "or") == "a or b"
    assert text.named("broker", [3]) == "broker 3"
    assert text.named("broker", [3, 4]) == "brokers 3, 4"


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        pytest.param("größe 5 µs → ok\tx\ny", "größe 5 µs → ok\tx\ny", id="letters-and-lines"),
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="colours"),
        pytest.param("a\x1b[2J\x1b]0;t\x07b", r"a\x1b[2J\x1b]0;t\x07b", id="a-cleared-terminal"),
        pytest.param("a\rb\x00c\x9bd", r"a\rb\x00c\x9bd", id="one-line-over-another"),
        pytest.param("\u202egpj.exe", r"\u202egpj.exe", id="letters-in-another-order"),
        pytest.param("\ud800", r"\ud800", id="half-a-character"),
    ],
)
def test_what_a_name_does_to_a_terminal_is_seen_instead(written: str, seen: str) -> None:
    assert text.visible(written) == seen


def test_of_a_coloured_text_our_colours_alone_are_left() -> None:
    ours = "\x1b[1mCluster\x1b[0m \x1b[36m→ moves\x1b[0m"
    assert text.visible(ours, coloured=True) == ours
    hides_what_follows = "\x1b[8m\x1b[1;30;40m"
    assert text.visible(hides_what_follows, coloured=True) == r"\x1b[8m\x1b[1;30;40m"


def test_the_names_that_were_expected_are_told_or_that_there_are_none() -> None:
    assert text.one_of([1, 2]) == "expected one of 1, 2"
    assert text.one_of("abc", 2) == "expected one of a, b and 1 more"
    assert text.one_of([]) == "there is none"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.00001, "0"),
        (0.8, "0.8"),
        (16.5, "16.5"),
        (13.6667, "13.67"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (5000.0, "5,000"),
        (33333.3, "33,333"),
        (120000.0, "120,000"),
    ],
)
def test_decimals_have_four_digits_or_all_of_them(value: float, expected: str) -> None:
    assert text.decimal(value) == expected
    assert text.decimal(value, grouped=False) == expected.replace(",", "")


@pytest.mark.parametrize(
    ("partitions", "factors", "expected"),
    [
        (1, [1], "1 partition × 1 replica"),
        (3, [1, 1, 1], "3 partitions × 1 replica"),
        (2, [3, 2], "2 partitions × 2/3 replicas"),
        (1200, [3], "1,200 partitions × 3 replicas"),
    ],
)
def test_how_large_a_topic_is(partitions: int, factors: list[int], expected: str) -> None:
    assert text.partitions_times(partitions, factors) == expected


@pytest.mark.parametrize(
    ("names", "own", "expected"),
    [
        ("abc", "b", "a, c"),
        ("abcdefg", "b", "a, c, d, e, f and 1 more"),
        ("abcdefg", "g", "a, b, c, d, e and 1 more"),
        ("abcdefg", "z", "a, b, c, d, e and 2 more"),
        ("a", "a", ""),
        ("", "a", ""),
    ],
)
def test_the_others_are_named_without_oneself(names: str, own: str, expected: str) -> None:
    assert text.few_others([*names], own) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(OSError("a\nb"), "a", id="several-lines"),
        pytest.param(OSError(), "OSError", id="says-nothing"),
        pytest.param(OSError("\nb"), "OSError", id="begins-with-an-empty-line"),
    ],
)
def test_an_error_in_one_line(error: Exception, expected: str) -> None:
    assert text.first_line(error) == expected


def test_naming_the_others_takes_no_walk_through_all_of_them() -> None:
    class Unwalked(list[str]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("thousands of Topics would each walk through thousands")

    names = Unwalked(f"{number:05}" for number in range(10_000))
    assert text.few_others(names, "00002", 2) == "00000, 00001 and 9,997 more"
