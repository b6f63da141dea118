import pytest

from poolkeeper.cli import quantities


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (98.44 * 1024**2, "98.4 MiB"),
        (120 * 1024**3, "120 GiB"),
        (2**60, "1024 PiB"),
    ],
)
def test_sizes_have_three_digits(size_bytes, text):
    assert quantities.size(size_bytes) == text


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (8, "8 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3_600 * 3 + 20 * 60 + 59, "3 h 20 min"),
        (86_400 * 2 + 3_600 * 4, "2 d 4 h"),
    ],
)
def test_durations_have_two_units(duration_s, text):
    assert quantities.duration(duration_s) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 topics"), (1, "1 topic"), (200_000, "200,000 topics")]
)
def test_counts_with_their_noun(number, text):
    assert quantities.count(number, "topic") == text
