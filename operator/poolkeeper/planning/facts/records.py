"""What is left undone because a record of ours cannot be read."""

from collections.abc import Mapping
from typing import ClassVar

from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.records import RecordKind
from poolkeeper.model.problems import ProblemReason

_UNDONE: Mapping[RecordKind | None, str] = {
    None: "nothing is done about it",
    RecordKind.CLUSTER: "the cluster's id is compared with spec.clusterId alone",
    RecordKind.BROKERS: "no broker counts as gone",
    RecordKind.BALANCE: "no loop begins a plan for balance alone",
}


@frozen
class RecordUnreadable:
    """A record cannot be read; `kind`: which, or None for that of a topic."""

    reason: ClassVar = ProblemReason.RECORD_DAMAGED
    kind: RecordKind | None
    damage: NodeDamage

    def __str__(self) -> str:
        return f"{_UNDONE[self.kind]}: {self.damage}"
