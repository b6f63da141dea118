"""Stop, rollback and resume, where no operator answers."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from poolkeeper.cli.kubectl.access import UserAccess
from poolkeeper.cli.kubectl.writing import ask
from poolkeeper.cli.output import printing
from poolkeeper.model.execution.person_requests import RequestKind

UNREACHED = 3


class Unanswered:
    """A cluster with a run, whose requests nobody consumes."""

    def __init__(self) -> None:
        self.patches: list[object] = []
        self.api = SimpleNamespace(patch_json=lambda _, patch: self.patches.append(patch))

    def cluster(self, name: str) -> dict[str, Any]:
        """The KafkaCluster."""
        metadata = {"name": name, "uid": "u", "resourceVersion": "1"}
        status = {"plan": {"hash": f"sha256:{'0' * 64}", "stage": 1}}
        return {"kind": "KafkaCluster", "metadata": metadata, "spec": {}, "status": status}


@pytest.mark.parametrize("kind", RequestKind)
def test_without_an_answer_the_operator_was_not_reached(kind: RequestKind, capsys) -> None:
    access = Unanswered()
    code = ask(cast(UserAccess, access), "main", kind, "text", wait=True, answer_s=0)
    assert code == UNREACHED
    assert len(access.patches) == 1
    assert "has not answered within 0 s" in capsys.readouterr().err
    assert ask(cast(UserAccess, access), "main", kind, "text", wait=False) == 0


def test_as_json_the_answer_is_null(capsys) -> None:
    access = cast(UserAccess, Unanswered())
    code = ask(access, "main", RequestKind.STOP, printing.JSON, wait=True, answer_s=0)
    assert code == UNREACHED
    assert json.loads(capsys.readouterr().out)["answer"] is None
