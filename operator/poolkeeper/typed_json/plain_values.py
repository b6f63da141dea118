"""A JSON text as plain values, by Python's own parser; problems are reported with their place."""

import json
from collections.abc import Callable
from typing import Any

from poolkeeper.errors import InvalidInput, Problem, wrong_file


def json_error(wrong: json.JSONDecodeError) -> str:
    """What is wrong with a JSON text, and at which character."""
    return (
        f"{wrong.msg.removesuffix(' at').removesuffix(' starting')}, at character {wrong.pos + 1}"
    )


def parse_plain(
    data: bytes, file: str, hook: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Read a JSON text; `hook` makes the value of an object, of its pairs."""
    try:
        return json.loads(data, object_pairs_hook=hook)
    except json.JSONDecodeError as wrong:
        message = (
            f"is not JSON: {json_error(wrong)}" if data.strip() else "is empty (expected JSON)"
        )
        raise InvalidInput([Problem(file, wrong.lineno, "", message)]) from None
    except UnicodeDecodeError:
        gzipped = "is compressed by gzip (expected JSON; of snapshots NAME.json.gz)"
        message = gzipped if data.startswith(b"\x1f\x8b") else "is not UTF-8"
        raise wrong_file(file, message) from None
    except RecursionError:
        raise wrong_file(file, "is nested too deeply") from None
    except ValueError:
        raise wrong_file(file, "has a number that is too long") from None
