"""What is kept between two looks at a simulated cluster is what a look without memory finds."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.model.topology import Cluster
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.rehearsed_brokers import RehearsedBrokers
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.rehearsal.cluster_copy.snapshot_sizes import SnapshotSizes
from poolkeeper.rehearsal.driving import RehearsedSession
from poolkeeper.sandbox.servers.settings import spread
from poolkeeper.sandbox.simulation import SimulationSpec
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.reading.reading_cache import DecodedTopics

BROKERS = 5
MIB = 1024 * 1024


def by_hand(cluster: Cluster, brokers: RehearsedBrokers, snapshot: Cluster) -> Cluster:
    """What every replica's broker says, with the sizes and rates of the snapshot."""
    found = with_sizes(cluster, brokers.sizes(cluster.brokers))
    topics = {}
    for name, topic in found.topics.items():
        known = snapshot.topics.get(name)
        before = {} if known is None else {p.partition: p for p in known.partitions}
        parts = tuple(
            p
            if (was := before.get(p.partition)) is None
            else p._replace(size_bytes=was.size_bytes, in_bytes_per_s=was.in_bytes_per_s)
            for p in topic.partitions
        )
        topics[name] = replace(topic, partitions=parts)
    return replace(found, topics=topics)


class Looks:
    """A cluster that is looked at with memory and without."""

    def __init__(self, kafka: str) -> None:
        self.cluster = SimulatedCluster(SimulationSpec(spread(BROKERS), kafka=kafka, seed=1))
        self.cluster.start()
        for name in ("a", "b", "c"):
            self.cluster.create_topic(name, (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 1))
            self.cluster.simulation.set_size(name, 0, 8 * MIB)
        self.session = RehearsedSession(self.cluster.server, self.cluster.clock)
        self.view = ZooKeeperView(self.session, DecodedTopics())
        whole = self.view.observe("x").cluster
        rated = {
            name: replace(
                topic,
                partitions=tuple(
                    p._replace(size_bytes=1000, in_bytes_per_s=5.0) for p in topic.partitions
                ),
            )
            for name, topic in whole.topics.items()
            if name != "c"
        }
        self.snapshot = replace(whole, topics=rated)
        self.brokers = RehearsedBrokers(self.cluster, tells_logs=True)
        self.sizes = SnapshotSizes(self.cluster.simulation, self.snapshot)

    def compare(self) -> None:
        kept = self.view.observe("x").cluster
        plain = ZooKeeperView(FakeSession(self.cluster.server, self.cluster.clock)).observe("x")
        if plain.cluster != kept:  # something happened between the two
            kept = self.view.observe("x").cluster
            plain = ZooKeeperView(FakeSession(self.cluster.server, self.cluster.clock)).observe("x")
        assert kept == plain.cluster
        answers = self.brokers.sizes(kept.brokers)
        assert self.sizes.complete(kept, answers) == by_hand(kept, self.brokers, self.snapshot)

    def act(self, draw: st.DataObject) -> None:
        simulation = self.cluster.simulation
        broker = draw.draw(st.integers(1, BROKERS))
        topic, partition = draw.draw(st.sampled_from("abc")), draw.draw(st.integers(0, 3))
        alive = simulation.brokers[broker].alive
        match draw.draw(st.sampled_from(("move", "life", "disk", "dir", "create", "delete"))):
            case "move" if not self.cluster.exists("/admin/reassign_partitions"):
                target = draw.draw(st.permutations(range(1, BROKERS + 1)))[:3]
                self.cluster.request({(topic, partition): target})
            case "life" if alive:
                simulation.kill(broker)
            case "life":
                simulation.start_broker(broker)
            case "disk" if alive:
                simulation.fail_log_dir(broker, 0)
            case "dir" if alive:
                paths = simulation.brokers[broker].disk.directories
                simulation.alter_log_dir(
                    broker, topic, partition, draw.draw(st.sampled_from(paths))
                )
            case "create" if not self.cluster.exists("/brokers/topics/d"):
                body = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 3]}}
                self.cluster.create("/brokers/topics/d", body)
            case "delete" if not self.cluster.exists("/admin/delete_topics/b"):
                self.cluster.create("/admin/delete_topics/b", b"")


@examples(12)
@given(draw=st.data(), kafka=st.sampled_from(("3.9.2", "2.3.1", "2.8.2")))
def test_what_is_kept_is_what_a_look_without_memory_finds(draw: st.DataObject, kafka: str) -> None:
    looks = Looks(kafka)
    looks.compare()
    for _ in range(draw.draw(st.integers(1, 8))):
        looks.act(draw)
        looks.cluster.clock.advance(draw.draw(st.sampled_from((0, 50, 500, 7000))))
        looks.compare()
