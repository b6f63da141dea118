"""Whatever is written is read back as it was."""

from dataclasses import replace

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model import specs, tenancy
from poolkeeper.model.specs import GoalKind, SourceLocation
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import read_topic
from poolkeeper.resources.parse import yaml_documents
from poolkeeper.resources.write import manifests

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
TEXTS = st.one_of(
    st.sampled_from(
        ["on", "no", "null", "~", "012", "1e3", "1_0", "- a", "a: b", "#", "é", "\t", " "]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn"), max_codepoint=0xFFFD), min_size=1),
)
COUNTS = st.integers(1, 1000)
SIZES = st.integers(1, 2**63 - 1)
HASH = "sha256:" + "0" * 64
PROMETHEUS = {"url": "http://p:9090", "window": "1h", "queries": {"bytes": "b"}}
LABELS = {"matchLabels": {"team": "a"}}
NOT_MANUAL = (specs.Strategy.BALANCED, specs.Strategy.KAFKA)


def maybe(strategy):
    return st.none() | strategy


@st.composite
def clusters(draw):
    execution = specs.Execution(
        max_moves=draw(COUNTS),
        max_bytes=draw(SIZES),
        replicas_at_a_time=draw(st.sampled_from(specs.ReplicasAtATime)),
        throttle=specs.Throttle(draw(st.sampled_from(specs.ThrottleMode)), draw(SIZES)),
        stage_deadline_s=draw(COUNTS),
        roll_back_on_deadline=draw(st.booleans()),
        windows=draw(st.sampled_from([(), (specs.Window("0 22 * * *", 3600, "UTC"),)])),
        remedies=specs.Remedies(*draw(st.tuples(*[st.booleans()] * 4))),
        restart_lock=draw(maybe(st.just("/ops/restart"))),
    )
    tls = st.builds(specs.Tls, ca=maybe(TEXTS))
    return specs.KafkaClusterSpec(
        name=draw(NAMES),
        zookeeper=specs.ZooKeeperSpec(
            "zk-1:2181,zk-2:2181/a", draw(maybe(NAMES)), draw(maybe(tls))
        ),
        brokers=draw(maybe(st.builds(specs.BrokersSpec, st.just(("a:1", "b:2")), maybe(NAMES)))),
        kafka_version=draw(st.sampled_from([None, "0.10.2", "2.8", "3.9.2"])),
        cluster_id=draw(maybe(NAMES)),
        mode=draw(st.sampled_from(specs.Mode)),
        approval=specs.Approval(
            draw(st.sampled_from(specs.ApprovalPolicy)),
            ("sha256:" + "0" * 64,),
            draw(st.sampled_from([{}, {"sha256:" + "0" * 64: "jane"}])),
        ),
        execution=execution,
        heal=specs.Heal(draw(st.booleans()), draw(COUNTS), draw(COUNTS)),
        balancing=specs.Balancing(
            draw(st.booleans()), draw(COUNTS), draw(st.sampled_from([0, 2.5]))
        ),
        unmanaged_topics=specs.UnmanagedTopics.EVACUATE_ONLY,
        default_pool=draw(maybe(NAMES)),
        load=specs.LoadSource("Prometheus", PROMETHEUS),
        limits=specs.ClusterLimits(
            draw(COUNTS), draw(COUNTS), draw(st.sampled_from(specs.LimitPolicy))
        ),
        adoption=tenancy.Adoption(
            draw(maybe(st.sampled_from(tenancy.AdoptionPolicy))),
            draw(maybe(st.sampled_from([(), ("shop", "bank")]))),
            draw(maybe(st.sampled_from([(), ("a.*", "no")]))),
        ),
        system_topics=draw(maybe(st.sampled_from([(), ("ops",)]))),
        topic_prefix=draw(maybe(st.sampled_from(["{namespace}.", "eu.{namespace}_"]))),
    )


@st.composite
def pools(draw):
    brokers = draw(st.lists(st.integers(0, 50), min_size=1, unique=True).map(sorted).map(tuple))
    some = st.frozensets(st.sampled_from(brokers))
    capacity = st.builds(specs.Capacity, st.sampled_from([1.0, 0.5, 3.0]), SIZES, COUNTS)
    bands = st.one_of(
        st.builds(dict, percent=st.floats(0, 100)), st.builds(dict, count=st.integers(1, 9))
    )
    goals = draw(st.dictionaries(st.sampled_from(GoalKind), bands))
    quotas = specs.Quotas(draw(maybe(COUNTS)), draw(maybe(COUNTS)))
    return specs.ResourcePoolSpec(
        name=draw(NAMES),
        cluster=draw(NAMES),
        brokers=brokers,
        racks=draw(st.dictionaries(st.sampled_from(brokers), TEXTS)),
        drain=draw(some),
        demote=draw(some),
        drain_log_dirs=(specs.DrainLogDir(brokers[0], "/d 1"),),
        capacity=draw(capacity),
        capacity_of=dict.fromkeys(sorted(draw(some)), draw(capacity)),
        headroom=draw(
            maybe(st.builds(specs.Headroom, st.sampled_from(specs.FailureDomain), COUNTS))
        ),
        quotas=draw(maybe(st.just(replace(quotas, per_namespace={"a": quotas})))),
        allowed_namespaces=draw(
            maybe(st.just(specs.AllowedNamespaces(("a",), {"matchLabels": {}})))
        ),
        claims=(r"legacy\..*",),
        defaults=specs.TopicDefaults(draw(maybe(COUNTS))),
        goals=tuple(specs.Goal(kind, **goals[kind]) for kind in GoalKind if kind in goals),
    )


@st.composite
def topics(draw):
    name = draw(NAMES)
    lists = draw(maybe(st.just(((1, 2), (2, 1)))))
    keyed = draw(st.booleans())
    return specs.TopicSpec(
        name=name,
        namespace=draw(NAMES),
        topic=draw(st.sampled_from([name, "A_b.c", "on", "012"])),
        pool=draw(NAMES),
        partitions=2 if lists else draw(maybe(COUNTS)),
        replication_factor=2 if lists else draw(maybe(COUNTS)),
        keyed=keyed,
        config=dict(sorted(draw(st.dictionaries(TEXTS, TEXTS)).items())),
        strategy=specs.Strategy.MANUAL if lists else draw(st.sampled_from(NOT_MANUAL)),
        assignment=lists,
        deletion_policy=draw(st.sampled_from(specs.DeletionPolicy)),
        paused=draw(st.booleans()),
    )


def read_back(body, read):
    parsed, problems = yaml_documents.parse(manifests.text_of([body]), "f.yaml")
    assert problems == []
    assert [document.problems for document in parsed] == [()]
    return replace(read(parsed[0].body).sound, source=SourceLocation())


@given(clusters())
@examples(14, suppress_health_check=[HealthCheck.too_slow])
def test_clusters_survive_their_manifest(spec):
    assert read_back(manifests.cluster_body(spec), read_cluster) == spec


@given(pools())
@examples(10, suppress_health_check=[HealthCheck.too_slow])
def test_pools_survive_their_manifest(spec):
    assert read_back(manifests.pool_body(spec), read_pool) == spec


@given(topics())
@examples(10, suppress_health_check=[HealthCheck.too_slow])
def test_topics_survive_their_manifest(spec):
    assert read_back(manifests.topic_body(spec), read_topic) == spec


def test_defaults_are_left_out_and_order_is_kept():
    spec = specs.TopicSpec("t", "shop", "T", "fast", 3, config={"retention.ms": "1"})
    assert manifests.text_of([manifests.topic_body(spec)], "two\nlines") == (
        "# two\n# lines\n"
        "apiVersion: poolkeeper.dev/v1alpha1\n"
        "kind: Topic\n"
        "metadata:\n  name: t\n  namespace: shop\n"
        "spec:\n  topicName: T\n  poolRef:\n    name: fast\n  partitions: 3\n"
        '  config:\n    retention.ms: "1"\n'
    )
