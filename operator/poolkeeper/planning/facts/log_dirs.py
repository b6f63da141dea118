"""What a plan leaves undone in log directories: those that are unknown, failed or not emptied."""

from enum import Enum
from typing import ClassVar

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import ProblemReason
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.text import duration, join


@frozen
class LogDirsUnknown:
    """A broker to drain or balance between its log directories, which are unknown."""

    reason: ClassVar = ProblemReason.LOG_DIRS_UNKNOWN
    broker: int
    is_live: bool = True

    def __str__(self) -> str:
        if self.is_live:
            return f"broker {self.broker} does not report its log directories"
        return (
            f"broker {self.broker} is not live, and what its log directories hold is not known:"
            " start it, or have its replicas rebuilt elsewhere"
        )


class NotEvacuated(Enum):
    """Why replicas of a failed log directory are not rebuilt on other brokers."""

    NOT_ALLOWED = "or set spec.heal.enabled of the KafkaCluster to true to rebuild them elsewhere"
    TOO_MANY = (
        "or raise spec.heal.maxBrokers of the KafkaCluster to {number} to rebuild them elsewhere"
    )
    NOT_YET = "or wait: they are rebuilt on other brokers once it has failed for {after}"
    NO_PLACE = "or add a broker to the pool: no other one may hold them, or their source is lost"


@frozen
class LogDirFailed:
    """Log directories of a broker that failed, and the replicas that stay offline.

    `number`: of brokers that are missing or have failed directories. `after_s`: how long a
    directory must have failed.
    """

    reason: ClassVar = ProblemReason.LOG_DIR_FAILED
    broker: int
    paths: tuple[str, ...]
    replicas: Names | None
    why: NotEvacuated
    number: int = 0
    after_s: int = 0

    def __str__(self) -> str:
        failed = f"log directory {join(self.paths)} of broker {self.broker} has failed"
        mend = "replace its disk and restart the broker"
        if self.replicas is None:
            return f"{failed}: {mend}; until then the broker is given no replicas"
        other = self.why.value.format(number=self.number, after=duration(self.after_s))
        return f"{failed}, and {self.replicas} are offline there: {mend}, {other}"


@frozen
class NoSuchLogDir:
    """A path that the pool drains, and the log directories that the broker has."""

    reason: ClassVar = ProblemReason.NO_SUCH_LOG_DIR
    broker: int
    path: str
    there: tuple[str, ...]

    def __str__(self) -> str:
        has = join(self.there)
        return f"broker {self.broker} has no log directory {self.path} (it has {has})"


class KeptBecause(Enum):
    """Why a replica stays in a drained log directory."""

    NO_ROOM = "no other directory has space for them"
    ALL_DRAINED = "it has no directory that is not drained"
    NOT_OURS = "they move to other brokers, or another pool decides about them"


@frozen
class LogDirNotEmptied:
    """Replicas that stay in a drained log directory."""

    reason: ClassVar = ProblemReason.LOG_DIR_NOT_EMPTIED
    broker: int
    path: str
    replicas: Names
    why: KeptBecause

    def __str__(self) -> str:
        where = f"broker {self.broker}: log directory {self.path}"
        return f"{where} keeps {self.replicas}: {self.why.value}"
