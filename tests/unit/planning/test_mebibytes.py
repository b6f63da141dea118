"""Sizes in sentences."""

import pytest

from poolkeeper.planning import mebibytes


@pytest.mark.parametrize(
    ("mib", "text"),
    [
        (0, "0 MiB"),
        (900, "900 MiB"),
        (1023, "1023 MiB"),
        (1024, "1 GiB"),
        (1536, "1.5 GiB"),
        (12_700, "12.4 GiB"),
        (1_258_291, "1.2 TiB"),
        (2**40, "1024 PiB"),
    ],
)
def test_three_digits(mib: int, text: str) -> None:
    assert mebibytes.text(mib) == text


def test_those_that_differ_read_differently() -> None:
    assert mebibytes.texts(2048, 1024) == ("2 GiB", "1 GiB")
    assert mebibytes.texts(2048, 2048) == ("2 GiB", "2 GiB")
    assert mebibytes.texts(1_048_577, 1_048_576) == ("1,048,577 MiB", "1,048,576 MiB")


def test_what_is_needed_is_rounded_up() -> None:
    assert mebibytes.text(15_817_736) == "15.1 TiB"
    assert mebibytes.text(15_817_736, up=True) == "15.1 TiB"
    assert mebibytes.text(15_900_000) == "15.2 TiB"
    assert mebibytes.text(1025, up=True) == "1.01 GiB"
