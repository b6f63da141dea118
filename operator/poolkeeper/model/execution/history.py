"""The history of a cluster: what is kept of its finished runs."""

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.runs import Ending


@frozen
class FinishedRun:
    """A run that has ended. Times are milliseconds since 1970.

    `ending`: why it ended. `stages`: how many were requested. `moves`, `size_bytes`: of its plan;
    `moves_done`, `bytes_done`: what of that arrived; bytes are None in entries of earlier releases.
    `approved_by`: who allowed it. `executor`: who ended it.
    """

    plan: str
    started_ms: int
    ended_ms: int
    ending: Ending | None
    stages: int
    moves: int
    moves_done: int
    size_bytes: int
    approved_by: str = ""
    executor: str = ""
    bytes_done: int | None = None
