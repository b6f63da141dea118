import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.resources.parse import quantities


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1, 1, id="number"),
        pytest.param("100Mi", 100 * 2**20, id="binary"),
        pytest.param("2Ti", 2 * 2**40, id="tera"),
        pytest.param("1G", 10**9, id="decimal"),
        pytest.param("1e3", 1000, id="exponent"),
        pytest.param("1.5Gi", 3 * 2**29, id="fraction"),
        pytest.param("0.3", 1, id="part-of-a-byte-rounds-up"),
        pytest.param("7E", 7 * 10**18, id="exa-is-no-exponent"),
    ],
)
def test_sizes(value, expected):
    assert quantities.size_bytes(value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("", "'' is not a size (expected such as 100Mi)", id="nothing"),
        pytest.param("100m", "parts of a byte: expected M or Mi for a million", id="milli"),
        pytest.param("100MB", "did you mean the unit 'M'?", id="with-a-B"),
        pytest.param("100mib", "did you mean the unit 'Mi'?", id="lower-case"),
        pytest.param("-1", "'-1' is not a size (expected such as 100Mi)", id="negative"),
        pytest.param("0Gi", "is out of range", id="zero"),
        pytest.param("9Ei", "is out of range", id="beyond-64-bits"),
        pytest.param("1 Gi", "is not a size", id="blank"),
        pytest.param("1e99", "is out of range", id="huge-exponent"),
        pytest.param("١Gi", "is not a size", id="digits-of-other-scripts"),
    ],
)
def test_what_is_no_size(value, reason):
    with pytest.raises(Refused) as caught:
        quantities.size_bytes(value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("45s", 45), ("30m", 1800), ("8h", 28800), ("1h30m", 5400), ("1h1m1s", 3661), ("0s", 0)],
)
def test_durations(value, expected):
    assert quantities.duration_s(value) == expected


@pytest.mark.parametrize("value", ["", "30", "2d", "m", "30m1h", "1.5h", "-1h", "1h ", "1h\n"])
def test_what_is_no_duration(value):
    with pytest.raises(Refused):
        quantities.duration_s(value)


@pytest.mark.parametrize("value", ["99999999h", "1h1234567m", "123456789s"])
def test_a_duration_that_is_too_long_is_one(value):
    with pytest.raises(Refused, match=f"'{value}' is out of range"):
        quantities.duration_s(value)


@given(st.integers(1, quantities.BYTES_MAX))
def test_a_size_survives_its_text(size_bytes):
    assert quantities.size_bytes(quantities.size_text(size_bytes)) == size_bytes


@given(st.integers(0, 10**9))
def test_a_duration_survives_its_text(duration_s):
    assert quantities.duration_s(quantities.duration_text(duration_s)) == duration_s
