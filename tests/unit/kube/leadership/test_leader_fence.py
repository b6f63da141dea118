from typing import Any

import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.kube.leadership.leader_fence import LeaderFence


class Server:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def get(self, *said: Any, deadline_s: float | None = None) -> dict[str, Any]:
        return self._note("get", *said)

    def apply(self, *said: Any) -> dict[str, Any]:
        return self._note("apply", *said)

    def create(self, *said: Any) -> dict[str, Any]:
        return self._note("create", *said)

    def patch_json(self, *said: Any) -> dict[str, Any]:
        return self._note("patch_json", *said)

    def delete(self, *said: Any, propagation: str) -> dict[str, Any]:
        return self._note("delete", *[each for each in said if each])

    def list(self, *said: Any, labels: str) -> dict[str, Any]:
        return self._note("list", *said, labels)

    def _note(self, *call: Any) -> dict[str, Any]:
        self.asked.append(call)
        return {"answer": len(self.asked)}


WRITES = [
    ("apply", "/a", {"x": 1}, "me"),
    ("create", "/a", {"x": 1}),
    ("patch_json", "/a", []),
    ("delete", "/a"),
]


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write[0])
def test_a_write_is_done_by_whoever_leads_at_that_moment_and_refused_to_others(write):
    server, leads = Server(), [False]
    fenced = LeaderFence(server, lambda: leads[0])
    name, *said = write
    with pytest.raises(Unavailable, match="the lease is not held at the moment"):
        getattr(fenced, name)(*said)
    assert server.asked == []
    leads[0] = True
    assert getattr(fenced, name)(*said) == {"answer": 1}
    assert server.asked == [write]


def test_anybody_may_read():
    server = Server()
    fenced = LeaderFence(server, lambda: False)
    assert fenced.get("/a") == {"answer": 1}
    assert fenced.list("/a", labels="b=c") == {"answer": 2}
    assert server.asked == [("get", "/a"), ("list", "/a", 500, "b=c")]
