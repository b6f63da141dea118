import pytest

from poolkeeper.resources.parse.scalars import Ambiguous, resolve


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("~", None, id="tilde"),
        pytest.param("null", None, id="null"),
        pytest.param("None", "None", id="None-is-text"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="False"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-12", -12, id="negative"),
        pytest.param("2.8", 2.8, id="fraction"),
        pytest.param("12.0", 12.0, id="fraction-that-is-whole"),
        pytest.param("1e3", 1000, id="exponent"),
        pytest.param("1e-3", 0.001, id="negative-exponent"),
        pytest.param("1e999", "1e999", id="beyond-all-numbers"),
        pytest.param("9" * 5000, "9" * 5000, id="thousands-of-digits"),
        pytest.param(".inf", ".inf", id="infinity-is-text"),
        pytest.param("100Mi", "100Mi", id="size"),
        pytest.param("2.8.1", "2.8.1", id="version"),
        pytest.param("12:30", "12:30", id="time-of-day"),
        pytest.param("2024-01-01", "2024-01-01", id="date"),
        pytest.param("-", "-", id="dash"),
        pytest.param("1:2:3", "1:2:3", id="colons"),
    ],
)
def test_plain_scalars_mean(text, expected):
    found = resolve(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text", ["yes", "No", "on", "OFF", "y", "N", "012", "-07", "0o17", "0x1F", "0b1", "1_000"]
)
def test_scalars_that_readers_disagree_about_are_ambiguous(text):
    assert isinstance(resolve(text), Ambiguous)
