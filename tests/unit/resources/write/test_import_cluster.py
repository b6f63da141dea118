from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.cli.commands import import_
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import RackPolicy
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from poolkeeper.planning.planner import make_plan
from poolkeeper.resources.checks import folder
from poolkeeper.resources.write import import_cluster

TOPIC_NAMES = st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True) | st.sampled_from(
    ["a.b", "a_b", "A", "__consumer_offsets", "..", "-", "a-", "on", "012"]
)
CONFIGS = st.dictionaries(
    st.sampled_from(["retention.ms", "leader.replication.throttled.replicas", "unknown.key"]),
    st.sampled_from(["1", "-5", "0:1", ""]),
)


@st.composite
def observed(draw):
    brokers = draw(st.lists(st.integers(0, 9), unique=True, max_size=5))
    lists = st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True).map(tuple)
    topics = {}
    for name in draw(st.lists(TOPIC_NAMES, unique=True, max_size=6)):
        partitions = [Partition(n, draw(lists)) for n in range(draw(st.integers(0, 3)))]
        topics[name] = Topic(
            name, tuple(partitions[draw(st.integers(0, 1)) :]), None, draw(CONFIGS)
        )
    return Cluster(
        name=draw(
            st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1)
        ),
        brokers={
            number: Broker(number, draw(st.sampled_from([None, "a", "b", "c"])))
            for number in brokers
        },
        topics=topics,
        id=draw(st.none() | st.just("aB3_x-")),
        kafka_version=draw(st.sampled_from([None, "2.8", "3.9.2", "0.9.0", "?"])),
        deleting=frozenset(draw(st.sets(st.sampled_from(sorted(topics)))))
        if topics
        else frozenset(),
        damaged=draw(st.sampled_from([{}, {"broken": "no JSON"}])),
    )


@given(observed())
@examples(18, suppress_health_check=[HealthCheck.too_slow])
def test_the_plan_of_what_is_imported_moves_nothing(cluster):
    found = import_.imported(cluster)
    assert found.moves == ()
    assert make_plan(folder.load_texts(found.files).desired(), cluster).moves == ()
    assert (found.rack_policy is RackPolicy.AS_FOUND) == bool(found.moves_if_spread)


def imported(cluster) -> Desired:
    return folder.load_texts(import_cluster.manifests_of(cluster)).desired()


@given(observed())
@examples(18, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_imported_loads_without_problems_and_says_what_was_found(cluster):
    desired = imported(cluster)
    assert desired.cluster.mode == "PlanOnly"
    assert [pool.goals for pool in desired.pools] in ([], [()])
    for spec in desired.topics:
        found = cluster.topics[spec.topic]
        assert spec.partitions in (None, len(found.partitions))
        if spec.replication_factor is not None:
            assert {len(p.replicas) for p in found.partitions} == {spec.replication_factor}
        assert set(spec.config.items()) <= set((found.config or {}).items())


@given(observed(), st.randoms())
@examples(8, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_topics_makes_no_difference(cluster, random):
    names = list(cluster.topics)
    random.shuffle(names)
    shuffled = Cluster(
        cluster.name,
        cluster.brokers,
        {name: cluster.topics[name] for name in names},
        cluster.id,
        cluster.kafka_version,
        deleting=cluster.deleting,
        damaged=cluster.damaged,
    )
    assert import_cluster.manifests_of(shuffled) == import_cluster.manifests_of(cluster)


def test_a_cluster_in_full():
    moving = Partition(1, (2, 1, 3), adding=(3,), removing=(1,))
    cluster = Cluster(
        name="Main",
        brokers={1: Broker(1, "a"), 2: Broker(2)},
        topics={
            "Orders": Topic(
                "Orders",
                (Partition(0, (1, 2)), moving),
                config={
                    "retention.ms": "1000",
                    "follower.replication.throttled.replicas": "*",
                    "confluent.tier": "x",
                },
            ),
            "gone": Topic("gone", (Partition(0, (1,)),)),
            "__consumer_offsets": Topic("__consumer_offsets", (Partition(0, (1,)),)),
        },
        id="uq7",
        kafka_version="2.8",
        deleting=frozenset({"gone"}),
    )
    assert import_cluster.manifests_of(cluster, "zk:2181/k", ("k:9092",), "kafka") == {
        "cluster.yaml": """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata:
  name: main-eb814be3
spec:
  zookeeper:
    connect: "zk:2181/k"
  brokers:
    bootstrapServers: "k:9092"
  kafkaVersion: "2.8"
  clusterId: uq7
  mode: PlanOnly
  approval:
    policy: Manual
""",
        "pools.yaml": """\
# All brokers. Nothing is balanced until `balance` is removed or names goals.
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata:
  name: main-eb814be3-default
spec:
  clusterRef:
    name: main-eb814be3
  brokers:
    ids: [1, 2, 3]
  balance: {}
""",
        "topics.yaml": """\
# Left out: topic Orders, config confluent.tier
# Left out: topic __consumer_offsets is Kafka's own
# Left out: topic gone is being deleted
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata:
  name: orders-b7e8acdd
  namespace: kafka
spec:
  topicName: Orders
  poolRef:
    name: main-eb814be3-default
  partitions: 2
  replicationFactor: 2
  config:
    retention.ms: "1000"
""",
    }
