import pytest

from poolkeeper.resources.checks.folder_conflicts import overlap


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param("orders", "orders", True, id="the-same"),
        pytest.param("orders", "returns", False, id="two-names"),
        pytest.param("a.b", "a[.]b", False, id="only-what-is-plain"),
        pytest.param(r"legacy\.old", r"legacy\..*", True, id="a-name-and-its-pattern"),
        pytest.param(r"legacy\..*", r"legacy\.a\..*", True, id="a-prefix-of-the-other"),
        pytest.param(r"^legacy\..*$", r"legacy\.a\..*", True, id="anchors-make-no-difference"),
        pytest.param(r"new\..*", r"legacy\..*", False, id="two-prefixes"),
        pytest.param("ab*", "ac", False, id="a-repeated-letter-is-no-plain-text"),
        pytest.param("ab*", "a", True, id="a-repeated-letter-may-be-absent"),
        pytest.param(".*", "orders", True, id="anything"),
    ],
)
def test_claims_overlap(a, b, expected):
    assert overlap(a, b) is expected
    assert overlap(b, a) is expected
