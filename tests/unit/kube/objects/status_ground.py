"""Objects in memory whose statuses are written, and a clock."""

from datetime import UTC, datetime
from threading import Event

from poolkeeper.errors import Refused
from poolkeeper.kube.client.references import Reference

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MANY = 99
MOMENT = "2026-01-31T12:00:00Z"
TOPIC = Reference("Topic", "shop", "orders", "u1")
OTHER = Reference("Topic", "shop", "other", "u2")
CLUSTER = Reference("KafkaCluster", "", "main", "u3")


class Objects:
    """What the API server would have; each write meets the next of `failures` first."""

    def __init__(self, *failures):
        self.failures = list(failures)
        self.status = {}
        self.uids = {TOPIC.path: "u1", OTHER.path: "u2", CLUSTER.path: "u3"}
        self.bodies = []
        self.prunes = ()
        self.gate = Event()
        self.gate.set()

    def get(self, path):
        uid = self.uids.get(path)
        return None if uid is None else {"metadata": {"uid": uid, "resourceVersion": "7"}}

    def patch_json(self, path, operations):
        """Replace a status; it is refused for the same reason as applying it."""
        raise Refused("spec.x: bad")

    def apply(self, path, body, manager):
        assert manager == "poolkeeper"
        assert self.gate.wait(10)
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.bodies.append(body)
        name = path.removesuffix("/status")
        self.status[name] = {
            key: value for key, value in body["status"].items() if key not in self.prunes
        }
        return {"metadata": {"uid": self.uids[name]}, "status": self.status[name]}


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def said(ready="True", **fields):
    return {"conditions": [{"type": "Ready", "status": ready, "reason": "X"}], **fields}


def dated(ready="True", **fields):
    condition = said(ready)["conditions"][0] | {"lastTransitionTime": MOMENT}
    return {"conditions": [condition], **fields}
