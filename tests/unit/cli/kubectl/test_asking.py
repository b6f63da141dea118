"""Stop, rollback and resume, where no operator answers, or what is asked for is not stored."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from poolkeeper.cli.kubectl.access import UserAccess
from poolkeeper.cli.kubectl.writing import _patch_approval, ask
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused
from poolkeeper.model.execution.person_requests import RequestKind

UNREACHED = 3


class Unanswered:
    """A cluster with a run, whose requests nobody consumes."""

    def __init__(self, *, takes_off: bool = False) -> None:
        self.patches: list[object] = []
        self.takes_off = takes_off
        self.api = SimpleNamespace(patch_json=self.patch_json)

    def patch_json(self, _: str, patch: list[dict[str, Any]]) -> dict[str, Any]:
        """Store what is added; a webhook may take it off."""
        self.patches.append(patch)
        body = self.cluster("main")
        for each in patch:
            if each["op"] == "add" and not self.takes_off:
                part, _, field = each["path"].strip("/").partition("/")
                body[part][field] = each["value"]
        return body

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


@pytest.mark.parametrize("kind", RequestKind)
def test_what_a_webhook_takes_off_is_no_request(kind: RequestKind) -> None:
    """No operator would ever answer it."""
    access = cast(UserAccess, Unanswered(takes_off=True))
    with pytest.raises(Refused, match=r"stored without the annotation poolkeeper\.dev/request: an"):
        ask(access, "main", kind, "text", wait=True)


def test_what_a_webhook_takes_off_is_no_approval() -> None:
    body, wanted = Unanswered().cluster("main"), {"plans": ["sha256:1"], "policy": "Manual"}
    _patch_approval(cast(UserAccess, Unanswered()), body, wanted)
    with pytest.raises(Refused, match=r"stored without spec\.approval\.plans: an admission"):
        _patch_approval(cast(UserAccess, Unanswered(takes_off=True)), body, wanted)
