"""Who may see the pages: tokens, cookies and hosts as tables."""

import pytest

from poolkeeper.ui import access
from poolkeeper.ui.access import Access

ACCESS = Access("s3cret-Token", 8470)


def test_tokens_are_long_and_differ() -> None:
    first, second = access.new_token(), access.new_token()
    assert first != second
    assert len(first) >= 43, "32 bytes"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("token=s3cret-Token", True, id="alone"),
        pytest.param("a=b&token=s3cret-Token", True, id="beside-another"),
        pytest.param("token=no&token=s3cret-Token", True, id="twice"),
        pytest.param("", False, id="none"),
        pytest.param("token=", False, id="empty"),
        pytest.param("token=s3cret-Toke", False, id="its-beginning"),
        pytest.param("token=s3cret-Token2", False, id="longer"),
        pytest.param("token=S3CRET-TOKEN", False, id="other-case"),
        pytest.param("tokens=s3cret-Token", False, id="another-name"),
        pytest.param("token=%ff%fe\u20ac", False, id="no-ascii"),
    ],
)
def test_the_token_in_an_address(query: str, expected: bool) -> None:
    assert ACCESS.is_in_query(query) is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("poolkeeper-8470=s3cret-Token", True, id="alone"),
        pytest.param("a=b; poolkeeper-8470=s3cret-Token;c", True, id="among-others"),
        pytest.param("poolkeeper-9999=s3cret-Token", False, id="of-another-port"),
        pytest.param("poolkeeper-8470=no", False, id="another-token"),
        pytest.param("poolkeeper-8470", False, id="without-value"),
        pytest.param("", False, id="none"),
        pytest.param("s3cret-Token", False, id="without-name"),
        pytest.param('poolkeeper-8470="s3cret-Token"', False, id="quoted"),
    ],
)
def test_the_token_in_cookies(header: str, expected: bool) -> None:
    assert ACCESS.is_in_cookies(header) is expected


def test_the_cookie_goes_to_no_script_and_to_no_other_site() -> None:
    assert ACCESS.set_cookie == ("poolkeeper-8470=s3cret-Token; Path=/; HttpOnly; SameSite=Strict")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        pytest.param("127.0.0.1:8470", True, id="as-printed"),
        pytest.param("localhost:9000", True, id="through-a-tunnel"),
        pytest.param("LocalHost", True, id="other-case"),
        pytest.param(None, False, id="none"),
        pytest.param("", False, id="empty"),
        pytest.param("evil.example:8470", False, id="rebound"),
        pytest.param("127.0.0.1.evil.example", False, id="beginning-alike"),
        pytest.param("evil.example@127.0.0.1", False, id="with-a-user"),
        pytest.param("127.0.0.1:8470.evil.example", False, id="no-port"),
        pytest.param("127.0.0.1:8470:1", False, id="two-ports"),
        pytest.param("0.0.0.0:8470", False, id="every-address"),
        pytest.param("192.168.0.7:8470", False, id="another-address"),
    ],
)
def test_hosts_by_which_the_server_answers(host: str | None, expected: bool) -> None:
    assert access.is_this_host(host) is expected
