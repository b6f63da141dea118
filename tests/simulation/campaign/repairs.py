"""What people do by hand: `poolkeeper repair`, and the end of a topic that Kafka cannot delete."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from poolkeeper.cli import main
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST
from simulation.campaign.situation import Situation

TOPICS = "/brokers/topics"
MARKERS = "/admin/delete_topics"


def repair(s: Situation) -> None:
    """Run `poolkeeper repair --yes`, with leave to elect another controller."""
    reached = mock.patch.object(cluster_reading, "open_session", side_effect=lambda _: _session(s))
    with TemporaryDirectory() as folder, reached, redirect_stdout(io.StringIO()):
        words = ("--yes", "--allow-controller-failover", "--backup", str(Path(folder, "nodes")))
        with redirect_stderr(io.StringIO()):
            main.main(("repair", "fake:2181", *words))


def remove_topics(s: Situation, nobody: int) -> None:
    """Remove the topics that wait for an unknown broker to delete its replicas, and fail over.

    Kafka never ends such a deletion.
    """
    stuck = {topic for (topic, _), ids in s.partitions() if nobody in ids}
    marked = sorted(stuck & set(s.cluster.client.children(MARKERS) or ()))
    for topic in marked:
        for path in (f"{TOPICS}/{topic}", f"/config/topics/{topic}", f"{MARKERS}/{topic}"):
            s.cluster.delete_all(path)
    if marked and s.cluster.exists(REQUEST):
        s.cluster.delete(REQUEST)
    # Nor does a controller that found the topic moving: the next one takes up what is marked.
    if s.cluster.exists("/controller"):
        s.cluster.delete("/controller")


def _session(s: Situation) -> FakeSession:
    return FakeSession(s.cluster.server, s.cluster.clock)
