"""Matrices: `make test` runs a test on what stands for a law or crash point, `make soak` on all.

@pytest.mark.parametrize("kafka", ["3.9.2", *soak("2.8.2", "2.0.1")])
@pytest.mark.parametrize(("kafka", "ids"), [("3.9.2", True), *soak(("2.8.2", True))])
@every(3)
def test_a_process_may_die_at_every_write(step: int) -> None:
    for number in range(1, writes + 1, step): ...
"""

from collections.abc import Sequence
from typing import Any

import pytest


def soak(*rows: Any) -> list[Any]:
    """Return parameters that only `make soak` selects; a tuple is one row of several."""
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.soak)
        for row in rows
    ]


def every(number: int) -> pytest.MarkDecorator:
    """Give a test `step`: `make test` tries one of so many writes or cases, `make soak` all."""
    return pytest.mark.parametrize("step", [number, *soak(1)], ids=["some", "all"])


def in_part(rows: Sequence[Any], step: int) -> list[Any]:
    """Return the parameters of a matrix of which `make test` tries one row of so many."""
    chosen = rows[::step]
    return [*chosen, *soak(*(row for row in rows if row not in chosen))]
