"""What is kept of an answer until its plans are carried out: as text, named by its digest.

Beside the plans, for each of them the digest of what was declared when it was made: a plan for
what is declared otherwise by now is carried out by nobody.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from poolkeeper.errors import Refused
from poolkeeper.jsontext import canonical
from poolkeeper.model.plans import Plan
from poolkeeper.rebalances.request import RebalanceRequest
from poolkeeper.rebalances.response import RebalanceResponse
from poolkeeper.reconcile.external_plan import declaration
from poolkeeper.resources.kinds.custom_resource import CustomResource

VERSION = 2


@dataclass(frozen=True, slots=True)
class Record:
    """`declared`: by cluster, see `external_plan.declaration`."""

    answer: RebalanceResponse
    declared: Mapping[str, str]

    def plan(self, cluster: str) -> Plan | None:
        """The plan of a cluster, if there is one."""
        found = (each for each in self.answer.clusters if each.cluster == cluster)
        return next((each.plan for each in found), None)

    def to_json(self) -> str:
        """The canonical text."""
        # The answer is canonical text already: it is put in as it is, and not made text twice.
        declared = canonical(dict(self.declared), ascii_only=False)
        answer = self.answer.to_json()
        return f'{{"answer":{answer},"declared":{declared},"version":{VERSION}}}'

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Return the record; raises `Refused` for what is none."""
        try:
            data = json.loads(text)
            if data["version"] != VERSION:
                raise Refused(f"the record has version {data['version']} (expected {VERSION})")
            return cls(RebalanceResponse.from_data(data["answer"]), dict(data["declared"]))
        except (KeyError, TypeError, ValueError) as wrong:
            raise Refused(f"a record of plans cannot be read: {wrong!r}") from wrong


def record_of(question: RebalanceRequest, answer: RebalanceResponse) -> Record:
    """What is to be kept of the answer to that question."""
    desired = {each.cluster: each.desired for each in question.asked}
    return Record(
        answer,
        {
            each.cluster: declaration(desired[each.cluster], each.plan)
            for each in answer.clusters
            if each.plan is not None and each.plan.moves
        },
    )


class RebalanceRecords(Protocol):
    """Where plans are kept. Each raises `PoolkeeperError` where that cannot be done now."""

    def write(self, each: CustomResource, record: Record) -> str:
        """Keep the record; return its digest."""

    def read(self, each: CustomResource, digest: str) -> Record | None:
        """Return the record; None if it is not there any more, or not whole."""

    def remove(self, each: CustomResource, digest: str) -> None:
        """Remove a record that nobody needs."""
