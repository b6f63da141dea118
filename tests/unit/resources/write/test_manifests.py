"""Whatever is written is read back as it was."""

from dataclasses import MISSING, fields, is_dataclass, replace

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.model import specs, tenancy
from poolkeeper.model.specs import GoalKind, SourceLocation
from poolkeeper.resources.kinds.kafka_cluster import read_cluster
from poolkeeper.resources.kinds.resource_pool import read_pool
from poolkeeper.resources.kinds.topic import fits_znode, read_topic
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
    partitions, factor = (2, 2) if lists else (draw(maybe(COUNTS)), draw(maybe(COUNTS)))
    assume(fits_znode(partitions or 0, factor or 1))
    return specs.TopicSpec(
        name=name,
        namespace=draw(NAMES),
        topic=draw(st.sampled_from([name, "A_b.c", "on", "012"])),
        pool=draw(NAMES),
        partitions=partitions,
        replication_factor=factor,
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


TLS = specs.Tls(ca="/ca", certificate="/crt", key="/key")
TOPIC_LIMITS = tenancy.DeclarationLimits(1, 2, 3)
NAMESPACE_LIMITS = tenancy.DeclarationLimits(1, 2, 3, 4)
FULL_CLUSTER = specs.KafkaClusterSpec(
    name="main",
    zookeeper=specs.ZooKeeperSpec("zk:2181", "zk-user", TLS),
    brokers=specs.BrokersSpec(("a:1",), "kafka-user", specs.Tls(secret="tls")),
    kafka_version="3.9",
    cluster_id="id",
    mode=specs.Mode.APPLY,
    approval=specs.Approval(specs.ApprovalPolicy.AUTO, (HASH,), {HASH: "jane"}),
    execution=specs.Execution(
        max_moves=1,
        max_moves_per_broker=2,
        max_bytes=3,
        replicas_at_a_time=specs.ReplicasAtATime.ONE,
        throttle=specs.Throttle(specs.ThrottleMode.FIXED, 4),
        stage_deadline_s=5,
        roll_back_on_deadline=True,
        windows=(specs.Window("0 22 * * *", 3600, "Europe/Zurich"),),
        remedies=specs.Remedies(True, True, True, True),
        restart_lock="/ops/restart",
    ),
    heal=specs.Heal(True, 6, 7),
    balancing=specs.Balancing(False, 8, 9.0),
    unmanaged_topics=specs.UnmanagedTopics.MANAGE,
    default_pool="fast",
    load=specs.LoadSource("Prometheus", PROMETHEUS),
    limits=specs.ClusterLimits(10, 11, specs.LimitPolicy.ENFORCE),
    topic_limits=TOPIC_LIMITS,
    namespace_limits=NAMESPACE_LIMITS,
    adoption=tenancy.Adoption(tenancy.AdoptionPolicy.APPROVE, ("shop",), ("a.*",)),
    system_topics=("ops",),
    topic_prefix="{namespace}.",
)
FULL_POOL = specs.ResourcePoolSpec(
    name="fast",
    cluster="main",
    brokers=(1, 2, 3),
    racks={1: "a"},
    drain=frozenset({1}),
    demote=frozenset({2}),
    drain_log_dirs=(specs.DrainLogDir(2, "/d"),),
    capacity=specs.Capacity(2.0, 1024, 3),
    capacity_of={1: specs.Capacity(1.0, 2048, 4)},
    headroom=specs.Headroom(specs.FailureDomain.RACK, 1),
    quotas=specs.Quotas(1, 2, {"shop": specs.Quotas(3, 4)}),
    allowed_namespaces=specs.AllowedNamespaces(("shop",), LABELS),
    claims=("a.*",),
    defaults=specs.TopicDefaults(5, 2),
    goals=(specs.Goal(GoalKind.REPLICAS, count=7), specs.Goal(GoalKind.BYTES, percent=8.0)),
    rack_policy=specs.RackPolicy.AS_FOUND,
)
FULL_TOPIC = specs.TopicSpec(
    name="t",
    namespace="shop",
    topic="T",
    pool="fast",
    partitions=2,
    replication_factor=2,
    keyed=True,
    accept_key_remap_to=2,
    config={"retention.ms": "1"},
    strategy=specs.Strategy.MANUAL,
    assignment=((1, 2), (2, 1)),
    deletion_policy=specs.DeletionPolicy.DELETE,
    paused=True,
)
NOT_IN_MANIFESTS = {"source", "commit"}
"""Fields that say where a manifest is from."""


def values_of(value):
    """Each field, by class and name, of a spec and of what it holds; whether it is set there."""
    if isinstance(value, tuple):
        for each in value:
            yield from values_of(each)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name not in NOT_IN_MANIFESTS:
                default = field.default
                if field.default_factory is not MISSING:
                    default = field.default_factory()
                held = getattr(value, field.name)
                yield f"{type(value).__name__}.{field.name}", held != default
                yield from values_of(held)


def unset(spec):
    """The fields that are everywhere at their defaults."""
    found = set(values_of(spec))
    return {name for name, _ in found} - {name for name, is_set in found if is_set}


@pytest.mark.parametrize(
    ("spec", "body_of", "read"),
    [
        pytest.param(FULL_CLUSTER, manifests.cluster_body, read_cluster, id="KafkaCluster"),
        pytest.param(FULL_POOL, manifests.pool_body, read_pool, id="ResourcePool"),
        pytest.param(FULL_TOPIC, manifests.topic_body, read_topic, id="Topic"),
    ],
)
def test_every_field_survives_the_manifest(spec, body_of, read):
    assert unset(spec) == set(), "a new field needs a value here"
    assert read_back(body_of(spec), read) == spec


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
