"""The operator's readiness, while other threads work."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from poolkeeper.controller.operator import Operator, OperatorSettings


class Mended:
    """A watch that fails when it is asked first, and is mended by then."""

    def __init__(self) -> None:
        self.failures = ["access is forbidden", ""]

    @property
    def failure(self) -> str:
        return self.failures.pop(0)


def test_who_is_not_ready_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = OperatorSettings("ops", "poolkeeper", "me", "127.0.0.1:0", tmp_path)
    operator = Operator(cast(Any, SimpleNamespace()), settings)
    monkeypatch.setattr(operator, "_watch", Mended())
    operator._update_readiness()
    assert operator._health.readiness().text == "not ready: access is forbidden"
