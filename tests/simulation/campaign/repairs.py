"""What people do by hand: `poolkeeper repair`, the end of a topic that Kafka cannot delete, and of
a log that follows no leader.
"""

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from poolkeeper.cli import main
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SESSION_MS
from poolkeeper.sandbox.simulation.broker.log_dirs import Log
from poolkeeper.sandbox.simulation.codecs import Tp
from simulation.campaign import machines
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


def copy_again(s: Situation) -> None:
    """Put right what keeps brokers from copying: they and their leader go by different ids."""
    _restore_topic_ids(s)
    _remove_earlier_logs(s)


def _remove_earlier_logs(s: Situation) -> None:
    """Delete the logs of earlier topics of the same names, each while its broker is down.

    A broker that was away while a topic was deleted keeps them, and does not copy from a leader
    that has another topic id.
    """
    simulation = s.cluster.simulation
    for id_, broker in simulation.brokers.items():
        earlier = [tp for tp, log in broker.disk.logs.items() if _is_earlier(s, tp.topic, log)]
        if earlier and broker.alive:
            s.died_ms.setdefault(id_, []).append(s.now_ms)
            simulation.kill(id_)
            for tp in earlier:
                broker.disk.delete(tp)
            s.busy(SESSION_MS + 2000)
            s.later(SESSION_MS + 1000, partial(machines.start, s, id_))


def _restore_topic_ids(s: Situation) -> None:
    """Write the ids that leaders' logs have where a topic node lost its own, and fail over.

    Nobody had noted them for `poolkeeper repair`, and a controller gave these topics others.
    """
    for (topic, number), _ in s.partitions():
        path, leader = f"{TOPICS}/{topic}", s.cluster.state(topic, number)[0]
        broker = s.cluster.simulation.brokers.get(leader)
        log = None if broker is None else broker.disk.logs.get(Tp(topic, number))
        if log is not None and _is_earlier(s, topic, log):
            s.cluster.set(path, {**s.body(path), "topic_id": log.topic_id})
            machines.change_controller(s)


def remove_stray_logs(s: Situation) -> None:
    """Delete the logs of topics that are gone: their brokers missed that they were deleted."""
    topics = s.topics()
    for broker in s.cluster.simulation.brokers.values():
        for tp in [tp for tp in broker.disk.logs if tp.topic not in topics]:
            broker.disk.delete(tp)


def _is_earlier(s: Situation, topic: str, log: Log) -> bool:
    path = f"{TOPICS}/{topic}"
    now = s.cluster.read(path).get("topic_id") if s.cluster.exists(path) else None
    return None not in (now, log.topic_id) and now != log.topic_id


def _session(s: Situation) -> FakeSession:
    return FakeSession(s.cluster.server, s.cluster.clock)
