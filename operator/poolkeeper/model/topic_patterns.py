"""Patterns of topic names: those of pools' claims, and of what namespaces may adopt.

Whoever may create a topic chooses its name, and a backtracking matcher takes as long as 2^n for a
name of n characters against a pattern such as `(a+)+`. So names are matched by RE2, in time linear
in name and pattern. A pattern has to mean the same to Python's `re`, which those who write them
know: look-around, backreferences and possessive repetitions are refused, and `{,3}`, which RE2
takes literally.
"""

import re
import warnings
from collections.abc import Collection
from functools import lru_cache
from threading import Lock
from typing import Any

_KNOWN_MAX = 10_000
_SET_WARNING = "Possible (nested )?set"
_filtering = Lock()
"""What is done about warnings counts for the process, and is restored in the order of a stack."""


def problem(pattern: str) -> str | None:
    """Return why a text is no pattern, in the matcher's words; None if it is one."""
    import re2

    if "{," in pattern:
        return "a repetition {,n} has to name its least number, as {0,n}"
    try:
        with _filtering, warnings.catch_warnings():
            warnings.filterwarnings("error", _SET_WARNING, FutureWarning)  # other threads go on
            re.compile(pattern)
        _compiled(pattern)
    except (re.error, OverflowError, RecursionError, FutureWarning, UnicodeError) as error:
        return str(error)
    except re2.error as error:
        return str(error.args[0].decode())
    return None


def matches(patterns: Collection[str], topic: str) -> bool:
    """Return whether one of the patterns matches the whole name."""
    if not patterns:
        return False
    # What is no text cannot be a topic's name, but may be a node's.
    name = topic.encode(errors="replace").decode()
    return any(_compiled(pattern).fullmatch(name) is not None for pattern in patterns)


@lru_cache(maxsize=_KNOWN_MAX)
def _compiled(pattern: str) -> Any:
    import re2  # 10 ms, and most clusters have no patterns

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
