"""Resource names for Kafka names.

Kubernetes takes a-z, 0-9, '-' and '.'; Kafka also takes capitals and '_'. A name that both accept
is kept. Any other is converted and gets eight digits of its hash appended, so that `a_b` and `A-b`
stay apart, and each gets the same name every time.
"""

import hashlib
import re

from poolkeeper.resources.parse.body import name_problem

_LENGTH_MAX = 253
_HASH_DIGITS = 8


def resource_name(name: str) -> str:
    """The resource name of a topic or cluster: `orders` for `orders`."""
    if len(name) <= _LENGTH_MAX and name_problem(name) is None:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    short = words[: _LENGTH_MAX - _HASH_DIGITS - 1].rstrip("-")
    return f"{short}-{digest}" if short else f"x-{digest}"
