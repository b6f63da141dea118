"""Answering a question: a task per cluster reads its ZooKeeper and plans it, wherever it is run.

What travels is the question about one cluster, and its plan, compressed: never the partitions,
which are read where they are planned. A cluster that cannot be read in time has its reason instead
of a plan, and the others go on. Nothing is written to any cluster.

Credentials never travel: a task finds the Secrets that its KafkaCluster names as folders of files,
as pods mount them.
"""

import base64
import gzip
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from poolkeeper import sights
from poolkeeper.accesses import Access, Door, ReadSecret
from poolkeeper.brokers import enrich
from poolkeeper.errors import PoolkeeperError, Unavailable
from poolkeeper.fleet import deadlines
from poolkeeper.fleet.engines import Engine
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.making import make_plan
from poolkeeper.rebalances.answers import Answer, Part, assembled
from poolkeeper.rebalances.making import Planner, Seen, part_of, problem_of
from poolkeeper.rebalances.questions import Asked, Question
from poolkeeper.zk.pauses import collector_paused


@dataclass(frozen=True, slots=True)
class Task:
    """`question` is about one cluster, as text; `secrets` a folder with a folder per Secret."""

    question: str
    secrets: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The cluster's part of the answer: its text, compressed, in base64."""

    part: str

    @classmethod
    def of(cls, part: Part) -> "Done":
        """Pack a part."""
        packed = gzip.compress(part.to_json().encode(), compresslevel=1, mtime=0)
        return cls(base64.b64encode(packed).decode())

    def unpacked(self) -> Part:
        """Return the part."""
        return Part.from_json(gzip.decompress(base64.b64decode(self.part)).decode())


def answer(question: Question, engine: Engine, secrets: str = "") -> Answer:
    """The whole answer; raises `Unavailable` if the engine gave up, never for a cluster."""
    tasks = [Task(question.about(asked).to_json(), secrets) for asked in question.asked]
    weights = [1 + len(asked.desired.topics) for asked in question.asked]
    done = engine.do(tasks, perform, Done, weights)
    return assembled(question, (each.unpacked() for each in done))


def perform(task: Task) -> Done:
    """Do one task; what is wrong with the cluster is in its part and never raised."""
    question = Question.from_json(task.question)
    (asked,) = question.asked
    patience = question.patience
    with tempfile.TemporaryDirectory(prefix="poolkeeper-") as folder, collector_paused():
        door = Door(secrets_in(task.secrets), Path(folder), patience.timeout_s, patience.timeout_s)
        part = part_through(door.access(asked.desired.cluster), asked, question)
    return Done.of(part)


def part_through(
    access: Access, asked: Asked, question: Question, plan: Planner = make_plan
) -> Part:
    """Read a cluster and plan it; what is wrong with it is its problem, and never raised."""
    try:
        seen = seen_through(access, asked, question)
    except PoolkeeperError as failed:
        return problem_of(asked, failed)
    return part_of(asked, seen, question, plan)


def seen_through(access: Access, asked: Asked, question: Question) -> Seen:
    """Read a cluster once, within the question's patience; sizes where brokers tell them."""
    patience = question.patience
    brokers = None

    def enriched(cluster: Cluster) -> Cluster:
        if brokers is None:
            return cluster
        return enrich.enriched(cluster, brokers, patience.timeout_s).cluster

    with access.session() as session, deadlines.bounded(session, patience.deadline_s):
        brokers = access.brokers()
        try:
            sight = sights.see(session, asked.desired, question.now_ms, enriched)
        finally:
            if brokers is not None:
                brokers.close()
    return Seen(sight.cluster, sight.records, sight.gone)


def secrets_in(folder: str) -> ReadSecret:
    """Read Secrets as pods mount them: `folder/NAME/KEY`."""

    def read(name: str) -> Mapping[str, bytes]:
        place = Path(folder) / name
        try:
            files = [each for each in sorted(place.iterdir()) if each.is_file()]
            found = {each.name: each.read_bytes() for each in files}
        except OSError:
            found = {}
        if not folder or not found:
            raise Unavailable(f"there is no Secret {name} for planners")
        return found

    return read
