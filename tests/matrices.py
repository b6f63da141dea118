"""Matrices: `make test` runs a test on what stands for a law or crash point, `make soak` on all.

@pytest.mark.parametrize("kafka", ["3.9.2", *soak("2.8.2", "2.0.1")])
@pytest.mark.parametrize(("kafka", "ids"), [("3.9.2", True), *soak(("2.8.2", True))])
"""

from typing import Any

import pytest


def soak(*rows: Any) -> list[Any]:
    """Return parameters that only `make soak` selects; a tuple is one row of several."""
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.soak)
        for row in rows
    ]
