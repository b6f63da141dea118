"""What is kept of a response until its plans are carried out: a text, named by its digest.

For each plan the record also has the digest of what was declared when it was made. A plan is not
carried out if the declaration has changed since.
"""

import json
from collections.abc import Mapping
from typing import Protocol

from poolkeeper.errors import OtherFormat, Refused
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.plans import Plan
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse
from poolkeeper.reconcile.decide.external_plan import declaration
from poolkeeper.resources.kinds.custom_resource import CustomResource

VERSION = 2


@frozen
class Record:
    """The response that is kept.

    `declared`: by cluster, the digest of its declaration (`external_plan.declaration`).
    """

    answer: RebalanceResponse
    declared: Mapping[str, str]

    def plan(self, cluster: str) -> Plan | None:
        """The plan of a cluster, if there is one."""
        found = (each for each in self.answer.clusters if each.cluster == cluster)
        return next((each.plan for each in found), None)

    def to_json(self) -> str:
        """The canonical text."""
        # The response is canonical text already: it is inserted as it is.
        declared = canonical(dict(self.declared), ascii_only=False)
        answer = self.answer.to_json()
        return f'{{"answer":{answer},"declared":{declared},"version":{VERSION}}}'

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Return the record; raises `OtherFormat` or, for what is no record, `Refused`."""
        try:
            data = json.loads(text)
            if data["version"] != VERSION:
                found = data["version"]
                raise OtherFormat(
                    f"another release of Poolkeeper wrote the record of the plans (format version"
                    f" {found}, this one knows {VERSION}): use that, or delete the Rebalance and"
                    " create it again"
                )
            return cls(RebalanceResponse.from_data(data["answer"]), dict(data["declared"]))
        except (KeyError, TypeError, ValueError) as wrong:
            raise Refused(f"a record of plans cannot be read: {wrong!r}") from wrong


def record_of(request: RebalanceRequest, response: RebalanceResponse) -> Record:
    """The record of the response to that request."""
    desired = {each.cluster: each.desired for each in request.asked}
    return Record(
        response,
        {
            each.cluster: declaration(desired[each.cluster], each.plan)
            for each in response.clusters
            if each.plan is not None and each.plan.moves
        },
    )


class RebalanceRecords(Protocol):
    """Where plans are kept; each method raises `PoolkeeperError` if that cannot be done now."""

    def write(self, resource: CustomResource, record: Record) -> str:
        """Keep the record; return its digest."""

    def read(self, resource: CustomResource, digest: str) -> Record | None:
        """Return the record; `None` if it no longer exists, or not as a whole."""

    def remove(self, resource: CustomResource, digest: str) -> None:
        """Remove a record that nobody needs."""
