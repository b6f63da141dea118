"""Who may see the pages: whoever has the token; a person's own server, from this machine only.

Other users and other pages in the same browser can reach a port of 127.0.0.1. So every request
needs the token, which only the person who started the command has seen. It is in the address once,
and from then on in a cookie that scripts cannot read and other sites cannot send. A page elsewhere
whose name leads to 127.0.0.1 (DNS rebinding) is told by its Host header. Pure.
"""

import hmac
import secrets
from collections.abc import Sequence
from urllib.parse import parse_qs

from poolkeeper.frozen import frozen

TOKEN_BYTES = 32
QUERY = "token"
HOSTS = ("127.0.0.1", "localhost")
FOREIGN_SITES = ("cross-site", "same-site")
"""What browsers say in `Sec-Fetch-Site` of requests that another page makes."""


def new_token() -> str:
    """Make a token that nobody can guess, fit for addresses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


@frozen
class Access:
    """The token of one server. `port` tells its cookie from those of others on this machine.

    `by_any_name`: the server is reached under names that it does not know, as that of a Service. A
    page elsewhere whose name leads to it still has no cookie, which is of another host.
    """

    token: str
    port: int
    by_any_name: bool = False

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"poolkeeper-{self.port}"

    @property
    def set_cookie(self) -> str:
        """The header that gives the token to a browser until it is closed."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def admits(self, hosts: Sequence[str]) -> bool:
        """Whether the Host headers of a request are one that this server answers as."""
        return len(hosts) == 1 and (self.by_any_name or is_this_host(hosts[0]))

    def is_in_query(self, query: str) -> bool:
        """Whether an address carries the token."""
        return any(self._is_token(each) for each in parse_qs(query).get(QUERY, ()))

    def is_in_cookies(self, header: str) -> bool:
        """Whether a Cookie header carries the token."""
        cookies = (part.strip().partition("=") for part in header.split(";"))
        return any(self._is_token(value) for name, _, value in cookies if name == self.cookie)

    def _is_token(self, found: str) -> bool:
        return hmac.compare_digest(found.encode("utf-8", "replace"), self.token.encode())


def is_this_host(host: str | None) -> bool:
    """Whether a Host header names this machine; any port, for a tunnel may change it."""
    name, _, port = (host or "").partition(":")
    return name.lower() in HOSTS and (not port or (port.isascii() and port.isdigit()))
